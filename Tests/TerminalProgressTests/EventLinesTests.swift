import DownloadModel
import Testing

@testable import TerminalProgress

@Suite("Lines above the bars")
struct EventLinesTests {
  private func lines(_ events: [ProgressEvent], columns: Int = 80, glyphs: Glyphs = .unicode) -> [String] {
    let layout = FrameLayout(
      size: TerminalSize(columns: columns, rows: 24), glyphs: glyphs, isColored: false)
    return EventLines(layout: layout, words: Scene.words).lines(events)
  }

  private func ended(_ outcome: DownloadOutcome) throws -> ProgressEvent {
    .ended(try Scene.request(1, "x"), .success(outcome))
  }

  @Test(
    "a file and what is worth knowing of it",
    arguments: [
      (DownloadOutcome(kind: .fetched, path: "out/x.iso", size: 4096), "✓ x.iso                    4.0 KiB"),
      (
        DownloadOutcome(kind: .fetched, path: "x.iso", size: 9 << 20, resumed: 3_250_586),
        "✓ x.iso                    9.0 MiB  resumed from 3.1 MiB"
      ),
      (
        DownloadOutcome(kind: .skipped, path: "x.iso", size: 1),
        "✓ x.iso                        1 B  skipped: a file exists"
      ),
      (Scene.renamed("a/x.1.txt", from: "a/x.txt"), "✓ x.1.txt                      5 B"),
      (
        DownloadOutcome(
          kind: .fetched, path: "measurements-2024-first-quarter.tar.gz", size: 1 << 30),
        "✓ measurements-2024-first-quarter.tar.gz   1.0 GiB"
      ),
      (
        DownloadOutcome(kind: .fetched, path: "bad\u{1B}[2Jname\n\u{202E}", size: 1),
        "✓ bad[2Jname                   1 B"
      ),
    ])
  func done(outcome: DownloadOutcome, expected: String) throws {
    #expect(lines([try ended(outcome)]) == [expected])
  }

  @Test(
    "what was here already is only counted",
    arguments: [DownloadOutcome.Kind.unchanged, .fresh, .copied])
  func counted(kind: DownloadOutcome.Kind) throws {
    #expect(lines([try ended(DownloadOutcome(kind: kind, path: "x.iso", size: 1))]) == [])
  }

  @Test("what failed is told once, at the end, and what is tried again in the region")
  func others() throws {
    let request = try Scene.request(1, "data/x.csv")
    let rejection = Rejection(list: "list.txt", line: 7, text: "htp:/x", reason: .malformed(.noScheme))
    #expect(
      lines([
        .retry(
          request, NextAttempt(attempt: 2, retry: 1, of: 5, delay: .seconds(1.5)),
          error: DownloadError(.reset)),
        .rejected(rejection), .ended(request, .failure(.cancelled)), try Scene.failed(1),
      ]) == [])
  }

  @Test("when very many end at once: the last few, and how many more")
  func many() throws {
    let events = try (0..<320).map { $0 % 100 == 50 ? try Scene.failed($0) : try Scene.done($0) }
    let lines = lines(events)
    #expect(lines.first == "✓ … 309 more done")
    #expect(lines.suffix(8).map { $0.prefix(14) } == (312..<320).map { "✓ file-\($0).bin" })
    #expect(lines.count == 1 + 8)
    #expect(self.lines(try (0..<40).map { try Scene.done($0) }).count == 40)
  }

  @Test("no line reaches the window's width", arguments: 1...100)
  func bounds(columns: Int) throws {
    let request = try Scene.request(1, "data/%E6%9D%B1%E4%BA%AC%E3%81%AE%E5%9C%B0.csv")
    let renamed = Scene.renamed("a/東京の地図.1.txt", from: "a/東京の地図.txt", resumed: 5)
    let events: [ProgressEvent] = [
      try ended(renamed), try Scene.done(1), .waitsForAnotherProcess(request, 12_345),
      .restarted(request, .otherVersion),
    ]
    for glyphs in [Glyphs.unicode, .ascii] {
      for line in lines(events, columns: columns, glyphs: glyphs) {
        #expect(CellWidth.of(line) < columns, "\(columns): \(line)")
      }
    }
  }
}

@Suite("What is done about a failure is said in one way, and how often it will be")
struct RetryMessagesTests {
  private let second = NextAttempt(attempt: 3, retry: 2, of: 5, delay: .seconds(4))

  @Test func sentences() {
    #expect(RetryMessages.text("status 503", second) == "status 503; again in 4.0 s, 2 of 5")
    #expect(RetryMessages.text("", second) == "again in 4.0 s, 2 of 5")
    let unbounded = NextAttempt(attempt: 3, retry: 2, of: nil, delay: .milliseconds(40))
    #expect(RetryMessages.text("x", unbounded) == "x; again in 40 ms")
    let atOnce = NextAttempt(attempt: 2, retry: 1, of: 10, delay: .zero)
    #expect(RetryMessages.text("x", atOnce) == "x; again at once, 1 of 10")
  }

  @Test(
    arguments: [
      (20, "again in 0:03 (2/5)"), (19, "again in 0:03 (2/5)"), (18, "again in 0:03"), (13, "again in 0:03"),
      (12, "again 0:03"), (10, "again 0:03"), (4, "0:03"),
    ])
  func columns(width: Int, text: String) {
    #expect(RetryMessages.countdown(second, .seconds(2.5), width: width) == text)
  }
}
