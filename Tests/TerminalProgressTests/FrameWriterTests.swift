import Testing

@testable import TerminalProgress

@Suite("From frame to frame")
struct FrameWriterTests {
  private var writer = FrameWriter()
  private var terminal = TerminalEmulator(columns: 20, rows: 8)

  /// Draws and checks what holds after every frame.
  private mutating func draw(above: [String] = [], _ region: [String], extra: String = "") {
    let size = TerminalSize(columns: terminal.columns, rows: terminal.rows)
    terminal.feed(writer.frame(above: above, region: region.map { CellLine($0) }, size: size, extra: extra))
    #expect(terminal.cursor.column == 0)
    #expect(!terminal.isInFrame)
    #expect(!terminal.isCursorShown)
    #expect(terminal.wrapsLines)
    #expect(terminal.unknown.isEmpty)
  }

  @Test("a region grows, shrinks and goes; what stood before stays")
  mutating func grows() {
    terminal.feed(Array("$ dlm get\r\n".utf8))
    draw(["total 0"])
    #expect(terminal.lines == ["$ dlm get", "total 0"])
    draw(["a", "b", "total 1"])
    #expect(terminal.lines == ["$ dlm get", "a", "b", "total 1"])
    draw(["b", "total 2"])
    #expect(terminal.lines == ["$ dlm get", "b", "total 2"])
    draw(["total 2"])
    #expect(terminal.lines == ["$ dlm get", "total 2"])
    draw([])
    #expect(terminal.lines == ["$ dlm get"])
    terminal.feed(writer.close())
    #expect(terminal.isCursorShown)
    #expect(terminal.cursor == (1, 0))
  }

  @Test("a region that shrinks from below keeps its first lines without writing them again")
  mutating func shrinksFromBelow() {
    draw(["first", "second", "third"])
    let size = TerminalSize(columns: 20, rows: 8)
    let bytes = writer.frame(region: ["first", "second"], size: size)
    #expect(!String(decoding: bytes, as: UTF8.self).contains("first"))
    terminal.feed(bytes)
    #expect(terminal.lines == ["first", "second"])
  }

  @Test("lines scroll away above it, more than the window holds")
  mutating func scrolls() {
    draw(["a", "total 0"])
    draw(above: ["1 done"], ["a", "total 1"])
    #expect(terminal.lines == ["1 done", "a", "total 1"])
    draw(above: (2...20).map { "\($0) done" }, ["b", "c", "total 20"])
    #expect(terminal.lines == (16...20).map { "\($0) done" } + ["b", "c", "total 20"])
    #expect(terminal.scrolledOff == (1...15).map { "\($0) done" })
    draw(above: ["21 done"], [])
    #expect(terminal.lines.last == "21 done")
    #expect(terminal.scrolledOff.count + terminal.lines.count == 21)
  }

  @Test("a longer line leaves nothing behind when a shorter one takes its place")
  mutating func erases() {
    draw(["long line of text", "total"])
    draw(["short", "total"])
    #expect(terminal.lines == ["short", "total"])
    draw(above: ["x"], ["y", "total"])
    #expect(terminal.lines == ["x", "y", "total"])
  }

  @Test("nothing is written when nothing changed, and only changed lines otherwise")
  mutating func frugal() {
    let size = TerminalSize(columns: 20, rows: 8)
    draw(["one", "two", "total"])
    #expect(writer.frame(region: ["one", "two", "total"], size: size).isEmpty)
    let bytes = writer.frame(region: ["one", "2", "total"], size: size)
    let text = String(decoding: bytes, as: UTF8.self)
    #expect(text.contains("\r\u{1B}[B2\u{1B}[K") && !text.contains("one") && !text.contains("total"))
    terminal.feed(bytes)
    #expect(terminal.lines == ["one", "2", "total"])
  }

  @Test("one synchronized frame, the cursor hidden once")
  mutating func markers() {
    let size = TerminalSize(columns: 20, rows: 8)
    let first = String(decoding: writer.frame(region: ["a"], size: size), as: UTF8.self)
    #expect(first.hasPrefix("\u{1B}[?2026h") && first.hasSuffix("\u{1B}[?2026l"))
    #expect(first.contains("\u{1B}[?25l"))
    let second = String(decoding: writer.frame(region: ["b"], size: size), as: UTF8.self)
    #expect(!second.contains("\u{1B}[?25l"))
  }

