import DownloadCaching
import SystemPackage

/// A problem with the cache that failed no download.
public struct DownloadWarning: Sendable, Equatable {
  /// A word for programs, such as `unusable`.
  public let kind: String
  /// The folder or file of the cache.
  public let path: String
  /// The cause; empty if there is nothing to add.
  public let detail: String

  init(_ warning: CacheWarning) { (kind, path, detail) = (warning.kind.rawValue, warning.path.string, warning.detail) }
}
