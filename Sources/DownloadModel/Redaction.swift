/// Removes logins (RFC 3986 §3.2.1) and the parameters that sign or unlock an address from texts for users. The gates
/// of the front door and of TerminalProgress apply it; texts from which something is fetched again (the wire, the
/// index, `--failed`) stay whole.
public enum Redaction {
  public static let mark = "…"

  /// A text that may contain addresses, without their logins and the values of their secret parameters:
  /// `https://u:p@host/x?X-Amz-Signature=1f&part=2` becomes `https://host/x?X-Amz-Signature=…&part=2`.
  public static func redacted(_ text: some StringProtocol) -> String {
    // Most texts contain neither an @ nor a =.
    guard text.utf8.contains(where: { $0 == UInt8(ascii: "@") || $0 == UInt8(ascii: "=") }) else { return String(text) }
    return scan(Array(text.utf8)) { $0 <= 0x20 || "\"'<>".utf8.contains($0) }
  }

  /// A text that is meant as one address, which may have a login without a well-formed scheme: a text that is none
  /// loses everything from its scheme's end to its last `@`.
  public static func redactedAddress(_ text: some StringProtocol) -> String {
    if let address = try? Address(text) { return address.redacted }
    return scan(Array(withoutLogin(text).utf8)) { _ in false }
  }

  /// A text without what stands between its scheme, if it has one, and its last `@`.
  public static func withoutLogin(_ text: some StringProtocol) -> String {
    var bytes = Array(text.utf8)
    let start = bytes.firstRange(of: "://".utf8)?.upperBound ?? 0
    if let at = bytes[start...].lastIndex(of: UInt8(ascii: "@")) { bytes.removeSubrange(start...at) }
    return String(decoding: bytes, as: UTF8.self)
  }

  /// A `data:` address as messages show it, any other as it is.
  public static func shortened(_ address: String) -> String {
    DataAddress.isMeant(address) && address.utf8.count > 60 ? address.prefix(59) + mark : address
  }

  /// Whether a text looks like an address with a login and without a scheme: `user:secret@host/x`.
  public static func isLoginWithoutScheme(_ text: some StringProtocol) -> Bool {
    let bytes = text.utf8
    guard let end = bytes.firstIndex(where: { ":/".utf8.contains($0) }), bytes[end] == UInt8(ascii: ":"),
      end != bytes.startIndex
    else { return false }
    return bytes[end...].contains(UInt8(ascii: "@")) && bytes[end...].firstRange(of: "://".utf8) == nil
  }

  /// Whether the value of a parameter signs the address or unlocks what it names: the parameters of AWS, Google
  /// (`X-Goog-…`), Azure (`sig`), CloudFront (`Policy`, `Key-Pair-Id`) and Akamai (`hdnts`, `hdnea`), and the usual
  /// names of tokens and keys. Of `auth[token]` each part is a name.
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
        let nameEnd = bytes[index...].firstIndex { !$0.isLetterOrDigit && !"-_.%[]".utf8.contains($0) } ?? bytes.count
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

  /// Behind the last `@` of the authority. A login that is only the mark stays: it says that one is to be given.
  private static func endOfLogin(_ bytes: [UInt8], from start: Int) -> Int {
    let end = bytes[start...].firstIndex { "/?#\n\"'".utf8.contains($0) } ?? bytes.count
    guard let at = bytes[start..<end].lastIndex(of: UInt8(ascii: "@")) else { return start }
    return bytes[start..<at].elementsEqual(mark.utf8) ? start : at + 1
  }
}

extension Address {
  /// `key` without the values of its secret parameters.
  public var redacted: String {
    if scheme == .data { return Redaction.shortened(key) }
    return key.utf8.contains(UInt8(ascii: "=")) ? Redaction.scan(Array(key.utf8)) { _ in false } : key
  }
}
