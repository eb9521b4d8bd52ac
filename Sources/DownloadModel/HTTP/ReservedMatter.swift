/// The subjects for which only dlm may send header lines: with a user's `Range`, half a file would count as complete.
package enum ReservedMatter: Sendable {
  case proxyLogin, range, condition, coding, body

  /// `nil` for a field, in lower case, that users and lists may send.
  package init?(field: some StringProtocol) {
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
