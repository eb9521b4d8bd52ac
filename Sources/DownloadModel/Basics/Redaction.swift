/// Removes logins (RFC 3986 §3.2.1) and signing or unlocking parameters of URLs from texts for users. Applied by the
/// gates of the program and of TerminalProgress. Texts from which a file is downloaded again (the network, the index,
/// `--failed`) stay complete.
package enum Redaction {
  package static let mark = "…"

  /// A text that may contain URLs, without their logins and the values of their secret parameters:
  /// `https://u:p@host/x?X-Amz-Signature=1f&part=2` becomes `https://host/x?X-Amz-Signature=…&part=2`.
  package static func redacted(_ text: some StringProtocol) -> String {
    // Most texts contain neither an @ nor a =.
    guard text.utf8.contains(where: { $0 == .atSign || $0 == .equals }) else { return String(text) }
    return scan(Array(text.utf8)) { $0 <= 0x20 || "\"'<>".utf8.contains($0) }
  }

  /// A text that is meant as one URL, which may have a login without a well-formed scheme. If it is not a URL, it loses
  /// everything from the end of its scheme to its last `@`.
  package static func redactedAddress(_ text: some StringProtocol) -> String {
    if let address = try? Address(text), address.scheme.isHTTP { return address.redacted }
    return scan(Array(withoutLogin(text).utf8)) { _ in false }
  }

  /// A text without the part between its scheme, if it has one, and its last `@`.
  package static func withoutLogin(_ text: some StringProtocol) -> String {
    var bytes = Array(text.utf8)
    let start = bytes.place(of: "://")?.upperBound ?? 0
    if let at = bytes[start...].lastIndex(of: .atSign) { bytes.removeSubrange(start...at) }
    return String(utf8: bytes)
  }

  /// A `data:` URL shortened for messages; any other URL unchanged.
  package static func shortened(_ address: String) -> String {
    DataAddress.isMeant(address) && address.utf8.count > 60 ? address.prefix(59) + mark : address
  }

  /// Whether a text looks like a URL with a login and without a scheme: `user:secret@host/x`, `https//user@host/x`.
  package static func isLoginWithoutScheme(_ text: some StringProtocol) -> Bool {
    let bytes = text.utf8
    guard let end = bytes.firstIndex(where: { ":/".utf8.contains($0) }), end != bytes.startIndex else { return false }
    let rest = bytes[end...]
    if rest.starts(with: "//".utf8) {
      return rest.dropFirst(2).prefix { $0 != .slash }.contains(.atSign)
    }
    return bytes[end] == .colon && rest.contains(.atSign) && rest.place(of: "://") == nil
  }

  /// Whether a parameter's value signs the URL or unlocks its file: the parameters of AWS, Google (`X-Goog-…`), Azure
  /// (`sig`), CloudFront (`Policy`, `Key-Pair-Id`) and Akamai (`hdnts`, `hdnea`), and the usual names of tokens and
  /// keys. Each part of `auth[token]` is a name.
  package static func isSecret(parameter name: some StringProtocol) -> Bool {
    PercentEncoding.decode(name).split { "[]".utf8.contains($0) }.contains { part in
      let plain = Substring(String(utf8: part.filter { !"-_.".utf8.contains($0) }).lowercased())
      return names.contains(plain) || endings.contains { plain.hasSuffix($0) }
    }
  }

  private static let endings =
    """
    token signature secret password apikey credential accesskey accesskeyid secretkey privatekey authkey userkey \
    licensekey downloadkey sessionkey passphrase passwd bearer ticket
    """.split(separator: " ")
  private static let names = Set(
    """
    sig policy keypairid hdnts hdnea hmac jwt auth authorization key pwd pw pass session sessionid sid s3sig code \
    authcode authorizationcode passcode otp
    """.split(separator: " "))

  // MARK: Scanning

  /// - Parameter endsValue: bytes that end a parameter's value besides `&`, `;` and `#`: in a sentence, a blank or a
  ///   quote.
  fileprivate static func scan(_ bytes: [UInt8], _ endsValue: (UInt8) -> Bool) -> String {
    var kept: [UInt8] = []
    kept.reserveCapacity(bytes.count)
    var index = 0
    while index < bytes.count {
      let byte = bytes[index]
      if byte == .colon, bytes[index...].starts(with: "://".utf8) {
        kept += "://".utf8
        index = endOfLogin(bytes, from: index + 3)
      } else if "?&;#".utf8.contains(byte) {
        kept.append(byte)
        index += 1
        let nameEnd = bytes[index...].firstIndex { !$0.isLetterOrDigit && !"-_.%[]".utf8.contains($0) } ?? bytes.count
        let name = bytes[index..<nameEnd]
        guard nameEnd < bytes.count, bytes[nameEnd] == .equals, !name.isEmpty,
          isSecret(parameter: String(utf8: name))
        else { continue }
        kept += name + [bytes[nameEnd]] + Array(mark.utf8)
        index = bytes[nameEnd...].firstIndex { "&;#".utf8.contains($0) || endsValue($0) } ?? bytes.count
      } else {
        kept.append(byte)
        index += 1
      }
    }
    return String(utf8: kept)
  }

  /// The position behind the last `@` of the authority. A login that is only the mark stays, because it shows that a
  /// login is missing.
  private static func endOfLogin(_ bytes: [UInt8], from start: Int) -> Int {
    let end = bytes[start...].firstIndex { "/?#\n\"'".utf8.contains($0) } ?? bytes.count
    guard let at = bytes[start..<end].lastIndex(of: .atSign) else { return start }
    return bytes[start..<at].elementsEqual(mark.utf8) ? start : at + 1
  }
}

