import DownloadModel
import Synchronization
@testable import TerminalProgress

/// A small terminal: enough of ECMA-48 to see what a frame leaves on the screen. What it does not know it
/// lists.
struct TerminalEmulator {
  private(set) var columns: Int
  private(set) var rows: Int
  /// Each cell's text; "" is the right half of a wide character.
  private var screen: [[String]]
  /// Each cell's style, as the parameters of SGR.
  private var styles: [[String]]
  private var style = ""
  private(set) var scrolledOff: [String] = []
  private(set) var cursor = (row: 0, column: 0)
  private var savedCursor = (row: 0, column: 0)
  private(set) var isCursorShown = true
  private(set) var wrapsLines = true
  private(set) var marksPastes = false
  private(set) var isInFrame = false
  private(set) var frames = 0
  /// How often text ran into the right edge.
  private(set) var overruns = 0
  /// How often all was erased from the first cell on.
  private(set) var erasedFromTop = 0
  private(set) var operatingSystemCommands: [String] = []
  /// Titles that are kept for the time when dlm's own is taken away.
  private(set) var keptTitles = 0
  private(set) var unknown: [String] = []

  init(columns: Int, rows: Int) {
    self.columns = columns
    self.rows = rows
    screen = Array(repeating: Array(repeating: " ", count: columns), count: rows)
    styles = Array(repeating: Array(repeating: "", count: columns), count: rows)
  }

  /// Text and style of each cell that is not a blank, a line each, from `row` on.
  func cells(from row: Int) -> [[String]] {
    (row..<rows).map { row in
      (0..<columns).map { screen[row][$0] == " " ? "" : "\(screen[row][$0])|\(styles[row][$0])" }
    }
  }

  /// The screen's lines without blanks at their ends, down to the last that is not empty.
  var lines: [String] {
    var lines = screen.map(Self.text)
    while lines.last?.isEmpty == true { lines.removeLast() }
    return lines
  }

  /// As terminals without reflow do: what is too wide is lost.
  mutating func resize(columns: Int, rows: Int) {
    while screen.count > rows {
      if cursor.row < screen.count - 1 {
        screen.removeLast()
        styles.removeLast()
      } else {
        scrolledOff.append(Self.text(screen.removeFirst()))
        styles.removeFirst()
        cursor.row -= 1
      }
    }
    while screen.count < rows {
      screen.append([])
      styles.append([])
    }
    screen = screen.map { Array(($0 + Array(repeating: " ", count: columns)).prefix(columns)) }
    styles = styles.map { Array(($0 + Array(repeating: "", count: columns)).prefix(columns)) }
    (self.columns, self.rows) = (columns, rows)
    cursor.column = min(cursor.column, columns - 1)
  }

  mutating func feed(_ bytes: [UInt8]) {
    var scalars = String(decoding: bytes, as: UTF8.self).unicodeScalars[...]
    while let scalar = scalars.popFirst() {
      switch scalar {
      case "\u{1B}": escape(&scalars)
      case "\r": cursor.column = 0
      case "\n": lineFeed()
      default: scalar.value < 0x20 ? unknown.append("\(scalar.value)") : put(scalar)
      }
    }
  }

  private static func text(_ cells: [String]) -> String {
    var text = cells.joined()
    while text.last == " " { text.removeLast() }
    return text
  }

  private mutating func put(_ scalar: Unicode.Scalar) {
    let width = Self.width(scalar)
    if width == 0 {
      var column = max(0, cursor.column - 1)
      if screen[cursor.row][column].isEmpty { column -= 1 }
      screen[cursor.row][column].unicodeScalars.append(scalar)
      return
    }
    if cursor.column + width >= columns { overruns += 1 }
    if cursor.column + width > columns {
      if wrapsLines {
        cursor.column = 0
        lineFeed()
      } else {
        cursor.column = columns - width
      }
    }
    // Half of a wide character does not stay.
    for column in cursor.column..<(cursor.column + width) {
      if screen[cursor.row][column].isEmpty, column > 0 { screen[cursor.row][column - 1] = " " }
      if column + 1 < columns, screen[cursor.row][column + 1].isEmpty { screen[cursor.row][column + 1] = " " }
    }
    screen[cursor.row][cursor.column] = String(Character(scalar))
    if width == 2 { screen[cursor.row][cursor.column + 1] = "" }
    for column in cursor.column..<(cursor.column + width) { styles[cursor.row][column] = style }
    cursor.column += width
  }

  private static func width(_ scalar: Unicode.Scalar) -> Int {
    switch scalar.value {
    case 0x300...0x36F, 0x200D, 0xFE0F: 0
    case 0x3041...0xA4CF, 0xAC00...0xD7A3, 0x1F300...0x1FAFF: 2
    default: 1
    }
  }

  private mutating func lineFeed() {
    cursor.row += 1
    guard cursor.row == rows else { return }
    scrolledOff.append(Self.text(screen.removeFirst()))
    screen.append(Array(repeating: " ", count: columns))
    styles.removeFirst()
    styles.append(Array(repeating: "", count: columns))
    cursor.row = rows - 1
  }

