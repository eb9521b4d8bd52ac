import CCurl
import DownloadModel

/// How a request sends its login (RFC 9110 §11), and what follows a 401 (HTTP rule 41).
///
/// Over TLS, Basic is sent at once. Over plain http, where others read it, nothing is sent before a 401 asks for it,
/// and further files of that origin get the same at once. A server that requires Digest or Negotiate says so with a
/// 401, and gets that, once.
///
/// libcurl makes the answer, but it keeps a challenge and its history in the easy handle, and then takes the next
/// challenge for a refusal or ignores it. So a challenge is always requested with a handle that has none.
enum LoginStage: Equatable {
  /// Basic, or nothing where there is no login.
  case basic
  /// Nothing, so that the server challenges.
  case probe
  /// Digest (RFC 7616), with the challenge that the easy handle has.
  /// - isFresh: this transfer requested the challenge, so that a refusal means the login is wrong.
  case digest(isFresh: Bool)
  /// SPNEGO (RFC 4559), with the user's ticket.
  case negotiate
  /// Basic, after a challenge that offers nothing better.
  case plainBasic

  /// - Parameter offers: the schemes that the 401 offers.
  /// - Returns: the next request for the same file; nil if the 401 is final.
  func next(_ offers: LoginOffers) -> LoginStage? {
    switch self {
    case .basic: offers.contains(.digest) ? .probe : offers.contains(.negotiate) ? .negotiate : nil
    case .probe:
      if offers.contains(.digest) {
        .digest(isFresh: true)
      } else {
        offers.contains(.negotiate) ? .negotiate : offers.contains(.basic) ? .plainBasic : nil
      }
    // The challenge was good for other files: it has become stale, or belongs to another realm.
    case .digest(isFresh: false):
      offers.contains(.digest) ? .probe : offers.contains(.basic) ? .plainBasic : nil
    // Basic is not tried either: it would send in the clear a password that was kept off the network so far.
    case .digest(isFresh: true), .negotiate, .plainBasic: nil
    }
  }

  /// Whether libcurl would answer a further challenge by itself.
  var isAnsweredByLibcurl: Bool {
    switch self {
    case .digest, .negotiate: true
    case .basic, .probe, .plainBasic: false
    }
  }
}

/// The schemes that a WWW-Authenticate field offers (RFC 9110 §11.6.1), as far as dlm knows them.
struct LoginOffers: OptionSet, Hashable {
  let rawValue: UInt8

  static let basic = LoginOffers(rawValue: 1)
  static let digest = LoginOffers(rawValue: 2)
  static let negotiate = LoginOffers(rawValue: 4)

  init(rawValue: UInt8) { self.rawValue = rawValue }

  /// - Parameter field: all its lines, joined with commas, which also separate challenges and parameters.
  init(_ field: String) {
    self = []
    var isQuoted = false
    var isEscaped = false
    var part: [UInt8] = []
    for byte in Array(field.utf8) + [UInt8(ascii: ",")] {
      if !isQuoted, byte == UInt8(ascii: ",") {
        formUnion(Self.scheme(of: part))
        part = []
        continue
      }
      part.append(byte)
      if isEscaped {
        isEscaped = false
      } else if isQuoted, byte == UInt8(ascii: "\\") {
        isEscaped = true
      } else if byte == UInt8(ascii: "\"") {
        isQuoted.toggle()
      }
    }
  }

  /// - Parameter part: `Digest realm="x"`, `nonce="y"`, `Negotiate`. A word that is not a parameter's name is a scheme.
  private static func scheme(of part: [UInt8]) -> LoginOffers {
    let text = OptionalWhiteSpace.trimmed(part)
    let word = text.prefix { !OptionalWhiteSpace.contains($0) && $0 != UInt8(ascii: "=") }
    if OptionalWhiteSpace.trimmed(text[word.endIndex...]).first == UInt8(ascii: "=") { return [] }
    return switch String(decoding: word, as: UTF8.self).lowercased() {
    case "basic": .basic
    case "digest": .digest
    case "negotiate": .negotiate
    default: []
    }
  }
}

/// What origins require, as one loop has learnt: further files then get the right login at once.
///
/// Used on the loop's thread only.
final class LoginMemory {
  private var known: [String: LoginOffers] = [:]

  /// - Parameters:
  ///   - hasLogin: whether there is a login for that address.
  ///   - challenger: the origin whose challenge the easy handle has.
  func stage(at address: Address, hasLogin: Bool, challenger: String?) -> LoginStage {
    guard hasLogin else { return .basic }
    switch known[Self.origin(address)] {
    case nil: return address.scheme == .https ? .basic : .probe
    case .digest?: return challenger == Self.origin(address) ? .digest(isFresh: false) : .probe
    case .negotiate?: return .negotiate
    case .some: return .basic
    }
  }

  /// The login for the next request after a 401; later files benefit from it.
  /// - Parameter challenge: the 401's WWW-Authenticate; nil if it has none.
  /// - Returns: nil if the 401 is final.
  func next(after stage: LoginStage, challenge: String?, at address: Address) -> LoginStage? {
    var offers = challenge.map { LoginOffers($0) } ?? []
    if !Self.speaksNegotiate { offers.remove(.negotiate) }
    guard let next = stage.next(offers) else {
      // The origin accepts none of the user's tickets, so the next file begins anew.
      if stage == .negotiate { known[Self.origin(address)] = nil }
      return nil
    }
    learn(next, at: address)
    return next
  }

  /// Remembers what a server accepts instead of a refused stage.
  private func learn(_ stage: LoginStage, at address: Address) {
    let origin = Self.origin(address)
    switch stage {
    case .probe, .digest(isFresh: true): known[origin] = .digest
    case .negotiate: known[origin] = .negotiate
    // Another realm of the origin may want more.
    case .plainBasic: known[origin] = known[origin] ?? .basic
    case .basic, .digest: break
    }
  }

  private static let speaksNegotiate = dlm_curl_has_negotiate() != 0

  /// With the login of the address: what one login was asked for says nothing of another.
  static func origin(_ address: Address) -> String {
    let path =
      address.key.utf8.count - address.scheme.rawValue.utf8.count - 3 - address.hostAndPort.utf8.count
    return String(decoding: address.wireText.utf8.dropLast(path), as: UTF8.self)
  }
}
