import DownloadModel

/// The user's limits on how many requests a host gets in a time (`--rate`), as the time between the starts of two.
package struct RequestRates: Sendable {
  /// For hosts without a limit of their own; `nil` for none.
  package var interval: Duration?
  /// By host, or by host and port.
  package var hosts: [String: Duration] = [:]

  package init() {}

  var isEmpty: Bool { interval == nil && hosts.isEmpty }

  func interval(of place: Address) -> Duration? { hosts[place.hostAndPort] ?? hosts[place.host] ?? interval }
}
