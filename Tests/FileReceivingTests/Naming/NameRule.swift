/// What every name that a file gets must be, said once more and in bytes: no word of the code under test.
enum NameRule {
  /// - Parameter mayHide: whether a dot or dash at the start is the user's own.
  /// - Returns: what is wrong with a name; nil if nothing is.
  static func complaint(_ name: String, mayHide: Bool) -> String? {
    let bytes = Array(name.utf8)
    if bytes.isEmpty { return "empty" }
    if bytes.contains(0x2F) { return "holds the byte 0x2F" }
    if bytes == [0x2E] || bytes == [0x2E, 0x2E] { return "leads to a folder" }
    if bytes.count > 230 { return "\(bytes.count) bytes long" }
    if !mayHide, bytes[0] == 0x2E { return "hidden" }
    if !mayHide, bytes[0] == 0x2D { return "an option" }
    if let scalar = name.unicodeScalars.first(where: { isControl($0.value) }) {
      return "holds U+\(String(scalar.value, radix: 16))"
    }
    let seen = asSeen(name)
    for ending in [".part", ".part.json", ".part.json.new"] where seen.hasEnding(ending) {
      return "ends as a part or a record does"
    }
    return nil
  }

  private static func isControl(_ value: UInt32) -> Bool {
    switch value {
    case 0..<0x20, 0x7F..<0xA0, 0x061C, 0x200E, 0x200F, 0x2028...0x202E, 0x2066...0x2069, 0xFEFF: true
    default: false
    }
  }

  /// As a file system that folds case, or a reader, takes it: without what is not seen, and without the
  /// marks, dots and blanks behind the last letter.
  private static func asSeen(_ name: String) -> [Unicode.Scalar] {
    var scalars = name.unicodeScalars.filter { !$0.properties.isDefaultIgnorableCodePoint }
    while let last = scalars.last,
      last == "." || last.properties.isWhitespace || last.properties.isGraphemeExtend
        || last.properties.generalCategory == .spacingMark || last.properties.generalCategory == .format
    {
      scalars.removeLast()
    }
    // "ſ" is an "s" to those that fold case.
    return scalars.flatMap { $0 == "\u{17F}" ? ["s"] : Array($0.properties.lowercaseMapping.unicodeScalars) }
  }

  /// Every scalar that makes one `Character` with an ASCII one beside it: those that extend, prepend or join.
  static let joining: [Unicode.Scalar] = (0...0x10FFFF).compactMap { Unicode.Scalar($0) }.filter { scalar in
    scalar.value > 0x7F && (String("/\(scalar)").count == 1 || String("\(scalar)/").count == 1)
  }

  /// Every byte, encoded.
  static func percentEncoded(_ text: String) -> String {
    let digits = Array("0123456789abcdef".utf8)
    var encoded: [UInt8] = []
    for byte in text.utf8 { encoded += [UInt8(ascii: "%"), digits[Int(byte >> 4)], digits[Int(byte & 15)]] }
    return String(decoding: encoded, as: UTF8.self)
  }
}

extension [Unicode.Scalar] {
  fileprivate func hasEnding(_ ending: String) -> Bool {
    let ending = Array(ending.unicodeScalars)
    return count >= ending.count && Array(suffix(ending.count)) == ending
  }
}
