package import DownloadModel

/// The user's settings for connections; the same for every transfer of a transport.
package struct TransportOptions: Sendable {
  /// The settings on which an answer depends.
  package var trust: Trust
  /// CURLOPT_CONNECTTIMEOUT_MS.
  package var connectTimeout: Duration = .seconds(10)
  /// A transfer has stalled if no byte arrives for this time after its connection is up.
  package var stallTimeout: Duration = .seconds(30)
  /// The lowest rate of a file in bytes a second, over each `rateWindow`; `nil` for no lower limit.
  package var leastRate: Int64?
  package var rateWindow: Duration = .seconds(30)
  package var network = NetworkOptions()
  package var ssh = SSHUser()
  package var storage = S3Storage()
  /// The most redirects that a request may follow.
  package var mostRedirects = 20
  /// Shared by all transports of a run. libcurl's own variables are ignored, except `NO_PROXY`.
  package var proxies: [Address.Scheme: Proxy] = [:]
  /// Shared by all transports of a run; `nil` for a run that keeps no cookies.
  package var cookieJar: CookieJar?
  /// Requests HTTP/2 over TLS. Off by default, because libcurl below 8.4 does not handle its bodies reliably.
  package var usesHTTP2 = false
  /// The most parallel transfers for which connections are kept.
  package var width = 64
  package var limits = RateLimits()
  /// Statuses that are a refusal of their host, like 429 and 503.
  package var retryOn: [ThrottlingStatuses] = []
  /// Shared by all transports of a run, which join it in the order in which they are made.
  package var group = TransportGroup()
  /// Called on the loop's thread when a transfer has ended; `nil` for a run without a report.
  package var onTransfer: (@Sendable (TransferTimes) -> Void)?
  /// How long a host's rate must be too low to have collapsed (`HostPace`), and the lookup of its addresses; variable
  /// for tests.
  var collapseTime: Duration = .seconds(5)
  var lookUp: @Sendable (_ host: String) async -> [String] = systemAddresses

  package init(userAgent: String) { trust = Trust(userAgent: userAgent) }
}

extension Duration {
  /// The unit of the loop's clock.
  var nanoseconds: UInt64 { UInt64((self / .nanoseconds(1)).rounded()) }
}
