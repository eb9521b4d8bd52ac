/// The digest of the whole representation, also in a 206, as the server gives it: `Repr-Digest` (RFC 9530 §3,
/// `sha-256=:base64:, sha-512=:base64:`), or the earlier `Digest` (RFC 3230 §4.3.2, `SHA-256=base64,MD5=base64`).
package enum ReprDigest {
  /// The strongest supported digest. A malformed member is ignored: it must not fail a correct file.
  package static func strongest(_ field: String, isLegacy: Bool = false) -> ContentDigest? {
    field.split(separator: ",").compactMap { member(OptionalWhiteSpace.trimmed($0), isLegacy) }
      .max { $0.algorithm.length < $1.algorithm.length }
  }

  private static func member(_ text: Substring, _ isLegacy: Bool) -> ContentDigest? {
    guard let equals = text.firstIndex(of: "=") else { return nil }
    // RFC 8941 allows parameters after the value; none is defined here.
    let value = text[text.index(after: equals)...].prefix { $0 != ";" }
    let algorithm: ContentDigest.Algorithm
    switch text[..<equals].lowercased() {
    case "sha-256": algorithm = .sha256
    case "sha-512": algorithm = .sha512
    // RFC 9530 §5 deprecates the others.
    case "sha" where isLegacy: algorithm = .sha1
    case "md5" where isLegacy: algorithm = .md5
    default: return nil
    }
    if isLegacy { return ContentDigest(algorithm, base64: value) }
    guard value.count > 2, value.first == ":", value.last == ":" else { return nil }
    return ContentDigest(algorithm, base64: value.dropFirst().dropLast())
  }
}

extension ResponseHead {
  package var digest: ContentDigest? {
    self["repr-digest"].flatMap { ReprDigest.strongest($0) }
      ?? self["digest"].flatMap { ReprDigest.strongest($0, isLegacy: true) }
  }

  /// The MD5 of an object of S3 that was stored in one part: its entity tag (docs.aws.amazon.com, "Object", ETag).
  /// `nil` for one of several parts, whose tag ends with their number, and for one encrypted by a key of KMS or of its
  /// owner.
  package var objectDigest: ContentDigest? {
    let encryption = self["x-amz-server-side-encryption"] ?? "AES256"
    guard encryption == "AES256", self["x-amz-server-side-encryption-customer-algorithm"] == nil,
      let tag = Validator(self).strongETag
    else { return nil }
    return ContentDigest(.md5, hex: tag.dropFirst().dropLast())
  }
}
