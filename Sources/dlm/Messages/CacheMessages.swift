import DownloadCaching
import DownloadModel
import Foundation
import SystemPackage
import TerminalProgress

/// Messages about the cache.
enum CacheMessages {
  static func warning(_ warning: CacheWarning) -> String {
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

  /// How far another process is: a line for all of its run, and below it some of its files.
  static func running(_ running: RunningDownloads) -> [String] {
    let bound = running.listIsComplete ? "" : "at least "
    var parts = [
      "\(Quantity.count(running.done)) of \(bound)\(Quantity.count(running.listed)) files done"
    ]
    if running.failed > 0 { parts.append("\(Quantity.count(running.failed)) failed") }
    parts += [Quantity.bytes(running.bytes), Quantity.rate(Double(running.rate))]
    let head =
      "Running (process \(running.process)): \(parts.joined(separator: ", ")), into \(running.directory)"
    let files = running.active.map { file in
      "  \(file.url): \(Quantity.bytes(file.bytes))" + (file.total.map { " of \(Quantity.bytes($0))" } ?? "")
    }
    return [head] + files + (running.more > 0 ? ["  and \(Quantity.count(running.more)) more"] : [])
  }

  /// The same for programs, as a line. Its texts pass the gate here, as strings: behind it, quotes are
  /// escaped.
  static func json(_ status: CacheStatus, _ running: [RunningDownloads]) throws -> String {
    struct Object: Encodable {
      let entries: Int
      let fileBytes: Int64
      let indexBytes: Int64
      let folder: String
      let running: [RunningDownloads]
    }
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    let running = running.map { running in
      var running = running
      running.directory = TerminalText.sanitized(running.directory)
      for index in running.active.indices {
        running.active[index].url = TerminalText.sanitized(running.active[index].url)
      }
      return running
    }
    let object = Object(
      entries: status.entries, fileBytes: status.fileBytes, indexBytes: status.indexBytes,
      folder: TerminalText.sanitized(status.folder.string), running: running)
    return String(decoding: try encoder.encode(object), as: UTF8.self) + "\n"
  }

  static func pruned(_ freed: Freed) -> String { "Pruned: " + text(freed) }
  static func cleared(_ freed: Freed) -> String { "Cleared: " + text(freed) }

  private static func text(_ freed: Freed) -> String {
    "\(files(freed.entries)) forgotten, \(Quantity.bytes(freed.bytes)) freed; the files themselves stay"
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
