/// Turns the displayed cells into the new cells: one buffer, one write. Between frames the cursor rests at the first
/// cell of the region, so that "erase below" removes it even after a narrower window has broken its lines.
///
/// The window may shrink, and cut off the region's last rows, before the terminal reads a frame of the old size. Then
/// `CSI B` stops at the window's edge, and moving up by the same number ends above the region, where the next frame
/// erases lines. So the way back is the saved cursor or, if rows are added, newlines, which never stop.
struct FrameWriter {
  /// Without the blanks at the ends of its lines.
  private var region: [CellLine] = []
  private var size: TerminalSize?
  /// When the window was last seen to become narrower.
  private var narrowed: Duration?
  /// How long its edge is assumed to keep moving after that.
  private static let settling = Duration.seconds(2)
  /// Whether the cursor is hidden.
  private var isActive = false

  /// Whether the window is becoming narrower.
  mutating func isNarrowing(_ size: TerminalSize, at now: Duration) -> Bool {
    if let last = self.size, isActive, size.columns < last.columns { narrowed = now }
    return narrowed.map { now - $0 < Self.settling } ?? false
  }

  /// Inserts `above`, narrower than the window like `lines`, and above it `whole`, of any width; both scroll away.
  /// - Parameter extra: a sequence that takes no cell, such as the taskbar's.
  /// - Returns: empty if nothing changed.
  mutating func frame(
    above: [String] = [], whole: [String] = [], region lines: [CellLine], size: TerminalSize, extra: String = ""
  ) -> [UInt8] {
    let isResized = isActive && self.size != size
    let next = lines.map(\.trimmed)
    guard !above.isEmpty || !whole.isEmpty || region != next || isResized || !extra.isEmpty else { return [] }
    // If a width is misjudged, or the window narrows before the bytes arrive, a line is cut, not broken.
    var text = ControlSequence.beginFrame + ControlSequence.wrapOff
    if !isActive { text += ControlSequence.hideCursor }
    if isResized || !isActive {
      text += "\r" + ControlSequence.eraseBelow
      region = []
    }
    if !whole.isEmpty { text += write(whole) }
    if !above.isEmpty { text += insert(above, size) }
    let bytes = Array(text.utf8) + redraw(next) + (extra + ControlSequence.wrapOn + ControlSequence.endFrame).utf8
    region = next
    self.size = size
    isActive = true
    return bytes
  }

  /// Pushes the region down below lines: by inserting lines if the window holds both, else by drawing it anew.
  private mutating func insert(_ lines: [String], _ size: TerminalSize) -> String {
    if !region.isEmpty, region.count + lines.count <= size.rows {
      // The region's position in the window is unknown: room is made below it first, by scrolling if necessary.
      let rows = region.count - 1 + lines.count
      return String(repeating: ControlSequence.newLine, count: rows) + ControlSequence.up(rows)
        + ControlSequence.insertLines(lines.count)
        + lines.map { $0 + ControlSequence.newLine }.joined()
    }
    var text = lines.map { $0 + ControlSequence.eraseToLineEnd + ControlSequence.newLine }.joined()
    // Rows that the lines have not covered are still shown.
    if region.count > lines.count { text += ControlSequence.eraseBelow }
    region = []
    return text
  }

  /// Writes lines that the terminal may break. The resulting number of rows is unknown, so the region is drawn anew.
  private mutating func write(_ lines: [String]) -> String {
    let erasing = region.isEmpty ? "" : ControlSequence.eraseBelow
    region = []
    let text = lines.map { $0 + ControlSequence.newLine }.joined()
    return erasing + ControlSequence.wrapOn + text + ControlSequence.wrapOff
  }

  private func redraw(_ next: [CellLine]) -> [UInt8] {
    var pen = Pen(savesCursor: next.count <= region.count)
    for (index, line) in next.enumerated() {
      if index > 0, index >= region.count { pen.move(to: index, 0) }
      pen.change(row: index, from: index < region.count ? region[index] : CellLine(), to: line)
    }
    if region.count > next.count { pen.eraseBelow(row: next.count) }
    pen.home()
    return pen.bytes
  }

  /// Restores the cursor if it was hidden.
  /// - Parameter erases: false if other processes have written meanwhile, so that no cell may be changed.
  mutating func close(erases: Bool = true, extra: String = "") -> [UInt8] {
    guard isActive else { return [] }
    region = []
    isActive = false
    return Self.restoring(erases: erases, extra: extra)
  }

  /// Works from any state, also from the middle of a frame.
  static func restoring(erases: Bool = true, extra: String) -> [UInt8] {
    let parts = [
      ControlSequence.resetStyle, erases ? "\r" + ControlSequence.eraseBelow : "", extra, ControlSequence.wrapOn,
      ControlSequence.showCursor, ControlSequence.endFrame,
    ]
    return Array(parts.joined().utf8)
  }
}

