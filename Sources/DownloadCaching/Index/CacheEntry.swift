public import DownloadModel
public import SystemPackage

/// One file that the index knows (`dlm cache list`, `dlm cache verify`).
public struct CacheEntry: Sendable, Equatable {
  /// How the file compares with what was written.
  public enum Condition: String, Sendable, Equatable {
    case intact
    /// Another size, time or inode: changed, replaced, or copied back from a backup.
    case touched
    case missing
    /// Read again, its bytes have the checksum that was proved when it was fetched.
    case proven
    /// It looks untouched, and its bytes are others: a disk that forgets, or a hand that set the time back.
    case corrupt
    /// The disk does not give its bytes.
    case unreadable

    /// Whether nothing speaks against the file.
    public var isGood: Bool { self == .intact || self == .proven }
  }

  /// Without credentials.
  public var address: String
  public var path: FilePath
  /// Length in bytes when it was written.
  public var size: Int64
  public var validator: Validator
  /// Seconds since 1970 at which the server last vouched for it.
  public var fetchedAt: Int64
  /// As of the moment of listing; the last three only where the file was read.
  public var condition: Condition
  /// Why it is unreadable.
  public var failure: DownloadError?
  let key: RowKey
}

extension CacheEntry {
  init(_ row: CacheRow) {
    let there = FileIdentity.of(path: row.path)
    self.init(
      address: row.key.address, path: FilePath(row.path), size: row.identity.size,
      validator: row.validator, fetchedAt: row.fetchedAt,
      condition: there == row.identity ? .intact : there == nil ? .missing : .touched, key: row.key)
  }
}
