/// A line of the region as the cells that a terminal makes of it.
///
/// Made from a line's text with its styles (SGR sequences and nothing else that moves or hides).
struct CellLine: Sendable, Equatable {
  struct Cell: Sendable, Equatable {
    /// What stands there; nil in the right half of a wide character.
    var character: Character?
    /// The parameters of the SGR sequences that are in force, such as "31"; empty for none.
    var style: String
    /// Whether terminals may take another number of cells for it than `CellWidth` says.
    var isUncertain = false

    /// A blank looks alike in every colour and weight.
    static let blank = Cell(character: " ", style: "")

    var isBlank: Bool { character == " " }
  }

  /// To the last that is not blank.
  private(set) var cells: [Cell] = []
  /// Where the last uncertain character ends: from here on a cell is where it is thought to be only if the
  /// cursor was sent there.
  private(set) var certainFrom = 0

  init() {}

  /// - Parameter width: of the window; what is beyond it is left out.
  init(_ text: String, width: Int) {
    let bytes = Array(text.utf8)
    cells.reserveCapacity(min(bytes.count, width))
    var style = ""
    var index = 0
    while index < bytes.count {
      if bytes[index] != 0x1B, cells.count >= width { break }
      if bytes[index] == 0x1B {
        index = Self.takeStyle(bytes, from: index + 1, &style)
      } else if let (character, next) = Self.simple(bytes, at: index) {
        let isPlainBlank = bytes[index] == 0x20 && !Self.isSeenOnBlanks(style)
        cells.append(Cell(character: character, style: isPlainBlank ? "" : style))
        index = next
      } else {
        // A part of the text: a mark behind a style must not be taken for one on the style's last letter.
        let start = text.utf8.index(text.startIndex, offsetBy: index)
        guard let character = text[start...].first else { break }
        append(character, cells: CellWidth.of(character), style)
        index += character.utf8.count
      }
    }
    // A wide character has no room in the last column.
    if cells.count > width { cells.removeLast(2) }
    while cells.last == .blank { cells.removeLast() }
    certainFrom = min(certainFrom, cells.count)
  }

  private mutating func append(_ character: Character, cells count: Int, _ style: String) {
    // A mark that has nothing to stand on takes no cell: it joins the one before, or is left out.
    guard count > 0 else {
      guard let last = cells.indices.last(where: { cells[$0].character != nil }) else { return }
      let joined = (cells[last].character.map(String.init) ?? "") + String(character)
      // Two that do not make one character cannot share a cell; then the mark is left out.
      if joined.count == 1 { cells[last].character = Character(joined) }
      cells[last].isUncertain = true
      certainFrom = cells.count
      return
    }
    let isUncertain = !character.isASCII && character.unicodeScalars.dropFirst().first != nil
    let isPlainBlank = character == " " && !Self.isSeenOnBlanks(style)
    cells.append(Cell(character: character, style: isPlainBlank ? "" : style, isUncertain: isUncertain))
    for _ in 1..<max(count, 1) {
      cells.append(Cell(character: nil, style: style, isUncertain: isUncertain))
    }
    if isUncertain { certainFrom = cells.count }
  }

  private static let ascii = (0..<0x80).map { Character(Unicode.Scalar(UInt8($0))) }
  private static let drawing = CellWidth.drawing.compactMap { Unicode.Scalar($0).map { Character($0) } }

  /// One of the characters that frames are mostly made of, if nothing that might join it follows.
  /// - Returns: nil for any other; else where the next one begins, too.
  private static func simple(_ bytes: [UInt8], at index: Int) -> (Character, next: Int)? {
    guard let (character, next) = simplest(bytes, at: index) else { return nil }
    return next == bytes.count || simplest(bytes, at: next) != nil ? (character, next) : nil
  }

  private static func simplest(_ bytes: [UInt8], at index: Int) -> (Character, next: Int)? {
    let byte = bytes[index]
    if byte < 0x80 { return (ascii[Int(byte)], index + 1) }
    guard byte == 0xE2, index + 2 < bytes.count else { return nil }
    // The three bytes of U+2000 to U+2FFF.
    let value = 0x2000 | UInt32(bytes[index + 1] & 0x3F) << 6 | UInt32(bytes[index + 2] & 0x3F)
    guard CellWidth.drawing.contains(value) else { return nil }
    return (drawing[Int(value - CellWidth.drawing.lowerBound)], index + 3)
  }

  /// Reads the rest of an SGR sequence, of which ESC is taken already.
  /// - Returns: where what follows it begins.
  private static func takeStyle(_ bytes: [UInt8], from start: Int, _ style: inout String) -> Int {
    var index = start
    guard index < bytes.count, bytes[index] == UInt8(ascii: "[") else { return index }
    index += 1
    let first = index
    while index < bytes.count, bytes[index] < 0x40 { index += 1 }
    guard index < bytes.count else { return index }
    let parameters = String(decoding: bytes[first..<index], as: UTF8.self)
    if parameters.isEmpty || parameters == "0" {
      style = ""
    } else {
      style += style.isEmpty ? parameters : ";" + parameters
    }
    return index + 1
  }

