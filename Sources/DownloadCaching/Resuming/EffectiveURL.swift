import Crypto
import DownloadModel

/// Which resource answered, where redirects led away from the address that was asked: validators belong to it
/// (http.md 9, 27). For comparison only.
enum EffectiveURL {
  /// An address as a name for what it leads to: without the parameters that only sign it, which differ from one request to
  /// the next. Of what else is in the query, which may be somebody's secret, a digest stands for it.
  /// - Parameter url: without credentials and fragment.
  static func name(_ url: String) -> String {
    guard let mark = url.utf8.firstIndex(of: UInt8(ascii: "?")) else { return url }
    let parameters = unsigned(url[url.utf8.index(after: mark)...])
    let place = url[..<mark]
    guard !parameters.isEmpty else { return String(place) }
    let digest = SHA256.hash(data: Array(parameters.joined(separator: "&").utf8))
    // 96 bits tell all queries of one path apart.
    return "\(place)?~" + digest.prefix(12).map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
  }

  /// The parameters of a query that are no part of a known scheme's signature.
  private static func unsigned(_ query: Substring) -> [Substring] {
    let parameters = query.split(separator: "&")
    let names = parameters.map { $0.prefix { $0 != "=" }.lowercased() }
    let there = Set(names)
    let schemes = schemes.filter { $0.isUsed(there) }
    guard !schemes.isEmpty else { return parameters }
    return zip(parameters, names).filter { _, name in !schemes.contains { $0.owns(name) } }.map { $0.0 }
  }

  /// How a storage service signs addresses. A parameter counts as the scheme's only beside the ones that make it this
  /// scheme: elsewhere `se` or `Expires` may choose the file.
  private struct Scheme {
    /// Of each group, one is there. Lower case.
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
        "sv", "st", "se", "sr", "sp", "spr", "sip", "si", "ss", "srt", "sig", "skoid", "sktid", "skt", "ske",
        "sks",
        "skv", "saoid", "suoid", "scid", "sdd", "ses", "jwt",
      ]),
  ]
}

extension ResponseHead {
  /// The name of the resource that answered; nil if it is the address that was asked.
  var effectiveURL: String? { answeredBy.map(EffectiveURL.name) }
}
