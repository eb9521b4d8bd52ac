import DownloadModel

/// The destinations of a transfer: first the address of its request, then the targets of redirects (RFC 9110 §15.4).
/// Each target is checked before it is requested (HTTP rule 25), and gets a request of its own, because libcurl has
/// one list of header lines for all hosts (HTTP rule 42).
struct Route {
  let home: Address
  private(set) var destination: Address
  private var hops = 0

  init(_ home: Address) {
    self.home = home
    destination = home
  }

  /// - Parameters:
  /// - location: as the server wrote it, often relative to the current destination (RFC 9110 §10.2.2).
  ///   - limit: `TransportOptions.mostRedirects`.
  ///   - mayLeaveTLS: `TransferRequest.mayLeaveTLS`.
  /// - Throws: `.redirect` if it must not be followed.
  func following(_ location: String, atMost limit: Int, mayLeaveTLS: Bool = false) throws(DownloadError) -> Route {
    guard hops < limit else { throw Self.refusal("more than \(limit) in a row") }
    guard let text = AddressReference.resolved(location, against: destination.key), let target = try? Address(text),
      target.scheme.isHTTP
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
