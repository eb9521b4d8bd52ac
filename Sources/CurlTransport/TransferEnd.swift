import CCurl
import DownloadModel
import Glibc

struct TransferEnd {
  fileprivate let code: CURLcode
  /// CURLOPT_ERRORBUFFER; empty when libcurl had nothing to add.
  private let message: String
  /// CURLINFO_OS_ERRNO of a failed connect, send or receive.
  private let errno: Int32
  fileprivate let isAnswered: Bool
  private let isConnected: Bool
  private let reusedConnection: Bool
  /// CURLINFO_HTTP_CONNECTCODE: the proxy's last answer to CONNECT; 0 if there was none.
  fileprivate let connectStatus: Int
  /// CURLINFO_PROXYAUTH_AVAIL: the login schemes that the proxy offered; 0 if libcurl does not know.
  fileprivate let offered: Int
  /// CURLINFO_PROXY_ERROR. libcurl 7.88 keeps the value of an earlier transfer, so it counts only with CURLE_PROXY.
  fileprivate let proxyError: CURLproxycode
  /// CURLINFO_SSL_VERIFYRESULT, and the same of an https proxy: OpenSSL's verdicts on their certificates; 0 if valid.
  private let verifyResult: Int
  fileprivate let proxyVerifyResult: Int

  init(_ code: CURLcode, _ message: String, of easy: borrowing EasyHandle, isAnswered: Bool) {
    self.code = code
    self.message = message
    self.isAnswered = isAnswered
    isConnected = easy.isConnected
    errno = Int32(truncatingIfNeeded: easy.long(CURLINFO_OS_ERRNO))
    reusedConnection = easy.reusedConnection
    connectStatus = easy.long(CURLINFO_HTTP_CONNECTCODE)
    offered = easy.long(CURLINFO_PROXYAUTH_AVAIL)
    proxyError = CURLproxycode(UInt32(truncatingIfNeeded: easy.long(CURLINFO_PROXY_ERROR)))
    verifyResult = easy.long(CURLINFO_SSL_VERIFYRESULT)
    proxyVerifyResult = easy.long(CURLINFO_PROXY_SSL_VERIFYRESULT)
  }

  fileprivate var text: String {
    if hasLongLine { return "a header line of more than 100 KiB" }
    return message.isEmpty ? CurlFailure(code).message : message
  }

  /// libcurl 7.88 keeps at most 100 KiB of a header line, and calls a longer one a lack of memory.
  private var hasLongLine: Bool { code == CURLE_OUT_OF_MEMORY && isConnected && !isAnswered }

  /// The error for every code but CURLE_OK; temporary or permanent by HTTP rule 11.
  func error(at address: Address, through proxy: ProxyAddress?) -> DownloadError {
    let kind = kind
    if let shortage {
      return DownloadError(
        .resources, cause: .errno(shortage), address: address.key, activity: kind.activity, isTransient: true)
    }
    if let proxy, let verdict = ProxyVerdict(self, of: proxy) {
      return DownloadError(verdict, of: proxy, address: address)
    }
    let isCertificate = kind.code == .certificate
    return DownloadError(
      kind.code,
      cause: isCertificate ? .certificate(fault, message: text) : .curl(code: Int32(code.rawValue), message: text),
      address: address.key,
      activity: kind.activity, isTransient: kind.isTransient, isStaleConnection: isStaleConnection,
      wasTurnedAway: wasTurnedAway)
  }

  /// The resource that this machine lacks (EMFILE, ENFILE). libcurl reports it as a failed connection or lookup, or a
  /// bad file of certificates. It does not pass on the result of socket(2) or open(2), so a descriptor is opened here.
  private var shortage: Int32? {
    switch code {
    case CURLE_COULDNT_CONNECT, CURLE_COULDNT_RESOLVE_HOST, CURLE_COULDNT_RESOLVE_PROXY, CURLE_SSL_CACERT_BADFILE,
      CURLE_SSL_CONNECT_ERROR, CURLE_OUT_OF_MEMORY, CURLE_FAILED_INIT:
      let descriptor = open("/dev/null", O_RDONLY | O_CLOEXEC)
      if descriptor < 0 { return DownloadError.isShortage(Glibc.errno) ? Glibc.errno : nil }
      close(descriptor)
      return SpareDescriptors.include(descriptor) ? EMFILE : nil
    // From the callback that checks new sockets.
    case CURLE_ABORTED_BY_CALLBACK: return EMFILE
    default: return nil
    }
  }

