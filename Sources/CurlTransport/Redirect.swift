import DownloadModel

/// Where a redirect leads (RFC 9110 §15.4), judged before anything is asked there (http.md 25).
///
/// libcurl would follow by itself, but it has one list of header lines for all hosts, so that a key meant for one would go
/// to the next (http.md 42). So each hop is a transfer of its own, on the same easy handle.
enum Redirect {
  /// As browsers have it.
  static let limit = 20

  enum Step {
    case follow(Address)
    case refuse(DownloadError)
  }

  /// - Parameters:
  ///   - location: as the server wrote it, often relative to `current` (RFC 9110 §10.2.2).
  ///   - home: the address of the request; its login goes to its origin only.
  ///   - count: redirects followed before this one.
  static func step(from current: Address, to location: String, home: Address, count: Int) -> Step {
    guard count < limit else { return refuse("more than \(limit) in a row") }
    guard let text = AddressReference.resolved(location, against: current.key) else {
      return refuse("it leads to no address: \(shown(location))")
    }
    let target: Address
    do throws(Address.Malformed) { target = try Address(text) } catch {
      if case .unsupportedScheme(let scheme) = error {
        return refuse("it leads to \(shown(text)); \(scheme): is neither http nor https")
      }
      return refuse("it leads to no address: \(shown(text))")
    }
    if current.scheme == .https, target.scheme == .http {
      return refuse("it leads from https to \(target), where others can read and change it")
    }
    if target.hasCredentials { return .follow(target) }
    for known in [current, home] where known.hasCredentials && known.isSameOrigin(as: target) {
      return .follow(target.withLogin(of: known))
    }
    return .follow(target)
  }

  /// What may be no address and of any length, without what could be a secret.
  private static func shown(_ location: String) -> String {
    let text = Redaction.redactedAddress(location)
    return text.utf8.count > 500 ? "\(text.prefix(500))\(Redaction.mark)" : text
  }

  private static func refuse(_ why: String) -> Step {
    .refuse(DownloadError(.redirect, cause: .detail(why), activity: "following redirects"))
  }
}

extension Address {
  /// Scheme, host and port (RFC 6454 §4): what a login or a header line of the user's is meant for.
  func isSameOrigin(as other: Address) -> Bool {
    // Mostly it is the very same.
    self == other || scheme == other.scheme && host == other.host && port == other.port
  }

  private var port: Int {
    Int(hostAndPort.dropFirst(host.count + 1)) ?? (scheme == .https ? 443 : 80)
  }

  /// This address with another one's login.
  func withLogin(of other: Address) -> Address {
    let prefix = other.scheme.rawValue.utf8.count + 3
    let wire = Array(other.wireText.utf8)
    let login = wire[prefix..<(prefix + wire.count - other.key.utf8.count)]
    let bytes = Array(wireText.utf8)
    // Both are well formed: so is this, which is read again only to find its parts.
    return
      (try? Address(
        String(decoding: bytes[..<prefix] + login + bytes[prefix...], as: UTF8.self))) ?? self
  }
}
