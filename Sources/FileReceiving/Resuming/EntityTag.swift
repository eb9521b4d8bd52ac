import DownloadModel

/// Entity tags (RFC 9110 §8.8.3) in the forms that servers use.
enum EntityTag {
  /// The tag without its weakness mark, for comparison only. By bytes, as all tags are compared.
  static func opaque(_ tag: String) -> ByteText { ByteText(tag.hasPrefix("W/") ? tag.dropFirst(2) : tag[...]) }

  /// The tag of the same version without content coding, if this tag shows it. Apache compresses `"5f3"` on the fly as
  /// `"5f3-gzip"`, but compares only the former. Others write `-br`, `--gzip`, `;gzip` or `:gzip`.
  static func uncoded(_ tag: String) -> String {
    guard tag.utf8.last == .quote else { return tag }
    for coding in codings where tag.utf8.dropLast().reversed().starts(with: coding.utf8.reversed()) {
      let stem = tag.utf8.dropLast(coding.utf8.count + 1)
      guard let mark = stem.last, marks.contains(mark) else { continue }
      let rest = Substring(stem.dropLast(mark == .dash && stem.dropLast().last == mark ? 2 : 1))
      // `"gzip"` and `"-gzip"` are ordinary tags.
      return rest.utf8.last == .quote ? tag : String(rest) + "\""
    }
    return tag
  }

  private static let codings = ["gzip", "br", "deflate", "zstd"]
  private static let marks = Set("-;:".utf8)
}
