import CCurl
import DownloadModel
import Glibc

/// libcurl's result of a transfer as plain values, from which a `DownloadError` is made.
struct TransferEnd {
  var code: CURLcode
  /// CURLOPT_ERRORBUFFER; empty when libcurl had nothing to add.
  var message = ""
  /// CURLINFO_OS_ERRNO of a failed connect, send or receive.
  var errno: Int32 = 0
  /// Whether a final head has come.
  var isAnswered = false
  /// Whether it reused a connection (CURLINFO_NUM_CONNECTS of 0).
  var reusedConnection = false
  /// What this machine was short of when the transfer could not begin (EMFILE, ENFILE). libcurl reports that as a
  /// failed connection, a host without an address, or a bad file of certificates.
  var shortage: Int32?
  /// Nil without a proxy.
  var proxy: ProxyEnd?

  /// Whether the code may mean that no descriptor could be opened.
  static func mayBeShortage(_ code: CURLcode) -> Bool {
    switch code {
    case CURLE_COULDNT_CONNECT, CURLE_COULDNT_RESOLVE_HOST, CURLE_COULDNT_RESOLVE_PROXY,
      CURLE_SSL_CACERT_BADFILE, CURLE_SSL_CONNECT_ERROR, CURLE_OUT_OF_MEMORY, CURLE_FAILED_INIT:
      true
    default: false
    }
  }
}

extension DownloadError {
  /// Makes a typed failure of every libcurl result but CURLE_OK; temporary or permanent by HTTP rule 11.
  init(_ end: TransferEnd, address: Address) {
    let text = end.message.isEmpty ? String(cString: curl_easy_strerror(end.code)) : end.message
    let kind = Self.kind(end)
    if let shortage = end.shortage {
      self.init(.resources, cause: .errno(shortage), address: address.key, activity: kind.activity, isTransient: true)
      return
    }
    if let proxy = end.proxy, let verdict = ProxyVerdict(end, text: text) {
      self.init(verdict, of: proxy.address, address: address)
      return
    }
    self.init(
      kind.code, cause: .curl(code: Int32(end.code.rawValue), message: text), address: address.key,
      activity: kind.activity, isTransient: kind.isTransient, isStaleConnection: Self.isStaleConnection(end),
      wasTurnedAway: Self.wasTurnedAway(end))
  }

  /// Whether the server accepted the connection, which was made for this request, and closed it before any answer, as
  /// servers do that have enough connections.
  private static func wasTurnedAway(_ end: TransferEnd) -> Bool {
    guard !end.isAnswered, !end.reusedConnection else { return false }
    return switch end.code {
    case CURLE_SEND_ERROR, CURLE_RECV_ERROR, CURLE_GOT_NOTHING: true
    case CURLE_SSL_CONNECT_ERROR: breaksHandshake(end)
    default: false
    }
  }

  /// Whether the other side closed the connection in the middle of a handshake, as a server does that is killed: with a
  /// reset or, by OpenSSL's words, an end of the stream.
  private static func breaksHandshake(_ end: TransferEnd) -> Bool {
    end.errno == ECONNRESET || end.errno == EPIPE || end.message.contains("SSL_ERROR_SYSCALL")
      || end.message.contains("unexpected eof")
  }

  /// Whether the request failed on a stale connection. Besides a reused one that was closed, HTTP/2 errors count, which
  /// happen on connections with several transfers: nginx, for one, closes an HTTP/2 connection after a thousand
  /// requests, and the requests in flight then fail with one of these.
  private static func isStaleConnection(_ end: TransferEnd) -> Bool {
    guard !end.isAnswered else { return false }
    return switch end.code {
    case CURLE_HTTP2, CURLE_HTTP2_STREAM: true
    case CURLE_SEND_ERROR, CURLE_RECV_ERROR, CURLE_GOT_NOTHING: end.reusedConnection
    default: false
    }
  }

