import DownloadCaching
import DownloadModel
import FileReceiving
import Synchronization
import SystemPackage

/// Something that went wrong with the cache, and failed no download.
public struct DownloadWarning: Sendable, Equatable {
  /// A word for programs, such as `unusable`.
  public let kind: String
  /// The folder or file of the cache.
  public let path: String
  /// The cause, where there is more to say.
  public let detail: String

  init(_ warning: CacheWarning) { (kind, path, detail) = (warning.kind.rawValue, warning.path.string, warning.detail) }
}
