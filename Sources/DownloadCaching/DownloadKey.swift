import DownloadModel

/// What makes two requests equal: the address with its credentials, and the name that the user chose.
struct DownloadKey: Sendable, Hashable {
  var address: Address
  var requested: String?
  /// Two askers that expect different bytes do not ask for the same.
  var checksum: ContentDigest?

  init(address: Address, requested: String?, checksum: ContentDigest? = nil) {
    self.address = address
    self.requested = requested
    self.checksum = checksum
  }

  init(_ request: DownloadRequest) {
    address = request.address
    requested = request.outputName
    checksum = request.checksum
  }

  /// By the address alone, which has its hash at hand: the rest hardly ever differs, and a file is looked up five times.
  func hash(into hasher: inout Hasher) { hasher.combine(address) }
}
