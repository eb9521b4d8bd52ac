import DownloadModel
import FileReceiving
import Glibc
import SystemPackage
import TerminalProgress

/// The message for a failure: what happened, and what the user can do. Its address or path is shown beside it.
struct FailureMessages {
  /// "the server answered 404 Not Found".
  let cause: String
  /// "check the address: the server has nothing there"; nil when there is nothing to advise.
  let remedy: String?

  /// The cause without what differs between equal failures (ports, milliseconds).
  private let kind: String

  init(_ error: DownloadError) {
    var (what, remedy) = (Self.what(error), Self.remedy(error))
    if case .proxy(let refusal)? = error.cause { (what, remedy) = Self.words(refusal) }
    let detail = Self.detail(error)
    cause = what + (error.path.map { " (\($0))" } ?? "") + (detail.isEmpty ? "" : ": \(detail)")
    kind = Self.differInDetail.contains(error.code) ? what : cause
    self.remedy = remedy
  }

  var line: String { remedy.map { "\(cause); \($0)" } ?? cause }

  var said: [String] { ["dlm: \(line)"] }

  var heading: String { remedy.map { "\(kind); \($0)" } ?? kind }

  private static func what(_ error: DownloadError) -> String {
    switch error.code {
    case .status:
      if case .http(let status)? = error.cause { "the server answered \(phrase(status))" } else { "the server refused" }
    case .badAddress: "not an address that can be fetched"
    case .resolve: "the host's name could not be looked up"
    case .connect: "no connection"
    case .tls: "no secure connection"
    case .certificate: "the server's certificate was refused"
    case .clientCertificate: "your certificate was refused, is missing, or cannot be used"
    case .pinnedKey: "the server has another key than the pinned one"
    case .timeout: "the connection did not come up in time"
    case .stalled: "no byte came for too long"
    case .reset: "the server broke off"
    case .shortBody: "the file broke off"
    case .longBody: "more came than the server had announced"
    case .badResponse where error.cause == .http(status: 205): "the server has nothing to send for it"
    case .badResponse: "the server's answer is not understood"
    case .redirect: "a redirect was not followed"
    case .range: "the server sent another part than was asked for"
    case .tooLarge: "the file is too long"
    case .resources where error.cause == .errno(EMFILE) || error.cause == .errno(ENFILE):
      "too many files and connections are open"
    case .resources: "this machine is short of memory"
    case .diskFull: "the disk is full"
    case .folder: "the folder cannot be used"
    case .digest: "the file's checksum is wrong, also when it was fetched anew"
    case .unproven: "nothing proves that the file is right"
    case .cancelled: "cancelled"
    case .skipped: "skipped by you"
    default: error.activity.isEmpty ? error.code.rawValue : "failed while \(error.activity)"
    }
  }

  /// Failures whose details are libcurl's words on one connection, or one file's path.
  private static let differInDetail: Set<DownloadError.Code> = [
    .resolve, .connect, .timeout, .stalled, .reset, .shortBody, .tooLarge, .diskFull, .digest, .resources,
  ]

  private static func phrase(_ status: Int) -> String {
    "\(status)\(reasonPhrases[status].map { " \($0)" } ?? "")"
  }

  private static func words(_ refusal: ProxyRefusal) -> (what: String, remedy: String) {
    let proxy = "the proxy \(refusal.proxy)"
    return switch refusal.answer {
    case .login where refusal.hadLogin:
      ("\(proxy) refused the login", "check user and password in its address, where special signs are written as %XX")
    case .login:
      ("\(proxy) wants a login", "give one in its address, user and password before the host (--proxy or DLM_PROXY)")
    case .status(403): ("no connection: \(proxy) answered \(phrase(403))", ownersRules)
    case .forbidden: ("\(proxy) does not allow a connection to this host", ownersRules)
    case .status(let status): ("no connection: \(proxy) answered \(phrase(status))", proxyReachedNone)
    case .unreachable(let why): ("no connection: \(proxy) said \(why)", proxyReachedNone)
    case .away: ("no connection to \(proxy)", "is the proxy up, and its port right?")
    case .misunderstood: ("\(proxy) is not understood", "is it a proxy of this kind, and the port right?")
    case .insecure:
      ("no secure connection to \(proxy)", "if you know its issuer, name it with --cacert FILE; is it an https proxy?")
    }
  }

  private static let ownersRules = "its rules are its owner's: ask there, or name the host in NO_PROXY"
  private static let proxyReachedNone = "is the server up, and the port right? The proxy could not reach it"

  private static func detail(_ error: DownloadError) -> String {
    switch error.cause {
    case .curl(_, let message): message
    case .errno(let number): String(cString: strerror(number))
    case .detail(let text): text
    case .http(let status): error.code == .status ? "" : "status \(status)"
    case .proxy(let refusal):
      switch refusal.answer {
      case .away(let why), .misunderstood(let why), .insecure(let why): why
      default: ""
      }
    case nil: ""
    }
  }

