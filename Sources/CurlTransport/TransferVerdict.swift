import CCurl
import DownloadModel
import Glibc

/// How libcurl says that a transfer ended, as plain values: what `verdict` judges.
struct TransferEnd {
  var code: CURLcode
  /// CURLOPT_ERRORBUFFER; empty when libcurl had nothing to add.
  var message = ""
  /// CURLINFO_OS_ERRNO of a failed connect, send or receive.
  var errno: Int32 = 0
  /// A final head has come.
  var isAnswered = false
  /// It took over a connection that was there (CURLINFO_NUM_CONNECTS of 0).
  var reusedConnection = false
  /// What this machine was short of when the transfer could not begin (EMFILE, ENFILE); libcurl calls that a connection
  /// that was not made, a host without an address, or a bad file of certificates.
  var shortage: Int32?
  /// Nil where no proxy is on the way.
  var proxy: ProxyEnd?

  /// Whether the code may stand for a descriptor that could not be had.
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
  /// Every libcurl outcome but CURLE_OK as a typed failure; passing or permanent by http.md 11.
  init(_ end: TransferEnd, address: Address) {
    let text = end.message.isEmpty ? String(cString: curl_easy_strerror(end.code)) : end.message
    let kind = Self.kind(end)
    if let shortage = end.shortage {
      self.init(
        .resources, cause: .errno(shortage), address: address.key, activity: kind.activity, isPassing: true)
      return
    }
    if let proxy = end.proxy, let verdict = ProxyVerdict(end, text: text) {
      self.init(verdict, of: proxy.address, address: address)
      return
    }
    self.init(
      kind.code, cause: .curl(code: Int32(end.code.rawValue), message: text), address: address.key,
      activity: kind.activity, isPassing: kind.isPassing, wasUnanswered: Self.wasUnanswered(end),
      wasTurnedAway: Self.wasTurnedAway(end))
  }

  /// The server took the connection, which was made for this request, and closed it before any answer: as one does that
  /// has enough of them.
  private static func wasTurnedAway(_ end: TransferEnd) -> Bool {
    guard !end.isAnswered, !end.reusedConnection else { return false }
    return switch end.code {
    case CURLE_SEND_ERROR, CURLE_RECV_ERROR, CURLE_GOT_NOTHING: true
    case CURLE_SSL_CONNECT_ERROR: end.errno == ECONNRESET || end.errno == EPIPE
    default: false
    }
  }

  /// Besides the plain case, what only happens on connections that are shared: nginx, for one, closes an HTTP/2
  /// connection after a thousand requests, and those that are on their way then fail with one of these.
  private static func wasUnanswered(_ end: TransferEnd) -> Bool {
    guard !end.isAnswered else { return false }
    return switch end.code {
    case CURLE_HTTP2, CURLE_HTTP2_STREAM: true
    case CURLE_SEND_ERROR, CURLE_RECV_ERROR, CURLE_GOT_NOTHING: end.reusedConnection
    default: false
    }
  }

  /// A server of TLS 1.3 says only after the handshake what it thinks of the client's certificate (RFC 8446 §4.4.2.4), so
  /// that it looks like a connection that broke.
  private static func refusesClient(_ end: TransferEnd) -> Bool {
    switch end.code {
    case CURLE_SSL_CONNECT_ERROR, CURLE_RECV_ERROR, CURLE_SEND_ERROR:
      clientAlerts.contains { end.message.contains("alert \($0)") }
    default: false
    }
  }

  /// As OpenSSL words the alerts of RFC 8446 §6.2 that only a server has reason to send.
  private static let clientAlerts = [
    "certificate required", "bad certificate", "unsupported certificate", "certificate revoked",
    "certificate expired", "certificate unknown", "unknown ca",
  ]

  /// CURLE_TOO_LARGE, which the headers of libcurl 7.88 do not name (8.6 does).
  private static let tooLarge = CURLcode(rawValue: 100)

  private static func kind(_ end: TransferEnd) -> (code: Code, activity: String, isPassing: Bool) {
    if refusesClient(end) { return (.clientCertificate, "connecting", false) }
    return switch end.code {
    case CURLE_URL_MALFORMAT: (.badAddress, "reading the address", false)
    case CURLE_COULDNT_RESOLVE_HOST, CURLE_COULDNT_RESOLVE_PROXY: (.resolve, "looking up the host", true)
    case CURLE_COULDNT_CONNECT: (.connect, "connecting", true)
    // CURLOPT_CONNECTTIMEOUT_MS: no other time limit is set (see StallWatch), also behind a redirect.
    case CURLE_OPERATION_TIMEDOUT: (.timeout, "connecting", true)
    case CURLE_PARTIAL_FILE: (.shortBody, "receiving", true)
    case CURLE_GOT_NOTHING, CURLE_SEND_ERROR, CURLE_RECV_ERROR, CURLE_HTTP2, CURLE_HTTP2_STREAM:
      (.reset, "receiving", true)
    case CURLE_SSL_CONNECT_ERROR:
      // A handshake that the network broke may pass; one that the two sides disagree about does not.
      (.tls, "connecting", end.errno == ECONNRESET || end.errno == EPIPE)
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
