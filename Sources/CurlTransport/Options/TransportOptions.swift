import CCurl
package import DownloadModel
import Synchronization

/// The user's settings for connections; the same for every transfer of a transport.
@dynamicMemberLookup
package struct TransportOptions: Sendable {
  /// All that an answer depends on.
  package var trust: Trust
  /// CURLOPT_CONNECTTIMEOUT_MS.
  package var connectTimeout: Duration = .seconds(10)
  /// A transfer has stalled if no byte comes for this time, once its connection is up.
  package var stallTimeout: Duration = .seconds(30)
  /// Bytes a second that a file must bring, over each such window; nil for any rate.
  package var leastRate: Int64?
  package var rateWindow: Duration = .seconds(30)
  /// Used by all transports of a run. libcurl's own variables are ignored, except `NO_PROXY`.
  package var proxies: [Address.Scheme: Proxy] = [:]
  /// Used by all transports of a run; nil for a run that keeps no cookies.
  package var cookieJar: CookieJar?
  /// Asks for HTTP/2 over TLS. Off by default, because libcurl below 8.4 does not handle its bodies reliably.
  package var usesHTTP2 = false
  /// How long further transfers to a new host wait at most for a connection that they may share (HTTP/2).
  package var sharingWait: Duration = .milliseconds(30)
  /// For how many transfers at a time connections are kept, at most.
  package var width = 64
  /// Used by all transports of a run; nil for no limit.
  package var rateLimit: RateLimiter?
  /// Statuses that are a refusal of their host, as 429 and 503 are.
  package var retryOn: [ThrottlingStatuses] = []
  /// Used by all transports of a run, which join it in the order in which they are made.
  package var group = TransportGroup()
  /// Called on the loop's thread when a transfer has ended; nil for a run without a report.
  package var onTransfer: (@Sendable (TransferTimes) -> Void)?
  /// For how long a host must bring too little to have collapsed (`HostPace`), and who knows its addresses: for tests.
  var collapseTime: Duration = .seconds(5)
  var lookUp: @Sendable (_ host: String) async -> [String] = HostPace.addresses

  package init(userAgent: String) { trust = Trust(userAgent: userAgent) }

  package subscript<Value>(dynamicMember setting: WritableKeyPath<Trust, Value>) -> Value {
    get { trust[keyPath: setting] }
    set { trust[keyPath: setting] = newValue }
  }
}

extension Duration {
  /// Whole milliseconds, at least one for any time above zero.
  var milliseconds: Int {
    let (seconds, attoseconds) = components
    let value = Int(seconds) * 1000 + Int(attoseconds / 1_000_000_000_000_000)
    return value == 0 && self > .zero ? 1 : value
  }
}
