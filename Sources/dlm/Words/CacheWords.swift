import DownloadCaching
import DownloadModel
import SystemPackage
import TerminalProgress

/// Words about the cache.
enum CacheWords {
  static func line(_ warning: CacheWarning) -> String {
    let detail = warning.detail.isEmpty ? "" : " (\(warning.detail))"
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

  /// One line for a whole `dlm cache verify`, and what can be done where something is wrong.
  static func verified(_ counts: [CacheEntry.Condition: Int]) -> [String] {
    let found = [CacheEntry.Condition.proven, .intact, .touched, .missing, .corrupt, .unreadable]
      .compactMap { condition in counts[condition].map { "\(Quantity.count($0)) \(condition.rawValue)" } }
    let line = "Verified: " + ([files(counts.values.reduce(0, +))] + found).joined(separator: ", ")
    var remedies: [String] = []
    if counts[.corrupt] != nil {
      remedies.append("what is corrupt: remove it and get it again, and look after the disk")
    }
    if counts[.unreadable] != nil {
      remedies.append("what is unreadable: the cause stands above; see to its permissions, or to the disk")
    }
    if counts[.touched] != nil || counts[.missing] != nil {
      remedies.append("what is touched or missing: dlm cache prune forgets it, dlm get fetches it again")
    }
    return [line] + remedies
  }

  /// Fields of a row of `dlm cache list`: condition, size in bytes, address, path.
  static func entry(_ entry: CacheEntry) -> [String] {
    [entry.condition.rawValue, "\(entry.size)", entry.address, entry.path.string]
  }

  private static func files(_ count: Int) -> String {
    "\(Quantity.count(count)) \(count == 1 ? "file" : "files")"
  }
}