  private var fault: CertificateFault {
    if code == CURLE_SSL_CACERT_BADFILE { return .badAuthorities }
    // libcurl compares the names itself, after OpenSSL's verdict.
    if text.contains("target host") { return .otherHost }
    return Self.faults[verifyResult] ?? (code == CURLE_SSL_CRL_BADFILE ? .unknownRevocation : .other)
  }

  /// X509_V_ERR_… (x509_vfy.h).
  private static let faults: [Int: CertificateFault] = [
    9: .notYetValid, 10: .expired, 18: .selfSigned, 23: .revoked, 2: .unknownIssuer, 19: .unknownIssuer,
    20: .unknownIssuer, 21: .unknownIssuer, 3: .unknownRevocation, 11: .unknownRevocation, 12: .unknownRevocation,
  ]

  /// A change that may let the same request succeed at once; `nil` for no such change.
  var remedy: ConnectionWay? {
    switch code {
    case CURLE_PEER_FAILED_VERIFICATION: .folder
    // libcurl 7.88 does not say with which error the server ended the connection.
    case CURLE_HTTP2 where !reusedConnection: .http1
    default: nil
    }
  }

  private var isClosed: Bool {
    !isAnswered && [CURLE_SEND_ERROR, CURLE_RECV_ERROR, CURLE_GOT_NOTHING].contains(code)
  }

  /// Whether the server accepted a connection and closed it before any answer, as overloaded servers do.
  private var wasTurnedAway: Bool {
    !reusedConnection && (isClosed || !isAnswered && code == CURLE_SSL_CONNECT_ERROR && breaksHandshake)
  }

  /// HTTP/2 errors count, too: a server that closes a connection after a number of requests fails those in flight with
  /// one.
  private var isStaleConnection: Bool {
    reusedConnection && isClosed || !isAnswered && [CURLE_HTTP2, CURLE_HTTP2_STREAM].contains(code)
  }

  /// Whether the peer ended a handshake: with a reset or, in OpenSSL's words, an end of the stream.
  private var breaksHandshake: Bool {
    errno == ECONNRESET || errno == EPIPE || message.contains("SSL_ERROR_SYSCALL") || message.contains("unexpected eof")
  }

  /// A TLS 1.3 server rejects the client's certificate only after the handshake (RFC 8446 §4.4.2.4).
  private var refusesClient: Bool {
    [CURLE_SSL_CONNECT_ERROR, CURLE_RECV_ERROR, CURLE_SEND_ERROR].contains(code)
      && Self.clientAlerts.contains { message.contains("alert \($0)") }
  }

  /// OpenSSL's words for the alerts of RFC 8446 §6.2 that only a server has reason to send.
  private static let clientAlerts = [
    "certificate required", "bad certificate", "unsupported certificate", "certificate revoked",
    "certificate expired", "certificate unknown", "unknown ca",
  ]

  /// CURLE_TOO_LARGE, which the headers of libcurl 7.88 do not define (8.6 does).
  private static let tooLarge = CURLcode(rawValue: 100)

