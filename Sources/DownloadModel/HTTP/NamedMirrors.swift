/// Mirrors of a file, as the server of its URL names them in an answer (RFC 6249), and the digest that proves what they
/// send. Without a digest that RFC forbids using them.
package final class NamedMirrors: Sendable {
  /// The first to ask first.
  package let mirrors: [Address]
  package let digest: ContentDigest

  private static let most = 16
  /// Bytes of a URL.
  private static let longest = 2_048

  /// What a redirect could not do, a link cannot do either: it leads to http or https, and not from https to http.
  /// - Parameters:
  ///   - asked: the URLs that were asked up to this answer.
  ///   - target: where the answer itself leads.
  package init?(_ head: ResponseHead, asked: [Address], target: Address? = nil) {
    let links = head.links("duplicate")
    guard !links.isEmpty, let digest = head.digest, digest.algorithm.findsForgery else { return nil }
    let isSecure = asked.contains { $0.scheme == .https }
    mirrors = links.prefix(Self.most).sorted { $0.priority < $1.priority }.compactMap { link in
      guard link.target.utf8.count <= Self.longest, let address = try? Address(link.target) else { return nil }
      return isSecure && address.scheme == .http || address == target || asked.contains(address) ? nil : address
    }
    self.digest = digest
  }
}
