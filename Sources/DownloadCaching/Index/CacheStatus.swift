public import SystemPackage

/// How the cache stands (`dlm cache status`).
public struct CacheStatus: Sendable, Equatable {
  /// Files that the index knows.
  public var entries: Int
  /// Bytes that the cache folder itself takes: index, its log, journals.
  public var indexBytes: Int64
  /// Bytes of the files that the index knows, wherever they stand; touched or missing ones included.
  public var fileBytes: Int64
  public var folder: FilePath

  public init(entries: Int, indexBytes: Int64, fileBytes: Int64, folder: FilePath) {
    self.entries = entries
    self.indexBytes = indexBytes
    self.fileBytes = fileBytes
    self.folder = folder
  }
}
