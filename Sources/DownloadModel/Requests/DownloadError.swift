import Glibc

/// A failure of one download: the activity, the URL or path, the cause, and whether a retry may help.
public struct DownloadError: Error, Sendable, Equatable, CustomStringConvertible {
  /// A switch over it needs a default, because cases may be added.
  public enum Code: String, Sendable, CaseIterable {
    case cancelled, resolve, connect, tls, certificate, timeout, stalled, reset, redirect, status, range, disk, folder
    case conflict, digest, unproven, cache, transport
    /// The user gave up the file for this run only.
    case skipped
    case badAddress = "bad-address"
    case badResponse = "bad-response"
    case shortBody = "short-body"
    case longBody = "long-body"
    case diskFull = "disk-full"
    /// The user's client certificate cannot be used, the server rejects it, or the server requires one.
    case clientCertificate = "client-certificate"
    case pinnedKey = "pinned-key"
    /// The key of a server over SSH is not known, is another one than before, or was revoked.
    case hostKey = "host-key"
    /// The request stayed unanswered while the host answered others, over as many connections as it has workers.
    case unanswered
    /// A proxy refused permanently, because of the login or its rules.
    case proxy
    /// Longer than the user allows (`--max-filesize`).
    case tooLarge = "too-large"
    /// Slower than the user allows (`--min-rate`), or than the host was: another attempt or source may be faster.
    case tooSlow = "too-slow"
    /// The file took longer than the user allows (`--max-time`), over all its sources and attempts.
    case tookTooLong = "took-too-long"
    /// The media type is not one that the user allows (`--expect`).
    case wrongType = "wrong-type"
    /// The length differs from the one that the list declares.
    case wrongSize = "wrong-size"
    /// Too many files and connections are open, or memory is short: a problem of this machine, not of a server or disk.
    case resources
    /// A value of the library's configuration cannot be used.
    case configuration
    /// The library's session was closed before or during the download.
    case closed
  }

  /// Details beyond the code. A switch over it needs a default, because cases may be added.
  public enum Cause: Sendable, Equatable {
    case curl(code: Int32, message: String)
    /// With `.certificate`: the fault of the server's certificate, and libcurl's message.
    case certificate(CertificateFault, message: String)
    /// With `.hostKey`: what is wrong, and the key's type and fingerprint as ssh shows them.
    case hostKey(HostKeyFault, fingerprint: String)
    case errno(Int32)
    case http(status: Int)
    /// With `.status`: the reply of an FTP server (RFC 959 §4.2), or the refusal of storage that speaks S3, and its
    /// text.
    case reply(code: Int, text: String)
    /// A proxy answered in the server's place or could not be reached; with `.connect` it may be temporary.
    case proxy(ProxyRefusal)
    case detail(String)
  }

  private struct Fields: Sendable, Equatable {
    let code: Code
    let cause: Cause?
    var address: String?
    let path: String?
    let activity: String
    let isTransient: Bool
    let isStaleConnection: Bool
    let wasTurnedAway: Bool
    let isRequeued: Bool
    let retryAfter: Duration?
    let neededBytes: Int64?
    var isCoalesced = false
    var wishes: DownloadRequest.Wishes?
    var tried: [DownloadError] = []
  }

  /// Behind a reference: by value, each async function that can throw an error would reserve its size for each file.
  private final class Box: Sendable {
    let fields: Fields
    init(_ fields: Fields) { self.fields = fields }
  }

  private var box: Box
  private var fields: Fields { box.fields }

  package init(
    _ code: Code, cause: Cause? = nil, address: String? = nil, path: String? = nil,
    activity: String = "", isTransient: Bool = false, isStaleConnection: Bool = false,
    wasTurnedAway: Bool = false, isRequeued: Bool = false, retryAfter: Duration? = nil, neededBytes: Int64? = nil
  ) {
    box = Box(
      Fields(
        code: code, cause: cause, address: address, path: path, activity: activity, isTransient: isTransient,
        isStaleConnection: isStaleConnection, wasTurnedAway: wasTurnedAway, isRequeued: isRequeued,
        retryAfter: retryAfter, neededBytes: neededBytes))
  }

  package init(
    _ code: Code, _ detail: String, _ activity: String, path: String? = nil, isTransient: Bool = false
  ) {
    self.init(code, cause: .detail(detail), path: path, activity: activity, isTransient: isTransient)
  }

  package static let cancelled = DownloadError(.cancelled)
  /// The activity of a login that was refused.
  package static let loggingIn = "logging in"
  package static let skipped = DownloadError(.skipped, isTransient: true)

