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
  private static let skipping = "skipping it: what has come is kept"

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
    Case(keys: [.stop], command: .stop, note: "stopping: what has come is kept"),
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

@Suite("Panels, beside the rows")
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
    #expect(lines(.help)[1] == "    + -         more or fewer files at once")
    #expect(lines(.help).count == 8)
    #expect(
      lines(.help, most: 3) == [
        "  p pause  + - files at once  up, down select  s skip  d details",
        "  f failures  q stop  ? keys",
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
        "    address     https://example.org/a.iso",
        "    so far      10.0 MiB of 40.0 MiB, 25%, 4.0 MiB of it from before",
        "    now         receiving",
        "    connection  127.0.0.1:80, HTTP/1.1, opened for it",
        "    times       looked up after 1 ms, connected after 5 ms, first byte after 40 ms",
        "    segments    one, not split",
        "    proof       its length is compared at the end",
      ])
  }

  @Test("before anything is known, and with a checksum")
  func littleIsKnown() throws {
    let row = try row(total: nil)
    let paused = lines(.details(row, [], isPaused: true))
    #expect(paused.contains("    now         paused"))
    #expect(paused.last?.hasPrefix("    proof       the server gave no length") == true)
    row.meter.expectDigest()
    #expect(lines(.details(row, [], isPaused: false)).last == "    proof       its checksum is compared at the end")
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
        "  a.iso", "    address     https://example.org/a", "                .iso",
        "    so far      10.0 MiB of 40.0 MiB,", "                25%, 4.0 MiB of it", "                from before",
      ])
  }

  /// Nine rows, of which the last is selected, in windows that become lower.
  @Test(arguments: [(24, 9, 0, 8), (18, 5, 4, 8), (13, 0, 9, 8), (12, 0, 0, 8), (11, 4, 5, 2)])
  func besideRows(height: Int, rowCount: Int, more: Int, panel: Int) throws {
    let layout = FrameLayout(size: TerminalSize(columns: 80, rows: height), glyphs: .unicode, isColored: false)
    var (rows, total) = (ActiveRows(glyphs: .unicode, seasoning: .zero), RunTotal())
    rows.update(try (0..<9).map { try Scene.active($0) }, retries: [:], at: .zero, lines: 9)
    let sum = total.update(Scene.sample(listed: 9), active: rows.all.map(\.progress), at: .zero)
    var content = FrameLayout.Content(rows: rows.shown, total: sum, selected: rows.shown.last?.id, now: .zero)
    content.panel = .help
    let region = layout.region(content).map(\.text)
    #expect(region.count { $0.contains("file-") } == rowCount, "\(region)")
    #expect(rowCount == 0 || region.contains { $0.hasPrefix("> file-8.bin") }, "\(region)")
    #expect(region.contains("  … \(more) more") == (more > 0), "\(region)")
    #expect(region.count == rowCount + min(more, 1) + panel + 1, "\(region)")
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
