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
    guard error.tried.isEmpty else {
      (cause, remedy) = (
        Self.words(error.tried), error.code == .digest ? Self.remedy(error) : "try again later, or add a mirror=ADDRESS"
      )
      kind = cause
      return
    }
    var (what, remedy) = (Self.what(error), Self.remedy(error))
    if case .proxy(let refusal)? = error.cause { (what, remedy) = Self.words(refusal) }
    let detail = Self.detail(error)
    // The remedy says where wrong bytes are.
    let path = error.code == .digest ? nil : error.path
    cause = what + (path.map { " (\($0))" } ?? "") + (detail.isEmpty ? "" : ": \(detail)")
    let isMissing = [DownloadError.Cause.http(status: 404), .http(status: 410)].contains(error.cause)
    kind = isMissing ? "\(cause): nothing at this address" : Self.differInDetail.contains(error.code) ? what : cause
    self.remedy = remedy
  }

  var line: String { remedy.map { "\(cause); \($0)" } ?? cause }

  var said: String { "dlm: \(line)" }

  var heading: String { remedy.map { "\(kind); \($0)" } ?? kind }

  /// What it was, the addresses, and what to do; three lines for a failure.
  /// - Parameter shortens: whether two checksums must fit into a line.
  func lines(_ errors: [DownloadError], shortens: Bool) -> [String] {
    var what = kind
    if shortens, errors.first?.code == .digest {
      what = what.replacing(/[0-9a-f]{16,}/) { "\($0.output.prefix(5))…\($0.output.suffix(5))" } + " (-v: whole)"
    }
    return ["dlm: \(errors.count > 1 ? "\(Quantity.files(errors.count)): " : "")\(what)"]
      + errors.map { "    \(Redaction.shortened($0.address ?? $0.path ?? ""))" }
      + [remedy].compactMap(\.self).map { "  \($0)" }
  }

  /// In the order in which each cause was first met.
  static func groups(of errors: [DownloadError]) -> [(messages: FailureMessages, errors: [DownloadError])] {
    Dictionary(grouping: errors.enumerated()) { FailureMessages($0.element).heading }
      .values.sorted { $0[0].offset < $1[0].offset }.map { (FailureMessages($0[0].element), $0.map(\.element)) }
  }

  /// Whether the same command may do better, later or after what the remedy says.
  static func isWorthRepeating(_ error: DownloadError) -> Bool {
    error.mayPass || error.stopsWriting || error.code == .diskFull || isOffline(error)
  }

  private static func what(_ error: DownloadError) -> String {
    switch error.code {
    case .status:
      if case .http(let status)? = error.cause { "the server answered \(phrase(status))" } else { "the server refused" }
    case .badAddress: "not an address that can be fetched"
    case .resolve: "the host was not found"
    case .connect: "cannot connect to the server"
    case .tls: "no secure connection"
    case .certificate: certificateWords(error).what
    case .clientCertificate: "your certificate was refused, is missing, or cannot be used"
    case .pinnedKey: "the server's key is not the pinned one"
    case .timeout: "connecting took too long"
    case .stalled: "the transfer stalled"
    case .reset: "the server closed the connection"
    case .shortBody: "the file was cut short"
    case .longBody: "the server sent more than it had announced"
    case .badResponse where error.cause == .http(status: 205): "the server has nothing to send"
    case .badResponse: "the server's answer is invalid"
    case .redirect: "a redirect was refused"
    case .range: "the server sent another range than it was asked for"
    case .tooLarge: "the file is too large"
    case .tooSlow: "the transfer was too slow"
    case .tookTooLong: "the file took too long"
    case .wrongType: "the file has another type than was expected"
    case .wrongSize: "the file has another size than its list says"
    case .resources where error.cause == .errno(EMFILE) || error.cause == .errno(ENFILE):
      "too many files and connections are open"
    case .resources: "this machine is short of memory"
    case .diskFull: "the disk is full"
    case .folder: "the folder cannot be used"
    case .digest: "wrong checksum"
    case .unproven: "the file cannot be verified"
    case .cache where error.activity.hasPrefix("answering"): error.reason
    case .cancelled: "cancelled"
    case .skipped: "skipped by you"
    case .conflict where error.activity == "replacing": "another file has this name"
    default: error.activity.isEmpty ? error.code.rawValue : "failed while \(error.activity)"
    }
  }

  /// Failures whose details are libcurl's words on one connection, or one file's path.
  private static let differInDetail: Set<DownloadError.Code> = [
    .resolve, .connect, .timeout, .stalled, .reset, .shortBody, .tooLarge, .diskFull, .resources, .pinnedKey,
  ]

  private static func phrase(_ status: Int) -> String { "\(status)\(reasonPhrases[status].map { " \($0)" } ?? "")" }

  /// Of a file that none of its addresses gave.
  private static func words(_ tried: [DownloadError]) -> String {
    let each = tried.prefix(3).map { error in
      let host = error.address.flatMap { try? Address($0) }?.hostAndPort ?? ""
      if case .http(let status)? = error.cause { return "\(host): \(phrase(status))" }
      return "\(host): \(what(error))"
    }
    let more = tried.count - each.count
    return each.joined(separator: "; ") + (more > 0 ? "; and \(more) more" : "")
  }

  private static func words(_ refusal: ProxyRefusal) -> (what: String, remedy: String) {
    let proxy = "the proxy \(refusal.proxy)"
    return switch refusal.answer {
    case .login where refusal.hadLogin:
      ("\(proxy) refused the login", "check user and password in its address; write special characters as %XX")
    case .login:
      ("\(proxy) wants a login", "put user and password before the host in its address (--proxy or DLM_PROXY)")
    case .status(403): ("cannot connect: \(proxy) answered \(phrase(403))", ownersRules)
    case .forbidden: ("\(proxy) does not allow a connection to this host", ownersRules)
    case .status(let status): ("cannot connect: \(proxy) answered \(phrase(status))", proxyReachedNone)
    case .unreachable(let why): ("cannot connect: \(proxy) said \(why)", proxyReachedNone)
    case .away: ("cannot connect to \(proxy)", "is the proxy up, and its port right?")
    case .misunderstood: ("\(proxy) gave an invalid answer", "is it a proxy of this kind, and is the port right?")
    case .insecure:
      ("no secure connection to \(proxy)", "if you know its issuer, name it with --cacert FILE; is it an https proxy?")
    }
  }

  private static let ownersRules = "ask the proxy's owner, or name the host in NO_PROXY"
  private static let proxyReachedNone = "is the server up, and the port right? The proxy could not reach it"

  private static func detail(_ error: DownloadError) -> String {
    switch error.cause {
    // Behind the last mark: "OpenSSL/3.0: error:0A00010B:SSL routines::wrong version number".
    case .curl(_, let message):
      error.code == .tls ? message.split(separator: "::").last.map(String.init) ?? "" : message
    case .certificate(.badAuthorities, let message): message.split(separator: ": ").last.map(String.init) ?? ""
    case .certificate(let fault, let message): fault == .other ? message : ""
    case .errno(let number): String(cString: strerror(number))
    case .detail(let text): text == what(error) ? "" : text
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
    case .resolve: "check its spelling, and this machine's network"
    case .connect: "is the server up, and the port right?"
    case .certificate: certificateWords(error).remedy
    case .tls
    where error.reason.contains("protocol version") || error.reason.contains("unsupported protocol"):
      "the server has no version of TLS that --tlsv1.2, --tlsv1.3 and --tls-max allow"
    case .tls: "is this an https server, and the port right?"
    case .clientCertificate: "check --cert, --key and the pass phrase, and that the server knows the certificate"
    case .pinnedKey: "before you change --pinnedpubkey, ask its owner: somebody may be in between"
    case .timeout: "try again later, or allow more time with --connect-timeout"
    case .shortBody where error.activity == "decoding":
      "run the same command again: what was compressed on its way starts over"
    case .reset, .shortBody, .stalled, .skipped: "run the same command again: what has come is kept"
    case .conflict where error.activity == "resuming": "start over: it has changed, or its server knows no ranges"
    case .conflict where error.activity == "replacing": "to replace it: --on-conflict overwrite"
    case .badResponse, .longBody, .range: "check the address; if it is right, tell the server's owner"
    case .tooLarge: "allow more with --max-filesize"
    case .tooSlow: "the downloaded part is saved: run the same command again, or allow less with --min-rate"
    case .tookTooLong: "the downloaded part is saved: run the same command again, or allow more with --max-time"
    case .wrongType: "open the address in a browser; to take it as it is, leave out --expect (or expect= of its line)"
    case .wrongSize: "check the size in the list; the server's file may have changed, or be an error page"
    case .resources: "allow more with ulimit -n, or fetch fewer at once with --jobs"
    case .diskFull:
      "free \(error.neededBytes.map { "at least \(Quantity.bytes($0))" } ?? "space") and run the same command again"
    case .folder where error.activity == "opening a folder": "move it away, or choose other names with dir= and out="
    case .folder: "choose another with --directory"
    case .digest: "check the checksum" + (error.path.map { "; what came is kept as \($0)" } ?? "")
    case .unproven: "require less with --require-proof, or give its checksum"
    case .cache where error.activity == "answering unasked": "run it once without only-if-cached"
    case .redirect where error.reason.contains("in a row"): "they lead in a circle: tell the server's owner"
    case .redirect where error.reason.contains("from https"):
      "others can read and change http; if you trust it, fetch it instead"
    case .redirect: "look for another address of this file"
    case .status: statusRemedy(error)
    default: nil
    }
  }

  private static func certificateWords(_ error: DownloadError) -> (what: String, remedy: String) {
    let skip = "--insecure skips this check"
    guard case .certificate(let fault, _)? = error.cause else { return ("the server's certificate was refused", skip) }
    let (what, remedy) =
      switch fault {
      case .expired: ("has expired", "check this machine's clock, or have it renewed; \(skip)")
      case .notYetValid: ("is not valid yet", "check this machine's clock; \(skip)")
      case .otherHost: ("is for another host", "check the host in the address; \(skip)")
      case .selfSigned: ("is self-signed", "if you trust it, name it with --cacert FILE; \(skip)")
      case .unknownIssuer: ("has an unknown issuer", "if you trust that, name it with --cacert FILE; \(skip)")
      case .revoked: ("was revoked", "do not trust this server")
      case .unknownRevocation: ("may be revoked", "--crlfile needs a valid list from each of its issuers")
      case .badAuthorities: ("cannot be checked", "--cacert needs a file of certificates in PEM")
      case .other: ("was refused", "tell the server's owner; \(skip)")
      }
    return ("the server's certificate \(what)", remedy)
  }

  private static func statusRemedy(_ error: DownloadError) -> String? {
    guard case .http(let status)? = error.cause else { return nil }
    let wait = error.retryAfter ?? .zero
    let isBusy = error.wasTurnedAway || HTTPStatus.isRefusal(status)
    return switch status {
    case _ where isBusy && wait > .seconds(60):
      "it asks to be left alone for \(Quantity.duration(wait)): try again then"
    case _ where isBusy: "it is busy: try again later, or with fewer --jobs"
    case 202: "the server is still preparing the file: try again later, or allow more --retries"
    case 401: "it wants a login: give one with --netrc-file or --header"
    case 403: "access is denied: is a login or a header missing?"
    case 404, 410: "check the address"
    case 407: "a proxy on the way wants a login: name it with --proxy"
    case 408: "try again later"
    case 500...: "the server is in trouble: try again later"
    default: "the server does not give this out: check the address, or ask its owner"
    }
  }

  /// RFC 9110 §15, those that a download meets.
  private static let reasonPhrases = [
    202: "Accepted", 400: "Bad Request", 401: "Unauthorized", 403: "Forbidden", 404: "Not Found",
    405: "Method Not Allowed",
    406: "Not Acceptable", 407: "Proxy Authentication Required", 408: "Request Timeout", 409: "Conflict",
    410: "Gone", 416: "Range Not Satisfiable", 421: "Misdirected Request", 425: "Too Early",
    429: "Too Many Requests", 451: "Unavailable For Legal Reasons", 500: "Internal Server Error",
    501: "Not Implemented", 502: "Bad Gateway", 503: "Service Unavailable", 504: "Gateway Timeout",
  ]
}

