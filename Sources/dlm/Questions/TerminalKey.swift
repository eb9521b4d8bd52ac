enum TerminalKey: Hashable {
  /// One character as a reader sees it, or the part of it that has arrived.
  case text(String)
  case paste(String)
  case enter, tab, escape, backspace, delete
  case up, down, left, right, home, end
  case wordLeft, wordRight
  /// In lower case.
  case control(Character)

  fileprivate var isLetter: Bool { if case .text(let text) = self { text.first?.isLetter == true } else { false } }

  /// Whether it is part of typed text, or of a line.
  fileprivate var isTyped: Bool {
    switch self {
    case .text, .paste, .enter, .tab, .backspace, .delete: true
    default: false
    }
  }
}

/// Which keys are commands. Letters of typed words are not: a word meant for a shell ("ls", "quit") would act. So a
/// letter waits until it is known to be alone. Signs and arrows act at once; a held key counts once.
struct TypingRule {
  /// A key that follows a letter sooner belongs to the same typing.
  static let moment = Duration.milliseconds(300)

  /// Equal letters that may still turn out to be typing.
  private var held: [TerminalKey] = []
  private var isTyping = false
  /// The typed part of a line.
  private var line = ""
  /// The end of the moment after the last key.
  private var end = Duration.zero

  /// When the held keys count as alone, unless more follow; `nil` if none is held.
  var due: Duration? { held.isEmpty ? nil : end }

  /// - Parameter keys: the keys of one read; empty if none arrived in time.
  /// - Returns: the commands. Typing is returned as a paste, which commands nothing.
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

  /// - Returns: the pasted text, or the line that has ended; empty for a part of a line.
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
