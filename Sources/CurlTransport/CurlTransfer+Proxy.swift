import CCurl
import DownloadModel

// What a proxy on the way says, seen by one transfer.

extension CurlTransfer {
  func proxyEnd(_ proxy: Proxy) -> ProxyEnd {
    ProxyEnd(
      address: proxy.address, connectStatus: easy.long(CURLINFO_HTTP_CONNECTCODE),
      offered: easy.long(CURLINFO_PROXYAUTH_AVAIL),
      error: CURLproxycode(UInt32(truncatingIfNeeded: easy.long(CURLINFO_PROXY_ERROR))),
      verifyResult: easy.long(CURLINFO_PROXY_SSL_VERIFYRESULT))
  }

  /// Whether an answer to a request that is not tunnelled is the proxy's own word on the login: a 407, which no server says
  /// (RFC 9110 §15.5.8), or the 401 that tinyproxy has for a wrong one.
  func isFromProxy(_ head: ResponseHead) -> Bool {
    guard let proxy = plainProxy else { return false }
    switch head.status {
    // What NO_PROXY names is connected to directly.
    case 407: return easy.long(CURLINFO_PRIMARY_PORT) == Int(proxy.address.port)
    case 401: return head["server"]?.utf8.starts(with: "tinyproxy/".utf8) == true
    default: return false
    }
  }

  /// Behind an answer of the proxy's there may be another, for which libcurl asks with the login. Only if none comes it is
  /// the end.
  /// - Returns: that the transfer goes on.
  func passOver(_ head: ResponseHead) -> Bool {
    guard let proxy = options.proxy, let current else { return false }
    assembler.expectAnother()
    let verdict = ProxyVerdict.login(offered: easy.long(CURLINFO_PROXYAUTH_AVAIL))
    wait(after: DownloadError(verdict, of: proxy.address, address: current.address))
    return true
  }

  /// Learns from a head that came through the proxy that it lets one through. Over plain http some statuses may be its
  /// own; in a tunnel all are the server's.
  func passed(_ head: ResponseHead) {
    guard let proxy = options.proxy else { return }
    let mayBeItsOwn = plainProxy != nil && (head.status >= 500 || [401, 403].contains(head.status))
    if !mayBeItsOwn { proxy.letThrough(offered: easy.long(CURLINFO_PROXYAUTH_AVAIL)) }
  }

  /// The same failure; if it is about the login, the whole run knows it from here on.
  func told(_ error: DownloadError) -> DownloadError {
    if error.isProxyLogin { options.proxy?.refuse(error) }
    return error
  }

  /// The proxy, if it reads the requests itself instead of handing bytes on.
  private var plainProxy: Proxy? {
    guard let proxy = options.proxy, current?.place.scheme == .http else { return nil }
    return proxy.address.scheme == .http || proxy.address.scheme == .https ? proxy : nil
  }
}
