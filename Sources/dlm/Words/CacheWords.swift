import DownloadCaching
import DownloadModel
import SystemPackage
import TerminalProgress

/// Words about the cache.
enum CacheWords {
  static func line(_ warning: CacheWarning) -> String {
    let detail = warning.detail.isEmpty ? "" : " (\(TerminalText.sanitized(warning.detail)))"
    return switch warning.kind {
    case .damagedIndexSetAside:
      "dlm: the cache's index was damaged; it was set aside as \(warning.path) and a new one begun\(detail)"
    case .laterVersion:
      "dlm: \(warning.path) was made by a later version of dlm; this run did without the cache"
    case .unusable:
      "dlm: the cache \(warning.path) cannot be used\(detail); this run did without it: see dlm cache path"
    case .partialNotKept:
      "dlm: what had come of \(warning.path) could not be kept\(detail)"
    }
  }

  static func status(_ status: CacheStatus) -> String {
    "\(files(status.entries)) known, \(Quantity.bytes(status.fileBytes)) where you put them; "
      + "the cache itself takes \(Quantity.bytes(status.indexBytes)) in \(status.folder)"
  }

  static func freed(_ freed: Freed, _ what: String) -> String {
    "\(what): \(files(freed.entries)) forgotten, \(Quantity.bytes(freed.bytes)) freed; the files themselves stay"
  }

  static func entry(_ entry: CacheEntry) -> String {
    "\(entry.condition.rawValue)\t\(entry.size)\t\(entry.address)\t\(TerminalText.sanitized(entry.path.string))"
  }

  private static func files(_ count: Int) -> String {
    "\(Quantity.count(count)) \(count == 1 ? "file" : "files")"
  }
}
