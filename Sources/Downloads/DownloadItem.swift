public import DownloadModel

/// One file to download: its URL, and how to download it.
public struct DownloadItem: Sendable, Hashable, ExpressibleByStringLiteral {
  /// Absolute, `http` or `https`. A login in it (`https://user:secret@host/`) is sent and never shown.
  public var address: String
  /// The name of the file in the session's folder; `nil` for the one that the server or the URL gives.
  public var name: String?
  /// The checksum that the file must have.
  public var checksum: ContentDigest?
  /// `Name: value`, sent only to this URL's origin, in addition to the session's. Equal URLs in flight are downloaded
  /// once, with the lines of the first.
  public var headerLines: [String] = []
  /// Other URLs of the same file, tried in this order after its own has failed. For an https URL, an http mirror needs
  /// a `checksum` by SHA-2 or better.
  public var mirrors: [String] = []
  /// Whether it goes before the others of its list, if the list is a collection.
  public var isFirst = false

  /// - Parameter address: checked when the item is downloaded.
  public init(_ address: String, name: String? = nil, checksum: ContentDigest? = nil) {
    self.address = address
    self.name = name
    self.checksum = checksum
  }

  public init(stringLiteral address: String) { self.init(address) }
}