  /// Whether a file failed because `--offline` forbids to ask its server.
  static func isOffline(_ error: DownloadError) -> Bool { error.activity == "answering offline" }

  private static func remedy(_ error: DownloadError) -> String? {
    if isOffline(error) { return "run it once without --offline" }
    return switch error.code {
    case .badAddress: "addresses look like https://host/path"
    case .resolve: "check the host's spelling and this machine's network"
    case .connect: "is the server up, and the port right?"
    case .tls, .clientCertificate, .pinnedKey, .certificate: securityRemedy(error)
    case .timeout: "try again later, or allow more with --connect-timeout"
    case .stalled, .skipped: "run the same command again: it goes on where it was"
    case .shortBody where error.activity == "decoding":
      "run the same command again: what was compressed on its way starts over"
    case .reset, .shortBody: "run the same command again: what has come is kept"
    case .tooLarge: "allow more with --max-filesize"
    case .resources: "allow more with ulimit -n, or take fewer at a time with --jobs"
    case .diskFull:
      "free \(error.neededBytes.map { "at least \(Quantity.bytes($0))" } ?? "space") and run the same command again"
    case .folder: "choose another one with --directory"
    case .digest: "is the checksum right? If it is, tell the server's owner"
    case .unproven: "ask for less with --require-proof, or give its checksum"
    case .cache where error.activity == "answering unasked": "run it once without only-if-cached"
    case .redirect: "fetch the address that it leads to, if you trust it"
    case .status: statusRemedy(error)
    default: nil
    }
  }

  private static func securityRemedy(_ error: DownloadError) -> String? {
    switch error.code {
    case .tls
    where error.reason.contains("protocol version") || error.reason.contains("unsupported protocol"):
      "the server speaks other versions of TLS: what --tlsv1.2, --tlsv1.3 and --tls-max allow has none of them"
    case .tls: "is this an https server, and the port right?"
    case .clientCertificate: "check --cert, --key and the pass phrase, and that the server knows the certificate"
    case .pinnedKey:
      "it may have a new key, or somebody is in between: ask its owner before you change --pinnedpubkey"
    case .certificate where error.reason.contains("certificate revoked"):
      "its issuer has taken it back: do not trust this server"
    case .certificate where error.reason.contains("CRL"):
      "--crlfile needs a valid list from each issuer of the server's certificate"
    case .certificate: "if you know its issuer, name it with --cacert FILE; --insecure trusts anyone"
    default: nil
    }
  }

  private static func statusRemedy(_ error: DownloadError) -> String? {
    guard case .http(let status)? = error.cause else { return nil }
    let wait = error.retryAfter ?? .zero
    return switch status {
    case 401: "it wants a login: give one with --netrc-file or --header"
    case 407: "a proxy that this machine does not know of wants a login: name it with --proxy"
    case 403: "it does not allow this: is a login or a header missing?"
    case 404, 410: "check the address: there is nothing (any more)"
    case 429, 503:
      wait > .seconds(60)
        ? "it asks to be left alone for \(Quantity.duration(wait)): try again then"
        : "it is busy: try again later, or with fewer --jobs"
    case 500...: "the trouble is the server's: try again later"
    default: nil
    }
  }

  /// RFC 9110 §15, those that a download meets.
  private static let reasonPhrases = [
    400: "Bad Request", 401: "Unauthorized", 403: "Forbidden", 404: "Not Found", 405: "Method Not Allowed",
    406: "Not Acceptable", 407: "Proxy Authentication Required", 408: "Request Timeout", 409: "Conflict",
    410: "Gone", 416: "Range Not Satisfiable", 421: "Misdirected Request", 425: "Too Early",
    429: "Too Many Requests", 451: "Unavailable For Legal Reasons", 500: "Internal Server Error",
    501: "Not Implemented", 502: "Bad Gateway", 503: "Service Unavailable", 504: "Gateway Timeout",
  ]
}

struct FailureGroup {
  let heading: String
  let errors: [DownloadError]

  /// In the order in which each cause was first met.
  static func groups(of errors: [DownloadError]) -> [FailureGroup] {
    Dictionary(grouping: errors.enumerated()) { FailureMessages($0.element).heading }
      .sorted { $0.value[0].offset < $1.value[0].offset }
      .map { FailureGroup(heading: $0, errors: $1.map(\.element)) }
  }
}

