import DownloadModel

/// Which file belongs to which address: those of one folder by the index, read once a run, and those of this run
/// (`OutputDirectory.isGiven`).
package struct FileOwners {
  private var owned: [Int64: (identity: FileIdentity, owner: Int)] = [:]

  package init() {}

  package mutating func add(_ identity: FileIdentity, of key: RowKey) { owned[identity.inode] = (identity, key.owner) }

  /// Whether an untouched file is of another address. An inode alone proves nothing: file systems use the number of a
  /// removed file again at once.
  package func isOwned(_ file: FileIdentity, besides key: RowKey) -> Bool {
    owned[file.inode].map { $0.identity == file && $0.owner != key.owner } ?? false
  }
}
