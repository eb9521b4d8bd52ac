/// Which files of one folder the index gives to which requests: a file has one address, in every run.
///
/// Read once a run, and only when something stands under a name that is wanted. What this run itself writes meanwhile the
/// folder knows (`OutputDirectory.isGiven`).
struct FileOwners: Sendable {
  private struct Owned: Sendable {
    var identity: FileIdentity
    /// Hash of the row's key: a table of a million rows should not hold their addresses.
    var key: Int
  }

  private var owned: [Int64: Owned] = [:]

  /// Nobody's: of a run without an index.
  init() {}

  mutating func add(_ identity: FileIdentity, of key: RowKey) {
    owned[identity.inode] = Owned(identity: identity, key: key.hashValue)
  }

  /// Whether a file is, untouched, what was written for another request than this.
  func isOwned(_ file: FileIdentity, besides key: RowKey) -> Bool {
    guard let owned = owned[file.inode] else { return false }
    return owned.identity == file && owned.key != key.hashValue
  }
}