/// The message for a line that is not a request: `urls.txt:7: "htp:/x" is not an address: …`.
struct RejectionMessages {
  /// - Parameter lists: those that came over https and name files at http.
  static func downgrades(_ lists: Set<String>) -> [String] {
    lists.sorted().map {
      "dlm: \($0) came over https, but names files at http: others can read and change those "
        + "on their way"
    }
  }

  let line: String

  var said: String { "dlm: \(line)" }

  init(_ rejection: Rejection) {
    let place = rejection.line.map { "\(rejection.list):\($0)" } ?? (rejection.isOfList ? rejection.list : "")
    line = (place.isEmpty ? "" : place + (rejection.isOfList ? " " : ": ")) + Self.text(rejection)
  }

  private static func text(_ rejection: Rejection) -> String {
    let quoted = "\"\(rejection.text)\""
    // A line of a list; what was typed is at hand.
    let remedy = rejection.line == nil ? "" : "; fix or remove it"
    switch rejection.reason {
    // Of a list that is watched.
    case .unreadable(ESPIPE): return "is not a regular file; it is read again once it is one"
    case .unreadable(let number):
      let isMaybeAddress = number == ENOENT && rejection.list.contains(".") && !rejection.list.hasPrefix(".")
      let other = number == EISDIR ? "name a file in it" : "check its name and permissions"
      let remedy = isMaybeAddress ? "if it is an address, write https://\(rejection.list)" : other
      return "cannot be read: \(String(cString: strerror(number))); \(remedy)"
    case .unfetched(let error):
      // Of a further page.
      let page = Redaction.redactedAddress(error.address ?? rejection.list)
      return "cannot be read\(rejection.list.hasSuffix(page) ? "" : " at \(page)"): \(FailureMessages(error).line)"
    case .damaged(let why): return "cannot be read from here on: \(why); get it again"
    case .noList(let what): return text(what)
    case .notUTF8: return "\(quoted) is not UTF-8; save the list as UTF-8"
    case .tooLong: return "\(quoted) is longer than any address; is this a list?"
    case .row(let why): return "\(rejection.text.isEmpty ? "" : quoted + ": ")\(why)\(remedy)"
    case .option(let option):
      return "\"\(option)\" after \(rejection.text) is not an option of a line, or cannot be used; these are "
        + "\(LineOptions.help), each after a tab"
    case .otherHeaders:
      return "\(rejection.text) is asked for before with other header lines; give one of them a name with out=NAME"
    case .thirdPartyHeader(let name):
      return "header=\(name) of \(rejection.text): a list at a URL may not send it there; if you trust the list, save "
        + "it as a file and use that, or give the header with -H"
    case .field(let field):
      let isPlace = field.hasPrefix("out=") || field.hasPrefix("dir=")
      return "\"\(field)\" of \(rejection.text) cannot be used\(isPlace ? ": files go below --directory" : "")\(remedy)"
    case .foreign(let kind): return "\(quoted) is no line of \(kind)\(remedy)"
    case .malformed(.unsupportedScheme(let scheme)):
      return "\(quoted): \(scheme) is not supported, only http and https are\(remedy)"
    case .malformed(let why): return "\(quoted) is not an address: \(text(why))\(remedy)"
    }
  }

