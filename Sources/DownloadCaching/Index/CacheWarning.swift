public import SystemPackage

/// Something about the cache that the user should know, although every download went on without it. The words
/// are the front door's.
public struct CacheWarning: Sendable, Equatable {
  public enum Kind: String, Sendable, Equatable {
    /// The index was damaged; it was renamed to `path`, and a new one begun.
    case damagedIndexSetAside = "damaged-index-set-aside"
    /// The index was made by a later version of dlm, and is left alone.
    case laterVersion = "later-version"
    /// The cache cannot be read or written; files are fetched without it.
    case unusable
    /// What came of a file that did not end could not be kept; it starts over another time.
    case partialNotKept = "partial-not-kept"
  }

  public var kind: Kind
  public var path: FilePath
  /// What the system or the database said; empty if it said nothing.
  public var detail: String

  public init(_ kind: Kind, path: FilePath, detail: String = "") {
    self.kind = kind
    self.path = path
    self.detail = detail
  }
}
