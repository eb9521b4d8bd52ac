import DownloadModel
import Glibc

/// A pattern of `--first`, as the shell's (fnmatch(3)): `*`, `?`, `[a-z]`, `[!a-z]`, `\`. Its components are compared
/// with as many last ones of the address's path, or with all if it begins with a slash. `*` does not pass a slash;
/// paths are percent-decoded; a bracket that is never closed stands for itself, and so does a `\` at the end.
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
    let octets = PercentEncoding.decode(name)
    let text = octets.map { String(utf8: $0) } ?? String(name)
    let before = uselocale(locale_t(bitPattern: unicode))
    defer { uselocale(before) }
    return fnmatch(pattern, text, 0) == 0
  }

  /// A locale whose characters (LC_CTYPE) are Unicode's; 0 where the system has none.
  private static let unicode = Int(bitPattern: newlocale(1, "C.UTF-8", nil))
}