  private static func text(_ what: Rejection.NoList) -> String {
    let remedy = "to download it, give its address"
    return switch what {
    case .binary: "is binary data, not a list of addresses; \(remedy)"
    case .page:
      "is a web page, not a list of addresses; \(remedy). To fetch what it links to: --accept '*.pdf'. If its server "
        + "wants a login, give one"
    case .markup(let root):
      "is XML whose root is <\(root)>, and known are metalink, urlset, sitemapindex, rss and feed; \(remedy)"
    case .noLibrary(let library, let kind):
      "is \(kind), which is read with \(library): install it (Debian: apt install \(library))"
    case .heavy: "takes more than 128 MiB of memory to decompress: do that first, with zstd -d --memory=2GB or xz -d"
    case .utf16: "is UTF-16; save it as UTF-8"
    case .noBase: "names files, but not where they are; give the address of their folder with --base"
    case .blake2: "has BLAKE2 checksums, which dlm does not know; take a list by sha256sum or sha512sum"
    case .field(nil, let found) where !found.isEmpty:
      "may have its addresses in \(found.joined(separator: ", ")): say which with --url-field"
    case .field(let name, let found):
      (name.map { "has no \($0)" } ?? "has no field that is known to hold addresses")
        + (found.isEmpty ? "" : ", but \(found.prefix(20).joined(separator: ", "))")
        + ": name the one that does with --url-field, in JSON also --items"
    case .lines(let count) where count <= ListDoubt.mostAtStart:
      "is not a list of addresses: none of its first \(count) lines is one; \(remedy)"
    case .lines(let count):
      "is not a list of addresses: \(count) of its lines are none, and the rest is not read; \(remedy)"
    }
  }

