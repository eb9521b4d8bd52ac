import DownloadModel
import Foundation

/// `Repr-Digest` (RFC 9530 §3): a dictionary of byte sequences, `sha-256=:base64:, sha-512=:base64:`. It is of the
/// whole file as stored, also in a 206.
enum ReprDigest {
  /// The strongest digest that is understood; nil if there is none. What is malformed is left out: a server's
  /// slip must not cost a file that is right.
  static func strongest(_ field: String) -> ContentDigest? {
    field.split(separator: ",").compactMap { member(trimmed($0)) }
      .max { $0.algorithm.length < $1.algorithm.length }
  }

  private static func member(_ text: Substring) -> ContentDigest? {
    guard let equals = text.firstIndex(of: "=") else { return nil }
    let algorithm: ContentDigest.Algorithm
    switch text[..<equals].lowercased() {
    case "sha-256": algorithm = .sha256
    case "sha-512": algorithm = .sha512
    default: return nil  // the others are deprecated by RFC 9530 §5
    }
    // Parameters, which RFC 8941 allows behind the value, mean nothing here.
    let value = text[text.index(after: equals)...].prefix { $0 != ";" }
    guard value.count > 2, value.first == ":", value.last == ":",
      let data = Data(base64Encoded: String(value.dropFirst().dropLast()))
    else { return nil }
    return ContentDigest(algorithm, Array(data))
  }

  private static func trimmed(_ text: Substring) -> Substring {
    var text = text.drop { $0 == " " || $0 == "\t" }
    while let last = text.last, last == " " || last == "\t" { text.removeLast() }
    return text
  }
}
