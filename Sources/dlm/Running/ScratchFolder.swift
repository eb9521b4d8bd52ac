import DownloadModel
import Foundation
import Glibc
import StrategyComparing
import SystemPackage

/// A folder of the run's own for what is downloaded only to be measured; removed with all that is in it.
struct ScratchFolder: Sendable {
  let path: FilePath

  /// Below `$TMPDIR`, so that a user decides which disk is measured.
  init() throws(ComparisonError) {
    let parent = NSTemporaryDirectory()
    var template = Array((parent + "/dlm-compare-XXXXXX").utf8CString)
    guard mkdtemp(&template) != nil else {
      throw .broken(
        ComparisonPlan.Step(mode: .sequential, round: 1),
        DownloadError(.folder, cause: .errno(errno), path: parent, activity: "making a scratch folder"))
    }
    path = FilePath(String(decoding: template.dropLast().map(UInt8.init(bitPattern:)), as: UTF8.self))
  }

  /// At the end of the run; what cannot be removed lies in the system's temporary folder, and is named.
  func remove() {
    do throws(DownloadError) {
      try Self.remove(path)
    } catch {
      StandardError.say(["dlm: \(path): \(FailureWords(error).line)"])
    }
  }

  static func remove(_ folder: FilePath) throws(DownloadError) {
    guard access(folder.string, F_OK) == 0 else { return }
    do {
      try FileManager.default.removeItem(atPath: folder.string)
    } catch {
      throw DownloadError(
        .disk, cause: .detail("\(error)"), path: folder.string, activity: "removing a scratch folder")
    }
  }
}
