/// A line of the region as the cells that a terminal makes of it.
///
/// Made from a line's text with its styles (SGR sequences and nothing else that moves or hides).
struct CellLine: Sendable, Equatable {
  /// Plain numbers: a frame has thousands of cells, and looks at each of them.
  struct Cell: Sendable, Equatable {
    /// The Unicode scalar that stands there; 0 in the right half of a wide character.
    var scalar: UInt32
    var style: CellStyle
    /// Whether terminals may take another number of cells for it than `CellWidth` says. Then it may be more than a
    /// scalar, and `CellLine.clusters` has it.
    var isUncertain = false

    /// A blank looks alike in every colour and weight.
    static let blank = Cell(scalar: 0x20, style: .plain)

    var isRightHalf: Bool { scalar == 0 }
    var isASCII: Bool { scalar < 0x80 && scalar > 0 && !isUncertain }
  }

  /// To the last that is not blank.
  private(set) var cells: [Cell] = []
  /// Where the last uncertain character ends: from here on a cell is where it is thought to be only if the cursor was
  /// sent there.
  private(set) var certainFrom = 0
  /// The uncertain characters, by cell. All are before `certainFrom`.
  private var clusters: [Int: Character] = [:]

  init() {}

  /// - Parameter width: of the window; what is beyond it is left out.
  init(_ text: String, width: Int) {
    var text = text
    var style = CellStyle.plain
    // Where what the first loop cannot read begins.
    let rest = text.withUTF8 { bytes in
      cells.reserveCapacity(min(bytes.count, width))
      return read(bytes, from: 0, width, &style)
    }
    if let rest { readOn(text, from: rest, width, style) }
    // A wide character has no room in the last column.
    if cells.count > width { cells.removeLast(2) }
    while cells.last == .blank { cells.removeLast() }
    certainFrom = min(certainFrom, cells.count)
  }

  /// Reads as far as the text has only what frames are mostly made of: styles, ASCII, lines and blocks.
  /// - Returns: where something else begins; nil at the end of the text or of the window.
  private mutating func read(
    _ bytes: UnsafeBufferPointer<UInt8>, from start: Int, _ width: Int, _ style: inout CellStyle
  ) -> Int? {
    var index = start
    while index < bytes.count {
      let byte = bytes[index]
      if byte == 0x1B {
        index = style.take(bytes, from: index + 1)
        continue
      }
      if cells.count >= width { return nil }
      guard let (scalar, next) = Self.simple(bytes, at: index) else { return index }
      // What follows may join it.
      guard next == bytes.count || Self.simple(bytes, at: next) != nil else { return index }
      cells.append(scalar == 0x20 && !style.isSeenOnBlanks ? .blank : Cell(scalar: scalar, style: style))
      index = next
    }
    return nil
  }

  /// Reads any text, character by character where it must.
  private mutating func readOn(_ text: String, from start: Int, _ width: Int, _ style: CellStyle) {
    let bytes = Array(text.utf8)
    var (index, style) = (start, style)
    while true {
      // A part of the text: a mark behind a style must not be taken for one on the style's last letter.
      let place = text.utf8.index(text.startIndex, offsetBy: index)
      guard cells.count < width, let character = text[place...].first else { return }
      append(character, cells: CellWidth.of(character), style)
      index += character.utf8.count
      let rest = bytes.withUnsafeBufferPointer { read($0, from: index, width, &style) }
      guard let rest else { return }
      index = rest
    }
  }

  private mutating func append(_ character: Character, cells count: Int, _ style: CellStyle) {
    // A mark that has nothing to stand on takes no cell: it joins the one before, or is left out.
    guard count > 0 else {
      guard let last = cells.indices.last(where: { !cells[$0].isRightHalf }) else { return }
      let joined = (self.character(at: last).map(String.init) ?? "") + String(character)
      // Two that do not make one character cannot share a cell; then the mark is left out.
      if joined.count == 1 { clusters[last] = Character(joined) }
      cells[last].isUncertain = true
      certainFrom = cells.count
      return
    }
    let scalars = character.unicodeScalars
    let isUncertain = !character.isASCII && scalars.dropFirst().first != nil
    if isUncertain { clusters[cells.count] = character }
    let isPlainBlank = character == " " && !style.isSeenOnBlanks
    cells.append(
      Cell(scalar: scalars.first?.value ?? 0x20, style: isPlainBlank ? .plain : style, isUncertain: isUncertain))
    for _ in 1..<max(count, 1) { cells.append(Cell(scalar: 0, style: style, isUncertain: isUncertain)) }
    if isUncertain { certainFrom = cells.count }
  }

