enum TerminalKey: Sendable, Hashable {
  /// One character as a reader sees it, or the part of one that came so far.
  case text(String)
  case paste(String)
  case enter, tab, escape, backspace, delete
  case up, down, left, right, home, end
  case wordLeft, wordRight
  /// In lower case.
  case control(Character)

  fileprivate var isLetter: Bool { if case .text(let text) = self { text.first?.isLetter == true } else { false } }

  /// Whether it is part of a text that is typed, or of a line.
  fileprivate var isTyped: Bool {
    switch self {
    case .text, .paste, .enter, .tab, .backspace, .delete: true
    default: false
    }
  }
}

/// Which keys are commands. Letters that come as typing are none: what was meant for a shell ("ls", "quit") would act.
/// So a letter waits until it is known to stand alone. Signs and arrows act at once; a key that is held down is one.
struct TypingRule: Sendable {
  /// What follows a letter sooner is typed with it.
  static let moment = Duration.milliseconds(300)

  /// Equal letters that may yet turn out to be typing.
  private var held: [TerminalKey] = []
  private var isTyping = false
  /// What was typed of a line.
  private var line = ""
  /// When the moment after the last key ends.
  private var end = Duration.zero

  /// When what is held stands alone, unless more comes; nil where nothing is.
  var due: Duration? { held.isEmpty ? nil : end }

  /// - Parameter keys: what was read at once; none where nothing came in time.
  /// - Returns: the commands. Typing is a paste, which commands nothing.
  mutating func take(_ keys: [TerminalKey], at now: Duration) -> [TerminalKey] {
    guard !keys.isEmpty || now >= end else { return [] }
    let all = held + keys
    held = []
    guard !keys.isEmpty else { return all }
    let typed = all.filter(\.isTyped)
    isTyping = Set(typed).count > 1 || isTyping && now < end && !typed.isEmpty
    end = now + Self.moment
    if isTyping || all == [.enter] && !line.isEmpty { return [.paste(take(typed))] }
    line = ""
    let sure = all.lastIndex { !$0.isLetter }.map { $0 + 1 } ?? 0
    held = Array(all[sure...])
    return Array(all[..<sure])
  }

  /// - Returns: what was pasted, or the line that has ended; empty for what is but a part of one.
  private mutating func take(_ typed: [TerminalKey]) -> String {
    var whole = ""
    for key in typed {
      switch key {
      case .text(let text): line += text
      case .backspace: _ = line.popLast()
      case .paste(let text): whole = text
      case .enter: (whole, line) = (line, "")
      default: break
      }
    }
    return whole
  }
}

/// From the bytes that a terminal sends to keys (ECMA-48; xterm's control sequences). Escape alone begins like an
/// arrow, so whoever reads calls `flush` when nothing has followed for a moment.
struct KeyDecoder: Sendable {
  private enum State: Equatable {
    case plain
    case escape
    /// After `ESC [` or `ESC O`: the parameters so far.
    case sequence([UInt8])
    case paste([UInt8])
  }

  private var state = State.plain
  private var character: [UInt8] = []

  private static let longest = 32
  /// So that a paste without its end does not swallow every key.
  private static let longestPaste = 65_536
  private static let endOfPaste = Array("\u{1B}[201~".utf8)

  /// Whether `flush` would end something.
  var isWithin: Bool { state == .escape || !character.isEmpty }

  mutating func take(_ byte: UInt8) -> [TerminalKey] {
    switch state {
    case .plain: return plain(byte)
    case .escape: return afterEscape(byte)
    case .sequence(var parameters):
      // Parameters and intermediates, then a final byte.
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

  /// Escape was meant by itself; half a character is dropped.
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
    // Any other byte ends a character that was cut short.
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
      // Alt with a key counts as the key.
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
