import DownloadModel
import FileReceiving
import Glibc
import TerminalProgress

/// The message for a failure: the cause, and the user's remedy. Its URL or path is shown beside it.
struct FailureMessages {
  /// "404 Not Found".
  let cause: String
  /// "check the URL"; `nil` without advice.
  let remedy: String?

  /// The cause without the parts that differ between equal failures (ports, milliseconds).
  private let kind: String

  init(_ error: DownloadError) {
    guard error.tried.isEmpty else {
      (cause, remedy) = (
        Self.words(error.tried), error.code == .digest ? error.remedy : "try again later, or add a mirror=URL"
      )
      kind = cause
      return
    }
    var what = error.what
    var remedy = error.remedy
    if case .proxy(let refusal)? = error.cause { (what, remedy) = Self.words(refusal) }
    let detail = error.detail
    // The remedy names the file with the wrong bytes.
    let path = error.code == .digest ? nil : error.path
    cause = what + (path.map { " (\($0))" } ?? "") + (detail.isEmpty ? "" : ": \(detail)")
    kind = Self.differInDetail.contains(error.code) ? what : cause
    self.remedy = remedy
  }

  var line: String { remedy.map { "\(cause); \($0)" } ?? cause }

  var said: String { "dlm: \(line)" }

  var heading: String { remedy.map { "\(kind); \($0)" } ?? kind }

  /// Cause, URLs, and remedy; three lines for a failure.
  /// - Parameters:
  ///   - all: the number of failures; `errors` are those that are listed.
  ///   - shortens: whether two checksums must fit on a line.
  func lines(_ errors: [DownloadError], of all: Int, shortens: Bool) -> [String] {
    var what = all > 1 ? kind : cause
    if shortens, errors.first?.code == .digest {
      what = what.replacing(/[0-9a-f]{16,}/) { "\($0.output.prefix(5))…\($0.output.suffix(5))" }
    }
    return ["dlm: \(all > 1 ? "\(Quantity.files(all)): " : "")\(what)"]
      + errors.map { "    \(Redaction.shortened($0.address ?? $0.path ?? ""))" }
      + [remedy].compactMap(\.self).map { "  \($0)" }
  }

  static func json(_ error: DownloadError) -> JSONValue {
    JSONValue([
      "url": error.address.map(Redaction.redactedAddress), "code": error.code.rawValue, "status": error.status,
      "message": Redaction.redacted(FailureMessages(error).cause), "temporary": error.mayPass,
    ])
  }

  /// In the order in which each cause first occurred.
  static func groups(of errors: [DownloadError]) -> [(messages: FailureMessages, errors: [DownloadError])] {
    Dictionary(grouping: errors.enumerated()) { FailureMessages($0.element).heading }
      .values.sorted { $0[0].offset < $1[0].offset }.map { (FailureMessages($0[0].element), $0.map(\.element)) }
  }

  /// Whether the same command may succeed, later or after the remedy.
  static func isWorthRepeating(_ error: DownloadError) -> Bool {
    error.mayPass || error.stopsWriting || error.code == .diskFull || isOffline(error)
  }

  /// Failures whose details are libcurl's message about one connection, or one file's path.
  private static let differInDetail: Set<DownloadError.Code> = [
    .resolve, .connect, .timeout, .stalled, .reset, .shortBody, .tooLarge, .diskFull, .resources, .pinnedKey,
  ]

  fileprivate static func phrase(_ status: Int) -> String {
    reasonPhrases[status].map { "\(status) \($0)" } ?? "status \(status)"
  }

  /// For a file that all its sources failed to give.
  private static func words(_ tried: [DownloadError]) -> String {
    let each = tried.prefix(3).map { error in
      let host = error.address.flatMap { try? Address($0) }?.hostAndPort ?? ""
      return "\(host): \(error.httpStatus.map(phrase) ?? error.what)"
    }
    let more = tried.count - each.count
    return each.joined(separator: "; ") + (more > 0 ? "; and \(more) more" : "")
  }

