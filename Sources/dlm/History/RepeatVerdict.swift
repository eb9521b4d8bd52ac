import DownloadCaching
import FileReceiving
import DownloadModel
import Glibc
import Synchronization

struct RepeatVerdict: Equatable {
  struct Difference: Equatable {
    var address: String
    /// Where the file exists, or should exist.
    var path: String
  }

  var compared = 0
  var differences: [Difference] = []
  /// Files that the other run did not bring, or that were removed.
  var missing: [Difference] = []
  var isSame: Bool { differences.isEmpty && compared > 0 }
  var isAsHere: Bool { differences.isEmpty && missing.isEmpty }
}
