package import DownloadModel
import FileReceiving
import Glibc
package import SystemPackage

/// A file that is not whole yet, as it waits in its folder for the next run (`StagedFile`).
package struct UnfinishedFile: Sendable, Equatable {
  package var address: String
  /// Whether it was asked for with a login or with header lines of its own.
  package var isKeyed: Bool
  package var path: FilePath
  /// Bytes of the body that are there.
  package var bytes: Int64
  /// Length of the whole file in bytes; nil if the server did not say.
  package var total: Int64?
  package var validator: Validator
}
