/// From the lines that stand to the lines that should: one buffer, one write.
///
/// Between frames the cursor rests, hidden, at the first cell of the region. So "erase below" is all it takes
/// to remove the region, even after the window was narrowed and the terminal has broken its lines in two.
struct FrameWriter: Sendable {
  private var region: [String] = []
  private var size: TerminalSize?
  /// Whether the cursor is hidden.
  private var isActive = false

  /// - Parameters:
  ///   - above: lines that scroll away above the region.
  ///   - next: the region's lines, each narrower than the window.
  ///   - extra: a sequence that takes no cell, such as the taskbar's.
  /// - Returns: nothing if nothing changed.
  mutating func frame(
    above: [String] = [], region next: [String], size: TerminalSize, extra: String = ""
  ) -> [UInt8] {
    let isResized = isActive && self.size != size
    guard !above.isEmpty || next != region || isResized || !extra.isEmpty else { return [] }
    // Should a width be misjudged, or the window narrow before the bytes arrive, a line is cut, not broken.
    var text = ControlSequence.beginFrame + ControlSequence.wrapOff
    if !isActive { text += ControlSequence.hideCursor }
    if isResized {
      text += "\r" + ControlSequence.eraseBelow
      region = []
    }
    for line in above { text += line + ControlSequence.eraseToLineEnd + ControlSequence.newLine }
    text += redraw(next, moved: above.count)
    text += extra + ControlSequence.wrapOn + ControlSequence.endFrame
    (region, self.size, isActive) = (next, size, true)
    return Array(text.utf8)
  }

  private func redraw(_ next: [String], moved: Int) -> String {
    let shrinks = region.count > next.count + moved
    var text = ""
    for (index, line) in next.enumerated() {
      if index > 0 { text += ControlSequence.newLine }
      let stands = moved == 0 && index < region.count && region[index] == line
      // Erasing below starts at the end of the last line, so the cursor has to get there.
      if stands, !(shrinks && index == next.count - 1) { continue }
      text += line + ControlSequence.eraseToLineEnd
    }
    if shrinks { text += ControlSequence.eraseBelow }
    if !next.isEmpty { text += "\r" + ControlSequence.up(next.count - 1) }
    return text
  }

  /// Removes the region and gives the cursor back; nothing if there is nothing to give back.
  mutating func close(extra: String = "") -> [UInt8] {
    guard isActive else { return [] }
    (region, isActive) = ([], false)
    return Self.restoring(extra: extra)
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
}
