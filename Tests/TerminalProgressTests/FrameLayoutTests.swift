import DownloadModel
import Testing

@testable import TerminalProgress

@Suite("The region's lines")
struct FrameLayoutTests {
  /// Five files in their fourth second, drawn in a window of that size.
  private func region(
    columns: Int, rows: Int = 24, glyphs: Glyphs = .unicode, isColored: Bool = false, complete: Bool = true,
    count: Int = 0
  ) throws -> [String] {
    try FourthSecond(rows: rows, glyphs, complete: complete, count: count).drawn(columns, isColored)
  }

  /// What has come until then is the same in each width, and takes longer than drawing it.
  private struct FourthSecond {
    private let rows: Int
    private let glyphs: Glyphs
    private var activeRows: ActiveRows
    private var content: FrameLayout.Content

    private func layout(_ columns: Int, _ isColored: Bool = false) -> FrameLayout {
      FrameLayout(size: TerminalSize(columns: columns, rows: rows), glyphs: glyphs, isColored: isColored)
    }

    init(rows: Int, _ glyphs: Glyphs, complete: Bool = true, count: Int) throws {
      var active = [
        try Scene.active(1, "debian-12.5.0-amd64-netinst.iso", of: 629 << 20),
        try Scene.active(2, "%E6%9D%B1%E4%BA%AC%E3%81%AE%E5%9C%B0%E5%9B%B3.pdf", of: 48_000_000),
        try Scene.active(3, "stream.ndjson"), try Scene.active(4, "waiting.bin"),
        try Scene.active(5, "archive.tar.gz", at: 50, of: 100),
      ]
      active[3].meter.enter(.waiting)
      active += try (0..<count).map { try Scene.active(10 + $0) }
      (self.rows, self.glyphs, activeRows) = (rows, glyphs, ActiveRows(glyphs: glyphs))
      var total = RunTotal()
      content = FrameLayout.Content(total: total.update(Scene.sample(), active: [], at: .zero), now: .seconds(4))
      for second in 0...4 {
        if second > 0 {
          active[0].meter.add(12 << 20)
          active[1].meter.add(4_100_000)
          active[2].meter.add(300_000)
        }
        let retry = ActiveRow.Retry(
          next: NextAttempt(attempt: 3, retry: 2, of: 5, delay: .seconds(3)), until: .seconds(7))
        activeRows.update(
          active, retries: second == 4 ? [active[4].address: retry] : [:], at: .seconds(second),
          lines: layout(80).lines - 1)
        let sample = Scene.sample(
          received: Int64(second * 17_000_000), listed: 1240, complete: complete, fetched: 12, failed: 1,
          finishedBytes: 1 << 30)
        content.total = total.update(sample, active: activeRows.all.map(\.progress), at: .seconds(second))
      }
    }

    func drawn(_ columns: Int, _ isColored: Bool = false) -> [String] {
      let layout = layout(columns, isColored)
      var (activeRows, content) = (activeRows, content)
      activeRows.place(
        at: .seconds(4), lines: layout.room(besides: layout.waits(content).count, prompt: 0))
      (content.rows, content.hidden) = (activeRows.shown, activeRows.hidden)
      return layout.region(content).map(\.text)
    }
  }