  @Test("a narrower window is drawn from a clean line", arguments: [(12, 8), (20, 5), (30, 20)])
  mutating func resizes(columns: Int, rows: Int) {
    draw(above: ["done 1", "done 2"], ["a region line here", "another one", "total"])
    terminal.resize(columns: columns, rows: rows)
    draw(["a", "total"])
    #expect(terminal.lines.suffix(2) == ["a", "total"])
    #expect(Array(terminal.lines.prefix(2)) == ["done 1", "done 2"])
  }

  @Test("for two seconds after a step inwards more are expected")
  mutating func narrowing() {
    let size = { TerminalSize(columns: $0, rows: 8) }
    for (columns, second, isNarrowing) in [
      (120, 0, false), (118, 1, true), (118, 2, true), (118, 3, false), (130, 4, false), (129, 5, true), (140, 6, true),
      (140, 7, false),
    ] {
      let found = writer.isNarrowing(size(columns), at: .seconds(second))
      #expect(found == isNarrowing, "\(columns) \(second)")
      _ = writer.frame(region: ["a"], size: size(columns))
    }
  }

  /// There tmux keeps what `CSI J` erases.
  @Test("what is erased is not erased from the window's first cell")
  mutating func erasesBehind() {
    draw(["a", "b"])
    terminal.resize(columns: 12, rows: 8)
    draw(["c"])
    #expect(terminal.lines == ["c"] && terminal.erasedFromTop == 0)
    terminal.feed(writer.close())
    #expect(terminal.lines.isEmpty && terminal.erasedFromTop == 0)
  }

  /// The writer learns of a new size some frames late. Rows of the region may scroll away then, but no line is lost.
  @Test("a window that shrinks while frames are on their way loses no line above the region", arguments: 1...40)
  mutating func shrinksMeanwhile(seed: UInt64) {
    var random = Random(seed: seed)
    var told = TerminalSize(columns: 20, rows: 8)
    var written: [String] = []
    for frame in 0..<120 {
      if random.next(6) == 0 { terminal.resize(columns: 20 + random.next(20), rows: 3 + random.next(14)) }
      if random.next(4) == 0 { told = TerminalSize(columns: terminal.columns, rows: terminal.rows) }
      let above = (0..<(random.next(3) == 0 ? random.next(6) : 0)).map { "done \(frame).\($0)" }
      let region = (0..<min(told.rows - 1, 1 + random.next(9))).map { "row \($0) \(random.next(3))" }
      written += above
      terminal.feed(writer.frame(above: above, region: region.map { CellLine($0) }, size: told))
    }
    let kept = (terminal.scrolledOff + terminal.lines).filter { $0.hasPrefix("done") }
    #expect(kept == written)
    #expect(terminal.unknown.isEmpty)
  }

  @Test("a resize alone is reason enough to draw")
  mutating func redraws() {
    draw(["a"])
    terminal.resize(columns: 30, rows: 8)
    #expect(!writer.frame(region: ["a"], size: TerminalSize(columns: 30, rows: 8)).isEmpty)
  }

  @Test("closing restores the cursor, once; restoring does from the middle of a frame")
  mutating func restores() {
    #expect(writer.close().isEmpty)
    draw(["a", "b"], extra: "\u{1B}]9;4;3;0\u{1B}\\")
    terminal.feed(writer.close(extra: "\u{1B}]9;4;0;0\u{1B}\\"))
    #expect(terminal.isCursorShown)
    #expect(terminal.lines.isEmpty)
    #expect(terminal.operatingSystemCommands == ["9;4;3;0", "9;4;0;0"])
    #expect(writer.close().isEmpty)

    let frame = writer.frame(region: ["a", "b"], size: TerminalSize(columns: 20, rows: 8))
    terminal.feed(Array(frame.prefix(30)) + FrameWriter.restoring(extra: ""))
    #expect(terminal.isCursorShown && terminal.wrapsLines && !terminal.isInFrame)
  }

