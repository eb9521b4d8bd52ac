import DownloadCaching
import DownloadModel
import FileReceiving
import SystemPackage
import TerminalProgress

enum CacheMessages {
  static func warning(_ warning: CacheWarning) -> String {
    let detail = warning.detail.isEmpty ? "" : " (\(warning.detail))"
    let begunAnew =
      "dlm started a new one, which learns the files in the next runs. The old one is saved as "
      + "\(warning.path); dlm clear-cache removes it"
    let what =
      switch warning.kind {
      case .damagedIndexSetAside: "the cache's index was damaged\(detail); \(begunAnew)"
      case .otherVersion: "the cache's index was made by another version of dlm; \(begunAnew)"
      case .unusable: "the cache \(warning.path) cannot be used\(detail); this run does not use it"
      case .storeUnusable:
        "no copies can be stored in \(warning.path)\(detail); this run stores none: see --store"
      case .noStandIn: "\(warning.path) could not be used instead of a failed download\(detail)"
      case .partialNotKept: "the downloaded part of \(warning.path) could not be saved\(detail)"
      case .unseen:
        "\(warning.path) cannot be written\(detail), so other runs could not see what this one downloaded, and may "
          + "download it too; free space there"
      }
    return "dlm: \(what)"
  }

  static func status(_ status: CacheStatus) -> String {
    let all = status.indexBytes + status.storeBytes
    let store = status.storeBytes > 0 ? ", \(Quantity.bytes(status.storeBytes)) of that its own copies" : ""
    return "\(Quantity.files(status.entries)) known, \(Quantity.bytes(status.fileBytes)) where you put them; "
      + "the cache itself takes \(Quantity.bytes(all)) in \(status.folder)\(store)"
  }

  /// - Parameter store: entries removed from the store to keep a bound; `nil` if no bound was given.
  static func pruned(_ freed: Freed, store: Freed?) -> String {
    let bodies = store.map { store in
      "; \(Quantity.count(store.entries, "copy", "copies")) of the cache removed, \(Quantity.bytes(store.bytes)) freed"
    }
    return "Pruned: \(text(freed))\(bodies ?? ""); your files stay"
  }

  static func cleared(_ freed: Freed) -> String { "Cleared: \(text(freed)); your files stay" }

  private static func text(_ freed: Freed) -> String {
    "\(Quantity.files(freed.entries)) forgotten, \(Quantity.bytes(freed.bytes)) freed"
  }

  /// - Parameter forgets: whether files were forgotten, too.
  static func removed(_ freed: Freed, forgets: Bool) -> String {
    if forgets, freed.entries + freed.files + freed.filesKept + freed.parts + freed.partsInUse == 0 {
      return "Nothing to remove: the cache knows no file that dlm wrote"
    }
    var parts = forgets ? ["\(Quantity.files(freed.files)), \(Quantity.bytes(freed.fileBytes))"] : []
    if !forgets || freed.parts > 0 { parts.append("\(unfinished(freed.parts)), \(Quantity.bytes(freed.partBytes))") }
    if forgets { parts.append("\(text(freed)) in the cache") }
    if freed.filesKept > 0 {
      let changed = freed.filesKept == 1 ? "it" : "them"
      parts.append("\(Quantity.files(freed.filesKept)) kept, as changed since dlm wrote \(changed)")
    }
    if freed.partsInUse > 0 { parts.append("\(unfinished(freed.partsInUse)) kept, in use by a running dlm") }
    return "Removed: " + parts.joined(separator: "; ")
  }

