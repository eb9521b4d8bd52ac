import DownloadModel
import Glibc

/// A pattern of `--first`, as in the shell (fnmatch(3)): `*`, `?`, `[a-z]`, `[!a-z]`, `\`. Its components are compared
/// with the same number of last components of the URL's path, or with all if it starts with a slash. `*` does not match
/// a slash; paths are percent-decoded; an unclosed bracket is literal, and so is a `\` at the end.
struct NamePattern {
  private let components: [String]
  private let isWhole: Bool

  init(_ text: String) {
    let isWhole = text.unicodeScalars.first == "/"
    self.isWhole = isWhole
    components = text.unicodeScalars.drop { isWhole && $0 == "/" }.split(
      separator: "/", omittingEmptySubsequences: false
    )
    .map { $0.reversed().prefix { $0 == "\\" }.count.isMultiple(of: 2) ? String($0) : String($0) + "\\" }
  }

  func matches(_ address: Address) -> Bool {
    if components.count == 1, !isWhole { return Self.matches(components[0], address.lastPathSegment) }
    let path = address.path.drop { $0 == "/" }.split(separator: "/", omittingEmptySubsequences: false)
    guard isWhole ? path.count == components.count : path.count >= components.count else { return false }
    return zip(components, path.suffix(components.count)).allSatisfy { Self.matches($0, $1) }
  }

  private static func matches(_ pattern: String, _ name: Substring) -> Bool {
    let text = String(utf8: PercentEncoding.decode(name))
    let before = uselocale(locale_t(bitPattern: unicode))
    defer { uselocale(before) }
    return fnmatch(pattern, text, 0) == 0
  }

  /// A locale with Unicode characters (LC_CTYPE); 0 if the system has none.
  private static let unicode = Int(bitPattern: newlocale(1, "C.UTF-8", nil))
}
