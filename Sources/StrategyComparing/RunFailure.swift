public import DownloadModel

/// A file that a run did not get.
public struct RunFailure: Sendable, Equatable {
  /// Without credentials.
  public var address: String
  public var error: DownloadError

  public init(address: String, error: DownloadError) {
    self.address = address
    self.error = error
  }
}
