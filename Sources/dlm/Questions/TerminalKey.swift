/// What a person pressed, or pasted, at a terminal.
enum TerminalKey: Sendable, Equatable {
  /// What gives a mark: one character as a reader sees it, or the part of one that came so far.
  case text(String)
  /// What was pasted, in one piece, lines and all.
  case paste(String)
  case enter, tab, escape, backspace, delete
  case up, down, left, right, home, end
  case wordLeft, wordRight
  /// Ctrl with a letter, in lower case.
  case control(Character)
}

extension TerminalKey {
  /// No hand types so many characters at once; a key that is held down repeats one.
  private static let mostAtOnce = 4

  /// What came with one read, with more characters than can be typed as the paste that it is, also where the terminal
  /// does not mark it: else each would be a command.
  static func joiningPastes(_ keys: [TerminalKey]) -> [TerminalKey] {
    let texts = keys.compactMap { if case .text(let text) = $0 { text } else { String?.none } }
    guard texts.count > mostAtOnce, Set(texts).count > 1 else { return keys }
    return [
      .paste(
        keys.map { key in
          switch key {
          case .text(let text), .paste(let text): text
          case .enter: "\n"
          default: ""
          }
        }.joined())
    ]
  }
}

/// From the bytes that a terminal sends to keys (ECMA-48; xterm's control sequences): a value, which reads nothing
/// itself. A character comes as up to four bytes, an arrow as three, a paste as many. What is begun waits for the rest;
/// Escape alone begins like an arrow, so whoever reads calls `flush` when nothing has followed it for a moment.
struct KeyDecoder: Sendable {
  private enum State: Equatable {
    case plain
    case escape
    /// Behind `ESC [` or `ESC O`: parameters so far.
    case sequence([UInt8])
    case paste([UInt8])
  }

  private var state = State.plain
  /// Bytes of a character whose last one has not come.
  private var character: [UInt8] = []

  /// No terminal sends a longer sequence. What is longer is none.
  private static let longest = 32
  /// A paste that never ends must not swallow every key.
  private static let longestPaste = 65_536
  private static let endOfPaste = Array("\u{1B}[201~".utf8)

  /// Whether something was begun that `flush` would end.
  var isWithin: Bool { state == .escape || !character.isEmpty }

  /// - Returns: the keys that are complete with this byte; mostly one.
  mutating func take(_ byte: UInt8) -> [TerminalKey] {
    switch state {
    case .plain: return plain(byte)
    case .escape: return afterEscape(byte)
    case .sequence(var parameters):
      // Parameters and intermediates, then one final byte.
      if byte >= 0x20, byte < 0x40, parameters.count < Self.longest {
        parameters.append(byte)
        state = .sequence(parameters)
        return []
      }
      state = .plain
      return ended(byte, String(decoding: parameters, as: UTF8.self))
    case .paste(var bytes):
      bytes.append(byte)
      let isWhole = bytes.suffix(Self.endOfPaste.count).elementsEqual(Self.endOfPaste)
      guard isWhole || bytes.count >= Self.longestPaste else {
        state = .paste(bytes)
        return []
      }
      state = .plain
      return [.paste(Self.lines(bytes.dropLast(isWhole ? Self.endOfPaste.count : 0)))]
    }
  }

  /// Nothing followed what was begun: Escape was meant by itself, and half a character is dropped.
  mutating func flush() -> [TerminalKey] {
    character = []
    guard state == .escape else { return [] }
    state = .plain
    return [.escape]
  }

  private mutating func plain(_ byte: UInt8) -> [TerminalKey] {
    if !character.isEmpty || byte >= 0x80 { return ofCharacter(byte) }
    switch byte {
    case 0x1B:
      state = .escape
      return []
    case 0x0D, 0x0A: return [.enter]
    case 0x09: return [.tab]
    case 0x08, 0x7F: return [.backspace]
    case 0x01...0x1A: return [.control(Character(Unicode.Scalar(byte + 0x60)))]
    case 0..<0x20: return []
    default: return [.text(String(Unicode.Scalar(byte)))]
    }
  }

  private mutating func ofCharacter(_ byte: UInt8) -> [TerminalKey] {
    // What is no continuation ends a character that was cut short, and is looked at anew.
    if !character.isEmpty, byte & 0xC0 != 0x80 {
      character = []
      return plain(byte)
    }
    character.append(byte)
    if let text = String(validating: character, as: UTF8.self) {
      character = []
      return [.text(text)]
    }
    if character.count >= 4 || character[0] & 0xC0 == 0x80 { character = [] }
    return []
  }

  private mutating func afterEscape(_ byte: UInt8) -> [TerminalKey] {
    switch byte {
    case UInt8(ascii: "["), UInt8(ascii: "O"):
      state = .sequence([])
      return []
    case 0x1B: return [.escape]
    case UInt8(ascii: "b"): state = .plain; return [.wordLeft]
    case UInt8(ascii: "f"): state = .plain; return [.wordRight]
    default:
      // Alt with a key: the key alone.
      state = .plain
      return plain(byte)
    }
  }

  private mutating func ended(_ final: UInt8, _ parameters: String) -> [TerminalKey] {
    // `CSI 1;5D` is Ctrl with the left arrow, `CSI 1;3D` Alt with it.
    let isByWord = parameters.hasSuffix(";5") || parameters.hasSuffix(";3")
    switch (final, parameters.split(separator: ";").first.map(String.init) ?? "") {
    case (UInt8(ascii: "A"), _): return [.up]
    case (UInt8(ascii: "B"), _): return [.down]
    case (UInt8(ascii: "C"), _): return [isByWord ? .wordRight : .right]
    case (UInt8(ascii: "D"), _): return [isByWord ? .wordLeft : .left]
    case (UInt8(ascii: "H"), _), (UInt8(ascii: "~"), "1"), (UInt8(ascii: "~"), "7"): return [.home]
    case (UInt8(ascii: "F"), _), (UInt8(ascii: "~"), "4"), (UInt8(ascii: "~"), "8"): return [.end]
    case (UInt8(ascii: "~"), "3"): return [.delete]
    case (UInt8(ascii: "~"), "200"):
      state = .paste([])
      return []
    default: return []
    }
  }

  /// Terminals send a pasted line end as CR.
  private static func lines(_ bytes: some Sequence<UInt8>) -> String {
    String(decoding: bytes.map { $0 == 0x0D ? 0x0A : $0 }, as: UTF8.self)
  }
}
