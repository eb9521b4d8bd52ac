package import DownloadModel
import FileReceiving
package import SystemPackage

/// A problem with the cache that the user should know, although no download failed because of it.
package struct CacheWarning: Equatable {
  package enum Kind: String {
    /// The index was damaged; it was renamed to `path`, and a new empty one is used.
    case damagedIndexSetAside = "damaged-index-set-aside"
    /// The same for an index of another version of dlm.
    case otherVersion = "other-version"
    /// The cache cannot be read or written; files are downloaded without it.
    case unusable
    /// The cache cannot keep bytes of its own; the index works.
    case storeUnusable = "store-unusable"
    /// The older file at `path`, which could have been used when a server failed, could not be copied.
    case noStandIn = "no-stand-in"
    /// The part of an unfinished file could not be kept; a later run starts it over.
    case partialNotKept = "partial-not-kept"
    /// Other processes could not see what this one was downloading, and may have downloaded it too.
    case unseen
  }

  package var kind: Kind
  package var path: FilePath
  /// The message of the system or the database; empty without one.
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
