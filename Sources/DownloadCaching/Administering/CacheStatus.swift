import DownloadModel
import FileReceiving
import Glibc
package import SystemPackage

package struct CacheStatus: Sendable, Equatable {
  /// Files that the index knows.
  package var entries: Int
  /// What the index and its log take on the disk, as du(1) counts.
  package var indexBytes: Int64
  /// The same for the bodies that the cache owns itself.
  package var storeBytes: Int64
  /// Bytes of the files that the index knows, wherever they stand; touched or missing ones included.
  package var fileBytes: Int64
  package var folder: FilePath
}
