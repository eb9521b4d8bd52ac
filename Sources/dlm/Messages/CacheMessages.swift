import DownloadCaching
import DownloadModel
import SystemPackage
import TerminalProgress

/// Messages about the cache.
enum CacheMessages {
  static func warning(_ warning: CacheWarning) -> String {
    let detail = warning.detail.isEmpty ? "" : " (\(warning.detail))"
    return switch warning.kind {
    case .damagedIndexSetAside:
      "dlm: the cache's index was damaged\(detail); \(begunAnew(warning))"
    case .otherVersion:
      "dlm: the cache's index was made by another version of dlm; \(begunAnew(warning))"
    case .unusable:
      "dlm: the cache \(warning.path) cannot be used\(detail); this run did without it: see dlm cache path"
    case .storeUnusable:
      "dlm: nothing can be kept in \(warning.path)\(detail); this run went on without: see --store"
    case .noStandIn:
      "dlm: an older file could not be used for one whose server failed: \(warning.path)\(detail)"
    case .partialNotKept:
      "dlm: what had come of \(warning.path) could not be kept\(detail)"
    }
  }

  private static func begunAnew(_ warning: CacheWarning) -> String {
    "a new one was begun, and files are known again as they are asked for. "
      + "The old one was set aside as \(warning.path): dlm clear-cache removes it"
  }