  private var kind: (code: DownloadError.Code, activity: String, isTransient: Bool) {
    if refusesClient { return (.clientCertificate, "connecting", false) }
    return switch code {
    case CURLE_URL_MALFORMAT: (.badAddress, "reading the URL", false)
    case CURLE_COULDNT_RESOLVE_HOST, CURLE_COULDNT_RESOLVE_PROXY: (.resolve, "looking up the host", true)
    case CURLE_COULDNT_CONNECT: (.connect, "connecting", true)
    // CURLOPT_CONNECTTIMEOUT_MS: no other time limit is set (see StallWatch), also after a redirect.
    case CURLE_OPERATION_TIMEDOUT: (.timeout, "connecting", true)
    case CURLE_PARTIAL_FILE: (.shortBody, "receiving", true)
    case CURLE_GOT_NOTHING, CURLE_SEND_ERROR, CURLE_RECV_ERROR, CURLE_HTTP2, CURLE_HTTP2_STREAM:
      (.reset, "receiving", true)
    case CURLE_SSL_CONNECT_ERROR:
      // A handshake that the network broke is a temporary failure; a disagreement between the two sides is permanent.
      (.tls, "connecting", breaksHandshake)
    case CURLE_SSL_CERTPROBLEM: (.clientCertificate, "connecting", false)
    case CURLE_SSL_PINNEDPUBKEYNOTMATCH: (.pinnedKey, "connecting", false)
    case CURLE_PEER_FAILED_VERIFICATION, CURLE_SSL_CACERT_BADFILE, CURLE_SSL_CIPHER, CURLE_SSL_ISSUER_ERROR,
      CURLE_SSL_INVALIDCERTSTATUS, CURLE_SSL_CRL_BADFILE:
      (.certificate, "connecting", false)
    // Of servers over SSH; an FTP server's replies say more.
    case CURLE_LOGIN_DENIED: (.status, DownloadError.loggingIn, false)
    case CURLE_REMOTE_FILE_NOT_FOUND, CURLE_REMOTE_ACCESS_DENIED: (.status, "opening", false)
    case CURLE_UNSUPPORTED_PROTOCOL, CURLE_WEIRD_SERVER_REPLY, CURLE_BAD_CONTENT_ENCODING, CURLE_FILESIZE_EXCEEDED,
      CURLE_RANGE_ERROR, Self.tooLarge:
      (.badResponse, "reading the answer", false)
    case _ where hasLongLine: (.badResponse, "reading the answer", false)
    default: (.transport, "transferring", false)
    }
  }
}

/// The proxy's part in a failure, and whether the failure is temporary (HTTP rule 40).
struct ProxyVerdict: Equatable {
  var answer: ProxyRefusal.Answer
  var isTransient: Bool

  /// - Returns: `nil` if the failure is not the proxy's.
  fileprivate init?(_ end: TransferEnd, of proxy: ProxyAddress) {
    let text = end.text
    switch end.code {
    case CURLE_PROXY: self = Self.socks(end.proxyError, text)
    case CURLE_RECV_ERROR where end.connectStatus >= 300 && !end.isAnswered:
      // An answer to CONNECT is judged by its status, like any other; tinyproxy answers a wrong login with 401.
      let status = end.connectStatus
      self =
        [401, 407].contains(status)
        ? Self.login(offered: end.offered) : Self(.status(status), HTTPStatus.isTransient(status))
    case CURLE_COULDNT_RESOLVE_PROXY: self.init(.away(text), true)
    // All connections go to the proxy, except to hosts in NO_PROXY.
    case CURLE_COULDNT_CONNECT where text.contains("to \(proxy.host) port \(proxy.port) "),
      CURLE_COULDNT_RESOLVE_HOST where text.hasSuffix(": \(proxy.host)"):
      self.init(.away(text), true)
    case CURLE_PEER_FAILED_VERIFICATION, CURLE_SSL_CONNECT_ERROR:
      guard proxy.scheme == .https, end.proxyVerifyResult != 0 else { return nil }
      self.init(.insecure(text), false)
    default: return nil
    }
  }

  init(_ answer: ProxyRefusal.Answer, _ isTransient: Bool) {
    self.answer = answer
    self.isTransient = isTransient
  }

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
    // SOCKS4 has one code for every failure to reach the server.
    case CURLPX_REQUEST_FAILED: ProxyVerdict(.unreachable("request rejected or failed"), true)
    case CURLPX_RESOLVE_HOST: ProxyVerdict(.unreachable(text), true)
    case CURLPX_CLOSED, CURLPX_RECV_ADDRESS, CURLPX_RECV_AUTH, CURLPX_RECV_CONNECT, CURLPX_RECV_REQACK,
      CURLPX_SEND_AUTH, CURLPX_SEND_CONNECT, CURLPX_SEND_REQUEST:
      ProxyVerdict(.away(text), true)
    default: ProxyVerdict(.misunderstood(text), false)
    }
  }
}
