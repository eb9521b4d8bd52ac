/// The names beside a final name under which its bytes wait: `x.part`, and its record `x.part.json`.
struct PartialName: Sendable, Equatable {
  private let name: String

  init(_ name: String) { self.name = name }

  // Made when asked for: most files are done before they need one.
  var part: String { name + Self.partSuffix }
  var record: String { name + Self.recordSuffix }

  private static let partSuffix = ".part"
  static let recordSuffix = ".part.json"
  /// Of a record that is about to replace another (`draft`).
  private static let draftSuffix = ".part.json.new"

  /// The name that a record has for the moment before it replaces another: one that nobody else could give, and that the
  /// next process, if this one is killed, finds again.
  /// - Parameter number: another one, where somebody has seen a name and taken it.
  func draft(_ secret: UserSecret, _ number: Int) -> String {
    secret.tag("draft \(number)", record) + Self.draftSuffix
  }

  /// Whether a name ends as a part, a record or its draft does. No file gets such a name by an address or a server: what
  /// dlm takes for its own is never somebody's wish.
  static func isReserved(_ name: some StringProtocol) -> Bool {
    hasEnding(name, partSuffix) || isRecord(name)
  }

  /// Whether a name ends as a record does: no finished file may have it. `x.part` may, if the user says so: a `.part`
  /// without a record is never dlm's.
  static func isRecord(_ name: some StringProtocol) -> Bool {
    hasEnding(name, recordSuffix) || hasEnding(name, draftSuffix)
  }

  /// As a reader sees it, and a file system that folds case takes it (ext4's casefold, APFS, NTFS, FAT).
  private static func hasEnding(_ name: some StringProtocol, _ ending: String) -> Bool {
    // Most names end in two other letters, and need no more than this.
    var (rest, wanted) = (name.utf8.reversed().makeIterator(), ending.utf8.reversed().makeIterator())
    for _ in 0..<2 {
      guard let byte = rest.next(), let letter = wanted.next() else { return false }
      // Behind a dot, or a byte that is none of ASCII's, the comparison in full.
      if byte >= 0x80 || byte == UInt8(ascii: ".") || byte == UInt8(ascii: " ") { break }
      if byte | 0x20 != letter { return false }
    }
    return folded(name).reversed().starts(with: ending.uppercased().unicodeScalars.reversed())
  }

  /// Upper-case, since "ſ" is an "S" there; without what nobody sees, and without the marks, dots and blanks behind the
  /// last letter, which some file systems drop.
  private static func folded(_ name: some StringProtocol) -> [Unicode.Scalar] {
    var scalars = name.unicodeScalars.filter { !$0.properties.isDefaultIgnorableCodePoint }[...]
    while let last = scalars.last, isTrailing(last) { scalars.removeLast() }
    return scalars.flatMap { $0.properties.uppercaseMapping.unicodeScalars }
  }

  private static func isTrailing(_ scalar: Unicode.Scalar) -> Bool {
    switch scalar.properties.generalCategory {
    case .nonspacingMark, .spacingMark, .enclosingMark, .format: true
    default: scalar == "." || scalar.properties.isWhitespace || scalar.properties.isGraphemeExtend
    }
  }
}