extension FrameWriter {
  /// Moves a pen over the region and writes the new content: cursor, style and text, with few bytes.
  struct Pen {
    private(set) var bytes: [UInt8] = []
    /// True if no row is added: then nothing scrolls, and the cursor can return to its saved position.
    private let savesCursor: Bool
    private var row = 0
    /// `nil` if it depends on the terminal.
    private var column: Int? = 0
    private var tone = Tone.plain

    init(savesCursor: Bool = false) { self.savesCursor = savesCursor }

    mutating func change(row target: Int, from old: CellLine, to new: CellLine) {
      guard old != new else { return }
      let rigid = max(old.certainFrom, new.certainFrom)
      // An uncertain character may have shifted its neighbours to unknown cells: the row is erased and written anew.
      if rigid > 0, !old.hasSame(upTo: rigid, as: new) { return write(row: target, new, clean: !old.cells.isEmpty) }
      for index in new.cells.indices.dropFirst(rigid) where !new.cells[index].isRightHalf && !stands(new, old, index) {
        move(to: target, index)
        put(new, index)
      }
      if old.cells.count > new.cells.count { erase(row: target, from: new.cells.count) }
    }

    /// Writes a whole row; `clean` erases it first.
    private mutating func write(row target: Int, _ line: CellLine, clean: Bool) {
      move(to: target, 0)
      if clean { erase(row: target, from: 0) }
      for index in line.cells.indices where !line.cells[index].isRightHalf {
        move(to: target, index)
        put(line, index)
      }
    }

    mutating func eraseBelow(row target: Int) {
      move(to: target, 0)
      set(.plain)
      send(ControlSequence.eraseBelow)
    }

    /// Moves to the cursor's position between frames: the first cell of the region.
    mutating func home() {
      set(.plain)
      if row > 0, savesCursor {
        send(ControlSequence.restoreCursor)
      } else {
        if column != 0 || row > 0 { send("\r") }
        send(ControlSequence.up(row))
      }
      row = 0
      column = 0
    }

    private func stands(_ new: CellLine, _ old: CellLine, _ index: Int) -> Bool {
      guard index < old.cells.count else { return new.cells[index].isBlank }
      // The other half of a wide character changes with it.
      return old.cells[index] == new.cells[index]
        && (!new.isWide(at: index) || old.isWide(at: index))
    }

    private mutating func erase(row target: Int, from start: Int) {
      move(to: target, start)
      send(ControlSequence.eraseToLineEnd)
    }

    /// Moves to a cell. If its row does not exist yet, the window scrolls if necessary.
    mutating func move(to target: Int, _ goal: Int) {
      if target > row {
        if savesCursor {
          if row == 0 { send("\r" + ControlSequence.saveCursor) }
          send("\r" + ControlSequence.down(target - row))
        } else {
          send(String(repeating: ControlSequence.newLine, count: target - row))
        }
        row = target
        column = 0
      }
      guard column != goal else { return }
      send(goal == 0 ? "\r" : "\u{1B}[\(goal + 1)G")
      column = goal
    }

    private mutating func put(_ line: CellLine, _ index: Int) {
      let cell = line.cells[index]
      if !cell.isBlank { set(cell.tone) }
      if cell.isASCII {
        bytes.append(UInt8(cell.scalar))
      } else if let character = line.character(at: index) {
        bytes += character.utf8
      }
      column = cell.isUncertain ? nil : column.map { $0 + (line.isWide(at: index) ? 2 : 1) }
    }

    private mutating func set(_ next: Tone) {
      guard next != tone else { return }
      send(next == .plain ? "\u{1B}[m" : "\u{1B}[\(tone == .plain ? "" : "0;")\(next.rawValue)m")
      tone = next
    }

    private mutating func send(_ text: String) { bytes += text.utf8 }
  }
}

/// The terminal commands that frames use (ECMA-48, xterm, synchronized output).
private enum ControlSequence {
  static let beginFrame = "\u{1B}[?2026h"
  static let endFrame = "\u{1B}[?2026l"
  static let hideCursor = "\u{1B}[?25l"
  static let showCursor = "\u{1B}[?25h"
  static let wrapOff = "\u{1B}[?7l"
  static let wrapOn = "\u{1B}[?7h"
  static let resetStyle = "\u{1B}[0m"
  static let saveCursor = "\u{1B}7"
  static let restoreCursor = "\u{1B}8"
  static let eraseToLineEnd = "\u{1B}[K"
  /// From the first cell of a line. Not `CSI J` there: at the window's top, tmux saves the erased lines.
  static let eraseBelow = "\u{1B}[K\u{1B}[C\u{1B}[J\r"
  /// The descriptor may be in raw mode, where a line feed alone does not return.
  static let newLine = "\r\n"

  static func up(_ lines: Int) -> String { lines > 0 ? "\u{1B}[\(lines == 1 ? "" : "\(lines)")A" : "" }
  static func down(_ lines: Int) -> String { "\u{1B}[\(lines == 1 ? "" : "\(lines)")B" }
  static func insertLines(_ lines: Int) -> String { "\u{1B}[\(lines)L" }
}
