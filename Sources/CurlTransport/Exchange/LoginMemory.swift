import CCurl
import DownloadModel

/// The logins that origins require, as learnt by one loop, so that further files send the right login at once.
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

  /// The login for the next request after a 401, chosen from the schemes in its WWW-Authenticate; `nil` if the 401 is
  /// final.
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
    // Another realm of the origin may require more.
    case .plainBasic: if known[origin] != .digest { known[origin] = .basic }
    case .basic, .digest: break
    }
    return next
  }

  private static let speaksNegotiate = dlm_curl_has_negotiate() != 0

  /// Includes the login of the address: a challenge to one login says nothing about another.
  static func origin(_ address: Address) -> String {
    let path = address.key.utf8.count - address.scheme.rawValue.utf8.count - 3 - address.hostAndPort.utf8.count
    return String(utf8: address.wireText.utf8.dropLast(path))
  }
}