extension Address {
  /// `key` without the values of its secret parameters.
  package var redacted: String {
    if scheme == .data { return Redaction.shortened(key) }
    return key.utf8.contains(.equals) ? Redaction.scan(Array(key.utf8)) { _ in false } : key
  }
}

/// The parameters with which storage services sign URLs (HTTP rules 27 and 30). They limit access to a user and a time,
/// and differ from one list to the next; the rest of the URL identifies the file.
package enum SignedQuery {
  /// A URL without the parameters of a known signature.
  package static func unsigned(_ address: String) -> String {
    guard let mark = address.utf8.firstIndex(of: .questionMark),
      case let query = address[address.utf8.index(after: mark)...], mayBeSigned(query)
    else { return address }
    let parameters = query.split(separator: "&").map { (text: $0, name: $0.prefix { $0 != "=" }.lowercased()) }
    let names = Set(parameters.map { $0.name })
    let schemes = schemes.filter { $0.isUsed(names) }
    guard !schemes.isEmpty else { return address }
    let rest = parameters.filter { parameter in !schemes.contains { $0.owns(parameter.name) } }.map { $0.text }
    return String(address[..<mark]) + (rest.isEmpty ? "" : "?" + rest.joined(separator: "&"))
  }

  /// Every scheme has a name that contains "sig". Checked first, because a list may have a million queries.
  private static func mayBeSigned(_ query: Substring) -> Bool {
    var last: UInt32 = 0
    for byte in query.utf8 {
      last = (last << 8 | UInt32(byte | 0x20)) & 0xFF_FFFF
      if last == 0x73_6967 { return true }
    }
    return false
  }

  /// A parameter belongs to the scheme only beside those that identify the scheme: elsewhere `se` may select the file.
  private struct Scheme {
    /// One name of each group must be present. Lower case.
    var marks: [Set<String>]
    var names: Set<String> = []
    var prefix: String?

    func isUsed(_ there: Set<String>) -> Bool { marks.allSatisfy { !$0.isDisjoint(with: there) } }
    func owns(_ name: String) -> Bool { names.contains(name) || prefix.map { name.hasPrefix($0) } == true }
  }

  private static let schemes = [
    // AWS Signature Version 4, query string; Google Cloud Storage V4.
    Scheme(marks: [["x-amz-signature"]], prefix: "x-amz-"),
    Scheme(marks: [["x-goog-signature"]], prefix: "x-goog-"),
    // The second versions of both.
    Scheme(
      marks: [["signature"], ["awsaccesskeyid", "googleaccessid"]],
      names: ["signature", "expires", "awsaccesskeyid", "googleaccessid", "x-amz-security-token"]),
    // CloudFront, with a canned or a custom policy.
    Scheme(
      marks: [["signature"], ["key-pair-id"]],
      names: ["signature", "expires", "policy", "key-pair-id", "hash-algorithm"]),
    // Azure's shared access signature; GitHub's release files add `jwt`.
    Scheme(
      marks: [["sig"], ["sv", "se"]],
      names: [
        "sv", "st", "se", "sr", "sp", "spr", "sip", "si", "ss", "srt", "sig", "skoid", "sktid", "skt", "ske", "sks",
        "skv", "saoid", "suoid", "scid", "sdd", "ses", "jwt",
      ]),
  ]
}
