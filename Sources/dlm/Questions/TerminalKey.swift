enum TerminalKey: Hashable {
  /// One character as a reader sees it, or the part of it that has arrived.
  case text(String)
  case paste(String)
  case enter, tab, escape, backspace, delete
  case up, down, left, right, home, end
  case wordLeft, wordRight
  /// In lower case.
  case control(Character)

  var isLetter: Bool { if case .text(let text) = self { text.first?.isLetter == true } else { false } }

  /// Whether it is part of typed text, or of a line.
  var isTyped: Bool {
    switch self {
    case .text, .paste, .enter, .tab, .backspace, .delete: true
    default: false
    }
  }
}