  /// A TLS 1.3 server rejects the client's certificate only after the handshake (RFC 8446 §4.4.2.4), so that it looks
  /// like a connection that broke.
  private static func refusesClient(_ end: TransferEnd) -> Bool {
    switch end.code {
    case CURLE_SSL_CONNECT_ERROR, CURLE_RECV_ERROR, CURLE_SEND_ERROR:
      clientAlerts.contains { end.message.contains("alert \($0)") }
    default: false
    }
  }

  /// OpenSSL's words for the alerts of RFC 8446 §6.2 that only a server has reason to send.
  private static let clientAlerts = [
    "certificate required", "bad certificate", "unsupported certificate", "certificate revoked",
    "certificate expired", "certificate unknown", "unknown ca",
  ]

  /// CURLE_TOO_LARGE, which the headers of libcurl 7.88 do not define (8.6 does).
  private static let tooLarge = CURLcode(rawValue: 100)

  private static func kind(_ end: TransferEnd) -> (code: Code, activity: String, isTransient: Bool) {
    if refusesClient(end) { return (.clientCertificate, "connecting", false) }
    return switch end.code {
    case CURLE_URL_MALFORMAT: (.badAddress, "reading the address", false)
    case CURLE_COULDNT_RESOLVE_HOST, CURLE_COULDNT_RESOLVE_PROXY: (.resolve, "looking up the host", true)
    case CURLE_COULDNT_CONNECT: (.connect, "connecting", true)
    // CURLOPT_CONNECTTIMEOUT_MS: no other time limit is set (see StallWatch), also after a redirect.
    case CURLE_OPERATION_TIMEDOUT: (.timeout, "connecting", true)
    case CURLE_PARTIAL_FILE: (.shortBody, "receiving", true)
    case CURLE_GOT_NOTHING, CURLE_SEND_ERROR, CURLE_RECV_ERROR, CURLE_HTTP2, CURLE_HTTP2_STREAM:
      (.reset, "receiving", true)
    case CURLE_SSL_CONNECT_ERROR:
      // A handshake that the network broke is a temporary failure; a disagreement of the two sides is permanent.
      (.tls, "connecting", breaksHandshake(end))
    case CURLE_SSL_CERTPROBLEM: (.clientCertificate, "connecting", false)
    case CURLE_SSL_PINNEDPUBKEYNOTMATCH: (.pinnedKey, "connecting", false)
    case CURLE_PEER_FAILED_VERIFICATION, CURLE_SSL_CACERT_BADFILE,
      CURLE_SSL_CIPHER, CURLE_SSL_ISSUER_ERROR,
      CURLE_SSL_INVALIDCERTSTATUS, CURLE_SSL_CRL_BADFILE:
      (.certificate, "connecting", false)
    case CURLE_UNSUPPORTED_PROTOCOL, CURLE_WEIRD_SERVER_REPLY, CURLE_BAD_CONTENT_ENCODING,
      CURLE_FILESIZE_EXCEEDED, CURLE_RANGE_ERROR,
      tooLarge:
      (.badResponse, "reading the answer", false)
    default: (.transport, "transferring", false)
    }
  }
}

/// What libcurl reports about the proxy when a transfer has failed, as plain values.
struct ProxyEnd {
  var address: ProxyAddress
  /// CURLINFO_HTTP_CONNECTCODE: the proxy's last answer to CONNECT; 0 if there was none.
  var connectStatus = 0
  /// CURLINFO_PROXYAUTH_AVAIL: the login schemes that it offered, as bits of CURLAUTH_…; 0 if libcurl does not know.
  var offered = 0
  /// CURLINFO_PROXY_ERROR. libcurl 7.88 keeps that of an earlier transfer, so it counts only with CURLE_PROXY.
  var error = CURLPX_OK
  /// CURLINFO_PROXY_SSL_VERIFYRESULT: OpenSSL's verdict on an https proxy's certificate; 0 for good.
  var verifyResult = 0
}

/// What the proxy did in a failure, and whether the failure is temporary (HTTP rule 40).
struct ProxyVerdict: Equatable {
  var answer: ProxyRefusal.Answer
  var isTransient: Bool

