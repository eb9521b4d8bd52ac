import DownloadModel
import Testing

@testable import TerminalProgress

@Suite("Keys while bars stand: a pure function of the screen and a key")
struct ScreenStateTests {
  private static let rows = [7, 3, 9]

  /// Keys, what they command in the end, and how the screen stands then.
  private struct Case: Sendable, CustomTestStringConvertible {
    var keys: [ScreenKey]
    var command: ScreenCommand?
    var panel: ScreenState.Panel?
    var selected: Int?
    var note: String?
    var isPaused = false
    var rows = ScreenStateTests.rows
    var testDescription: String { "\(keys) over \(rows)" }
  }

  private static let selectFirst = "select a file first, with the arrows"
  private static let skipping = "skipping it: what can be resumed is saved"

  private static let cases: [Case] = [
    Case(keys: [.help], panel: .help), Case(keys: [.help, .help]), Case(keys: [.help, .close]),
    Case(keys: [.help, .failures], panel: .failures(skipped: 0)),
    Case(keys: [.failures, .failures]), Case(keys: [.failures, .close]), Case(keys: [.close]),
    Case(keys: [.failures, .up, .up, .down], panel: .failures(skipped: 1)),
    Case(keys: [.failures, .down], panel: .failures(skipped: 0)),
    Case(keys: [.failures] + Array(repeating: .up, count: 20), panel: .failures(skipped: 4)),
    // Arrows.
    Case(keys: [.down], selected: 7), Case(keys: [.up], selected: 9),
    Case(keys: [.down, .down], selected: 3), Case(keys: [.down, .up], selected: 7),
    Case(keys: [.down, .down, .down, .down], selected: 9), Case(keys: [.down], rows: []),
    // One file.
    Case(keys: [.details], note: selectFirst),
    Case(keys: [.details], note: "there is no file to select", rows: []),
    Case(keys: [.details], panel: .details(id: 5), rows: [5]),
    Case(keys: [.down, .details], panel: .details(id: 7), selected: 7),
    Case(keys: [.down, .details, .details], selected: 7), Case(keys: [.down, .details, .close], selected: 7),
    Case(keys: [.down, .details, .down], panel: .details(id: 3), selected: 3),
    Case(keys: [.skip], note: selectFirst),
    Case(keys: [.skip], note: selectFirst, rows: [5]),
    Case(keys: [.down, .skip], command: .skip(id: 5), selected: 5, note: skipping, rows: [5]),
    Case(keys: [.up, .skip], command: .skip(id: 9), selected: 9, note: skipping),
    Case(
      keys: [.up, .details, .skip], command: .skip(id: 9), panel: .details(id: 9), selected: 9,
      note: skipping),
    // The run.
    Case(keys: [.pause], command: .pause, isPaused: true), Case(keys: [.pause, .pause], command: .goOn),
    Case(keys: [.more], command: .width(change: 1)), Case(keys: [.fewer], command: .width(change: -1)),
    Case(keys: [.stop], command: .stop, note: "stopping: partial files are saved"),
    Case(keys: [.unknown], note: "? shows the keys"), Case(keys: [.unknown, .down], selected: 7),
  ]

  @Test(arguments: cases)
  private func table(example: Case) {
    var state = ScreenState()
    var command: ScreenCommand?
    for key in example.keys { command = state.press(key, rows: example.rows, failures: 5, at: .zero) }
    #expect(command == example.command)
    #expect(state.panel == example.panel)
    #expect(state.selected == example.selected)
    #expect(state.note(at: .zero) == example.note)
    #expect(state.isPaused == example.isPaused)
  }

  @Test("a note stands for a moment")
  func noteGoes() {
    var state = ScreenState()
    _ = state.press(.unknown, rows: [], at: .seconds(10))
    #expect(state.note(at: .seconds(13)) == "? shows the keys")
    #expect(state.note(at: .seconds(14)) == nil)
  }

  /// Never is another file skipped than the one that was seen to be selected.
  @Test("what has ended is selected no more, and the next arrow begins where it was")
  func ended() {
    var state = ScreenState()
    _ = state.press(.down, rows: [7, 3, 9], at: .zero)
    _ = state.press(.down, rows: [7, 3, 9], at: .zero)
    _ = state.press(.details, rows: [7, 3, 9], at: .zero)
    // A file that lost its row, but goes on, stays described.
    state.settle([7, 9], isUnderWay: { [7, 3, 9].contains($0) }, at: .zero)
    #expect(state.selected == nil)
    #expect(state.panel == .details(id: 3))
    state.settle([7, 9], isUnderWay: { [7, 9].contains($0) }, at: .zero)
    #expect(state.panel == nil)
    #expect(state.note(at: .zero) == "that file is done")
    #expect(state.press(.skip, rows: [7, 9], at: .zero) == nil)
    _ = state.press(.down, rows: [7, 9], at: .zero)
    #expect(state.selected == 9)
  }
}