  /// A run that is one of several: half of the window at most is for what those have come to.
  @Test(arguments: [(24, 21, 4), (12, 9, 4), (10, 7, 3), (5, 2, 1), (4, 1, 0)])
  func headings(rows: Int, lines: Int, shown: Int) throws {
    let heading = ["run 2 of 9: parallel, round 1", "MODE MEDIAN", "sequential 3.30 s", "\u{1B}[2Jevil"]
    let layout = FrameLayout(
      size: TerminalSize(columns: 20, rows: rows), glyphs: .unicode, isColored: false, heading: heading)
    var (activeRows, total) = (ActiveRows(glyphs: .unicode, seasoning: .zero), RunTotal())
    let active = try (0..<20).map { try Scene.active($0) }
    activeRows.update(active, retries: [:], at: .zero, lines: layout.room(besides: 0, prompt: 0))
    let sum = total.update(Scene.sample(listed: 20), active: activeRows.all.map(\.progress), at: .zero)
    let region = layout.region(
      FrameLayout.Content(rows: activeRows.shown, hidden: activeRows.hidden, total: sum, now: .zero)
    ).map(\.text)
    #expect(region.count == lines)
    #expect(
      region.prefix(shown)
        == ["run 2 of 9: paral…", "MODE MEDIAN", "sequential 3.30 s", "[2Jevil"][..<shown])
    #expect(region.dropFirst(shown).allSatisfy { $0.hasPrefix("  ") })
  }

  private func trimmed(_ line: String) -> String {
    String(line.reversed().drop { $0 == " " }.reversed())
  }

  @Test("in 80 columns")
  func usual() throws {
    #expect(
      try region(columns: 80) == [
        "  debian-12.5.0-…nst.iso   ╾──────    7%   of 629 MiB  12.0 MiB/s      0:49",
        "  東京の地図.pdf           ━━─────   34%  of 45.8 MiB   3.9 MiB/s      0:08",
        "  stream.ndjson            ──━────            1.1 MiB   293 KiB/s",
        "  archive.tar.gz           ━━━╾───   50%     of 100 B  again in 0:03 (2/5)",
        "  waiting.bin              ───────                     waiting 4 s",
        "  5 running, 1,222 waiting · 0:04",
        "  12/1,240 · 1 failed     ▕▏      ▏   0%  of ~130 GiB  16.2 MiB/s  ~2:15:59",
      ])
  }

  @Test("in 100 columns, sizes of the whole as well")
  func wide() throws {
    #expect(
      try region(columns: 100) == [
        "  debian-12.5.0-amd…tinst.iso   ╾────────────    7%  48.0 MiB / 629 MiB   12.0 MiB/s      0:49",
        "  東京の地図.pdf                ━━━━─────────   34%  15.6 MiB / 45.8 MiB   3.9 MiB/s      0:08",
        "  stream.ndjson                 ──━━━────────         1.1 MiB              293 KiB/s",
        "  archive.tar.gz                ━━━━━━╾──────   50%      50 B / 100 B     again in 0:03 (2/5)",
        "  waiting.bin                   ─────────────                             waiting 4 s",
        "  5 running, 1,222 waiting · 0:04",
        "  12/1,240 files · 1 failed    ▕▏            ▏   0%   1.1 GiB /~130 GiB   16.2 MiB/s  ~2:15:59",
      ])
  }

  @Test("in 40 columns")
  func narrow() throws {
    #expect(
      try region(columns: 40) == [
        "  debian-12.…t.iso   ╾─────────    7%", "  東京の地図.pdf     ━━━───────   34%",
        "  stream.ndjson      ──━━──────      ", "  archive.tar.gz     again 0:03   50%",
        "  waiting.bin        waiting 4 s     ",
        "  5 running, 1,222 waiting · 0:04", "  12/1,240 · 1 failed · 0% · ~2:15:59",
      ])
  }

  @Test("in ASCII, and while the list is not read to its end")
  func ascii() throws {
    let lines = try region(columns: 80, glyphs: .ascii, complete: false)
    #expect(lines.allSatisfy { $0.utf8.allSatisfy { (0x20..<0x7F).contains($0) } })
    #expect(lines.first == "  debian-12.5.0..nst.iso  [#......]   7%   of 629 MiB  12.0 MiB/s      0:49")
    #expect(lines.last == "  12/>=1,240, 1 failed    [..#....]           1.1 GiB  16.2 MiB/s          ")
  }

  @Test("colour changes nothing but colour")
  func color() throws {
    let plain = try region(columns: 80)
    let colored = try region(columns: 80, isColored: true)
    #expect(colored != plain)
    for (left, right) in zip(colored, plain) {
      var terminal = TerminalEmulator(columns: 80, rows: 2)
      terminal.feed(Array(left.utf8))
      #expect(terminal.lines == [trimmed(right)])
    }
  }

  private static let widths = Array(1...64) + Array(stride(from: 65, through: 300, by: 9))

  @Test("no line reaches the window's width, no region its height", arguments: 1...100)
  func bounds(rows: Int) throws {
    for glyphs in [Glyphs.unicode, .ascii] {
      let scene = try FourthSecond(rows: rows, glyphs, count: 20)
      for columns in Self.widths where [1, 3, 4, 5, 6, 8, 24, 100].contains(rows) || columns % 7 == 0 {
        let lines = scene.drawn(columns)
        #expect(lines.count == max(0, min(rows - 3, columns > 3 ? 27 : 26)))
        for line in lines { #expect(CellWidth.of(line) < columns, "\(columns): \(line)") }
      }
    }
  }

  @Test(
    "the first words of the total",
    arguments: [
      (Scene.sample(listed: 0, complete: false), "starting"), (Scene.sample(listed: 1), "0/1 file"),
      (Scene.sample(listed: 40, complete: false, fetched: 1), "1/≥40 files"),
      (Scene.sample(listed: 40, fetched: 39, failed: 1), "39/40 files · 1 failed"),
      (Scene.sample(listed: 12_345, fetched: 123), "123/12,345 files"),
      (Scene.sample(listed: 12_345, fetched: 123, failed: 1), "123/12,345 · 1 failed"),
      (Scene.sample(listed: 123_456, fetched: 7, failed: 1234), "7/123456 · 1234 failed"),
      (Scene.sample(listed: 123_456, fetched: 100_000, failed: 1234), "100000/123456 · ✗1234"),
    ])
  func label(sample: ProgressSample, expected: String) {
    let layout = FrameLayout(size: .usual, glyphs: .unicode, isColored: false)
    var total = RunTotal()
    let sum = total.update(sample, active: [], at: .seconds(1))
    #expect(TotalLine(layout: layout).line(sum).text.hasPrefix("  \(expected)  "))
  }

  @Test("what found no room is counted above the total")
  func more() throws {
    let lines = try region(columns: 80, rows: 8, count: 20)
    #expect(lines.count == 5)
    #expect(lines[2] == "  … 23 more")
    #expect(lines[3] == "  25 running, 1,202 waiting · 0:04")
    #expect(lines[4].hasPrefix("  12/1,240"))
  }

  /// Names in scripts of wide, combining and right-to-left characters, and with what acts on a terminal.
  @Test("whatever the names are, no line reaches the window's width", arguments: 20...300)
  func names(columns: Int) throws {
    let names = [
      "%E6%9D%B1%E4%BA%AC%E3%81%AE%E5%9C%B0%E5%9B%B3%E6%9D%B1%E4%BA%AC%E3%81%AE%E5%9C%B0%E5%9B%B3.pdf",
      "e%CC%81e%CC%81e%CC%81e%CC%81e%CC%81e%CC%81e%CC%81e%CC%81e%CC%81e%CC%81e%CC%81e%CC%81e%CC%81.txt",
      "%D7%A9%D7%9C%D7%95%D7%9D%E2%80%AE%D8%B3%D9%84%D8%A7%D9%85.gz", "%1B%5B2J%1B%5D0;x%07%0D%0A%00.bin",
      "%F0%9F%91%A8%E2%80%8D%F0%9F%91%A9%E2%80%8D%F0%9F%91%A7%F0%9F%87%A9%F0%9F%87%AA%F0%9F%87%A9%F0%9F%87%AA.png",
      "%FF%FE%FF.dat", String(repeating: "%EF%BC%A1", count: 200),
    ]
    let active = try names.enumerated().map { try Scene.active($0, $1, at: 10, of: 1000) }
    for (file, phase) in zip(active, [TransferMeter.Phase.lookingUp, .connecting, .checking]) {
      file.meter.enter(phase)
    }
    for rows in [4, 6, 9, 24, 100] {
      for glyphs in [Glyphs.unicode, .ascii] {
        let layout = FrameLayout(
          size: TerminalSize(columns: columns, rows: rows), glyphs: glyphs, isColored: false)
        var (activeRows, total) = (ActiveRows(glyphs: glyphs), RunTotal())
        for second in [0, 100] {
          activeRows.update(
            active, retries: [:], at: .seconds(second), lines: layout.room(besides: 0, prompt: 0))
        }
        let sum = total.update(
          Scene.sample(listed: 7), active: activeRows.all.map(\.progress), at: .seconds(100))
        let lines = layout.region(
          FrameLayout.Content(
            rows: activeRows.shown, hidden: activeRows.hidden, total: sum, now: .seconds(100))
        ).map(\.text)
        #expect(lines.count == min(rows - 3, 8))
        for line in lines {
          #expect(CellWidth.of(line) < columns, "\(columns): \(line)")
          #expect(line.unicodeScalars.allSatisfy { !$0.isHarmful }, "\(line)")
        }
      }
    }
  }

  @Test("what stands in a narrow window is the whole of it that fits, from 4 rows on")
  func small() throws {
    #expect(try region(columns: 80, rows: 4).map { String($0.prefix(21)) } == ["  12/1,240 · 1 failed"])
    #expect(
      try region(columns: 80, rows: 5).map { String($0.prefix(21)) } == [
        "  … 5 more", "  12/1,240 · 1 failed",
      ])
    #expect(
      try region(columns: 80, rows: 6).map { String($0.prefix(16)) } == [
        "  … 5 more", "  5 running, 1,2", "  12/1,240 · 1 f",
      ])
  }
}
