import Glibc

/// A failure of one download: what was being done, for which address or path, why, and whether trying again may help.
///
/// The front door makes the message for the user from these fields, with a hint at the remedy.
public struct DownloadError: Error, Sendable, Equatable {
  /// An open set: rooms add their own codes, so every switch over it needs a default.
  public struct Code: RawRepresentable, Hashable, Sendable {
    public let rawValue: String
    public init(rawValue: String) { self.rawValue = rawValue }

    public static let cancelled = Code(rawValue: "cancelled")
    /// The user gave the file up for this run, and can have it by the next one.
    public static let skipped = Code(rawValue: "skipped")
    public static let badAddress = Code(rawValue: "bad-address")
    public static let resolve = Code(rawValue: "resolve")
    public static let connect = Code(rawValue: "connect")
    public static let tls = Code(rawValue: "tls")
    public static let certificate = Code(rawValue: "certificate")
    /// The user's own certificate cannot be used, the server rejects it, or the server requires one.
    public static let clientCertificate = Code(rawValue: "client-certificate")
    /// The server's key is not the pinned one.
    public static let pinnedKey = Code(rawValue: "pinned-key")
    public static let timeout = Code(rawValue: "timeout")
    public static let stalled = Code(rawValue: "stalled")
    public static let reset = Code(rawValue: "reset")
    /// The request stayed unanswered while the host answered others, over as many connections as it has workers.
    public static let unanswered = Code(rawValue: "unanswered")
    public static let shortBody = Code(rawValue: "short-body")
    public static let longBody = Code(rawValue: "long-body")
    public static let badResponse = Code(rawValue: "bad-response")
    public static let redirect = Code(rawValue: "redirect")
    public static let status = Code(rawValue: "status")
    /// A proxy refused for good, because of the login or its rules.
    public static let proxy = Code(rawValue: "proxy")
    public static let range = Code(rawValue: "range")
    /// Longer than the user allows (`--max-filesize`).
    public static let tooLarge = Code(rawValue: "too-large")
    /// Too many files and connections are open, or memory is short: a problem of this machine, not of a server or disk.
    public static let resources = Code(rawValue: "resources")
    public static let diskFull = Code(rawValue: "disk-full")
    public static let disk = Code(rawValue: "disk")
    public static let folder = Code(rawValue: "folder")
    public static let conflict = Code(rawValue: "conflict")
    public static let digest = Code(rawValue: "digest")
    public static let unproven = Code(rawValue: "unproven")
    public static let cache = Code(rawValue: "cache")
    public static let transport = Code(rawValue: "transport")
  }

  public enum Cause: Sendable, Equatable {
    case curl(code: Int32, message: String)
    case errno(Int32)
    case http(status: Int)
    /// A proxy answered in the server's place or could not be reached. With `.connect` it may be temporary: the proxy
    /// could not reach the server.
    case proxy(ProxyRefusal)
    case detail(String)
  }

  private struct Fields: Sendable, Equatable {
    var code: Code
    var cause: Cause?
    var address: String?
    var path: String?
    var activity: String
    var isTransient: Bool
    var isStaleConnection: Bool
    var wasTurnedAway: Bool
    var overtaken: Overtaken?
    var retryAfter: Duration?
    var neededBytes: Int64?
    var isCoalesced = false
    var provenance = Provenance.user
  }

  /// Behind a reference, because errors are rare and large, and every async function that can throw one would otherwise
  /// reserve that much for each file.
  private final class Box: Sendable {
    let fields: Fields
    init(_ fields: Fields) { self.fields = fields }
  }

  private var box: Box

  public init(
    _ code: Code, cause: Cause? = nil, address: String? = nil, path: String? = nil,
    activity: String = "", isTransient: Bool = false, isStaleConnection: Bool = false,
    wasTurnedAway: Bool = false, overtaken: Overtaken? = nil, retryAfter: Duration? = nil, neededBytes: Int64? = nil
  ) {
    box = Box(
      Fields(
        code: code, cause: cause, address: address, path: path, activity: activity, isTransient: isTransient,
        isStaleConnection: isStaleConnection, wasTurnedAway: wasTurnedAway, overtaken: overtaken,
        retryAfter: retryAfter, neededBytes: neededBytes))
  }

  public var code: Code { box.fields.code }
  public var cause: Cause? { box.fields.cause }
  /// The address without credentials.
  public var address: String? { box.fields.address }
  public var path: String? { box.fields.path }
  /// What was being done: "connecting", "writing".
  public var activity: String { box.fields.activity }
  /// Whether trying again may help (a temporary failure of HTTP rule 11).
  public var isTransient: Bool { box.fields.isTransient }
  /// Whether the request failed on a stale connection: one that had been used before and that the server closed
  /// meanwhile. That is no failure of this file, and a client may simply send the request again (RFC 9112 §9.3.1, RFC
  /// 9113 §8.7).
  public var isStaleConnection: Bool { box.fields.isStaleConnection }
  /// Whether a connection that was made for this request ended before any answer. If the host serves other requests
  /// meanwhile, it accepts no more connections (HTTP rule 37).
  public var wasTurnedAway: Bool { box.fields.wasTurnedAway }
  /// Set when a request was returned unanswered because the host answered others meanwhile (HTTP rule 38).
  public var overtaken: Overtaken? { box.fields.overtaken }

  /// A request that stayed unanswered over its own connection while the host answered others over theirs.
  public struct Overtaken: Sendable, Equatable {
    /// How long it stayed unanswered.
    public var waited: Duration
    /// The network loop that has a connection on which the host answers.
    public var loop: Int
    /// Whether that connection is idle.
    public var isIdle: Bool
    /// How many connections the host answers at a time, by loop; nil until that is known.
    public var answering: [Int]?

