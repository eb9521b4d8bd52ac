import CCurl
package import DownloadModel

/// Where a transfer goes: first to the address of its request, then to where redirects lead (RFC 9110 §15.4); each
/// target is judged before it is asked (HTTP rule 25), and gets a transfer of its own, since libcurl has one list of
/// header lines for all hosts (HTTP rule 42).
struct Route {
  /// As many redirects as browsers follow.
  static let limit = 20

  let home: Address
  private(set) var destination: Address
  private var hops = 0

  init(_ home: Address) {
    self.home = home
    destination = home
  }

  /// - Parameters:
  ///   - location: as the server wrote it, often relative to where it was sent (RFC 9110 §10.2.2).
  ///   - mayLeaveTLS: `TransferRequest.mayLeaveTLS`.
  /// - Throws: `.redirect` if it must not be followed.
  func following(_ location: String, mayLeaveTLS: Bool = false) throws(DownloadError) -> Route {
    guard hops < Self.limit else { throw Self.refusal("more than \(Self.limit) in a row") }
    guard let text = AddressReference.resolved(location, against: destination.key), let target = try? Address(text)
    else { throw Self.refusal("to \(Self.shown(location))") }
    if destination.scheme == .https, target.scheme == .http, !mayLeaveTLS {
      throw Self.refusal("from https to \(target)")
    }
    var next = self
    next.destination = target.withLogin(ifMissing: destination).withLogin(ifMissing: home)
    next.hops += 1
    return next
  }

  private static func shown(_ location: String) -> String {
    let text = Redaction.redactedAddress(location)
    return text.utf8.count > 500 ? "\(text.prefix(500))\(Redaction.mark)" : text
  }

  private static func refusal(_ why: String) -> DownloadError {
    DownloadError(.redirect, cause: .detail(why), activity: "following redirects")
  }
}

/// Resolves a text relative to an address (RFC 3986 §5): a `Location`, or a line of a list that was fetched from there.
package enum AddressReference {
  /// - Returns: nil if the result is no address for dlm. Within the origin of `base` it gets its login.
  package static func resolve(_ text: String, against base: Address) -> Address? {
    resolved(text, against: base.key).flatMap { try? Address($0) }.map { $0.withLogin(ifMissing: base) }
  }

  /// Uses libcurl's own parser, which also accepts what servers write against RFC 3986.
  static func resolved(_ text: String, against base: String) -> String? {
    guard let url = curl_url() else { return nil }
    defer { curl_url_cleanup(url) }
    let flags = UInt32(CURLU_URLENCODE | CURLU_ALLOW_SPACE | CURLU_NON_SUPPORT_SCHEME)
    guard curl_url_set(url, CURLUPART_URL, base, 0) == CURLUE_OK,
      curl_url_set(url, CURLUPART_URL, text, flags) == CURLUE_OK
    else { return nil }
    var result: UnsafeMutablePointer<CChar>?
    guard curl_url_get(url, CURLUPART_URL, &result, 0) == CURLUE_OK, let result else { return nil }
    defer { curl_free(result) }
    return String(cString: result)
  }
}

extension Address {
  /// This address with the login of another one of the same origin, if it has none itself.
  fileprivate func withLogin(ifMissing other: Address) -> Address {
    guard !hasCredentials, other.hasCredentials, other.isSameOrigin(as: self) else { return self }
    let start = "\(scheme.rawValue)://"
    // Both are well formed, so the result is too; it is parsed only to find its components.
    return (try? Address(start + other.login + Substring(wireText.utf8.dropFirst(start.utf8.count)))) ?? self
  }
}