  /// - Returns: nil if the failure is not the proxy's.
  init?(_ end: TransferEnd, text: String) {
    guard let proxy = end.proxy else { return nil }
    switch end.code {
    case CURLE_PROXY: self = Self.socks(proxy.error, text)
    case CURLE_RECV_ERROR where proxy.connectStatus >= 300 && !end.isAnswered:
      self = Self.connect(proxy.connectStatus, proxy.offered)
    case CURLE_COULDNT_RESOLVE_PROXY: self.init(.away(text), true)
    // All connections go to the proxy, except to hosts in NO_PROXY.
    case CURLE_COULDNT_CONNECT where text.contains("to \(proxy.address.host) port \(proxy.address.port) "),
      CURLE_COULDNT_RESOLVE_HOST where text.hasSuffix(": \(proxy.address.host)"):
      self.init(.away(text), true)
    case CURLE_PEER_FAILED_VERIFICATION, CURLE_SSL_CONNECT_ERROR:
      guard proxy.address.scheme == .https, proxy.verifyResult != 0 else { return nil }
      self.init(.insecure(text), false)
    default: return nil
    }
  }

  init(_ answer: ProxyRefusal.Answer, _ isTransient: Bool) {
    self.answer = answer
    self.isTransient = isTransient
  }

  /// An answer to CONNECT is judged by its status, like any other.
  private static func connect(_ status: Int, _ offered: Int) -> ProxyVerdict {
    switch status {
    // tinyproxy answers a wrong login with 401.
    case 401, 407: login(offered: offered)
    default: ProxyVerdict(.status(status), HTTPStatus.isTransient(status))
    }
  }

  /// The proxy requires a login, or another one than was given.
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
    // RFC 1928 §6, codes 1 and 3 to 6: failures after which the server may be reachable again.
    case CURLPX_REPLY_GENERAL_SERVER_FAILURE: ProxyVerdict(.unreachable("general failure"), true)
    case CURLPX_REPLY_NETWORK_UNREACHABLE: ProxyVerdict(.unreachable("network unreachable"), true)
    case CURLPX_REPLY_HOST_UNREACHABLE: ProxyVerdict(.unreachable("host unreachable"), true)
    case CURLPX_REPLY_CONNECTION_REFUSED: ProxyVerdict(.unreachable("connection refused"), true)
    case CURLPX_REPLY_TTL_EXPIRED: ProxyVerdict(.unreachable("TTL expired"), true)
    // SOCKS4 has one code for every reason why it could not reach the server.
    case CURLPX_REQUEST_FAILED: ProxyVerdict(.unreachable("request rejected or failed"), true)
    case CURLPX_RESOLVE_HOST: ProxyVerdict(.unreachable(text), true)
    case CURLPX_CLOSED, CURLPX_RECV_ADDRESS, CURLPX_RECV_AUTH, CURLPX_RECV_CONNECT, CURLPX_RECV_REQACK,
      CURLPX_SEND_AUTH, CURLPX_SEND_CONNECT, CURLPX_SEND_REQUEST:
      ProxyVerdict(.away(text), true)
    default: ProxyVerdict(.misunderstood(text), false)
    }
  }

  /// The code of the file's failure: the server could not be reached, or the proxy refuses.
  var code: DownloadError.Code {
    switch answer {
    case .insecure: .certificate
    default: isTransient ? .connect : .proxy
    }
  }
}

extension DownloadError {
  /// A proxy's refusal, as a failure of the file.
  init(_ verdict: ProxyVerdict, of proxy: ProxyAddress, address: Address) {
    self.init(
      verdict.code, cause: .proxy(ProxyRefusal(proxy: proxy.name, hadLogin: proxy.hasLogin, answer: verdict.answer)),
      address: address.key, activity: "connecting", isTransient: verdict.isTransient)
  }

  /// Whether a proxy refused the user's login, or requires one.
  var isProxyLogin: Bool {
    if case .proxy(let refusal)? = self.cause { refusal.answer == .login } else { false }
  }
}
