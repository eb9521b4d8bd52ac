/// What clearing or pruning the cache gave back. No downloaded file is ever part of it.
public struct Freed: Sendable, Equatable {
  /// Files that the index no longer knows.
  public var entries: Int
  /// Bytes that the cache folder takes less.
  public var bytes: Int64
  /// Journals of ended processes that were removed.
  public var journals: Int

  public init(entries: Int, bytes: Int64, journals: Int = 0) {
    self.entries = entries
    self.bytes = bytes
    self.journals = journals
  }
}