    public init(waited: Duration, loop: Int, isIdle: Bool = false, answering: [Int]? = nil) {
      (self.waited, self.loop, self.isIdle, self.answering) = (waited, loop, isIdle, answering)
    }
  }
  /// How long the server asked clients to wait (RFC 9110 §10.2.3).
  public var retryAfter: Duration? { box.fields.retryAfter }

  /// Who named the address, so that a list of what failed can say it when it is read again.
  public var provenance: Provenance { box.fields.provenance }

  public func named(by provenance: Provenance) -> DownloadError {
    if provenance == .user { return self }
    var (error, fields) = (self, box.fields)
    fields.provenance = provenance
    error.box = Box(fields)
    return error
  }

  /// Whether an equal request, for which this one waited, met the failure. It is then no answer of the host to this
  /// request, and has been counted already.
  public var isCoalesced: Bool { box.fields.isCoalesced }

  /// How many bytes of disk space the file lacks or still needs.
  public var neededBytes: Int64? { box.fields.neededBytes }

  /// Whether an errno means that this machine is short of something that is freed again later: descriptors, memory.
  public static func isShortage(_ errno: Int32) -> Bool {
    switch errno {
    case EMFILE, ENFILE, ENOMEM, ENOBUFS: true
    default: false
    }
  }

  /// Whether the disk itself refused a byte, so that no other file can be written either.
  public var stopsWriting: Bool {
    guard case .errno? = cause else { return false }
    return code == .diskFull || code == .disk && activity == "writing"
  }

  public static func == (left: DownloadError, right: DownloadError) -> Bool {
    left.box.fields == right.box.fields
  }

  public static let cancelled = DownloadError(.cancelled)
  public static let skipped = DownloadError(.skipped, isTransient: true)

  /// Whether the user ended it, and nothing failed.
  public var isOfUser: Bool { code == .cancelled || code == .skipped }

  /// The same failure, for another file.
  public func of(_ address: Address) -> DownloadError {
    var copy = self
    var fields = box.fields
    fields.address = address.key
    copy.box = Box(fields)
    return copy
  }

  /// The same failure, for the coalesced requests that waited for the one that met it.
  public var coalesced: DownloadError {
    var copy = self
    var fields = box.fields
    fields.isCoalesced = true
    copy.box = Box(fields)
    return copy
  }

  /// The same failure with this address, unless it has one already.
  public func at(_ address: Address) -> DownloadError {
    box.fields.address == nil ? of(address) : self
  }
}

extension DownloadError: CustomStringConvertible {
  /// For logs and inside other messages; the front door's messages are better.
  public var description: String {
    let place = [box.fields.path, box.fields.address].compactMap(\.self).joined(separator: " ")
    return [box.fields.code.rawValue, box.fields.activity, place, reason].filter { !$0.isEmpty }
      .joined(separator: ": ")
  }

  /// The cause in words: "No space left on device". Empty if there is none.
  public var reason: String {
    switch box.fields.cause {
    case .curl(_, let message): message
    case .errno(let number): String(cString: strerror(number))
    case .http(let status): "status \(status)"
    case .proxy(let refusal): "the proxy \(refusal)"
    case .detail(let text): text
    case nil: ""
    }
  }
}

/// What a proxy answered in the server's place, or why it did not.
public struct ProxyRefusal: Sendable, Equatable {
  public enum Answer: Sendable, Equatable {
    /// It requires a login, or another one: 407 (RFC 9110 §15.5.8), tinyproxy's 401, or SOCKS5's own codes (RFC 1928
    /// §3, RFC 1929).
    case login
    /// Another status than 2xx for CONNECT (RFC 9110 §9.3.6).
    case status(Int)
    /// Its rules forbid the server (RFC 1928 §6, code 2).
    case forbidden
    /// It could not reach the server; with the reason.
    case unreachable(String)
    /// The proxy itself could not be reached; with the reason.
    case away(String)
    /// What answered there is not a proxy of this kind; with the evidence.
    case misunderstood(String)
    /// TLS with the proxy itself failed; with the reason.
    case insecure(String)
  }

  /// Scheme, host and port: `http://proxy.example.org:3128`, without the login.
  public let proxy: String
  /// Whether the user gave a login for it.
  public let hadLogin: Bool
  public let answer: Answer

  public init(proxy: String, hadLogin: Bool, answer: Answer) {
    self.proxy = proxy
    self.hadLogin = hadLogin
    self.answer = answer
  }
}

extension ProxyRefusal: CustomStringConvertible {
  /// For logs; the front door's messages are better.
  public var description: String {
    switch answer {
    case .login: "\(proxy) \(hadLogin ? "refused the login" : "wants a login")"
    case .status(let status): "\(proxy) answered \(status)"
    case .forbidden: "\(proxy) forbids it"
    case .unreachable(let why), .away(let why), .misunderstood(let why), .insecure(let why):
      "\(proxy): \(why)"
    }
  }
}

/// The next attempt after a temporary failure: when it begins, and which of how many it is.
public struct NextAttempt: Sendable, Equatable {
  /// Counts this file's attempts. At least 2, since the first was before any failure.
  public var attempt: Int
  /// Counts, from 1, the retries that `retries` limits: the file's own, or those of its host while that host serves no
  /// request.
  public var retry: Int
  /// The download fails after this many retries without success; nil where something other than a number ends them.
  public var retries: Int?
  public var delay: Duration

  public init(attempt: Int, retry: Int, of retries: Int?, delay: Duration) {
    self.attempt = attempt
    self.retry = retry
    self.retries = retries
    self.delay = delay
  }
}
