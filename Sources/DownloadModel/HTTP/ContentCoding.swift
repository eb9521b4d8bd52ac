/// A content coding (RFC 9110 §8.4.1) that dlm can remove.
package enum ContentCoding: Sendable {
  case gzip
  /// The zlib format; some servers send raw DEFLATE data under this name.
  case deflate
  case brotli
  /// Only for lists.
  case zstd, xz

  init?(_ token: some StringProtocol) {
    switch token {
    case "gzip", "x-gzip": self = .gzip
    case "deflate": self = .deflate
    case "br": self = .brotli
    default: return nil
    }
  }
}