@Suite("Panels, beside the rows or below them")
struct ScreenPanelTests {
  private func lines(
    _ content: ScreenPanel.Content, columns: Int = 80, most: Int = 20, glyphs: Glyphs = .unicode
  ) -> [String] {
    let layout = FrameLayout(
      size: TerminalSize(columns: columns, rows: 24), glyphs: glyphs, isColored: false)
    return ScreenPanel(layout: layout).lines(content, at: .seconds(3), most: most).map(\.text)
  }

  private func row(total: Int64? = 40 << 20) throws -> ActiveRow {
    let active = try Scene.active(1, "a.iso", at: 10 << 20, from: 4 << 20, of: total)
    active.meter.enter(.receiving)
    var rows = ActiveRows(glyphs: .unicode)
    rows.update([active], retries: [:], at: .zero, lines: 5)
    return try #require(rows[1])
  }

  @Test func help() {
    #expect(lines(.help)[1] == "  + -       more or fewer files at once")
    #expect(lines(.help).count == 9)
    #expect(
      lines(.help, most: 3) == [
        "  p pause · + - more · < > rate · up, down select · s skip · d details · f",
        "  failures · q, b stop · ? keys",
      ])
    #expect(lines(.help, columns: 20, most: 2).count == 2)
  }

  @Test func details() throws {
    var transfer = TransferDetails()
    (transfer.peer, transfer.httpVersion) = ("127.0.0.1:80", "HTTP/1.1")
    (transfer.lookedUp, transfer.connected) = (.milliseconds(1), .milliseconds(5))
    transfer.firstByte = .milliseconds(40)
    #expect(
      lines(.details(try row(), [transfer], isPaused: false), columns: 100) == [
        "  a.iso",
        "  URL         https://example.org/a.iso",
        "  so far      10.0 MiB of 40.0 MiB, 25%, 4.0 MiB of it from before",
        "  now         receiving",
        "  connection  127.0.0.1:80, HTTP/1.1, opened for it",
        "  times       looked up after 1 ms, connected after 5 ms, first byte after 40 ms",
        "  proof       its length is compared at the end",
        "  segments    one, not split",
      ])
  }

  @Test("before anything is known, and with a checksum")
  func littleIsKnown() throws {
    let row = try row(total: nil)
    let paused = lines(.details(row, [], isPaused: true))
    #expect(paused.contains("  now         paused"))
    #expect(paused.contains { $0.hasPrefix("  proof       the server gave no length") })
    row.meter.expectDigest()
    let proven = lines(.details(row, [], isPaused: false))
    #expect(proven.contains("  proof       its checksum is compared at the end"))
  }

  @Test func failures() throws {
    var waits = WaitLines.Content()
    for id in 0..<600 { waits.take(Scene.sample([], [try Scene.failed(id)]), Scene.words) }
    waits.take(Scene.sample([], [.rejected(Self.rejection)]), Scene.words)
    #expect(waits.failures.count == 500)
    #expect(
      lines(.failures(waits.failures, skipped: 0, total: 601), most: 3) == [
        "  601 failed so far:", "✗ file-599.bin  HTTP 404", "✗ list, line 3: no address: x",
      ])
    #expect(
      lines(.failures(waits.failures, skipped: 2, total: 601), most: 2) == [
        "  601 failed so far:", "✗ file-598.bin  HTTP 404",
      ])
    #expect(lines(.failures([], skipped: 0, total: 0)) == ["  Nothing has failed so far."])
  }

  @Test("what is too long for a line is broken between words")
  func wraps() throws {
    let failure = WaitLines.Failure(name: "a-rather-long-name.tar.gz", cause: "the server answered 404 Not Found")
    #expect(
      lines(.failures([failure, failure], skipped: 0, total: 2), columns: 32, most: 5) == [
        "  2 failed so far:", "✗ a-rather-long-name.tar.gz", "    the server answered 404", "    Not Found",
      ])
    #expect(
      lines(.details(try row(), [], isPaused: false), columns: 40).prefix(6) == [
        "  a.iso", "  URL         https://example.org/a.i", "              so",
        "  so far      10.0 MiB of 40.0 MiB,", "              25%, 4.0 MiB of it from", "              before",
      ])
  }

  /// The region of nine files, of which the last is selected.
  private func region(
    columns: Int, rows: Int, names: String = "file-", _ panel: ScreenPanel.Content?, isNarrowing: Bool = false
  ) throws -> [CellLine] {
    let layout = FrameLayout(
      size: TerminalSize(columns: columns, rows: rows), glyphs: .unicode, isColored: true, isNarrowing: isNarrowing)
    var (active, total) = (ActiveRows(glyphs: .unicode, seasoning: .zero), RunTotal())
    let files = try (0..<9).map { try Scene.active($0, "\(names)\($0).bin", at: 10, of: 1000) }
    active.update(files, retries: [:], at: .zero, lines: layout.room(besides: 0, prompt: 0))
    let sum = total.update(Scene.sample(listed: 9), active: active.all.map(\.progress), at: .zero)
    var content = FrameLayout.Content(
      rows: active.shown, hidden: active.hidden, total: sum, selected: active.shown.last?.id, now: .zero)
    content.panel = panel
    let region = layout.region(content)
    #expect(region.count <= layout.lines && region.allSatisfy { $0.trimmed.width <= layout.usable })
    return region
  }

  private func plain(_ line: CellLine) -> String {
    String(line.trimmed.cells.indices.compactMap { line.character(at: $0) })
  }

  /// In windows that become lower.
  @Test(arguments: [(24, 9, 0, 9), (18, 4, 5, 9), (14, 0, 9, 9), (13, 0, 0, 9), (12, 5, 4, 2)])
  func belowRows(height: Int, rowCount: Int, more: Int, panel: Int) throws {
    let region = try region(columns: 80, rows: height, .help).map(plain)
    #expect(region.count { $0.contains("file-") } == rowCount, "\(region)")
    #expect(rowCount == 0 || region.contains { $0.hasPrefix("> file-") }, "\(region)")
    #expect(region.contains("  … \(more) more") == (more > 0), "\(region)")
    #expect(region.count == rowCount + min(more, 1) + panel + 1, "\(region)")
  }

  /// The last column of rows and rule, and which lines the window takes; 0 where the panel stands below.
  @Test(arguments: [
    (80, 24, 0, 19), (100, 30, 0, 19), (108, 24, 0, 19), (109, 24, 61, 15), (120, 40, 71, 15), (160, 50, 94, 11),
    (220, 50, 134, 10), (120, 14, 71, 10), (120, 6, 71, 3),
  ])
  func besideRows(columns: Int, height: Int, rule: Int, count: Int) throws {
    let region = try region(columns: columns, rows: height, .help)
    let lines = region.map(plain)
    #expect(region.count == count, "\(lines)")
    for line in region.dropLast() {
      #expect(line.cells.indices.first { line.character(at: $0) == "│" } == (rule > 0 ? rule : nil), "\(lines)")
    }
    #expect(lines.last?.contains("0/9 files") == true, "\(lines)")
    guard rule > 0 else { return }
    #expect(lines[0].contains("file-0.bin") && lines[0].contains("│   p "), "\(lines)")
    // While the window's edge moves, nothing stands where it may come to.
    let moving = try self.region(columns: columns, rows: height, .help, isNarrowing: true)
    #expect(columns > 137 || !moving.map(plain).contains { $0.contains("│") })
  }

  @Test("beside names that are wide, or of a width that terminals differ about", arguments: 100...220)
  func besideWideNames(columns: Int) throws {
    let failure = WaitLines.Failure(name: "東京の地図と東京の地図と東京の地図.pdf", cause: "e\u{301} 東京の地図 HTTP 404")
    let panel = ScreenPanel.Content.failures([failure], skipped: 0, total: 1)
    for names in ["東京の地図", "東京の地図と東京の地図と東京の地図", "e\u{301}👩‍💻"] {
      let region = try region(columns: columns, rows: 30, names: names, panel)
      let rules = Set(region.compactMap { line in line.cells.indices.first { line.character(at: $0) == "│" } })
      #expect(rules.count == (columns < 109 ? 0 : 1))
      // As cell by cell, so as text: no character was cut.
      for line in region { #expect(CellWidth.of(plain(line)) == line.trimmed.width, "\(plain(line))") }
    }
  }

  private static let rejection = Rejection(list: "list", line: 3, text: "x", reason: .notUTF8)

  @Test("no line reaches the window's width", arguments: 1...120)
  func bounds(columns: Int) throws {
    let row = try row()
    let failure = WaitLines.Failure(name: "東京の地図.pdf", cause: "HTTP 404 Not Found: \u{1B}[2J long text")
    for glyphs in [Glyphs.unicode, .ascii] {
      for most in [0, 1, 3, 8, 20] {
        for content in [
          .help, .details(row, [TransferDetails()], isPaused: false), .failures([failure], skipped: 0, total: 1),
        ] as [ScreenPanel.Content] {
          let lines = lines(content, columns: columns, most: most, glyphs: glyphs)
          #expect(lines.count <= most)
          for line in lines {
            #expect(CellWidth.of(line) < columns, "\(columns): \(line)")
            #expect(!line.contains("\u{1B}"))
          }
        }
      }
    }
  }
}
