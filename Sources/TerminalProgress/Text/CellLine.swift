/// The terminal's own colours: parameters of SGR (ECMA-48 §8.3.117). Yellow, cyan and green, which are unreadable on
/// white, are not used for text.
enum Tone: UInt8 { case plain = 0, strong = 1, dim = 2, failed = 31, done = 32, retry = 35, bar = 36 }

/// A line of the region, or one above it, as terminal cells.
struct CellLine: Equatable {
  /// Plain numbers: a frame has thousands of cells, and compares each of them.
  struct Cell: Equatable {
    /// The Unicode scalar in the cell; 0 in the right half of a wide character.
    var scalar: UInt32
    var tone: Tone
    /// Whether terminals may give it another width than `CellWidth`; its text may then be in `CellLine.clusters`.
    var isUncertain = false

    var isBlank: Bool { scalar == 0x20 && !isUncertain }
    var isRightHalf: Bool { scalar == 0 }
    var isASCII: Bool { scalar < 0x80 && scalar > 0 && !isUncertain }

    static func == (left: Cell, right: Cell) -> Bool {
      left.scalar == right.scalar && left.isUncertain == right.isUncertain && (left.tone == right.tone || left.isBlank)
    }
  }

  private(set) var cells: [Cell] = []
  /// End of the last uncertain character: cells behind it are at the right position only if the cursor was moved there.
  private(set) var certainFrom = 0
  /// The uncertain characters, by cell; all of them before `certainFrom`.
  private var clusters: [Int: Character] = [:]
  private let ellipsis: String
  private let isColored: Bool

  init(ellipsis: String = "", isColored: Bool = false) {
    self.ellipsis = ellipsis
    self.isColored = isColored
  }

  var width: Int { cells.count }

  // MARK: Writing

  /// Appends text that is already sanitized.
  mutating func append(_ text: String, _ tone: Tone = .plain) {
    let tone = isColored ? tone : .plain
    if text.unicodeScalars.allSatisfy(CellWidth.isSimple) {
      for scalar in text.unicodeScalars { cells.append(Cell(scalar: scalar.value, tone: tone)) }
    } else {
      for character in text { append(character, cells: CellWidth.of(character), tone) }
    }
  }

  /// Appends the text that fits before a cell; an ellipsis, by default the line's own, replaces the rest.
  mutating func append(_ text: String, upTo end: Int, ellipsis: String? = nil, _ tone: Tone = .plain) {
    append(TextCut.atEnd(text, to: end - width, ellipsis: ellipsis ?? self.ellipsis), tone)
  }

  /// Appends text in a column: cut in its middle and padded to exactly `count` cells.
  mutating func append(_ text: String, left count: Int, _ tone: Tone = .plain) {
    let end = width + count
    append(TextCut.inMiddle(text, to: count, ellipsis: ellipsis), tone)
    pad(to: end)
  }

  /// Appends a number, right-aligned in a column of `count` cells.
  mutating func append(_ text: String, right count: Int, _ tone: Tone = .plain) {
    let text = TextCut.atEnd(text, to: count, ellipsis: "")
    pad(to: width + count - CellWidth.of(text))
    append(text, tone)
  }

  /// Appends the cells of another line.
  mutating func append(_ other: CellLine) {
    if other.certainFrom > 0 { certainFrom = width + other.certainFrom }
    for (index, cluster) in other.clusters { clusters[width + index] = cluster }
    cells += other.cells
  }

  mutating func pad(to width: Int) { while cells.count < width { cells.append(Cell(scalar: 0x20, tone: .plain)) } }

  private mutating func append(_ character: Character, cells count: Int, _ tone: Tone) {
    // A combining mark without a base takes no cell: it joins the previous character, or is omitted.
    guard count > 0 else {
      guard let last = cells.indices.last(where: { !cells[$0].isRightHalf }) else { return }
      let joined = (self.character(at: last).map(String.init) ?? "") + String(character)
      // Two that do not make one character cannot share a cell.
      if joined.count == 1 { clusters[last] = Character(joined) }
      cells[last].isUncertain = true
      certainFrom = cells.count
      return
    }
    let scalars = character.unicodeScalars
    let isUncertain = !character.isASCII && scalars.count > 1
    if isUncertain { clusters[cells.count] = character }
    cells.append(Cell(scalar: scalars.first?.value ?? 0x20, tone: tone, isUncertain: isUncertain))
    for _ in 1..<count { cells.append(Cell(scalar: 0, tone: tone, isUncertain: isUncertain)) }
    if isUncertain { certainFrom = cells.count }
  }

  // MARK: Reading

  var trimmed: CellLine {
    var line = self
    while line.cells.last?.isBlank == true { line.cells.removeLast() }
    return line
  }

  /// The text with its colours, as written onto an empty row.
  var text: String {
    var text = ""
    var tone = Tone.plain
    for (index, cell) in cells.enumerated() where !cell.isRightHalf {
      if cell.tone != tone {
        text += (tone == .plain ? "" : "\u{1B}[0m") + (cell.tone == .plain ? "" : "\u{1B}[\(cell.tone.rawValue)m")
        tone = cell.tone
      }
      if let character = character(at: index) { text.append(character) }
    }
    return tone == .plain ? text : text + "\u{1B}[0m"
  }

  /// The character in a cell; `nil` in the right half of a wide character.
  func character(at index: Int) -> Character? {
    let cell = cells[index]
    if cell.isUncertain, let cluster = clusters[index] { return cluster }
    return cell.isRightHalf ? nil : Unicode.Scalar(cell.scalar).map(Character.init)
  }

  /// Whether the character in a cell has its right half in the next.
  func isWide(at index: Int) -> Bool { index + 1 < cells.count && cells[index + 1].isRightHalf }

  /// Whether both are equal up to `end`, behind which neither may have an uncertain character.
  func hasSame(upTo end: Int, as other: CellLine) -> Bool {
    cells.prefix(end) == other.cells.prefix(end) && clusters == other.clusters
  }
}
