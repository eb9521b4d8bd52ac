/// Entity tags (RFC 9110 §8.8.3) as servers make them.
enum EntityTag {
  /// A tag without its mark of weakness.
  static func opaque(_ tag: String) -> Substring { tag.hasPrefix("W/") ? tag.dropFirst(2) : tag[...] }

  /// The tag of the same version without content coding: `"5f3-gzip"` is Apache's for what it compresses on the fly, out of
  /// a file of tag `"5f3"`, which is the one that it compares; `-br` likewise, also lighttpd's and Caddy's; `--gzip`
  /// Jetty's; `;gzip` and `:gzip` older ones.
  /// - Returns: the tag itself if it names no coding.
  static func uncoded(_ tag: String) -> String {
    guard tag.utf8.last == UInt8(ascii: "\"") else { return tag }
    for coding in codings where tag.utf8.dropLast().reversed().starts(with: coding.utf8.reversed()) {
      let stem = tag.utf8.dropLast(coding.utf8.count + 1)
      guard let mark = stem.last, marks.contains(mark) else { continue }
      let rest = Substring(stem.dropLast(mark == UInt8(ascii: "-") && stem.dropLast().last == mark ? 2 : 1))
      // `"gzip"` and `"-gzip"` are tags like any other.
      return rest.utf8.last == UInt8(ascii: "\"") ? tag : String(rest) + "\""
    }
    return tag
  }

  /// Whether the server coded the answer on the fly, and said so in its tag.
  static func namesCoding(_ tag: String?) -> Bool { tag.map { uncoded($0) != $0 } ?? false }

  private static let codings = ["gzip", "br", "deflate", "zstd"]
  private static let marks = Set("-;:".utf8)
}
