/// The files that this process finished last, so that an address that comes again is answered from memory.
/// Bounded: two generations, of which the older is dropped when the younger is full.
struct RecentFiles: Sendable {
  struct Entry: Sendable, Equatable {
    var name: String
    var size: Int64
    /// Nil without an index: then the file's length must do, which is enough to say "this run wrote it".
    var identity: FileIdentity?
  }

  private var young: [DownloadKey: Entry] = [:]
  private var old: [DownloadKey: Entry] = [:]
  private let limit: Int

  /// - Parameter limit: entries a generation.
  init(limit: Int = 2048) { self.limit = limit }

  subscript(key: DownloadKey) -> Entry? { young[key] ?? old[key] }

  mutating func remember(_ entry: Entry, for key: DownloadKey) {
    if young.count >= limit {
      old = young
      young = Dictionary(minimumCapacity: limit)
    }
    young[key] = entry
  }

  mutating func forget(_ key: DownloadKey) {
    young[key] = nil
    old[key] = nil
  }

  var count: Int { young.count + old.count }
}
