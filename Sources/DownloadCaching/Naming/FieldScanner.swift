/// Reads the pieces of a header field's value (RFC 9110 §5.6).
struct FieldScanner {
  private let bytes: [UInt8]
  private var position = 0

  init(_ field: String) { bytes = Array(field.utf8) }

  var isAtEnd: Bool { position >= bytes.count }

  func peeks(_ byte: UInt8) -> Bool { position < bytes.count && bytes[position] == byte }

  mutating func take(_ byte: UInt8) -> Bool {
    guard peeks(byte) else { return false }
    position += 1
    return true
  }

  mutating func skipBlanks() {
    while peeks(UInt8(ascii: " ")) || peeks(UInt8(ascii: "\t")) { position += 1 }
  }

  mutating func token() -> String? {
    let start = position
    while position < bytes.count, Self.isTokenByte(bytes[position]) { position += 1 }
    return position > start ? String(decoding: bytes[start..<position], as: UTF8.self) : nil
  }

  /// What stands before the next `;`, blanks around it left out; nil if there is nothing.
  mutating func looseValue() -> String? {
    let end = bytes[position...].firstIndex(of: UInt8(ascii: ";")) ?? bytes.count
    var value = bytes[position..<end]
    position = end
    while let last = value.last, last == UInt8(ascii: " ") || last == UInt8(ascii: "\t") {
      value.removeLast()
    }
    return value.isEmpty ? nil : String(decoding: value, as: UTF8.self)
  }

  /// The text between quotes, `\x` read as `x`; nil if the closing quote is missing.
  mutating func quotedString() -> String? {
    guard take(UInt8(ascii: "\"")) else { return nil }
    var text: [UInt8] = []
    while position < bytes.count {
      switch bytes[position] {
      case UInt8(ascii: "\""):
        position += 1
        return String(decoding: text, as: UTF8.self)
      case UInt8(ascii: "\\"):
        guard position + 1 < bytes.count else { return nil }
        text.append(bytes[position + 1])
        position += 2
      default:
        text.append(bytes[position])
        position += 1
      }
    }
    return nil
  }

  private static func isTokenByte(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
      UInt8(ascii: "0")...UInt8(ascii: "9"):
      true
    default: "!#$%&'*+-.^_`|~".utf8.contains(byte)
    }
  }
}
