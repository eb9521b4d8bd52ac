/// The value of an option that may be for one host: `VALUE` or `HOST=VALUE`.
package struct ValueForHost: Sendable, Equatable {
  /// In lower case, with its port if that was given; `nil` for every host.
  package let host: String?
  package let value: String

  /// - Returns: `nil` for a host that is empty, or a URL.
  package init?(_ text: String) {
    let (first, second) = text.halves(at: "=")
    host = second == nil ? nil : OptionalWhiteSpace.trimmed(first).lowercased()
    value = String(OptionalWhiteSpace.trimmed(second ?? first))
    if host?.isEmpty == true || host?.contains("/") == true { return nil }
  }

  package func isFor(_ address: Address) -> Bool { host == nil || host == address.host || host == address.hostAndPort }
}
