/// A line that is edited at a terminal; it draws nothing. The suggestion is selected: typing replaces it, an arrow
/// edits it, Enter accepts it.
struct LineEditor: Equatable {
  private var characters: [Character]
  private(set) var cursor: Int
  private(set) var isSelected: Bool

  init(_ suggestion: String) {
    characters = Array(suggestion)
    cursor = characters.count
    isSelected = !characters.isEmpty
  }

  var text: String { String(characters) }
  var beforeCursor: String { String(characters[..<cursor]) }
  var afterCursor: String { String(characters[cursor...]) }

  enum Step: Equatable {
    case editing
    case taken
    /// Escape: the suggestion is the answer.
    case left
  }

  mutating func take(_ key: TerminalKey) -> Step {
    switch key {
    case .enter: return .taken
    case .escape: return .left
    case .text(let text): insert(text)
    case .paste(let text): insert(Self.firstLine(text))
    case .backspace: cut(cursor - 1..<cursor)
    case .delete, .control("d"): cut(cursor..<cursor + 1)
    case .left, .control("b"): move(to: isSelected ? 0 : cursor - 1)
    case .right, .control("f"): move(to: isSelected ? characters.count : cursor + 1)
    case .home, .up, .control("a"): move(to: 0)
    case .end, .down, .control("e"): move(to: characters.count)
    case .wordLeft: move(to: startOfWord())
    case .wordRight: move(to: endOfWord())
    case .control("u"): cut(0..<cursor)
    case .control("k"): cut(cursor..<characters.count)
    case .control("w"): cut(startOfWord()..<cursor)
    case .tab, .control: break
    }
    return .editing
  }

  private mutating func insert(_ text: String) {
    // Control characters, which a paste may contain, are no part of a line.
    let scalars = text.unicodeScalars.filter { $0.value >= 0x20 && !(0x7F...0x9F).contains($0.value) }
    guard !scalars.isEmpty else { return }
    if isSelected { clear() }
    join(beforeCursor + String(String.UnicodeScalarView(scalars)), afterCursor)
  }

  /// Recombines characters: a combining accent belongs to the letter that it now follows.
  private mutating func join(_ before: String, _ after: String) {
    characters = Array(before + after)
    cursor = min(before.count, characters.count)
  }

  /// The first non-blank line of a paste.
  private static func firstLine(_ text: String) -> String {
    text.split(separator: "\n").first { !$0.allSatisfy(\.isWhitespace) }.map(String.init) ?? ""
  }

  private mutating func clear() {
    characters = []
    cursor = 0
    isSelected = false
  }

  /// Cuts the selection, else the existing part of a range.
  private mutating func cut(_ range: Range<Int>) {
    if isSelected { return clear() }
    let range = range.clamped(to: characters.indices)
    join(String(characters[..<range.lowerBound]), String(characters[range.upperBound...]))
  }

  private mutating func move(to place: Int) {
    isSelected = false
    cursor = min(max(place, 0), characters.count)
  }

  /// Words of a file name end at blanks, dots, dashes, slashes and underscores.
  private func startOfWord() -> Int {
    characters[..<cursor].reversed().drop(while: Self.isGap).drop { !Self.isGap($0) }.count
  }

  private func endOfWord() -> Int {
    characters.count - characters[cursor...].drop(while: Self.isGap).drop { !Self.isGap($0) }.count
  }

  private static func isGap(_ character: Character) -> Bool { " .-_/".contains(character) }
}