  static func status(_ status: CacheStatus) -> String {
    let all = status.indexBytes + status.storeBytes
    let store = status.storeBytes > 0 ? ", \(Quantity.bytes(status.storeBytes)) of it its own bodies" : ""
    return "\(Quantity.files(status.entries)) known, \(Quantity.bytes(status.fileBytes)) where you put them; "
      + "the cache itself takes \(Quantity.bytes(all)) in \(status.folder)\(store)"
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

  /// - Parameter store: what went from the store to keep a bound; nil where none was given.
  static func pruned(_ freed: Freed, store: Freed?) -> String {
    let bodies = store.map { store in
      "; \(Quantity.count(store.entries)) of the cache's own removed, \(Quantity.bytes(store.bytes)) freed"
    }
    return "Pruned: \(text(freed))\(bodies ?? ""); your files stay"
  }

  static func cleared(_ freed: Freed) -> String { "Cleared: \(text(freed)); your files stay" }

  /// What `--partial` and `--files` have come to.
  /// - Parameter forgets: whether files were forgotten too.
  static func removed(_ freed: Freed, forgets: Bool) -> String {
    var parts: [String] = []
    if forgets {
      parts.append("\(Quantity.files(freed.files)), \(Quantity.bytes(freed.fileBytes))")
    }
    if !forgets || freed.parts > 0 {
      parts.append("\(unfinished(freed.parts)), \(Quantity.bytes(freed.partBytes))")
    }
    if forgets {
      parts.append("\(Quantity.files(freed.entries)) forgotten, \(Quantity.bytes(freed.bytes)) freed in the cache")
    }
    if freed.filesKept > 0 {
      parts.append(
        "\(Quantity.files(freed.filesKept)) kept, since changed after dlm wrote \(freed.filesKept == 1 ? "it" : "them")"
      )
    }
    if freed.partsInUse > 0 { parts.append("\(unfinished(freed.partsInUse)) kept, in use by a running dlm") }
    return "Removed: " + parts.joined(separator: "; ")
  }

  static let nothingRemoved = "dlm: nothing was removed and nothing forgotten"

  /// `3 files (1.2 MiB) and 1 unfinished file (512 KiB)`
  static func removable(_ written: Freed, _ unfinished: [UnfinishedFile]) -> String {
    var parts: [String] = []
    if written.files > 0 || unfinished.isEmpty {
      parts.append("\(Quantity.files(written.files)) (\(Quantity.bytes(written.fileBytes)))")
    }
    if !unfinished.isEmpty {
      let bytes = unfinished.reduce(0) { $0 + $1.bytes }
      parts.append("\(Self.unfinished(unfinished.count)) (\(Quantity.bytes(bytes)))")
    }
    return parts.joined(separator: " and ") + " that dlm wrote and nobody changed since"
  }

  static func nobodyToAsk(_ written: Freed, _ unfinished: [UnfinishedFile]) -> String {
    "dlm: \(removable(written, unfinished)) would be removed, and there is no terminal to ask at: "
      + "give --yes if that is meant; dlm cache list names them"
  }

  private static func unfinished(_ count: Int) -> String {
    Quantity.count(count, "unfinished file", "unfinished files")
  }

  /// How many unfinished files a status names.
  private static let named = 20

  /// A line for each of the first.
  static func unfinished(_ files: [UnfinishedFile]) -> [String] {
    let lines = files.prefix(named).map { "Unfinished: \(held($0)) of \($0.address) in \($0.path)" }
    return lines + (files.count > named ? ["and \(unfinished(files.count - named)) more"] : [])
  }

  /// `512 KiB (of 3.0 MiB)`
  private static func held(_ file: UnfinishedFile) -> String {
    Quantity.bytes(file.bytes) + (file.total.map { " (of \(Quantity.bytes($0)))" } ?? "")
  }

  static func nothingKnown(_ address: String) -> String {
    "dlm: nothing is known of \(address): it was not fetched with the cache on, or was forgotten since; "
      + "dlm cache list names what is known"
  }

  /// What `dlm cache show` says: the address, and below it each file with what is known of it.
  /// - Parameter now: seconds since 1970.
  static func known(
    _ address: String, _ files: [CacheDetail], _ unfinished: [UnfinishedFile], now: Int64
  ) -> [String] {
    [address] + files.flatMap { lines($0, now) }
      + unfinished.map { file in
        "  Unfinished: \(held(file)) in \(file.path)" + (file.isKeyed ? ", \(keyed)" : "")
      }
  }

  private static let keyed = "asked for with a login, certificate or header lines of its own"

  private static func lines(_ file: CacheDetail, _ now: Int64) -> [String] {
    let entry = file.entry
    let isFresh = file.freshUntil.map { $0 > now } ?? false
    let facts: [(String, String?)] = [
      ("Fetched", TimeText.local(seconds: entry.fetchedAt)),
      (isFresh ? "Fresh until" : "Stale since", file.freshUntil.map { TimeText.local(seconds: $0) }),
      ("Last used", TimeText.local(seconds: file.usedAt)),
      ("Key", file.isKeyed ? keyed : nil), ("Name chosen", file.chosenName),
      ("Status", file.status.map { "\($0)" }), ("ETag", entry.validator.etag),
      ("Last-Modified", entry.validator.lastModified), ("Date", entry.validator.date),
      ("Cache-Control", file.cacheControl), ("Expires", file.expires), ("Age", file.age), ("Vary", file.vary),
      ("Answered by", file.effectiveURL), ("Checksum", file.digest),
    ]
    return [
      "  \(entry.path): \(Quantity.bytes(entry.size)), \(entry.condition.rawValue)"
        + (file.isStored ? ", the cache's own" : "")
    ]
      + facts.compactMap { name, value in value.map { "    \(name): \($0)" } }
  }

  private static func text(_ freed: Freed) -> String {
    "\(Quantity.files(freed.entries)) forgotten, \(Quantity.bytes(freed.bytes)) freed"
  }

  /// One line for a whole `dlm cache verify`, and what can be done where something is wrong.
  static func verified(_ counts: [CacheEntry.Condition: Int]) -> [String] {
    let found = [CacheEntry.Condition.proven, .intact, .touched, .missing, .corrupt, .unreadable]
      .compactMap { condition in counts[condition].map { "\(Quantity.count($0)) \(condition.rawValue)" } }
    let line = "Verified: " + ([Quantity.files(counts.values.reduce(0, +))] + found).joined(separator: ", ")
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
}
