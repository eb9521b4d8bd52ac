public import DownloadModel

/// One file to download: its address, and what is wanted of it.
public struct DownloadItem: Sendable, Hashable, ExpressibleByStringLiteral {
  /// Absolute, `http` or `https`. It may have a login (`https://user:secret@host/`), which is sent and never shown.
  public var address: String
  /// The name of the file in the session's folder; nil for the one that the server or the address gives.
  public var name: String?
  /// The checksum that the file must have.
  public var checksum: ContentDigest?

  public init(_ address: String, name: String? = nil, checksum: ContentDigest? = nil) {
    (self.address, self.name, self.checksum) = (address, name, checksum)
  }

  public init(stringLiteral address: String) { self.init(address) }
}
