import CCurl
import DownloadModel

/// libcurl's options for FTP on an easy handle that other schemes use, too.
struct FTPOptions: ~Copyable {
  /// Kept as long as libcurl points to it.
  private var commands: HeaderLines?

  /// Sets the options for one transfer, or, for another scheme, those that would change its meaning.
  mutating func set(
    _ request: TransferRequest, to address: Address, requiresTLS: Bool, on easy: borrowing EasyHandle
  ) throws(CurlFailure) {
    let isFTP = address.scheme.isFTP
    guard isFTP || commands != nil else { return }
    // Otherwise libcurl believes SIZE and stops there, even if the server sends more.
    try easy.set(CURLOPT_IGNORE_CONTENT_LENGTH, isFTP ? 1 : 0)
    try easy.set(CURLOPT_FILETIME, isFTP ? 1 : 0)
    let usesTLS = requiresTLS || address.scheme == .ftpes
    try easy.set(CURLOPT_USE_SSL, Int((usesTLS ? CURLUSESSL_ALL : CURLUSESSL_NONE).rawValue))
    try easy.set(CURLOPT_SERVER_RESPONSE_TIMEOUT, 0)
    // Through a tunnel, because an HTTP proxy would answer with its own pages and headers.
    try easy.set(CURLOPT_HTTPPROXYTUNNEL, isFTP ? 1 : 0)
    let name = PercentEncoding.decode(address.lastPathSegment) ?? Array(address.lastPathSegment.utf8)
    let commands = try HeaderLines(
      bytes: isFTP && !name.isEmpty ? FTPReplies.commands(for: name, from: request.rangeStart) : [])
    try easy.set(CURLOPT_PREQUOTE, list: commands)
    self.commands = isFTP ? consume commands : nil
  }

  /// libcurl waits on the loop's thread for the reply behind the data, which a server sends at once or not at all.
  func expectLastReply(on easy: borrowing EasyHandle) throws(CurlFailure) {
    if commands != nil { try easy.set(CURLOPT_SERVER_RESPONSE_TIMEOUT, Self.lastReply) }
  }

  /// Seconds.
  private static let lastReply = 2
}