/// The message for a line that is not a request: `urls.txt:7: "htp:/x" is no address: …`.
struct RejectionMessages {
  /// - Parameter lists: those that came over https and name files at http.
  static func downgrades(_ lists: Set<String>) -> [String] {
    lists.sorted().map {
      "dlm: \(TerminalText.sanitized($0)) came over https, but names files at http: others can read and change those "
        + "on their way"
    }
  }

  let line: String

  init(_ rejection: Rejection) {
    let place = rejection.line.map { "\(rejection.list):\($0)" } ?? rejection.list
    line = "\(place.isEmpty ? "\"\"" : place): \(Self.text(rejection))"
  }

  private static func text(_ rejection: Rejection) -> String {
    let quoted = "\"\(rejection.text)\""
    switch rejection.reason {
    case .unreadable(let number):
      let isMaybeAddress = number == ENOENT && rejection.list.contains(".") && !rejection.list.hasPrefix(".")
      let remedy = isMaybeAddress ? "if it is an address, write https://\(rejection.list)" : "check its name and rights"
      return "the list cannot be read: \(String(cString: strerror(number))); \(remedy)"
    case .unfetched(let error): return "the list cannot be read: \(FailureMessages(error).line)"
    case .damaged(let why):
      return "the list cannot be read from here on: \(why); what stands before is read. Get it again"
    case .noList(let what): return text(what)
    case .notUTF8: return "\(quoted) is not UTF-8; save the list as UTF-8"
    case .tooLong: return "\(quoted) is longer than any address; is this a list?"
    case .option(let option):
      return "\"\(option)\" behind \(rejection.text) is no option of a line; there are first=yes, first=no and "
        + "size=BYTES (12M), each behind a tab"
    case .malformed(let why): return "\(quoted) is no address: \(text(why))"
    }
  }

  private static func text(_ what: Rejection.NoList) -> String {
    let remedy = "is this a list? To download it, give its address"
    return switch what {
    case .binary: "it holds binary data, not an address a line; \(remedy)"
    case .page:
      "it is a web page, not an address a line; \(remedy), and if it came from a server that wants a login, one for it"
    case .utf16: "it is UTF-16; save it as UTF-8"
    case .lines(let count) where count <= ListDoubt.mostAtStart:
      "none of its first \(count) lines is an address; \(remedy)"
    case .lines(let count):
      "\(count) of its lines are no addresses, and nearly none is: the rest is not read; \(remedy)"
    }
  }

  private static func text(_ why: Address.Malformed) -> String {
    switch why {
    case .empty: "nothing stands there"
    case .controlCharacter: "it holds a control character"
    case .noScheme: "it does not begin with http:// or https://"
    case .unsupportedScheme(let scheme): "dlm speaks http and https, not \(scheme)"
    case .noHost: "the host is missing"
    case .badHost: "the host holds characters that none may have"
    case .badInternationalHost: "the host's name cannot be written in ASCII (IDNA), as networks need it"
    case .badPort: "the port is not a number from 1 to 65535"
    }
  }
}

enum TroubleMessages {
  static func tooFewDescriptors(_ free: Int, least: Int) -> String {
    "dlm: Too many open files: \(free) more may be opened, and a run needs \(least); allow more with ulimit -n"
  }

  static func noIdleClass(_ error: Errno) -> String {
    "dlm: --background: the idle class of processor and disk time cannot be had: \(error); it goes on in the usual "
      + "one, and still leaves hosts to others"
  }

  static func temporaryFolder(_ path: String, _ error: Errno) -> String {
    let remedy = path == TemporaryFolder.inMemory ? "leave out --discard" : "name another in TMPDIR"
    return "dlm: the temporary folder \(path) cannot be written: \(error); \(remedy)"
  }

  static func outputLost(_ error: Errno) -> String {
    let remedy = error == .noSpace ? "free space there, or write it elsewhere" : "is what it leads to still there?"
    return "dlm: standard output cannot be written: \(String(cString: strerror(error.rawValue))); \(remedy)"
  }

  static func notWritten(_ name: String, _ error: any Error, option: String = "--events") -> String {
    let remedy =
      (error as? Errno) == .tooManySymbolicLinkLevels
      ? "it is a link; name the file itself" : "choose another place with \(option)"
    return "dlm: \(name) cannot be written: \(error); \(remedy)"
  }

  static func failedListLost(_ name: String, _ error: any Error) -> String {
    "dlm: \(name) cannot be written: \(error); choose another file with --failed"
  }

  static func notRemoved(_ path: FilePath, _ error: DownloadError) -> String {
    "dlm: \(path): \(FailureMessages(error).line)"
  }
}

enum DisplayWords {
  static let all = ProgressMessages(
    failure: { FailureMessages($0).line }, cause: { FailureMessages($0).cause },
    rejection: { RejectionMessages($0).line }, timestamp: { TimeText.utc(milliseconds: WallClock.milliseconds()) })
}
