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
    do throws(DownloadError) { try self.init(NSTemporaryDirectory() + "/dlm-compare-") } catch {
      throw .broken(ComparisonPlan.Step(mode: .sequential, round: 1), error)
    }
  }

  /// Hidden in the output folder, and so on the same disk as the files that it is compared with.
  /// - Throws: `.folder`.
  init(inside directory: String) throws(DownloadError) {
    try self.init((directory.isEmpty ? "." : directory) + "/.dlm-compare-")
  }

  /// Under a name that nobody knows before, this user's alone (mkdtemp(3), 0700).
  private init(_ beginning: String) throws(DownloadError) {
    var template = Array("\(beginning)XXXXXX".utf8CString)
    guard mkdtemp(&template) != nil else {
      throw DownloadError(
        .folder, cause: .errno(errno), path: FilePath(beginning).removingLastComponent().string,
        activity: "making a scratch folder")
    }
    path = FilePath(String(decoding: template.dropLast().map(UInt8.init(bitPattern:)), as: UTF8.self))
  }

  /// Bytes that this user may still write to the disk of a folder; nil where that cannot be known.
  static func room(in directory: String) -> Int64? {
    var status = statvfs()
    guard statvfs(directory.isEmpty ? "." : directory, &status) == 0 else { return nil }
    return Int64(
      clamping: UInt64(status.f_bavail).multipliedReportingOverflow(by: UInt64(status.f_frsize)).partialValue)
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
