/// The subjects on which only dlm itself may send header lines, whoever else adds some: a user's `Range` would have
/// half a file taken for the whole.
public enum ReservedMatter: Sendable, Equatable {
  case proxyLogin, range, condition, coding, body

  /// - Parameter field: the name of a header field, in lower case.
  /// - Returns: nil for one that anybody may send.
  public init?(field: some StringProtocol) {
    switch field {
    case "proxy-authorization": self = .proxyLogin
    case "range", "if-range": self = .range
    case "if-none-match", "if-modified-since", "if-match", "if-unmodified-since": self = .condition
    case "accept-encoding": self = .coding
    case "content-length", "transfer-encoding", "expect": self = .body
    default: return nil
    }
  }
}
