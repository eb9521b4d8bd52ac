import CCurl
import DownloadModel

/// How a request sends its login (RFC 9110 §11), and what follows a 401 (HTTP rule 41).
/// Over TLS, Basic is sent at once; over plain http, where others read it, nothing before a 401 asks for it. A server
/// that requires Digest or Negotiate says so with a 401, and gets that, once. libcurl takes a second challenge on one
/// easy handle for a refusal, or ignores it; so a challenge is requested with a handle that has none.
enum LoginStage: Equatable {
  case basic
  /// Nothing, so that the server challenges.
  case probe
  /// Digest (RFC 7616), with the challenge that the easy handle has.
  /// - isFresh: this transfer requested the challenge, so that a refusal means the login is wrong.
  case digest(isFresh: Bool)
  /// SPNEGO (RFC 4559), with the user's ticket, if there is one.
  /// - isLast: the server has refused the login by Basic.
  case negotiate(isLast: Bool)
  /// Basic, after a challenge that offers nothing better.
  case plainBasic

  /// - Returns: the next request for the same file, after a 401 that offers these; nil if the 401 is final.
  func next(_ offers: Set<LoginScheme>) -> LoginStage? {
    switch self {
    case .basic: offers.contains(.digest) ? .probe : offers.contains(.negotiate) ? .negotiate(isLast: true) : nil
    case .probe where offers.contains(.digest): .digest(isFresh: true)
    case .probe where offers.contains(.negotiate): .negotiate(isLast: false)
    case .probe, .negotiate(isLast: false): offers.contains(.basic) ? .plainBasic : nil
    // The challenge was good for other files: it has become stale, or belongs to another realm.
    case .digest(isFresh: false): offers.contains(.digest) ? .probe : offers.contains(.basic) ? .plainBasic : nil
    // Basic is not tried either: it would send in the clear a password that was kept off the network so far.
    case .digest(isFresh: true), .negotiate(isLast: true), .plainBasic: nil
    }
  }

  /// Whether libcurl would answer a further challenge by itself.
  var isAnsweredByLibcurl: Bool { schemes == dlm_auth_digest || schemes == dlm_auth_negotiate }

  /// CURLOPT_HTTPAUTH.
  var schemes: Int {
    switch self {
    case .basic, .plainBasic: dlm_auth_basic
    case .probe: dlm_auth_none
    case .digest: dlm_auth_digest
    case .negotiate: dlm_auth_negotiate
    }
  }
}

/// The schemes that dlm knows of those that a WWW-Authenticate field offers (RFC 9110 §11.6.1).
enum LoginScheme: String, CaseIterable {
  case basic, digest, negotiate

  /// - Parameter field: all its lines, joined with commas, which also separate challenges and parameters.
  static func offered(by field: String) -> Set<LoginScheme> {
    var isQuoted = false
    var isEscaped = false
    let parts = field.utf8.split { byte in
      if byte == UInt8(ascii: "\""), !isEscaped { isQuoted.toggle() }
      isEscaped = isQuoted && !isEscaped && byte == UInt8(ascii: "\\")
      return byte == UInt8(ascii: ",") && !isQuoted
    }
    return Set(parts.compactMap(scheme(of:)))
  }

  /// - Parameter part: `Digest realm="x"`, `nonce="y"`, `Negotiate`. A word that is not a parameter's name is a scheme.
  private static func scheme(of part: Substring.UTF8View) -> LoginScheme? {
    let text = OptionalWhiteSpace.trimmed(part)
    let word = text.prefix { !OptionalWhiteSpace.contains($0) && $0 != UInt8(ascii: "=") }
    if OptionalWhiteSpace.trimmed(text[word.endIndex...]).first == UInt8(ascii: "=") { return nil }
    return LoginScheme(rawValue: String(utf8: word).lowercased())
  }
}

/// What origins require, as one loop has learnt, so that further files get the right login at once.
final class LoginMemory {
  private var known: [String: LoginScheme] = [:]

  func stage(at address: Address, challenger: String?) -> LoginStage {
    let origin = Self.origin(address)
    return switch known[origin] {
    case nil: address.scheme == .https ? .basic : .probe
    case .digest?: challenger == origin ? .digest(isFresh: false) : .probe
    case .negotiate?: .negotiate(isLast: false)
    case .basic?: .basic
    }
  }

  /// The login for the next request after a 401, which offers what its WWW-Authenticate says; nil if the 401 is final.
  func next(after stage: LoginStage, challenge: String?, at address: Address) -> LoginStage? {
    var offers = challenge.map(LoginScheme.offered) ?? []
    if !Self.speaksNegotiate { offers.remove(.negotiate) }
    let next = stage.next(offers)
    let origin = Self.origin(address)
    switch next {
    // The origin accepts none of the user's tickets, so the next file starts over.
    case nil: if case .negotiate = stage { known[origin] = nil }
    case .probe, .digest(isFresh: true): known[origin] = .digest
    case .negotiate: known[origin] = .negotiate
    // Another realm of the origin may want more.
    case .plainBasic: if known[origin] != .digest { known[origin] = .basic }
    case .basic, .digest: break
    }
    return next
  }

  private static let speaksNegotiate = dlm_curl_has_negotiate() != 0

  /// With the login of the address: what one login was asked for says nothing of another.
  static func origin(_ address: Address) -> String {
    let path = address.key.utf8.count - address.scheme.rawValue.utf8.count - 3 - address.hostAndPort.utf8.count
    return String(utf8: address.wireText.utf8.dropLast(path))
  }
}
