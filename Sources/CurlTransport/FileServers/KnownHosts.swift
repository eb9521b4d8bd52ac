import DownloadModel
import Glibc

/// The hosts whose keys the user has accepted, as ssh keeps them (sshd(8), SSH_KNOWN_HOSTS FILE FORMAT).
struct KnownHosts {
  private struct Line {
    let patterns: Substring
    let isRevoked: Bool
    let type: Substring
    let key: Substring
  }

  private var lines: [Line] = []

  /// - Parameter text: of all files together. Lines that are damaged, or name a certificate authority, do not count.
  init(_ text: String) {
    for line in text.split(whereSeparator: { $0 == "\n" || $0 == "\r\n" }) {
      var words = line.split(whereSeparator: { $0 == " " || $0 == "\t" })[...]
      guard let first = words.first, !first.hasPrefix("#") else { continue }
      if first.hasPrefix("@") { words.removeFirst() }
      guard words.count >= 3, !first.hasPrefix("@") || first == "@revoked" else { continue }
      let place = words.startIndex
      lines.append(
        Line(
          patterns: words[place], isRevoked: first == "@revoked", type: words[place + 1], key: words[place + 2]))
    }
  }

  /// - Parameter key: of the server, in base64.
  /// - Returns: `nil` for a key that is known.
  func fault(of key: String, type: String, at host: String, port: Int) -> HostKeyFault? {
    let named = lines(for: host, port)
    if named.contains(where: { $0.isRevoked && $0.key == key }) { return .revoked }
    let own = named.filter { !$0.isRevoked && $0.type == type }
    if own.contains(where: { $0.key == key }) { return nil }
    return own.isEmpty ? .unknown : .changed
  }

  /// A line by which libcurl asks the server for a key of a type that is known, with a plain name; `nil` for an unknown
  /// host. Of several types, the one that is safest.
  func line(for host: String, port: Int) -> String? {
    let usable = lines(for: host, port).filter { !$0.isRevoked }
    for type in Self.types {
      if let line = usable.first(where: { $0.type == type }) { return "\(host) \(line.type) \(line.key)\n" }
    }
    return nil
  }

  /// Those that libssh2 has, the safest first.
  static let types: [Substring] = [
    "ssh-ed25519", "ecdsa-sha2-nistp256", "ecdsa-sha2-nistp384", "ecdsa-sha2-nistp521", "ssh-rsa",
  ]

  private func lines(for host: String, _ port: Int) -> [Line] {
    let isUsual = port == 22
    let named = lines.filter { Self.matches($0.patterns, isUsual ? host : "[\(host)]:\(port)") }
    if isUsual || named.contains(where: { !$0.isRevoked }) { return named }
    // Like ssh, if no line names the port.
    return named + lines.filter { Self.matches($0.patterns, host) }
  }

  private static func matches(_ patterns: Substring, _ name: String) -> Bool {
    if patterns.hasPrefix("|1|") { return isHash(patterns, of: name) }
    var isMatched = false
    for pattern in patterns.split(separator: ",") {
      let isNegated = pattern.hasPrefix("!")
      // Ports are in brackets, which fnmatch(3) would take for a set.
      let plain = pattern.dropFirst(isNegated ? 1 : 0).lowercased().replacing("[", with: "\\[")
      guard fnmatch(plain, name, 0) == 0 else { continue }
      if isNegated { return false }
      isMatched = true
    }
    return isMatched
  }

  /// `|1|SALT|HASH`: HMAC-SHA1 of the name, with the salt as its key (RFC 2104).
  private static func isHash(_ text: Substring, of name: String) -> Bool {
    let parts = text.split(separator: "|").dropFirst().map { Base64.octets(Array($0.utf8)) }
    guard parts.count == 2, let salt = parts[0], let hash = parts[1] else { return false }
    return ContentHasher.authenticationCode(.sha1, of: Array(name.utf8), key: salt) == hash
  }
}
