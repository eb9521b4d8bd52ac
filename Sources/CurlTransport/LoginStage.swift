import DownloadModel

/// How a request shows its login (RFC 9110 §11), and what a 401 makes of that (http.md 41).
///
/// Basic is sent at once. A server that wants Digest or Negotiate says so with a 401, and gets that, once. libcurl makes
/// the answer, but it keeps a challenge in the easy handle with the marks of all that came before, and then takes the
/// next one for a refusal or does not look at it. So a challenge is always asked for anew, by a handle that knows none.
enum LoginStage: Equatable {
  /// Basic, or nothing where there is no login.
  case basic
  /// Nothing, so that the server challenges.
  case probe
  /// Digest (RFC 7616), with the challenge that the easy handle has.
  /// - isFresh: it was asked for by this very transfer, so that a refusal is one of the login.
  case digest(isFresh: Bool)
  /// SPNEGO (RFC 4559), with the user's ticket.
  case negotiate
  /// Basic, where the origin wants something else for other files.
  case plainBasic

  /// - Parameter offers: those of the 401 that was the answer.
  /// - Returns: the next request for the same file; nil if the 401 is the last word.
  func next(_ offers: LoginOffers) -> LoginStage? {
    switch self {
    case .basic: offers.contains(.digest) ? .probe : offers.contains(.negotiate) ? .negotiate : nil
    case .probe:
      if offers.contains(.digest) {
        .digest(isFresh: true)
      } else {
        offers.contains(.negotiate) ? .negotiate : offers.contains(.basic) ? .plainBasic : nil
      }
    // A challenge that was good for other files: it has become stale, or is another realm's.
    case .digest(isFresh: false):
      offers.contains(.digest) ? .probe : offers.contains(.basic) ? .plainBasic : nil
    // Nor Basic: a password that was kept from the network so far would go over it in the clear.
    case .digest(isFresh: true), .negotiate, .plainBasic: nil
    }
  }

  /// Whether libcurl would answer a further challenge by itself, behind our back.
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

  /// - Parameter field: all its lines, joined with commas: challenges and their parameters, all between commas.
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

  /// - Parameter part: `Digest realm="x"`, `nonce="y"`, `Negotiate`: a word that is no parameter's name is a scheme.
  private static func scheme(of part: [UInt8]) -> LoginOffers {
    let isBlank = { (byte: UInt8) in byte == 0x20 || byte == 0x09 }
    let text = part.drop(while: isBlank)
    let word = text.prefix { !isBlank($0) && $0 != UInt8(ascii: "=") }
    if text[word.endIndex...].first(where: { !isBlank($0) }) == UInt8(ascii: "=") { return [] }
    return switch String(decoding: word, as: UTF8.self).lowercased() {
    case "basic": .basic
    case "digest": .digest
    case "negotiate": .negotiate
    default: []
    }
  }
}

/// What a loop has learnt about the origins that want more than Basic: further files are then asked for without a detour.
///
/// Used on the loop's thread only.
final class LoginMemory {
  private var wishes: [String: LoginOffers] = [:]

  /// - Parameter challenger: the origin whose challenge the easy handle has.
  func stage(at address: Address, challenger: String?) -> LoginStage {
    guard !wishes.isEmpty, let wish = wishes[Self.origin(address)] else { return .basic }
    if wish == .negotiate { return .negotiate }
    return challenger == Self.origin(address) ? .digest(isFresh: false) : .probe
  }

  /// A server refused one stage and gets another.
  func learn(_ stage: LoginStage, at address: Address) {
    switch stage {
    case .probe: wishes[Self.origin(address)] = .digest
    case .negotiate: wishes[Self.origin(address)] = .negotiate
    case .basic, .digest, .plainBasic: break
    }
  }

  /// There is no ticket that the origin takes: the next file begins anew.
  func forget(_ address: Address) { wishes[Self.origin(address)] = nil }

  static func origin(_ address: Address) -> String { "\(address.scheme.rawValue)://\(address.hostAndPort)" }
}
