import DownloadModel

/// Whom a partial file belongs to: an address, asked for with certain credentials or none.
struct PartialOwner: Sendable, Equatable, Codable {
  /// Without credentials.
  var address: String
  /// See `CredentialScope`.
  var scope: String
}
