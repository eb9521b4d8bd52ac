/// A content coding (RFC 9110 §8.4.1) that dlm can take off.
public enum ContentCoding: Sendable, Equatable {
  case gzip
  /// The zlib format; some servers send bare DEFLATE data under this name.
  case deflate
  case brotli

  /// - Parameter token: lower case.
  init?(_ token: some StringProtocol) {
    switch token {
    case "gzip", "x-gzip": self = .gzip
    case "deflate": self = .deflate
    case "br": self = .brotli
    default: return nil
    }
  }
}

extension ResponseHead {
  /// How a body is coded beside how it is stored at the origin (RFC 9110 §8.4).
  public enum BodyCoding: Sendable, Equatable {
    case none
    /// In the order in which they were applied.
    case known([ContentCoding])
    /// One of them is none that dlm knows, or there are absurdly many.
    case unknown
  }

  /// Each coding can blow up what the one below it gives.
  private static let mostCodings = 3

  /// What Content-Encoding says. dlm asks for `identity`, and some servers send something else all the same.
  public var bodyCoding: BodyCoding {
    guard let field = self["content-encoding"] else { return .none }
    let tokens = field.lowercased().split { $0 == "," || $0 == " " || $0 == "\t" }.filter { $0 != "identity" }
    guard !tokens.isEmpty else { return .none }
    let codings = tokens.compactMap { ContentCoding($0) }
    return codings.count == tokens.count && codings.count <= Self.mostCodings ? .known(codings) : .unknown
  }
}