  @Test("any sequence of frames leaves what was written and the last region", arguments: 1...20)
  mutating func anySequence(seed: UInt64) {
    var random = seed &* 0x9E37_79B9_7F4A_7C15
    func next(_ bound: Int) -> Int {
      random = random &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
      return Int(random >> 33) % bound
    }
    var written: [String] = []
    draw(["first"])
    for frame in 0..<60 {
      let above = (0..<(next(3) == 0 ? next(12) : 0)).map { "done \(frame).\($0)" }
      let region = (0..<next(6)).map { "row \($0) \(next(3) == 0 ? frame : 0)" }
      written += above
      draw(above: above, region)
      #expect(terminal.scrolledOff + terminal.lines == written + region)
    }
    #expect(terminal.overruns == 0)
  }

  @Test("lines above move the region down as it is: it is not sent again")
  mutating func inserts() {
    draw(["first row", "second row", "total 1"])
    let bytes = writer.frame(
      above: ["done"], region: ["first row", "second row", "total 2"],
      size: TerminalSize(columns: 20, rows: 8))
    let text = String(decoding: bytes, as: UTF8.self)
    #expect(!text.contains("row") && !text.contains("total"))
    terminal.feed(bytes)
    #expect(terminal.lines == ["done", "first row", "second row", "total 2"])
  }

  @Test("a line wider than the window stands above the region, whole")
  mutating func wholeLines() {
    draw(["a", "total 1"])
    let long = String(repeating: "0123456789", count: 5)
    let size = TerminalSize(columns: 20, rows: 8)
    terminal.feed(
      writer.frame(above: ["done"], whole: [long, "short"], region: ["a", "total 2"], size: size))
    let parts = [String(long.prefix(20)), String(long.dropFirst(20).prefix(20)), String(long.suffix(10))]
    #expect(terminal.lines == parts + ["short", "done", "a", "total 2"])
    #expect(terminal.wrapsLines)
    draw(["total 3"])
    #expect(terminal.lines == parts + ["short", "done", "total 3"])
  }

  @Test("the cursor is given back without touching a cell where others wrote")
  mutating func leaves() {
    draw(["a", "b"])
    terminal.feed(Array("\r\n$ prompt".utf8))
    terminal.feed(writer.close(erases: false))
    #expect(terminal.lines == ["a", "$ prompt"] && terminal.isCursorShown)
    #expect(writer.close(erases: false).isEmpty)
  }

  /// From any region to any other, with styles and wide, combining and joined characters: the screen shows what
  /// an empty one would show of it, cell by cell.
  @Test(arguments: 1...40)
  mutating func anyRegion(seed: UInt64) {
    var random = Random(seed: seed)
    draw(["first"])
    for _ in 0..<40 {
      if random.next(12) == 0 {
        terminal.resize(columns: 10 + random.next(30), rows: 6 + random.next(10))
      }
      let columns = terminal.columns
      let above = random.next(4) == 0 ? (0..<random.next(10)).map { "done \($0)" } : []
      let region = (0..<random.next(terminal.rows - 2)).map { _ in random.line(columns - 1) }
      draw(above: above, region)
      var fresh = FrameWriter()
      var empty = TerminalEmulator(columns: columns, rows: terminal.rows)
      let size = TerminalSize(columns: columns, rows: terminal.rows)
      empty.feed(fresh.frame(region: region.map { CellLine($0) }, size: size))
      let shown = terminal.cells(from: terminal.cursor.row).prefix(region.count)
      #expect(shown == empty.cells(from: 0).prefix(region.count), "\(region)")
      #expect(terminal.lines.count <= terminal.cursor.row + region.count)
    }
  }
}

/// Repeatable choices.
private struct Random {
  private var state: UInt64

  init(seed: UInt64) { state = seed &* 0x9E37_79B9_7F4A_7C15 }

  mutating func next(_ bound: Int) -> Int {
    state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
    return Int(state >> 33) % max(1, bound)
  }

  private static let pieces = [
    "a", "b", " ", "  ", "12%", "━━━", "界", "字", "e\u{301}", "o\u{308}", "é", "👍", "x", "MiB",
  ]

  mutating func line(_ width: Int) -> String {
    var line = CellLine(isColored: true)
    while line.width < width - 4, next(30) > 0 {
      let tones: [Tone] = [.plain, .strong, .dim, .failed, .bar]
      line.append(Self.pieces[next(Self.pieces.count)], tones[next(tones.count)])
    }
    return line.text
  }
}