  /// What stands in a cell; nil in the right half of a wide character.
  func character(at index: Int) -> Character? {
    let cell = cells[index]
    if cell.isUncertain, let cluster = clusters[index] { return cluster }
    return cell.isRightHalf ? nil : Unicode.Scalar(cell.scalar).map { Character($0) }
  }

  /// Whether both have the same up to a cell before which all uncertain characters are.
  func hasSame(upTo end: Int, as other: CellLine) -> Bool {
    cells.prefix(end) == other.cells.prefix(end) && clusters == other.clusters
  }

  /// - Returns: nil for what is not ASCII, a line or a block; else its scalar and where the next one begins.
  @inline(__always)
  private static func simple(
    _ bytes: UnsafeBufferPointer<UInt8>, at index: Int
  ) -> (scalar: UInt32, next: Int)? {
    let byte = bytes[index]
    if byte < 0x80 { return (UInt32(byte), index + 1) }
    guard byte == 0xE2, index + 2 < bytes.count else { return nil }
    // The three bytes of U+2000 to U+2FFF.
    let value = 0x2000 | UInt32(bytes[index + 1] & 0x3F) << 6 | UInt32(bytes[index + 2] & 0x3F)
    return CellWidth.drawing.contains(value) ? (value, index + 3) : nil
  }
}

/// The parameters of the SGR sequences that are in force, in their order (ECMA-48 §8.3.117): eight at most, a byte
/// each.
struct CellStyle: Sendable, Equatable {
  private(set) var parameters: UInt64 = 0

  static let plain = CellStyle()

  /// Reads the rest of an SGR sequence, of which ESC is taken already.
  /// - Returns: where what follows it begins.
  mutating func take(_ bytes: UnsafeBufferPointer<UInt8>, from start: Int) -> Int {
    var index = start
    guard index < bytes.count, bytes[index] == UInt8(ascii: "[") else { return index }
    index += 1
    var number: UInt64 = 0
    while index < bytes.count, bytes[index] < 0x40 {
      if bytes[index] == UInt8(ascii: ";") {
        add(number)
        number = 0
      } else {
        number = (number &* 10 &+ UInt64(bytes[index] & 0x0F)) & 0xFF
      }
      index += 1
    }
    guard index < bytes.count else { return index }
    add(number)
    return index + 1
  }

  /// 0 ends all styles.
  private mutating func add(_ parameter: UInt64) {
    parameters = parameter == 0 ? 0 : parameters << 8 | parameter
  }

  /// Whether a blank shows the style: all but weights and colours of the text do.
  var isSeenOnBlanks: Bool {
    var rest = parameters
    while rest > 0 {
      switch rest & 0xFF {
      case 1, 2, 3, 22, 23, 30...37, 39, 90...97: break
      default: return true
      }
      rest >>= 8
    }
    return false
  }

  /// The parameters as they are sent: `1;31`.
  var text: String {
    var (rest, parts) = (parameters, [String]())
    while rest > 0 {
      parts.append(String(rest & 0xFF))
      rest >>= 8
    }
    return parts.reversed().joined(separator: ";")
  }
}

/// Moves a pen over the region and writes what is to stand there: cursor, style and text, with few bytes.
struct CellPen {
  private(set) var bytes: [UInt8] = []
  private var row = 0
  /// Nil where it depends on the terminal.
  private var column: Int? = 0
  private var style = CellStyle.plain

