import CCurl
import DownloadModel

/// What libcurl says of the proxy when a transfer has failed, as plain values.
struct ProxyEnd {
  var address: ProxyAddress
  /// CURLINFO_HTTP_CONNECTCODE: the proxy's last answer to CONNECT; 0 if there was none.
  var connectStatus = 0
  /// CURLINFO_PROXYAUTH_AVAIL: the schemes of login that it offered, as bits of CURLAUTH_…; 0 for what libcurl does not
  /// know.
  var offered = 0
  /// CURLINFO_PROXY_ERROR. libcurl 7.88 keeps that of an earlier transfer, so it counts beside CURLE_PROXY only.
  var error = CURLPX_OK
  /// CURLINFO_PROXY_SSL_VERIFYRESULT: what OpenSSL thinks of an https proxy's certificate; 0 for good.
  var verifyResult = 0
}

/// What the proxy's part in a failure was, and whether it may pass (http.md 40).
struct ProxyVerdict: Equatable {
  var answer: ProxyRefusal.Answer
  var isPassing: Bool

  /// - Returns: nil where the proxy had no part in it.
  init?(_ end: TransferEnd, text: String) {
    guard let proxy = end.proxy else { return nil }
    switch end.code {
    case CURLE_PROXY: self = Self.socks(proxy.error, text)
    case CURLE_RECV_ERROR where proxy.connectStatus >= 300 && !end.isAnswered:
      self = Self.connect(proxy.connectStatus, proxy.offered)
    case CURLE_COULDNT_RESOLVE_PROXY: self.init(.away(text), true)
    // All connections go to the proxy, but for what NO_PROXY names.
    case CURLE_COULDNT_CONNECT where text.contains("to \(proxy.address.host) port \(proxy.address.port) "),
      CURLE_COULDNT_RESOLVE_HOST where text.hasSuffix(": \(proxy.address.host)"):
      self.init(.away(text), true)
    case CURLE_PEER_FAILED_VERIFICATION, CURLE_SSL_CONNECT_ERROR:
      guard proxy.address.scheme == .https, proxy.verifyResult != 0 else { return nil }
      self.init(.insecure(text), false)
    default: return nil
    }
  }

  init(_ answer: ProxyRefusal.Answer, _ isPassing: Bool) {
    self.answer = answer
    self.isPassing = isPassing
  }

  /// An answer to CONNECT is judged by its status like any other.
  private static func connect(_ status: Int, _ offered: Int) -> ProxyVerdict {
    switch status {
    // tinyproxy's word for a wrong login is 401.
    case 401, 407: login(offered: offered)
    default: ProxyVerdict(.status(status), HTTPStatus.mayPass(status))
    }
  }

  /// A login that is wanted, or another one than was given.
  static func login(offered: Int) -> ProxyVerdict {
    offered == 0 || offered & Proxy.schemes != 0
      ? ProxyVerdict(.login, false)
      : ProxyVerdict(.misunderstood("it takes no login by Basic or Digest"), false)
  }

  private static func socks(_ error: CURLproxycode, _ text: String) -> ProxyVerdict {
    switch error {
    case CURLPX_USER_REJECTED, CURLPX_NO_AUTH, CURLPX_IDENTD, CURLPX_IDENTD_DIFFER, CURLPX_LONG_USER,
      CURLPX_LONG_PASSWD, CURLPX_GSSAPI, CURLPX_GSSAPI_PERMSG, CURLPX_GSSAPI_PROTECTION:
      ProxyVerdict(.login, false)
    case CURLPX_REPLY_NOT_ALLOWED: ProxyVerdict(.forbidden, false)
    // RFC 1928 §6, codes 1 and 3 to 6: of which the server may come back.
    case CURLPX_REPLY_GENERAL_SERVER_FAILURE: ProxyVerdict(.unreachable("general failure"), true)
    case CURLPX_REPLY_NETWORK_UNREACHABLE: ProxyVerdict(.unreachable("network unreachable"), true)
    case CURLPX_REPLY_HOST_UNREACHABLE: ProxyVerdict(.unreachable("host unreachable"), true)
    case CURLPX_REPLY_CONNECTION_REFUSED: ProxyVerdict(.unreachable("connection refused"), true)
    case CURLPX_REPLY_TTL_EXPIRED: ProxyVerdict(.unreachable("TTL expired"), true)
    // SOCKS4 has one code for whatever kept it from the server.
    case CURLPX_REQUEST_FAILED: ProxyVerdict(.unreachable("request rejected or failed"), true)
    case CURLPX_RESOLVE_HOST: ProxyVerdict(.unreachable(text), true)
    case CURLPX_CLOSED, CURLPX_RECV_ADDRESS, CURLPX_RECV_AUTH, CURLPX_RECV_CONNECT, CURLPX_RECV_REQACK,
      CURLPX_SEND_AUTH, CURLPX_SEND_CONNECT, CURLPX_SEND_REQUEST:
      ProxyVerdict(.away(text), true)
    default: ProxyVerdict(.misunderstood(text), false)
    }
  }

  /// What sort of failure it is of the file's: the server could not be reached, or the proxy will not have it.
  var code: DownloadError.Code {
    switch answer {
    case .insecure: .certificate
    default: isPassing ? .connect : .proxy
    }
  }
}

extension DownloadError {
  /// A proxy's refusal as a failure of the file.
  init(_ verdict: ProxyVerdict, of proxy: ProxyAddress, address: Address) {
    self.init(
      verdict.code,
      cause: .proxy(ProxyRefusal(proxy: proxy.name, hadLogin: proxy.hasLogin, answer: verdict.answer)),
      address: address.key, activity: "connecting", isPassing: verdict.isPassing)
  }

  /// Whether a proxy refused the user's login, or wants one.
  var isProxyLogin: Bool {
    if case .proxy(let refusal)? = cause { refusal.answer == .login } else { false }
  }
}
