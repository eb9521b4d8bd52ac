package import DownloadModel
import FileReceiving
package import SystemPackage

/// Something about the cache that the user should know, although every download went on without it.
package struct CacheWarning: Sendable, Equatable {
  package enum Kind: String, Sendable, Equatable {
    /// The index was damaged; it was renamed to `path`, and a new one begins empty.
    case damagedIndexSetAside = "damaged-index-set-aside"
    /// The same of an index that another version of dlm made.
    case otherVersion = "other-version"
    /// The cache cannot be read or written; files are fetched without it.
    case unusable
    /// The cache cannot keep bytes of its own; the index works.
    case storeUnusable = "store-unusable"
    /// The older file at `path`, which might have been used where a server failed, could not be copied.
    case noStandIn = "no-stand-in"
    /// The part of an unfinished file could not be kept; a later run starts it over.
    case partialNotKept = "partial-not-kept"
    /// Other processes could not see what this one was downloading, and may have downloaded it too.
    case unseen
  }

  package var kind: Kind
  package var path: FilePath
  /// What the system or the database said; empty if it said nothing.
  package var detail: String

  init(_ kind: Kind = .unusable, path: FilePath, detail: String = "") {
    self.kind = kind
    self.path = path
    self.detail = detail
  }

  package init(_ kind: Kind = .unusable, _ failure: DownloadError) {
    self.init(kind, path: FilePath(failure.path ?? ""), detail: kind == .unusable ? "\(failure)" : failure.reason)
  }

  /// The secret of earlier runs could not be read.
  init(_ secret: UserSecret, _ failure: Errno) {
    self.init(path: secret.path, detail: Self.words(failure))
  }

  static func words(_ error: any Error) -> String {
    (error as? Errno) == .distrusted
      ? "it belongs to another user, or others can write to it, so it is not trusted" : "\(error)"
  }
}