  private mutating func escape(_ rest: inout Substring.UnicodeScalarView) {
    switch rest.popFirst() {
    case "[":
      var parameters = ""
      while let next = rest.popFirst() {
        if next.value >= 0x40 {
          control(parameters, Character(next))
          return
        }
        parameters.unicodeScalars.append(next)
      }
    case "]":
      var command = String.UnicodeScalarView()
      while let next = rest.popFirst(), next != "\u{1B}" { command.append(next) }
      if rest.popFirst() != "\\" { unknown.append("OSC without end") }
      operatingSystemCommands.append(String(command))
    case "7": savedCursor = cursor
    case "8": cursor = (min(savedCursor.row, rows - 1), min(savedCursor.column, columns - 1))
    default: unknown.append("ESC")
    }
  }

  private mutating func control(_ parameters: String, _ final: Character) {
    switch (parameters, final) {
    case ("?2026", "h"):
      isInFrame = true
      frames += 1
    case ("?2026", "l"): isInFrame = false
    case ("?25", "h"): isCursorShown = true
    case ("?25", "l"): isCursorShown = false
    case ("?2004", "h"): marksPastes = true
    case ("?2004", "l"): marksPastes = false
    case ("?7", "h"): wrapsLines = true
    case ("?7", "l"): wrapsLines = false
    case ("22;2", "t"): keptTitles += 1
    case ("23;2", "t"): keptTitles -= 1
    case ("", "K"): erase(row: cursor.row, from: cursor.column)
    case ("", "J"):
      if cursor == (0, 0) { erasedFromTop += 1 }
      erase(row: cursor.row, from: cursor.column)
      for row in (cursor.row + 1)..<max(rows, cursor.row + 1) { erase(row: row, from: 0) }
    case (_, "A"): cursor.row = max(0, cursor.row - (Int(parameters) ?? 1))
    case (_, "B"): cursor.row = min(rows - 1, cursor.row + (Int(parameters) ?? 1))
    case (_, "C"): cursor.column = min(columns - 1, cursor.column + (Int(parameters) ?? 1))
    case (_, "G"): cursor.column = min(columns, max(1, Int(parameters) ?? 1)) - 1
    case (_, "L"):
      let count = min(Int(parameters) ?? 1, rows - cursor.row)
      screen.removeLast(count)
      let blank = Array(repeating: " ", count: columns)
      screen.insert(contentsOf: Array(repeating: blank, count: count), at: cursor.row)
      styles.removeLast(count)
      styles.insert(
        contentsOf: Array(repeating: Array(repeating: "", count: columns), count: count), at: cursor.row)
    case (_, "m"):
      for part in parameters.split(separator: ";", omittingEmptySubsequences: false) {
        if part.isEmpty || part == "0" { style = "" } else { style += style.isEmpty ? "\(part)" : ";\(part)" }
      }
    default: unknown.append("CSI \(parameters)\(final)")
    }
  }

  private mutating func erase(row: Int, from column: Int) {
    if column > 0, column < columns, screen[row][column].isEmpty { screen[row][column - 1] = " " }
    for index in min(column, columns)..<columns { (screen[row][index], styles[row][index]) = (" ", "") }
  }
}

/// A terminal in memory: counts the writes and keeps what stands on the screen.
final class MemoryTerminal: ProgressRenderer.Output {
  struct State {
    var emulator: TerminalEmulator
    var text = ""
    var writes = 0
    var isReady = true
    var isLost = false
    var isInForeground = true
    /// Whether echo and lines are off, and can be turned off.
    var hasKeys = false
    var givesKeys = true
    var duringWrite: (@Sendable () -> Void)?
  }

  private let state: Lock<State>

  init(columns: Int = 80, rows: Int = 24) {
    state = Lock(State(emulator: TerminalEmulator(columns: columns, rows: rows)))
  }

  func with<Result: Sendable>(_ body: (inout State) -> Result) -> Result { state.withLock { body(&$0) } }

  var emulator: TerminalEmulator { with { $0.emulator } }
  var lines: [String] { emulator.lines }
  var writes: Int { with { $0.writes } }
  var text: String { with { $0.text } }

  var isReady: Bool { with { $0.isReady } }
  var isInForeground: Bool { with { $0.isInForeground } }
  var size: TerminalSize? { with { TerminalSize(columns: $0.emulator.columns, rows: $0.emulator.rows) } }

  func takeKeys() { with { $0.hasKeys = $0.givesKeys && $0.isInForeground } }

  func giveKeysBack(isForGood: Bool) {
    with {
      $0.hasKeys = false
      if isForGood { $0.givesKeys = false }
    }
  }

  func write(_ bytes: [UInt8]) throws(TerminalOutput.Lost) {
    let (isLost, duringWrite) = with { ($0.isLost, $0.duringWrite) }
    if isLost { throw TerminalOutput.Lost(errno: 5) }
    duringWrite?()
    take(bytes)
  }

  func writeAtOnce(_ bytes: [UInt8]) { take(bytes) }

  private func take(_ bytes: [UInt8]) {
    with {
      $0.writes += 1
      $0.text += String(decoding: bytes, as: UTF8.self)
      $0.emulator.feed(bytes)
    }
  }
}
