import DownloadModel

/// What makes two requests equal: the address with its credentials, and the name that the user chose.
struct DownloadKey: Sendable, Hashable {
  var address: Address
  var requested: String?

  init(address: Address, requested: String?) {
    self.address = address
    self.requested = requested
  }

  init(_ request: DownloadRequest) {
    address = request.address
    requested = request.outputName
  }
}
