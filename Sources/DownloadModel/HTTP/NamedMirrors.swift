/// Mirrors of a file that the server of its URL names in an answer (RFC 6249), and the digest that verifies their
/// bytes. Without a digest, the RFC forbids using them.
package final class NamedMirrors: Sendable {
  /// In the order in which to try them.
  package let mirrors: [Address]
  package let digest: ContentDigest

  private static let most = 16
  /// Bytes of a URL.
  private static let longest = 2_048

  /// The targets have the limits of a redirect: only http or https, and never from https to http.
  /// - Parameters:
  ///   - asked: the URLs that were requested up to this answer.
  ///   - target: the target of the answer itself, if it is a redirect.
  package init?(_ head: ResponseHead, asked: [Address], target: Address?) {
    let links = head.links("duplicate")
    guard !links.isEmpty, let digest = head.digest, digest.algorithm.findsForgery else { return nil }
    let isSecure = asked.contains { $0.scheme == .https }
    mirrors = links.prefix(Self.most).sorted { $0.priority < $1.priority }.compactMap { link in
      guard link.target.utf8.count <= Self.longest, let address = try? Address(link.target) else { return nil }
      let isUsable = address.scheme == .https || address.scheme == .http && !isSecure
      return !isUsable || address == target || asked.contains(address) ? nil : address
    }
    self.digest = digest
  }
}
