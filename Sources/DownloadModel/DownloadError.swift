import Glibc

/// A failure of one download: what was being done, to which address or path, why, and whether again may help.
///
/// The words for people, with a hint at the remedy, are made in the front door from these fields.
public struct DownloadError: Error, Sendable, Equatable {
  /// An open set: rooms add their own codes; nobody switches over it without a default.
  public struct Code: RawRepresentable, Hashable, Sendable {
    public let rawValue: String
    public init(rawValue: String) { self.rawValue = rawValue }

    public static let cancelled = Code(rawValue: "cancelled")
    public static let badAddress = Code(rawValue: "bad-address")
    public static let resolve = Code(rawValue: "resolve")
    public static let connect = Code(rawValue: "connect")
    public static let tls = Code(rawValue: "tls")
    public static let certificate = Code(rawValue: "certificate")
    /// The user's own certificate cannot be used, or the server will not have it or wants one.
    public static let clientCertificate = Code(rawValue: "client-certificate")
    /// The server has another key than the pinned one.
    public static let pinnedKey = Code(rawValue: "pinned-key")
    public static let timeout = Code(rawValue: "timeout")
    public static let stalled = Code(rawValue: "stalled")
    public static let reset = Code(rawValue: "reset")
    /// Left without an answer while the host answered others, over as many connections as it has workers for.
    public static let unanswered = Code(rawValue: "unanswered")
    public static let shortBody = Code(rawValue: "short-body")
    public static let longBody = Code(rawValue: "long-body")
    public static let badResponse = Code(rawValue: "bad-response")
    public static let redirect = Code(rawValue: "redirect")
    public static let status = Code(rawValue: "status")
    /// A proxy on the way refused for good: its login, its rules.
    public static let proxy = Code(rawValue: "proxy")
    public static let range = Code(rawValue: "range")
    /// Longer than the user allows (`--max-filesize`).
    public static let tooLarge = Code(rawValue: "too-large")
    /// Too many files and connections are open, or memory is short: this machine's trouble, no server's and no disk's.
    public static let resources = Code(rawValue: "resources")
    public static let diskFull = Code(rawValue: "disk-full")
    public static let disk = Code(rawValue: "disk")
    public static let folder = Code(rawValue: "folder")
    public static let conflict = Code(rawValue: "conflict")
    public static let digest = Code(rawValue: "digest")
    public static let unproven = Code(rawValue: "unproven")
    public static let cache = Code(rawValue: "cache")
    /// The sink has all that it wanted. Told to whoever started the transfer, never to a person.
    public static let enough = Code(rawValue: "enough")
    public static let transport = Code(rawValue: "transport")
  }

  public enum Cause: Sendable, Equatable {
    case curl(code: Int32, message: String)
    case errno(Int32)
    case http(status: Int)
    /// A proxy's answer or absence. With `.connect` it may pass: the server could not be reached through it.
    case proxy(ProxyRefusal)
    case detail(String)
  }

  private struct Fields: Sendable, Equatable {
    var code: Code
    var cause: Cause?
    var address: String?
    var path: String?
    var activity: String
    var isPassing: Bool
    var wasUnanswered: Bool
    var wasTurnedAway: Bool
    var overtaken: Overtaken?
    var retryAfter: Duration?
    var neededBytes: Int64?
    var isAnothers = false
  }

  /// Behind a reference, since errors are rare and large, and each place for one in an async function would be
  /// allocated for each file.
  private final class Box: Sendable {
    let fields: Fields
    init(_ fields: Fields) { self.fields = fields }
  }

  private var box: Box

  public init(
    _ code: Code, cause: Cause? = nil, address: String? = nil, path: String? = nil,
    activity: String = "", isPassing: Bool = false, wasUnanswered: Bool = false,
    wasTurnedAway: Bool = false, overtaken: Overtaken? = nil, retryAfter: Duration? = nil,
    neededBytes: Int64? = nil
  ) {
    box = Box(
      Fields(
        code: code, cause: cause, address: address, path: path, activity: activity, isPassing: isPassing,
        wasUnanswered: wasUnanswered, wasTurnedAway: wasTurnedAway, overtaken: overtaken,
        retryAfter: retryAfter, neededBytes: neededBytes))
  }

