import CCurl
import DownloadModel

/// libcurl's options for FTP.
struct FTPOptions: ~Copyable {
  /// Kept as long as libcurl points to it.
  private var commands: HeaderLines?

  /// Handles for FTP are used for SSH, too, which takes none of these options.
  mutating func set(
    _ request: TransferRequest, to address: Address, requiresTLS: Bool, on easy: borrowing EasyHandle
  ) throws(CurlFailure) {
    guard address.scheme.isFTP else { return }
    // Otherwise libcurl believes SIZE and stops there, even if the server sends more.
    try easy.set(CURLOPT_IGNORE_CONTENT_LENGTH, 1)
    try easy.set(CURLOPT_FILETIME, 1)
    let usesTLS = requiresTLS || address.scheme == .ftpes
    try easy.set(CURLOPT_USE_SSL, Int((usesTLS ? CURLUSESSL_ALL : CURLUSESSL_NONE).rawValue))
    try easy.set(CURLOPT_SERVER_RESPONSE_TIMEOUT, 0)
    // Through a tunnel, because an HTTP proxy would answer with its own pages and headers.
    try easy.set(CURLOPT_HTTPPROXYTUNNEL, 1)
    let name = PercentEncoding.decode(address.lastPathSegment)
    let commands = try HeaderLines(bytes: name.isEmpty ? [] : FTPReplies.commands(for: name, from: request.rangeStart))
    try easy.set(CURLOPT_PREQUOTE, list: commands)
    self.commands = consume commands
  }

  /// libcurl waits on the loop's thread for the reply behind the data, which a server sends at once or not at all.
  func expectLastReply(on easy: borrowing EasyHandle) throws(CurlFailure) {
    if commands != nil { try easy.set(CURLOPT_SERVER_RESPONSE_TIMEOUT, Self.lastReply) }
  }

  /// Seconds.
  private static let lastReply = 2
}