  /// Whether a blank shows the style: all but weights and colours of the text do.
  static func isSeenOnBlanks(_ style: String) -> Bool {
    switch style {
    case "", "1", "2", "31", "32", "33", "34", "35", "36", "37": false
    default:
      style.split(separator: ";").contains { part in
        Int(part).map { ![1, 2, 3, 22, 23, 39].contains($0) && !(30...37 ~= $0) && !(90...97 ~= $0) } ?? true
      }
    }
  }
}

/// Moves a pen over the region and writes what is to stand there: cursor, style and text, with few bytes.
struct CellPen {
  private(set) var text = ""
  private var row = 0
  /// Nil where it depends on the terminal.
  private var column: Int? = 0
  private var style = ""

  /// From what stands in a row to what should.
  mutating func change(row target: Int, from old: CellLine, to new: CellLine) {
    guard old != new else { return }
    let rigid = max(old.certainFrom, new.certainFrom)
    // A character that the terminal takes for another width has shifted those beside it, so that which
    // cells they left is not known: all of that part is made anew, from a clean line.
    if rigid > 0, old.cells.prefix(rigid) != new.cells.prefix(rigid) {
      write(row: target, new, clean: !old.cells.isEmpty)
      return
    }
    var index = rigid
    while index < new.cells.count {
      if new.cells[index].character != nil, !stands(new, old, index) {
        move(to: target, index, over: new)
        put(new.cells[index])
      }
      index += 1
    }
    if old.cells.count > new.cells.count { erase(row: target, from: new.cells.count) }
  }

  /// A whole row.
  /// - Parameter clean: erases what stands there first.
  mutating func write(row target: Int, _ line: CellLine, clean: Bool) {
    move(to: target, 0, over: CellLine())
    if clean { erase(row: target, from: 0) }
    for index in line.cells.indices where line.cells[index].character != nil {
      if column != index { move(to: target, index, over: CellLine()) }
      put(line.cells[index])
    }
  }

  /// Goes to the start of a row that does not exist yet, below the last one; the window scrolls if need be.
  mutating func addRow(_ index: Int) {
    if row < index - 1 { move(to: index - 1, 0, over: CellLine()) }
    if CellLine.isSeenOnBlanks(style) { setStyle("") }
    text += "\r\n"
    (row, column) = (index, 0)
  }

  /// Erases this row and all below.
  mutating func eraseBelow(row target: Int) {
    move(to: target, 0, over: CellLine())
    setStyle("")
    text += "\u{1B}[J"
  }

  /// Where the cursor rests between frames: the first cell of the region.
  mutating func home() {
    setStyle("")
    if column != 0 || row > 0 { text += "\r" }
    if row > 0 { text += row == 1 ? "\u{1B}[A" : "\u{1B}[\(row)A" }
    (row, column) = (0, 0)
  }

  private func stands(_ new: CellLine, _ old: CellLine, _ index: Int) -> Bool {
    guard index < old.cells.count else { return new.cells[index] == .blank }
    // The other half of a wide character changes with it.
    return old.cells[index] == new.cells[index]
      && (index + 1 >= new.cells.count || new.cells[index + 1].character != nil
        || (index + 1 < old.cells.count && old.cells[index + 1].character == nil))
  }

  private mutating func erase(row target: Int, from start: Int) {
    move(to: target, start, over: CellLine())
    if CellLine.isSeenOnBlanks(style) { setStyle("") }
    text += "\u{1B}[K"
  }

  /// - Parameter line: what stands between here and there already; to write it again is shorter than to move
  ///   over a few cells.
  private mutating func move(to target: Int, _ goal: Int, over line: CellLine) {
    if target > row {
      let lines = target - row
      text += lines == 1 ? "\r\n" : "\r\u{1B}[\(lines)B"
      (row, column) = (target, 0)
    }
    guard column != goal else { return }
    if let column, column < goal, goal - column <= 4, goal <= line.cells.count,
      line.certainFrom <= column, line.cells[column..<goal].allSatisfy({ isCheap($0) })
    {
      for index in column..<goal { put(line.cells[index]) }
      return
    }
    text += goal == 0 ? "\r" : "\u{1B}[\(goal + 1)G"
    column = goal
  }

  private func isCheap(_ cell: CellLine.Cell) -> Bool {
    guard let character = cell.character, character.isASCII else { return false }
    return cell.style == style || (cell == .blank && !CellLine.isSeenOnBlanks(style))
  }

  private mutating func put(_ cell: CellLine.Cell) {
    guard let character = cell.character else { return }
    if !(cell == .blank && !CellLine.isSeenOnBlanks(style)) { setStyle(cell.style) }
    text.append(character)
    column = cell.isUncertain ? nil : column.map { $0 + (character.isASCII ? 1 : CellWidth.of(character)) }
  }

  private mutating func setStyle(_ next: String) {
    guard next != style else { return }
    if next.isEmpty {
      text += "\u{1B}[m"
    } else {
      text += style.isEmpty ? "\u{1B}[\(next)m" : "\u{1B}[0;\(next)m"
    }
    style = next
  }
}