  /// `3 files (1.2 MiB) and 1 unfinished file (512 KiB) … in /a, /b`
  static func removable(_ written: Freed, _ unfinished: [UnfinishedFile]) -> String {
    let bytes = unfinished.reduce(0) { $0 + $1.bytes }
    let whole = "\(Quantity.files(written.files)) (\(Quantity.bytes(written.fileBytes)))"
    let parts = "\(Self.unfinished(unfinished.count)) (\(Quantity.bytes(bytes)))"
    let all = unfinished.isEmpty ? whole : written.files == 0 ? parts : "\(whole) and \(parts)"
    let folders = written.folders.union(unfinished.map { $0.path.removingLastComponent().string }).sorted()
    let more = folders.count > 3 ? " and \(Quantity.count(folders.count - 3)) more folders" : ""
    return "\(all) unchanged since dlm wrote them, in \(folders.prefix(3).joined(separator: ", "))\(more)"
  }

  private static func unfinished(_ count: Int) -> String {
    Quantity.count(count, "unfinished file", "unfinished files")
  }

  static func unfinished(_ files: [UnfinishedFile]) -> [String] {
    let most = 20
    let lines = files.prefix(most).map { "Unfinished: \(held($0)) of \($0.address) in \($0.path)" }
    return lines + (files.count > most ? ["and \(unfinished(files.count - most)) more"] : [])
  }

  /// `512 KiB (of 3.0 MiB)`
  private static func held(_ file: UnfinishedFile) -> String {
    Quantity.bytes(file.bytes) + (file.total.map { " (of \(Quantity.bytes($0)))" } ?? "")
  }

  /// - Parameter now: seconds since 1970.
  static func known(_ address: String, _ files: [CacheEntry], _ unfinished: [UnfinishedFile], now: Int64) -> [String] {
    [address] + files.flatMap { $0.lines(at: now) }
      + unfinished.map { file in
        "  Unfinished: \(held(file)) in \(file.path)" + (file.isKeyed ? ", \(keyed)" : "")
      }
  }

  fileprivate static let keyed = "downloaded with its own login, certificate or header lines"

  static func verified(_ counts: [CacheEntry.Condition: Int]) -> [String] {
    let found = [CacheEntry.Condition.proven, .intact, .touched, .missing, .corrupt, .unreadable]
      .compactMap { condition in counts[condition].map { "\(Quantity.count($0)) \(condition.rawValue)" } }
    let line = "Verified: " + ([Quantity.files(counts.values.reduce(0, +))] + found).joined(separator: ", ")
    let remedies: [([CacheEntry.Condition], String)] = [
      ([.corrupt], "corrupt: remove these files and get them again, and check the disk"),
      ([.unreadable], "unreadable: the cause is above; check their permissions, or the disk"),
      ([.touched, .missing], "touched or missing: dlm cache prune forgets these files, dlm get downloads them again"),
    ]
    return [line] + remedies.filter { $0.0.contains { counts[$0] != nil } }.map(\.1)
  }

  static func entry(_ entry: CacheEntry) -> [String] {
    [entry.condition.rawValue, "\(entry.size)", entry.address, entry.path.string]
  }
}

extension CacheEntry {
  fileprivate func lines(at now: Int64) -> [String] {
    let freshUntil = freshUntil(at: now)
    let isFresh = freshUntil.map { $0 > now } ?? false
    let facts: [(String, String?)] = [
      ("Fetched", TimeText.local(seconds: row.fetchedAt)),
      (isFresh ? "Fresh until" : "Stale since", freshUntil.map { TimeText.local(seconds: $0) }),
      ("Last used", TimeText.local(seconds: row.usedAt)),
      ("Key", isKeyed ? CacheMessages.keyed : nil), ("Name chosen", chosenName),
      ("Status", row.status.map { "\($0)" }), ("ETag", row.validator.etag),
      ("Last-Modified", row.validator.lastModified), ("Date", row.validator.date),
      ("Cache-Control", row.freshness.cacheControl), ("Expires", row.freshness.expires),
      ("Age", row.freshness.age), ("Vary", row.freshness.vary),
      ("Answered by", row.effectiveURL), ("Checksum", digest),
    ]
    let own = isStored ? ", the cache's own copy" : ""
    return ["  \(path): \(Quantity.bytes(size)), \(condition.rawValue)\(own)"]
      + facts.compactMap { name, value in value.map { "    \(name): \($0)" } }
  }
}
