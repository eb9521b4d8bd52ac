/// `ReceivingRules` behind a reference, because they are large and every download holds them.
package final class SharedRules: Sendable {
  let rules: ReceivingRules
  /// Whether requests may be sent: false with `--offline` or `only-if-cached` (RFC 9111 §5.2.1.7).
  package let mayAsk: Bool
  let cacheControlLine: String?

  /// - Parameter cacheControl: the value of Cache-Control in each request; `nil` for no field.
  package init(_ rules: ReceivingRules, mayAsk: Bool, cacheControl: String?) {
    self.rules = rules
    self.mayAsk = mayAsk
    cacheControlLine = cacheControl.map { "Cache-Control: \($0)" }
  }
}
