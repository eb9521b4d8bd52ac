/// The parameters by which storage services sign addresses (HTTP rules 27 and 30). They say who may ask, and until
/// when, and differ from one list to the next; which file is meant, the rest of the address says.
public enum SignedQuery {
  /// An address without the parameters of a known signature.
  public static func unsigned(_ address: String) -> String {
    guard let mark = address.utf8.firstIndex(of: UInt8(ascii: "?")),
      case let query = address[address.utf8.index(after: mark)...], mayBeSigned(query)
    else { return address }
    let parameters = query.split(separator: "&").map { (text: $0, name: $0.prefix { $0 != "=" }.lowercased()) }
    let names = Set(parameters.map { $0.name })
    let schemes = schemes.filter { $0.isUsed(names) }
    guard !schemes.isEmpty else { return address }
    let rest = parameters.filter { parameter in !schemes.contains { $0.owns(parameter.name) } }.map { $0.text }
    return String(address[..<mark]) + (rest.isEmpty ? "" : "?" + rest.joined(separator: "&"))
  }

  /// Every scheme has a parameter with "sig" in its name; few other queries have, and those of a list of a million
  /// addresses are all looked at.
  private static func mayBeSigned(_ query: Substring) -> Bool {
    var last: UInt32 = 0
    for byte in query.utf8 {
      last = (last << 8 | UInt32(byte | 0x20)) & 0xFF_FFFF
      if last == 0x73_6967 { return true }
    }
    return false
  }

  /// How a storage service signs addresses. A parameter counts as the scheme's only beside those that identify the
  /// scheme: elsewhere `se` or `Expires` may select the file.
  private struct Scheme {
    /// One name of each group must be there. Lower case.
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
    // Their second versions.
    Scheme(
      marks: [["signature"], ["awsaccesskeyid", "googleaccessid"]],
      names: ["signature", "expires", "awsaccesskeyid", "googleaccessid", "x-amz-security-token"]),
    // CloudFront, with a canned or a custom policy.
    Scheme(
      marks: [["signature"], ["key-pair-id"]],
      names: ["signature", "expires", "policy", "key-pair-id", "hash-algorithm"]),
    // Azure's shared access signature; `jwt` is what GitHub's release files add to it.
    Scheme(
      marks: [["sig"], ["sv", "se"]],
      names: [
        "sv", "st", "se", "sr", "sp", "spr", "sip", "si", "ss", "srt", "sig", "skoid", "sktid", "skt", "ske", "sks",
        "skv", "saoid", "suoid", "scid", "sdd", "ses", "jwt",
      ]),
  ]
}