  private static func words(_ refusal: ProxyRefusal) -> (what: String, remedy: String) {
    let proxy = "the proxy \(refusal.proxy)"
    return switch refusal.answer {
    case .login where refusal.hadLogin:
      ("\(proxy) refused the login", "check user and password in its URL; write special characters as %XX")
    case .login:
      ("\(proxy) requires a login", "put user and password before the host in its URL (--proxy or DLM_PROXY)")
    case .status(403): ("cannot connect: \(proxy) answered \(phrase(403))", ownersRules)
    case .forbidden: ("\(proxy) does not allow a connection to this host", ownersRules)
    case .status(let status): ("cannot connect: \(proxy) answered \(phrase(status))", proxyReachedNone)
    case .unreachable(let why): ("cannot connect: \(proxy) said \(why)", proxyReachedNone)
    case .away:
      (
        "cannot connect to \(proxy)",
        "check that the proxy is up, and its port" + ConnectionSettings.origin(of: refusal.proxy)
      )
    case .misunderstood: ("\(proxy) gave an invalid answer", "check the kind of the proxy, and its port")
    case .insecure:
      ("no secure connection to \(proxy)", "check that it is an https proxy; --cacert FILE adds an issuer")
    }
  }

  private static let ownersRules = "ask the proxy's owner, or name the host in NO_PROXY"
  private static let proxyReachedNone = "the proxy cannot reach the server: check that it is up, and its port"

  /// Whether a file failed because `--offline` forbids a request to its server.
  static func isOffline(_ error: DownloadError) -> Bool { error.activity == "answering offline" }

  /// RFC 9110 §15: those that occur in downloads.
  private static let reasonPhrases = [
    202: "Accepted", 400: "Bad Request", 401: "Unauthorized", 403: "Forbidden", 404: "Not Found",
    405: "Method Not Allowed",
    406: "Not Acceptable", 407: "Proxy Authentication Required", 408: "Request Timeout", 409: "Conflict",
    410: "Gone", 416: "Range Not Satisfiable", 421: "Misdirected Request", 425: "Too Early",
    429: "Too Many Requests", 451: "Unavailable For Legal Reasons", 500: "Internal Server Error",
    501: "Not Implemented", 502: "Bad Gateway", 503: "Service Unavailable", 504: "Gateway Timeout",
  ]
}

extension DownloadError {
  fileprivate var httpStatus: Int? { if case .http(let status)? = cause { status } else { nil } }

  /// Of the answer that the failure is about: of HTTP, or of FTP.
  fileprivate var status: Int? { if case .reply(let code, _)? = cause { code } else { httpStatus } }

  fileprivate var what: String {
    switch code {
    case .status where status != httpStatus: reason
    case .status where activity == "opening" || status == nil && activity == Self.loggingIn: reason
    case .status: status.map { FailureMessages.phrase($0) + loginWords.what } ?? "the server refused"
    case .badAddress: "not a usable URL"
    case .resolve: "the host was not found"
    case .connect: "cannot connect to the server"
    case .tls: "no secure connection"
    case .certificate: certificateWords.what
    case .hostKey: hostKeyWords.what
    case .clientCertificate: "your certificate was refused, is missing, or cannot be used"
    case .pinnedKey: "the server's key is not the pinned one"
    case .timeout: "connecting took too long"
    case .stalled: "the transfer stalled"
    case .reset: "the server closed the connection"
    case .shortBody: "the file was cut short"
    case .longBody: "the server sent more than it announced"
    case .badResponse where cause == .http(status: 205): "the server has nothing to send"
    case .badResponse: "the server's answer is invalid"
    case .redirect: "a redirect was refused"
    case .range: "the server sent a different range than requested"
    case .tooLarge: "the file is too large"
    case .tooSlow: "the transfer was too slow"
    case .tookTooLong: "the file took too long"
    case .wrongType: "unexpected file type"
    case .wrongSize: "size mismatch"
    case .resources where cause == .errno(EMFILE) || cause == .errno(ENFILE):
      "too many files and connections are open"
    case .resources: "this machine is short of memory"
    case .diskFull: "the disk is full"
    case .folder: "the folder cannot be used"
    case .digest: "checksum mismatch"
    case .unproven: "the file cannot be verified"
    case .cache where activity.hasPrefix("answering"): reason
    case .cancelled: "cancelled"
    case .skipped: "skipped by you"
    case .unanswered: "the server did not answer"
    case .transport: "the transfer failed"
    case .conflict where activity == "replacing": "a file of this name exists"
    default: activity.isEmpty ? code.rawValue : "failed while \(activity)"
    }
  }

