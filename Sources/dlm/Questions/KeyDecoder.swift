/// Decodes the bytes of a terminal into keys (ECMA-48; xterm's control sequences). Escape alone starts like an arrow,
/// so the reader calls `flush` if no byte has followed for a moment.
struct KeyDecoder {
  /// Bytes of an incomplete sequence or character.
  private var pending: [UInt8] = []
  private var paste: [UInt8]?

  private static let longest = 32
  /// So that a paste without its end does not swallow every key.
  private static let longestPaste = 65_536
  private static let endOfPaste = Array("\u{1B}[201~".utf8)

  private var isCharacter: Bool { pending.first.map { $0 >= 0x80 } ?? false }
  /// Whether `flush` would end a sequence or character.
  var isWithin: Bool { pending == [0x1B] || isCharacter }

  mutating func take(_ byte: UInt8) -> TerminalKey? {
    if paste != nil { return ofPaste(byte) }
    // Any other byte ends an incomplete character.
    if isCharacter, byte & 0xC0 != 0x80 { pending = [] }
    pending.append(byte)
    if pending[0] == 0x1B { return ofSequence(byte) }
    if let text = String(validating: pending, as: UTF8.self) {
      pending = []
      return byte >= 0x20 && byte != 0x7F ? .text(text) : Self.ofControl(byte)
    }
    if pending.count >= 4 || pending[0] & 0xC0 == 0x80 { pending = [] }
    return nil
  }

  /// Returns a pending Escape as a key of its own; drops half a character.
  mutating func flush() -> TerminalKey? {
    defer { if isWithin { pending = [] } }
    return pending == [0x1B] ? .escape : nil
  }

  private static func ofControl(_ byte: UInt8) -> TerminalKey? {
    switch byte {
    case 0x0D, 0x0A: .enter
    case 0x09: .tab
    case 0x08, 0x7F: .backspace
    case 0x01...0x1A: .control(Character(Unicode.Scalar(byte + 0x60)))
    default: nil
    }
  }

  private mutating func ofPaste(_ byte: UInt8) -> TerminalKey? {
    paste?.append(byte)
    guard let bytes = paste else { return nil }
    let isWhole = bytes.suffix(Self.endOfPaste.count).elementsEqual(Self.endOfPaste)
    guard isWhole || bytes.count >= Self.longestPaste else { return nil }
    paste = nil
    // Terminals send a pasted line end as CR.
    let text = bytes.dropLast(isWhole ? Self.endOfPaste.count : 0).map { $0 == 0x0D ? 0x0A : $0 }
    return .paste(String(decoding: text, as: UTF8.self))
  }

  private mutating func ofSequence(_ byte: UInt8) -> TerminalKey? {
    guard pending.count > 1 else { return nil }
    guard "[O".utf8.contains(pending[1]) else {
      pending = byte == 0x1B ? [byte] : []
      switch Unicode.Scalar(byte) {
      case "\u{1B}": return .escape
      case "b": return .wordLeft
      case "f": return .wordRight
      // Alt with a key counts as the key.
      default: return take(byte)
      }
    }
    // Parameters and intermediates, then a final byte.
    if pending.count == 2 || 0x20..<0x40 ~= byte && pending.count < Self.longest { return nil }
    let parameters = String(decoding: pending.dropFirst(2).dropLast(), as: UTF8.self)
    pending = []
    return key(byte, parameters)
  }

  /// - Parameters:
  ///   - byte: the final byte of a control sequence.
  ///   - parameters: separated by semicolons.
  private mutating func key(_ byte: UInt8, _ parameters: String) -> TerminalKey? {
    // `CSI 1;5D` is Ctrl with the left arrow, `CSI 1;3D` Alt with it.
    let isByWord = parameters.hasSuffix(";5") || parameters.hasSuffix(";3")
    switch (Unicode.Scalar(byte), parameters.split(separator: ";").first.map(String.init) ?? "") {
    case ("A", _): return .up
    case ("B", _): return .down
    case ("C", _): return isByWord ? .wordRight : .right
    case ("D", _): return isByWord ? .wordLeft : .left
    case ("H", _), ("~", "1"), ("~", "7"): return .home
    case ("F", _), ("~", "4"), ("~", "8"): return .end
    case ("~", "3"): return .delete
    case ("~", "200"):
      paste = []
      return nil
    default: return nil
    }
  }
}