  private static func text(_ why: Address.Malformed) -> String {
    switch why {
    case .empty: "it is empty"
    case .controlCharacter: "it has a control character in it"
    case .noScheme: "it does not begin with http:// or https://"
    case .unsupportedScheme(let scheme): "\(scheme) is not supported"
    case .noHost: "the host is missing"
    case .badHost: "the host has characters that no host may have"
    case .badInternationalHost: "the host's name cannot be written in ASCII (IDNA), as networks need it"
    case .badPort: "the port is not a number from 1 to 65535"
    case .badData: "its data is not base64, or the comma before it is missing"
    }
  }
}

enum TroubleMessages {
  static func temporaryFolder(_ path: String, _ error: Errno) -> String {
    let remedy = path == TemporaryFolder.inMemory ? "leave out --discard" : "name another in TMPDIR"
    return "dlm: the temporary folder \(path) cannot be written: \(error); \(remedy)"
  }

  static func outputLost(_ error: Errno) -> String {
    let remedy = error == .noSpace ? "free space there, or write it elsewhere" : "is what reads it still there?"
    return "dlm: standard output cannot be written: \(String(cString: strerror(error.rawValue))); \(remedy)"
  }

  static func notWritten(_ file: OutputFile, _ error: any Error) -> String {
    let remedy =
      (error as? Errno) == .tooManySymbolicLinkLevels
      ? "it is a link; name the file itself" : "choose another place with \(file.option)"
    return "dlm: \(file.name) cannot be written: \(error); \(remedy)"
  }
}

enum DisplayWords {
  static let all = ProgressMessages(
    failure: { FailureMessages($0).line }, cause: { FailureMessages($0).cause },
    rejection: { RejectionMessages($0).line }, timestamp: { TimeText.utc(milliseconds: WallClock.milliseconds()) })
}
