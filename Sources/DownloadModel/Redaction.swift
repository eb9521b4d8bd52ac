/// Removes secrets from texts for users: logins in addresses (RFC 3986 §3.2.1), and the parameters that sign or unlock
/// an address. Pure. Every text for a user goes through it, in the two gates of the front door and of TerminalProgress.
/// Texts from which something is fetched again (the wire, the index, `--failed`) do not.
public enum Redaction {
  /// The text that replaces a secret.
  public static let mark = "…"

  /// A text that may contain addresses, without their logins and the values of their secret parameters.
  ///
  ///     https://u:p@host/x?X-Amz-Signature=1f&part=2  →  https://host/x?X-Amz-Signature=…&part=2
  public static func redacted(_ text: some StringProtocol) -> String {
    // Most texts contain neither an @ nor a =.
    guard text.utf8.contains(where: { $0 == UInt8(ascii: "@") || $0 == UInt8(ascii: "=") }) else { return String(text) }
    return scan(Array(text.utf8)) { isBlankOrQuote($0) }
  }

  /// A text that is meant as one address, well formed or not: `user:secret@host/x` without a scheme and
  /// `https:/user:secret@host` contain a login too. A text that is not an address loses everything from its scheme's
  /// end to its last `@`.
  public static func redactedAddress(_ text: some StringProtocol) -> String {
    if let address = try? Address(text) { return address.redacted }
    var bytes = Array(text.utf8)
    let start = bytes.firstRange(of: "://".utf8)?.upperBound ?? 0
    if let at = bytes[start...].lastIndex(of: UInt8(ascii: "@")) { bytes.removeSubrange(start...at) }
    return scan(bytes) { _ in false }
  }

  /// Whether a text without a scheme looks like an address with a login: `user:secret@host/x`. A file of that name can
  /// be named `./user:secret@host/x`.
  public static func isLoginWithoutScheme(_ text: some StringProtocol) -> Bool {
    let bytes = text.utf8
    guard let end = bytes.firstIndex(where: { ":/".utf8.contains($0) }), bytes[end] == UInt8(ascii: ":"),
      end != bytes.startIndex
    else { return false }
    return bytes[end...].contains(UInt8(ascii: "@")) && bytes[end...].firstRange(of: "://".utf8) == nil
  }

  /// Whether the value of a parameter with this name signs the address or unlocks what it names.
  ///
  /// Signing schemes: AWS (`X-Amz-…`, version 2's `Signature`), Google (`X-Goog-…`), Azure (`sig`), CloudFront
  /// (`Signature`, `Policy`, `Key-Pair-Id`), Akamai (`hdnts`, `hdnea`); and the usual names of tokens and keys. Of
  /// `auth[token]` each part is a name.
  public static func isSecret(parameter name: some StringProtocol) -> Bool {
    (PercentEncoding.decode(name) ?? Array(name.utf8)).split { "[]".utf8.contains($0) }.contains { part in
      let plain = String(decoding: part.filter { !"-_.".utf8.contains($0) }, as: UTF8.self).lowercased()
      return names.contains(plain) || endings.contains { plain.hasSuffix($0) }
    }
  }

  private static let endings = [
    "token", "signature", "secret", "password", "apikey", "credential", "accesskey", "accesskeyid",
    "secretkey", "privatekey", "passphrase", "passwd", "bearer", "ticket",
  ]
  private static let names: Set<String> = [
    "sig", "policy", "keypairid", "hdnts", "hdnea", "hmac", "jwt", "auth", "authorization", "key", "pwd", "pw", "pass",
    "session", "sessionid", "code", "authcode", "authorizationcode", "passcode", "otp",
  ]

  // MARK: Scanning

  /// - Parameter endsValue: what ends a parameter's value besides `&`, `;` and `#`: in a sentence, a blank or a quote.
  fileprivate static func scan(_ bytes: [UInt8], _ endsValue: (UInt8) -> Bool) -> String {
    var kept: [UInt8] = []
    kept.reserveCapacity(bytes.count)
    var index = 0
    while index < bytes.count {
      let byte = bytes[index]
      if byte == UInt8(ascii: ":"), bytes[index...].starts(with: "://".utf8) {
        kept += "://".utf8
        index = endOfLogin(bytes, from: index + 3)
      } else if "?&;#".utf8.contains(byte) {
        kept.append(byte)
        index += 1
        let nameEnd = bytes[index...].firstIndex { !isInName($0) } ?? bytes.count
        let name = bytes[index..<nameEnd]
        guard nameEnd < bytes.count, bytes[nameEnd] == UInt8(ascii: "="), !name.isEmpty,
          isSecret(parameter: String(decoding: name, as: UTF8.self))
        else { continue }
        kept += name + [bytes[nameEnd]] + Array(mark.utf8)
        index = bytes[nameEnd...].firstIndex { "&;#".utf8.contains($0) || endsValue($0) } ?? bytes.count
      } else {
        kept.append(byte)
        index += 1
      }
    }
    return String(decoding: kept, as: UTF8.self)
  }

  /// Where the host begins: behind the last `@` of the authority. A login that is only the mark hides nothing; it
  /// stays, because it shows that a login is to be given.
  private static func endOfLogin(_ bytes: [UInt8], from start: Int) -> Int {
    let end = bytes[start...].firstIndex { "/?#\n\"'".utf8.contains($0) } ?? bytes.count
    guard let at = bytes[start..<end].lastIndex(of: UInt8(ascii: "@")) else { return start }
    return bytes[start..<at].elementsEqual(mark.utf8) ? start : at + 1
  }

  private static func isInName(_ byte: UInt8) -> Bool { byte.isLetterOrDigit || "-_.%[]".utf8.contains(byte) }

  private static func isBlankOrQuote(_ byte: UInt8) -> Bool { byte <= 0x20 || "\"'<>".utf8.contains(byte) }
}

extension Address {
  /// For users: `key` without the values of its secret parameters.
  public var redacted: String {
    key.utf8.contains(UInt8(ascii: "=")) ? Redaction.scan(Array(key.utf8)) { _ in false } : key
  }
}
