import DownloadModel
import Testing

@testable import TerminalProgress

@Suite("Progress as lines")
struct PlainLogTests {
  private var log = PlainLog(isColored: false, words: Scene.words)

  private mutating func draw(_ sample: ProgressSample, at seconds: Double) -> String {
    String(decoding: log.draw(sample, at: .seconds(seconds), size: .usual), as: UTF8.self)
  }

  @Test("a line for each change that matters")
  mutating func events() throws {
    let address = try Scene.address("https://user:secret@example.org/x\u{E9}.csv")
    let rejection = Rejection(list: "list.txt", line: 7, text: "htp:/x", reason: .malformed(.noScheme))
    let resumed = DownloadOutcome(kind: .fetched, path: "out/y\u{1B}[2J.bin", size: 9 << 20, resumed: 1 << 20)
    let text = draw(
      Scene.sample(
        [],
        [
          .rejected(rejection),
          .retry(
            address, NextAttempt(attempt: 2, retry: 1, of: 5, delay: .seconds(1.5)),
            error: DownloadError(.reset)),
          .ended(address, .success(resumed)), try Scene.failed(3), .ended(address, .failure(.cancelled)),
        ]), at: 1)
    #expect(
      text == """
        refused: list.txt, line 7: no address: htp:/x
        retry: https://example.org/x%C3%A9.csv: reset; again in 1.5 s, 1 of 5
        done: out/y[2J.bin, 9.0 MiB, resumed from 1.0 MiB
        failed: https://example.org/file-3.bin: HTTP 404

        """)
  }

  @Test("a summary at most every ten seconds; once a minute while nothing moves")
  mutating func summaries() throws {
    var times: [Double] = []
    for quarter in 1...800 {
      let seconds = Double(quarter) / 4
      // Bytes come for the first 30 seconds only.
      let bytes = Int64(min(seconds, 30) * 1_000_000)
      let text = draw(
        Scene.sample(
          [try Scene.active(1, at: bytes, of: 100_500_000)], received: bytes, listed: 1240, complete: false,
          fetched: 12, failed: 1), at: seconds)
      #expect(!text.contains("\r") && !text.contains("\u{1B}"))
      if !text.isEmpty { times.append(seconds) }
      if seconds == 10 {
        #expect(
          text
            == "progress: 12 of at least 1,240 files done, 1 failed, 9.5 MiB, 977 KiB/s, "
            + "at least 1 min 31 s left\n"
        )
      }
    }
    #expect(times == [10, 20, 30, 90, 150])
  }

  @Test(
    "the words of a summary",
    arguments: [
      (
        Scene.sample(received: 0, listed: 3, fetched: 3, finishedBytes: 4096),
        "3 of 3 files done, 4.0 KiB of 4.0 KiB, 0 B/s"
      ),
      (Scene.sample(received: 0, listed: 0, complete: false), "0 of at least 0 files done, 0 B, 0 B/s"),
    ])
  mutating func words(sample: ProgressSample, expected: String) {
    #expect(draw(sample, at: 10) == "progress: \(expected)\n")
  }

  @Test("when very many end at once some are named, all failures are, the rest are counted")
  mutating func many() throws {
    let events = try (0..<6250).map { $0 % 1000 == 999 ? try Scene.failed($0) : try Scene.done($0) }
    let lines = draw(Scene.sample([], events), at: 1).split(separator: "\n")
    #expect(lines.filter { $0.hasPrefix("failed: ") }.count == 6)
    #expect(lines.filter { $0.hasPrefix("done: /tmp") }.count == 20)
    #expect(lines.last == "done: 6,224 more files")
    #expect(lines.count == 27)
  }

  @Test("the end leaves nothing unsaid")
  mutating func ending() throws {
    let sample = Scene.sample([], [try Scene.done(1), try Scene.failed(2)])
    let text = String(decoding: log.end(sample, at: .seconds(1), size: .usual), as: UTF8.self)
    #expect(text == "done: /tmp/out/file-1.bin, 4.0 KiB\nfailed: https://example.org/file-2.bin: HTTP 404\n")
  }

  @Test("colour, where wanted, is on the first word only")
  func color() throws {
    var log = PlainLog(isColored: true, words: Scene.words)
    let bytes = log.draw(Scene.sample([], [try Scene.failed(2)]), at: .seconds(1), size: .usual)
    #expect(
      String(decoding: bytes, as: UTF8.self)
        == "\u{1B}[31mfailed:\u{1B}[0m https://example.org/file-2.bin: HTTP 404\n")
  }
}