  /// From what stands in a row to what should.
  mutating func change(row target: Int, from old: CellLine, to new: CellLine) {
    guard old != new else { return }
    let rigid = max(old.certainFrom, new.certainFrom)
    // A character that the terminal takes for another width has shifted those beside it, so that which cells they left
    // is not known: all of that part is made anew, from a clean line.
    if rigid > 0, !old.hasSame(upTo: rigid, as: new) {
      write(row: target, new, clean: !old.cells.isEmpty)
      return
    }
    var index = rigid
    while index < new.cells.count {
      if !new.cells[index].isRightHalf, !stands(new, old, index) {
        move(to: target, index, over: new)
        put(new, index)
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
    for index in line.cells.indices where !line.cells[index].isRightHalf {
      if column != index { move(to: target, index, over: CellLine()) }
      put(line, index)
    }
  }

  /// Goes to the start of a row that does not exist yet, below the last one; the window scrolls if need be.
  mutating func addRow(_ index: Int) {
    if row < index - 1 { move(to: index - 1, 0, over: CellLine()) }
    if style.isSeenOnBlanks { setStyle(.plain) }
    send("\r\n")
    (row, column) = (index, 0)
  }

  /// Erases this row and all below.
  mutating func eraseBelow(row target: Int) {
    move(to: target, 0, over: CellLine())
    setStyle(.plain)
    send("\u{1B}[J")
  }

  /// Where the cursor rests between frames: the first cell of the region.
  mutating func home() {
    setStyle(.plain)
    if column != 0 || row > 0 { send("\r") }
    if row > 0 { send(row == 1 ? "\u{1B}[A" : "\u{1B}[\(row)A") }
    (row, column) = (0, 0)
  }

  private func stands(_ new: CellLine, _ old: CellLine, _ index: Int) -> Bool {
    guard index < old.cells.count else { return new.cells[index] == .blank }
    // The other half of a wide character changes with it.
    return old.cells[index] == new.cells[index]
      && (index + 1 >= new.cells.count || !new.cells[index + 1].isRightHalf
        || (index + 1 < old.cells.count && old.cells[index + 1].isRightHalf))
  }

  private mutating func erase(row target: Int, from start: Int) {
    move(to: target, start, over: CellLine())
    if style.isSeenOnBlanks { setStyle(.plain) }
    send("\u{1B}[K")
  }

  /// - Parameter line: what stands between here and there already; to write it again is shorter than to move over a few
  ///   cells.
  private mutating func move(to target: Int, _ goal: Int, over line: CellLine) {
    if target > row {
      let lines = target - row
      send(lines == 1 ? "\r\n" : "\r\u{1B}[\(lines)B")
      (row, column) = (target, 0)
    }
    guard column != goal else { return }
    if let column, column < goal, goal - column <= 4, goal <= line.cells.count,
      line.certainFrom <= column, line.cells[column..<goal].allSatisfy({ isCheap($0) })
    {
      for index in column..<goal { put(line, index) }
      return
    }
    send(goal == 0 ? "\r" : "\u{1B}[\(goal + 1)G")
    column = goal
  }

  private func isCheap(_ cell: CellLine.Cell) -> Bool {
    cell.isASCII && (cell.style == style || (cell == .blank && !style.isSeenOnBlanks))
  }

  private mutating func put(_ line: CellLine, _ index: Int) {
    let cell = line.cells[index]
    if !(cell == .blank && !style.isSeenOnBlanks) { setStyle(cell.style) }
    if cell.isASCII {
      bytes.append(UInt8(cell.scalar))
    } else if let character = line.character(at: index) {
      bytes += character.utf8
    }
    let isWide = index + 1 < line.cells.count && line.cells[index + 1].isRightHalf
    column = cell.isUncertain ? nil : column.map { $0 + (isWide ? 2 : 1) }
  }

  private mutating func setStyle(_ next: CellStyle) {
    guard next != style else { return }
    if next == .plain {
      send("\u{1B}[m")
    } else {
      send(style == .plain ? "\u{1B}[\(next.text)m" : "\u{1B}[0;\(next.text)m")
    }
    style = next
  }

  private mutating func send(_ text: String) { bytes += text.utf8 }
}
