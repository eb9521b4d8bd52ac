/// The owner of each file: the URL that it was downloaded for. One table has the files of a folder by the index, read
/// once a run; another has those of this run (`OutputDirectory.isGiven`).
package struct FileOwners {
  private var owned: [Int64: (identity: FileIdentity, owner: Int)] = [:]

  package init() {}

  package mutating func add(_ identity: FileIdentity, of key: RowKey) { owned[identity.inode] = (identity, key.owner) }

  /// Whether an unchanged file belongs to another URL. The inode alone proves nothing: file systems reuse the number of
  /// a removed file at once.
  package func isOwned(_ file: FileIdentity, besides key: RowKey) -> Bool {
    owned[file.inode].map { $0.identity == file && $0.owner != key.owner } ?? false
  }
}