  public var code: Code { box.fields.code }
  public var cause: Cause? { box.fields.cause }
  /// Without credentials.
  public var address: String? { box.fields.address }
  public var path: String? { box.fields.path }
  /// What was being done: "connecting", "writing".
  public var activity: String { box.fields.activity }
  /// Whether trying again can help (http.md's passing failures).
  public var isPassing: Bool { box.fields.isPassing }
  /// Whether a connection that others had used before ended with the request on it: the server had closed it meanwhile,
  /// which is no failure of this file, and a client may simply ask again (RFC 9112 §9.3.1, RFC 9113 §8.7).
  public var wasUnanswered: Bool { box.fields.wasUnanswered }
  /// Whether a connection that was made for this request ended before any answer: the server takes no more of them, if it
  /// serves others meanwhile (http.md 37).
  public var wasTurnedAway: Bool { box.fields.wasTurnedAway }
  /// Set where a request was given back unanswered because the host answered others meanwhile (http.md 38).
  public var overtaken: Overtaken? { box.fields.overtaken }

  /// A request that was left unanswered over a connection of its own while the host answered others over theirs.
  public struct Overtaken: Sendable, Equatable {
    /// For how long.
    public var waited: Duration
    /// The network loop that has a connection over which the host answers.
    public var loop: Int
    /// Whether that connection has no transfer now.
    public var isIdle: Bool
    /// Over how many connections the host answers at a time, by loop; nil while that is yet to be found out.
    public var answering: [Int]?

    public init(waited: Duration, loop: Int, isIdle: Bool = false, answering: [Int]? = nil) {
      (self.waited, self.loop, self.isIdle, self.answering) = (waited, loop, isIdle, answering)
    }
  }
  /// How long the server asked to be left alone (RFC 9110 §10.2.3).
  public var retryAfter: Duration? { box.fields.retryAfter }

  /// Whether another request for the same file met it, for which this one waited: no answer of the host to this one, and
  /// counted where it was met.
  public var isAnothers: Bool { box.fields.isAnothers }

  /// Space on the disk, in bytes, that the file lacks or still needs.
  public var neededBytes: Int64? { box.fields.neededBytes }

  /// Whether an errno says that this machine is short of something that others give back: descriptors, memory.
  public static func isShortage(_ errno: Int32) -> Bool {
    switch errno {
    case EMFILE, ENFILE, ENOMEM, ENOBUFS: true
    default: false
    }
  }

  /// Whether the disk itself refused a byte: no other file can be written either.
  public var stopsWriting: Bool {
    guard case .errno? = cause else { return false }
    return code == .diskFull || code == .disk && activity == "writing"
  }

  public static func == (left: DownloadError, right: DownloadError) -> Bool {
    left.box.fields == right.box.fields
  }

  public static let cancelled = DownloadError(.cancelled)
  public static let enough = DownloadError(.enough)

  /// The same failure, met by another file.
  public func of(_ address: Address) -> DownloadError {
    var copy = self
    var fields = box.fields
    fields.address = address.key
    copy.box = Box(fields)
    return copy
  }

  /// The same failure, for those who waited for the request that met it.
  public var metByAnother: DownloadError {
    var copy = self
    var fields = box.fields
    fields.isAnothers = true
    copy.box = Box(fields)
    return copy
  }

  /// The same failure, said of an address, if it names none yet.
  public func at(_ address: Address) -> DownloadError {
    box.fields.address == nil ? of(address) : self
  }
}

extension DownloadError: CustomStringConvertible {
  /// For logs, and for words inside other messages; the front door has better ones.
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
