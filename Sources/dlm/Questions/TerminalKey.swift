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