  fileprivate var detail: String {
    switch cause {
    // The text after the last mark: "OpenSSL/3.0: error:0A00010B:SSL routines::wrong version number". Otherwise it
    // would repeat the same words.
    case .curl where code == .resolve || code == .status: ""
    case .curl(_, let message):
      code == .tls ? message.split(separator: "::").last.map(String.init) ?? "" : message
    case .certificate(.badAuthorities, let message): message.split(separator: ": ").last.map(String.init) ?? ""
    case .certificate(let fault, let message): fault == .other ? message : ""
    case .hostKey(_, let fingerprint): fingerprint
    case .errno(let number): String(cString: strerror(number))
    case .detail(let text): text == what ? "" : text
    case .http(let status): code == .status ? "" : "status \(status)"
    case .reply: ""
    case .proxy(let refusal):
      switch refusal.answer {
      case .away(let why), .misunderstood(let why), .insecure(let why): why
      default: ""
      }
    case nil: ""
    }
  }

  fileprivate var remedy: String? {
    if FailureMessages.isOffline(self) { return "run it once without --offline" }
    return switch code {
    case .badAddress: "a URL looks like https://host/path"
    case .resolve: "check the host's spelling, and this machine's network"
    case .connect: "check that the server is up, and the port"
    case .certificate: certificateWords.remedy
    case .hostKey: hostKeyWords.remedy
    case .tls
    where reason.contains("protocol version") || reason.contains("unsupported protocol"):
      "the server supports no TLS version that --tlsv1.2, --tlsv1.3 and --tls-max allow"
    case .tls: "check that this is an https server, and the port"
    case .clientCertificate: "check --cert, --key and the pass phrase, and that the server knows the certificate"
    case .unanswered: "try again later, or with fewer --jobs"
    case .pinnedKey: "ask the server's owner before you change --pinnedpubkey: the connection may be intercepted"
    case .timeout: "try again later, or allow more time with --connect-timeout"
    case .shortBody where activity == "decoding":
      "run the same command again: a compressed transfer starts over"
    case .reset, .shortBody, .stalled, .skipped: "run the same command again: what can be resumed is saved"
    case .conflict where activity == "resuming":
      "run the same command again: the file has changed, or its server supports no ranges"
    case .conflict where activity == "replacing": "to replace it: --on-conflict overwrite"
    case .badResponse, .longBody, .range: "check the URL; if it is right, tell the server's owner"
    case .redirect where reason.contains("in a row"):
      reason.contains("than 20 ") ? "they form a loop: tell the server's owner" : "allow more with --max-redirs"
    case .redirect where reason.contains("from https"):
      "others can read and change http; if you trust it, download that URL instead"
    case .redirect: "look for another URL of this file"
    case .status where activity == "opening": "check the URL, and that the login may read the file"
    case .status where status == nil && activity == Self.loggingIn:
      "check the user in the URL, and the key (--identity, or an agent) or password (--netrc-file). RSA keys are "
        + "refused by current servers: use one of type ed25519"
    case .status: status == httpStatus ? statusRemedy : replyRemedy
    // What the user's options and list, or this machine, decide.
    case .tooLarge: "allow more with --max-filesize"
    case .tooSlow: "what can be resumed is saved: run the same command again, or allow less with --min-rate"
    case .tookTooLong: "what can be resumed is saved: run the same command again, or allow more with --max-time"
    case .wrongType: "open the URL in a browser; to accept any type, leave out --expect (or expect= of its line)"
    case .wrongSize: "check the size in the list; the server's file may have changed, or be an error page"
    case .resources where cause == .errno(EMFILE) || cause == .errno(ENFILE):
      "allow more with ulimit -n, or use fewer --jobs"
    case .resources: "use fewer --jobs, or free memory"
    case .diskFull:
      "free \(neededBytes.map { "at least \(Quantity.bytes($0))" } ?? "space") and run the same command again"
    case .folder where activity == "opening a folder": "move it away, or choose other names with dir= and out="
    case .folder: "choose another with --directory"
    case .digest:
      (path.map { "saved as \($0); " } ?? "") + "the file or the checksum in your list is wrong"
    case .unproven: "require less with --require-proof, or give a checksum"
    case .cache where activity == "answering unasked": "run it once without only-if-cached"
    default: nil
    }
  }

  private var certificateWords: (what: String, remedy: String) {
    let skip = "--insecure skips this check"
    guard case .certificate(let fault, _)? = cause else { return ("the server's certificate was refused", skip) }
    let (what, remedy) =
      switch fault {
      case .expired: ("has expired", "check this machine's clock, or have it renewed; \(skip)")
      case .notYetValid: ("is not valid yet", "check this machine's clock; \(skip)")
      case .otherHost: ("is for another host", "check the host in the URL; \(skip)")
      case .selfSigned: ("is self-signed", "if you trust it, name it with --cacert FILE; \(skip)")
      case .unknownIssuer: ("has an unknown issuer", "if you trust that, name it with --cacert FILE; \(skip)")
      case .revoked: ("was revoked", "do not trust this server")
      case .unknownRevocation: ("may be revoked", "--crlfile needs a valid list from each of its issuers")
      case .badAuthorities: ("cannot be checked", "--cacert needs a file of certificates in PEM")
      case .other: ("was refused", "tell the server's owner; \(skip)")
      }
    return ("the server's certificate \(what)", remedy)
  }

