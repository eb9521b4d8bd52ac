import DownloadModel
import FileReceiving

struct RunStart: Equatable {
  /// Since 1970, by the clock that rows are stamped with.
  var seconds: Int64
  /// Nanoseconds since 1970, by the clock that files are stamped with.
  var stamp: Int64

  /// Whether a file was asked for and written later. One time is not enough: a copy is younger than its source's
  /// request, and a file may have its server's time (`--remote-time`).
  func isBefore(_ row: CacheRow) -> Bool { row.fetchedAt >= seconds && row.identity.modified > stamp }
}
