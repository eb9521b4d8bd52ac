import DownloadModel

/// The names of an unfinished file, beside its final name: `x.part`, and `x.part.json` for its metadata.
package struct PartialName {
  private let name: String

  init(_ name: String) { self.name = name }

  package init?(ofMetadata name: String) {
    let ending = Self.metadataSuffix.utf8
    guard name.utf8.count > ending.count, name.utf8.suffix(ending.count).elementsEqual(ending) else { return nil }
    self.init(String(utf8: name.utf8.dropLast(ending.count)))
  }

  package var part: String { name + Self.partSuffix }
  package var metadata: String { name + Self.metadataSuffix }

  private static let partSuffix = ".part"
  static let metadataSuffix = ".part.json"
  private static let draftSuffix = ".part.json.new"

  /// The name of new metadata until it replaces the current metadata. Only processes of this user can compute it.
  /// - Parameter number: 0; higher if another user has put a file under the lower names.
  package func draft(_ secret: UserSecret, _ number: Int) -> String {
    secret.tag("draft \(number)", metadata) + Self.draftSuffix
  }

  /// Whether a name ends as dlm's own files do. No URL or server can give such a name.
  static func isReserved(_ name: Substring) -> Bool { hasEnding(name) { [partSuffix, metadataSuffix, draftSuffix] } }

  /// Whether no finished file may have the name. `x.part` is allowed: without metadata, it is never dlm's.
  static func isMetadata(_ name: String) -> Bool { hasEnding(name[...]) { [metadataSuffix, draftSuffix] } }

  /// Compares names as a reader sees them, and as file systems that fold case do (ext4's casefold, APFS, NTFS, FAT).
  private static func hasEnding(_ name: Substring, of endings: () -> [String]) -> Bool {
    guard name.utf8.withContiguousStorageIfAvailable({ mayHaveEnding($0) }) ?? true else { return false }
    let folded = folded(name)
    return endings().contains { folded.reversed().starts(with: $0.uppercased().unicodeScalars.reversed()) }
  }

  private static func mayHaveEnding(_ name: UnsafeBufferPointer<UInt8>) -> Bool {
    guard name.count >= 2 else { return false }
    let first = name[name.count - 2]
    let last = name[name.count - 1]
    // After a dot, a space or a byte outside ASCII, the complete names must be compared.
    func isOpen(_ byte: UInt8) -> Bool { byte >= 0x80 || byte == .dot || byte == .blank }
    return switch last | 0x20 {
    case _ where isOpen(last): true
    case UInt8(ascii: "t"): isOpen(first) || first | 0x20 == UInt8(ascii: "r")
    case UInt8(ascii: "n"): isOpen(first) || first | 0x20 == UInt8(ascii: "o")
    case UInt8(ascii: "w"): isOpen(first) || first | 0x20 == UInt8(ascii: "e")
    default: false
    }
  }

  /// Upper case, because "ſ" folds to "S". Without invisible characters, and without the marks, dots and spaces after
  /// the last letter, which some file systems drop.
  private static func folded(_ name: Substring) -> [Unicode.Scalar] {
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
