import DownloadModel
import FileReceiving

/// The files that a run finished or found last, in two generations. A full younger generation replaces the older
/// one.
struct MemoryCache {
  struct Entry: Equatable {
    var name: String
    var size: Int64
    /// `nil` without an index. An equal length is then enough, because this run wrote the file.
    var identity: FileIdentity?
    var changed: ChangeTime?
    var trust = TrustMark.usual

    func isThat(_ file: StandingFile) -> Bool {
      guard let identity, let changed else { return size == file.identity.size }
      return file.isUsers && file.identity == identity && changed.isThat(of: file)
    }
  }

  /// By the key's hash: a lookup of a missing key, which is usual, touches no key.
  private typealias Generation = [Int: (key: DownloadRequest.Key, entry: Entry)]

  private var young: Generation = [:]
  private var old: Generation = [:]
  private let limit: Int

  /// - Parameter limit: entries per generation.
  init(limit: Int = 2048) { self.limit = limit }

  subscript(key: DownloadRequest.Key) -> Entry? {
    let number = key.hashValue
    guard let found = young[number] ?? old[number], found.key == key else { return nil }
    return found.entry
  }

  mutating func remember(_ entry: Entry, for key: DownloadRequest.Key) {
    if young.count >= limit {
      old = young
      young = Generation(minimumCapacity: limit)
    }
    young[key.hashValue] = (key, entry)
  }

  mutating func forget(_ key: DownloadRequest.Key) {
    young[key.hashValue] = nil
    old[key.hashValue] = nil
  }
}
