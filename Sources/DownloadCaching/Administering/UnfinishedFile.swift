package import DownloadModel
package import SystemPackage

/// An incomplete file that waits in its folder for the next run (`StagedFile`).
package struct UnfinishedFile: Equatable {
  package var address: String
  /// Whether it was requested with credentials, header lines, a certificate, or unusual checks of the server.
  package var isKeyed: Bool
  package var path: FilePath
  /// Bytes of the body on the disk.
  package var bytes: Int64
  /// Length of the complete file in bytes; `nil` if unknown.
  package var total: Int64?
  package var validator: Validator
}