  public var code: Code { fields.code }
  public var cause: Cause? { fields.cause }
  /// The URL without credentials.
  public var address: String? { fields.address }
  /// The file or folder that the failure concerns; `nil` if none.
  public var path: String? { fields.path }
  /// The activity that failed: "connecting", "writing".
  public var activity: String { fields.activity }
  /// Whether a retry may help (a temporary failure of HTTP rule 11).
  public var isTransient: Bool { fields.isTransient }
  /// How long to wait before a retry: Retry-After (RFC 9110 §10.2.3), else the time until a used-up rate limit resets;
  /// `nil` if it is unknown, or if the failure is permanent.
  public var retryAfter: Duration? { fields.retryAfter }
  /// Bytes of disk space that are missing or still needed.
  public var neededBytes: Int64? { fields.neededBytes }
  /// For a file with mirrors: the failure of each source, including this one.
  public var tried: [DownloadError] { fields.tried }
  /// Whether the request failed on a reused connection that the server had closed meanwhile: not a failure of the
  /// file, so the request may simply be sent again (RFC 9112 §9.3.1, RFC 9113 §8.7).
  package var isStaleConnection: Bool { fields.isStaleConnection }
  /// Whether a connection that was opened for this request ended before any answer, or the answer's status throttles.
  /// If the host serves other requests meanwhile, it accepts no more connections (HTTP rule 37).
  package var wasTurnedAway: Bool { fields.wasTurnedAway }
  /// Whether the transport ended a request that has not failed, because of its host's health (`HostNews`): it is
  /// requeued, and no retry is spent (HTTP rules 38 and 39).
  package var isRequeued: Bool { fields.isRequeued }
  /// Whether an equal request, for which this one waited, had the failure, and counted it.
  package var isCoalesced: Bool { fields.isCoalesced }
  /// The request's options beside the URL, so that a list of failures can repeat them.
  package var wishes: DownloadRequest.Wishes? { fields.wishes }

  public static func == (left: DownloadError, right: DownloadError) -> Bool { left.fields == right.fields }

  /// Whether an errno means a shortage of a resource that is freed again later: descriptors, memory.
  package static func isShortage(_ errno: Int32) -> Bool { [EMFILE, ENFILE, ENOMEM, ENOBUFS].contains(errno) }

  /// Whether the disk itself failed to store a byte, so that no other file can be written, either.
  package var stopsWriting: Bool {
    guard case .errno? = cause else { return false }
    return code == .diskFull || code == .disk && activity == "writing"
  }

  /// Whether another source of the same file may succeed: a mirror is another host, which needs no client certificate
  /// and which a proxy may allow. Failures of this machine, the user's limits and the file's name are the same for
  /// every source.
  package var isOfSource: Bool {
    switch code {
    case .resolve, .connect, .tls, .certificate, .clientCertificate, .pinnedKey, .hostKey, .proxy, .timeout, .stalled,
      .tooSlow,
      .unanswered, .reset, .redirect, .badAddress, .status, .range, .badResponse, .shortBody, .longBody, .digest,
      .unproven, .wrongType, .wrongSize, .transport:
      true
    default: false
    }
  }

  /// Whether the next run may succeed with one of the file's sources.
  package var mayPass: Bool {
    isTransient || code == .tookTooLong || tried.contains(where: \.isTransient)
  }

  package var isOfUser: Bool { code == .cancelled || code == .skipped }

  private func changed(_ change: (inout Fields) -> Void) -> DownloadError {
    var copy = self
    var fields = fields
    change(&fields)
    copy.box = Box(fields)
    return copy
  }

  package func of(_ address: Address) -> DownloadError { changed { $0.address = address.key } }

  /// The same failure with this address, unless it already has one.
  package func at(_ address: Address) -> DownloadError { fields.address == nil ? of(address) : self }

  package func of(_ request: DownloadRequest) -> DownloadError {
    request.key.wishes == nil ? self : changed { $0.wishes = request.key.wishes }
  }

  package func after(_ tried: [DownloadError]) -> DownloadError { changed { $0.tried = tried } }

  /// The same failure, for the coalesced requests that waited for the one that had it.
  package var coalesced: DownloadError { changed { $0.isCoalesced = true } }

  /// For logs.
  public var description: String {
    let place = [path, address].compactMap(\.self).joined(separator: " ")
    return [code.rawValue, activity, place, reason].filter { !$0.isEmpty }.joined(separator: ": ")
  }

  /// The cause as a text: "No space left on device". Empty without a cause.
  public var reason: String {
    switch cause {
    case .curl(_, let message), .certificate(_, let message), .hostKey(_, let message): message
    case .errno(let number): String(cString: strerror(number))
    case .http(let status): "status \(status)"
    case .reply(let code, let text): "\(code) \(text)"
    case .proxy(let refusal): "the proxy \(refusal)"
    case .detail(let text): text
    case nil: ""
    }
  }
}

/// What is wrong with the key of a server over SSH.
public enum HostKeyFault: Sendable {
  case unknown
  /// The server had another key of the same type before.
  case changed
  case revoked
}

/// The fault of a server's certificate; each has a remedy of its own.
public enum CertificateFault: Sendable {
  case expired, notYetValid, otherHost, selfSigned, unknownIssuer, revoked, other
  /// A list of revoked certificates, or the file of trusted authorities, cannot be used.
  case unknownRevocation, badAuthorities
}
