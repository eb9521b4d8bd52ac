/// From the cells that stand to the cells that should: one buffer, one write.
///
/// Between frames the cursor rests, hidden, at the first cell of the region. So "erase below" is all it takes to remove
/// the region, even after the window was narrowed and the terminal has broken its lines in two.
struct FrameWriter: Sendable {
  /// A line of the region as it was given, and what it is on the screen.
  private struct Row: Sendable {
    let text: String
    let line: CellLine
  }

  private var region: [Row] = []
  private var size: TerminalSize?
  /// Whether the cursor is hidden.
  private var isActive = false

  /// - Parameters:
  ///   - above: lines that scroll away above the region, each narrower than the window.
  ///   - whole: lines of any width that scroll away above those.
  ///   - next: the region's lines, each narrower than the window.
  ///   - extra: a sequence that takes no cell, such as the taskbar's.
  /// - Returns: nothing if nothing changed.
  mutating func frame(
    above: [String] = [], whole: [String] = [], region next: [String], size: TerminalSize, extra: String = ""
  ) -> [UInt8] {
    let isResized = isActive && self.size != size
    let isSame = region.count == next.count && zip(region, next).allSatisfy { $0.text == $1 }
    guard !above.isEmpty || !whole.isEmpty || !isSame || isResized || !extra.isEmpty else { return [] }
    // Should a width be misjudged, or the window narrow before the bytes arrive, a line is cut, not broken.
    var text = ControlSequence.beginFrame + ControlSequence.wrapOff
    if !isActive { text += ControlSequence.hideCursor }
    if isResized || !isActive {
      text += "\r" + ControlSequence.eraseBelow
      region = []
    }
    if !whole.isEmpty { text += write(whole) }
    if !above.isEmpty { text += insert(above, size) }
    var bytes = Array(text.utf8)
    bytes += redraw(next, width: size.columns)
    bytes += (extra + ControlSequence.wrapOn + ControlSequence.endFrame).utf8
    (self.size, isActive) = (size, true)
    return bytes
  }

  /// Writes lines where the region stands, which moves down below them: cell for cell if the window holds both, else it
  /// is drawn anew.
  private mutating func insert(_ lines: [String], _ size: TerminalSize) -> String {
    var text = ""
    if !region.isEmpty, region.count + lines.count <= size.rows {
      // Where in the window the region stands is not known. So room is made below it first, for which the window
      // scrolls if it must, and then the region is pushed down into that.
      let last = region.count - 1
      text += ControlSequence.down(last) + String(repeating: ControlSequence.newLine, count: lines.count)
      text += ControlSequence.up(last + lines.count) + ControlSequence.insertLines(lines.count)
      for line in lines { text += line + ControlSequence.newLine }
      return text
    }
    for line in lines { text += line + ControlSequence.eraseToLineEnd + ControlSequence.newLine }
    // What lines have not covered still stands.
    if region.count > lines.count { text += ControlSequence.eraseBelow }
    region = []
    return text
  }

  /// Writes lines that the terminal may break, each to be copied from it as one. How many rows it makes of them is its
  /// own affair, so the region makes way for them and is drawn anew.
  private mutating func write(_ lines: [String]) -> String {
    var text = region.isEmpty ? "" : ControlSequence.eraseBelow
    region = []
    text += ControlSequence.wrapOn
    for line in lines { text += line + ControlSequence.newLine }
    return text + ControlSequence.wrapOff
  }

  private mutating func redraw(_ next: [String], width: Int) -> [UInt8] {
    var pen = CellPen()
    var rows: [Row] = []
    rows.reserveCapacity(next.count)
    for (index, text) in next.enumerated() {
      let standing = index < region.count ? region[index] : nil
      if let standing, standing.text == text {
        rows.append(standing)
        continue
      }
      let row = Row(text: text, line: CellLine(text, width: width))
      if standing == nil, index > 0 { pen.addRow(index) }
      pen.change(row: index, from: standing?.line ?? CellLine(), to: row.line)
      rows.append(row)
    }
    if region.count > next.count { pen.eraseBelow(row: next.count) }
    pen.home()
    region = rows
    return pen.bytes
  }

  /// Removes the region and gives the cursor back; nothing if there is nothing to give back.
  mutating func close(extra: String = "") -> [UInt8] {
    guard isActive else { return [] }
    (region, isActive) = ([], false)
    return Self.restoring(extra: extra)
  }

  /// Gives the cursor back without touching a cell, where others have written meanwhile.
  mutating func leave(extra: String = "") -> [UInt8] {
    guard isActive else { return [] }
    (region, isActive) = ([], false)
    let parts = [
      ControlSequence.resetStyle, extra, ControlSequence.wrapOn, ControlSequence.showCursor,
      ControlSequence.endFrame,
    ]
    return Array(parts.joined().utf8)
  }

  /// Right from any state, also from the middle of a frame.
  static func restoring(extra: String) -> [UInt8] {
    let parts = [
      ControlSequence.resetStyle, "\r", ControlSequence.eraseBelow, extra, ControlSequence.wrapOn,
      ControlSequence.showCursor, ControlSequence.endFrame,
    ]
    return Array(parts.joined().utf8)
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
  static let eraseToLineEnd = "\u{1B}[K"
  static let eraseBelow = "\u{1B}[J"
  /// The descriptor may be in raw mode, where a line feed alone does not return.
  static let newLine = "\r\n"

  static func up(_ lines: Int) -> String { lines > 0 ? "\u{1B}[\(lines)A" : "" }
  static func down(_ lines: Int) -> String { lines > 0 ? "\u{1B}[\(lines)B" : "" }
  static func insertLines(_ lines: Int) -> String { "\u{1B}[\(lines)L" }
}