  private var hostKeyWords: (what: String, remedy: String) {
    let address = address.flatMap { try? Address($0) }
    let host = address?.host ?? "HOST"
    let port = address.map { $0.port == 22 ? "" : "-p \($0.port) " } ?? ""
    guard case .hostKey(let fault, _)? = cause else { return ("the server's key was refused", "") }
    return switch fault {
    case .unknown:
      (
        "the server's key is not known",
        "compare it with what the server's owner says; then accept it: ssh \(port)\(host), or ssh-keyscan "
          + "\(port)\(host) >> ~/.ssh/known_hosts"
      )
    case .changed:
      (
        "the server's key HAS CHANGED",
        "another server may be answering. Ask the server's owner; if the new key is right: ssh-keygen -R "
          + (port.isEmpty ? host : "'[\(host)]:\(address?.port ?? 22)'")
      )
    case .revoked: ("the server's key was revoked", "do not trust this server")
    }
  }

  private var statusRemedy: String? {
    guard let status else { return nil }
    let wait = retryAfter ?? .zero
    let isBusy = wasTurnedAway || HTTPStatus.isRefusal(status)
    return switch status {
    case _ where isBusy && wait > .seconds(60):
      "the server asks clients to wait \(Quantity.duration(wait)): try again then"
    case _ where isBusy: "the server is busy: try again later, or with fewer --jobs"
    case 202: "the server is still preparing the file: try again later, or allow more --retries"
    case 401: loginWords.remedy
    case 403: "access denied: a login or a header may be missing"
    case 404, 410: "check the URL"
    case 407: "a proxy on the way requires a login: name the proxy with --proxy"
    case 408: "try again later"
    case 500...: "the server has a problem: try again later"
    default: "the server does not provide this: check the URL, or ask its owner"
    }
  }

  /// RFC 959 §4.2.1 and RFC 2228 §5.
  private var replyRemedy: String {
    switch status {
    case 331, 332, 430, 530: "check user and password (in the URL, or with --netrc-file or --user)"
    case 400, 403: storageRemedy
    case 421, 425: "the server is busy: try again later, or with fewer --jobs"
    case 450, 550, 553: "check the URL, and that the login may read the file"
    case 522, 533, 534: "the server does not offer TLS as asked for: ftps:// and ftpes:// are different ports and ways"
    case let code? where code < 500: "the server has a problem: try again later"
    default: "the server does not provide this: check the URL, or ask its owner"
    }
  }

  /// By the codes of S3.
  private var storageRemedy: String {
    switch reason.split(separator: " ").dropFirst().first.map({ $0.prefix { $0 != ":" } }) {
    case "RequestTimeTooSkewed": "set this machine's clock"
    case "ExpiredToken": "renew the login, or give a command that does: --aws-command"
    case "InvalidAccessKeyId", "SignatureDoesNotMatch":
      "check the access key and its secret (--aws-profile, AWS_PROFILE)"
    default: "check that the login may read this, the bucket's name, and AWS_REGION or AWS_ENDPOINT_URL"
    }
  }

  /// For a 401: whether a login was sent, and which one the server requires.
  private var loginWords: (what: String, remedy: String) {
    switch activity {
    case DownloadError.loggingIn:
      return (": the login was refused", "check user, password or token (--netrc, --netrc-file, --header, or the URL)")
    case ResponseHead.missingToken: return ("", "the server requires a token: --header 'Authorization: Bearer TOKEN'")
    default:
      let address = address.flatMap { try? Address($0) }
      if let host = address?.host, ConnectionSettings.homeLogins?.hasLogin(for: host, isHome: true) == true {
        return ("", "~/.netrc has a login for \(host): --netrc uses it")
      }
      return ("", "the server requires a login: give one with --netrc-file or --header")
    }
  }
}

extension ProgressMessages {
  static let forDisplay = ProgressMessages(
    failure: { FailureMessages($0).line }, cause: { FailureMessages($0).cause },
    rejection: { RejectionMessages($0).line }, timestamp: { TimeText.utc(milliseconds: WallClock.milliseconds()) })
}
