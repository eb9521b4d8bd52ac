package import SystemPackage

package struct CacheStatus: Equatable {
  /// Files that the index knows.
  package var entries: Int
  /// Size of the index and its log on the disk, as du(1) counts.
  package var indexBytes: Int64
  /// The same for the cache's own files (`FileStore`).
  package var storeBytes: Int64
  /// Bytes of the files that the index knows, including changed and missing ones.
  package var fileBytes: Int64
  package var folder: FilePath
}
