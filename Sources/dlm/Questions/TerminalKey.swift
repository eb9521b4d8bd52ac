enum TerminalKey: Hashable {
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

/// Which keys are commands. Letters that come as typing are not: what was meant for a shell ("ls", "quit") would act.
/// So a letter waits until it is known to stand alone. Signs and arrows act at once; a key that is held down is one.
struct TypingRule {
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
struct KeyDecoder {
  /// Of a sequence or a character that has begun.
  private var pending: [UInt8] = []
  private var paste: [UInt8]?

  private static let longest = 32
  /// So that a paste without its end does not swallow every key.
  private static let longestPaste = 65_536
  private static let endOfPaste = Array("\u{1B}[201~".utf8)

  private var isCharacter: Bool { pending.first.map { $0 >= 0x80 } ?? false }
  /// Whether `flush` would end something.
  var isWithin: Bool { pending == [0x1B] || isCharacter }

  mutating func take(_ byte: UInt8) -> TerminalKey? {
    if paste != nil { return ofPaste(byte) }
    // Any other byte ends a character that was cut short.
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

  /// Escape was meant by itself; half a character is dropped.
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
