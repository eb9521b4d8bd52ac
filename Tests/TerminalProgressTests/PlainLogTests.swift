import DownloadModel
import Testing

@testable import TerminalProgress

@Suite("Progress as lines")
struct PlainLogTests {
  private var log = PlainLog(isColored: false, words: Scene.words)

  private mutating func draw(_ sample: ProgressSample, at seconds: Double) -> String {
    String(decoding: log.draw(sample, at: .seconds(seconds)), as: UTF8.self)
  }

  /// What failed is told once, at the end.
  @Test("a line for each change that matters")
  mutating func events() throws {
    let request = DownloadRequest(id: 9, address: try Scene.address("https://user:secret@example.org/x\u{E9}.csv"))
    let rejection = Rejection(list: "list.txt", line: 7, text: "htp:/x", reason: .malformed(.noScheme))
    let resumed = DownloadOutcome(kind: .fetched, path: "out/y\u{1B}[2J.bin", size: 9 << 20, resumed: 1 << 20)
    let text = draw(
      Scene.sample(
        [],
        [
          .rejected(rejection),
          .retry(
            request, NextAttempt(attempt: 2, retry: 1, of: 5, delay: .seconds(1.5)),
            error: DownloadError(.reset)),
          .restarted(request, .otherVersion), .ended(request, .success(resumed)), try Scene.failed(3),
          .ended(request, .failure(.cancelled)),
        ]), at: 1)
    #expect(
      text == """
        retry: https://example.org/x%C3%A9.csv: reset; again in 1.5 s, 1 of 5
        retry: https://example.org/x%C3%A9.csv: has changed on the server: starting over
        done: out/y[2J.bin, 9.0 MiB, resumed from 1.0 MiB

        """)
  }

  @Test("what watched lists become; of files asked about again only what changed")
  mutating func watching() throws {
    let status = WatchStatus(lists: ["a.txt", "b.txt", "c.txt"], files: 2, nextLook: .seconds(597.2))
    func unchanged(_ id: Int) throws -> ProgressEvent {
      .ended(
        try Scene.request(id), .success(DownloadOutcome(kind: .unchanged, path: "out/\(id)", size: 5))
      )
    }
    let change = WatchNews.Change(
      list: "a.txt", started: 1, removed: 2, restarted: 0, mended: 1, files: 1_234)
    let unread = Rejection(list: "a.txt", line: nil, text: "", reason: .noList(.binary))
    let text = draw(
      Scene.sample(
        [],
        [
          .watch(.missing(list: "a.txt", files: 0)), .watch(.missing(list: "a.txt", files: 1)),
          .watch(.unreadable(unread, files: 0)), .watch(.unreadable(unread, files: 2)),
          .watch(.changed(change)), .watch(.removed(try Scene.request(1), .done)),
          .watch(.removed(try Scene.request(2), .running)), try unchanged(3), .watch(.asking(files: 2)),
          try unchanged(3), try Scene.done(4), .watch(.waiting(status)), .watch(.waiting(status)),
        ]), at: 1)
    let words = Scene.words.rejection(unread)
    #expect(
      text == """
        list: a.txt does not exist; waiting for it
        list: a.txt is gone; going on with its 1 file until it is back
        list: \(words); waiting until that changes
        list: \(words); going on with the 2 files that it named before
        list: a.txt has changed: 1 new, 2 removed, 1 bad line gone, 1,234 files now
        removed: \(try Scene.request(1).address.key), whose file stays
        removed: \(try Scene.request(2).address.key), which is cancelled
        done: out/3, 5 B, unchanged
        asking: again about 2 files
        done: /tmp/out/file-4.bin, 4.0 KiB
        asked: 1 unchanged
        watching: a.txt, b.txt and 1 more; 2 files, next look in 9:58
        watching: a.txt, b.txt and 1 more; 2 files, next look in 9:58

        """)
  }

  /// A watch may wait for days.
  @Test mutating func anIdleWatchSaysNothing() {
    var sample = Scene.sample(fetched: 3)
    sample.watch = WatchStatus(lists: ["a.txt"], files: 3)
    #expect(draw(sample, at: 10).hasPrefix("progress: "))
    #expect(draw(sample, at: 3600).isEmpty)
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
            == "progress: 12 of at least 1,240 files done, 1 failed, 9.5 MiB, 977 KiB/s\n"
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

  /// A log is searched, not watched: beyond twenty a tick they were once only counted.
  @Test("every file that is done is named, also where very many end at once")
  mutating func many() throws {
    let events = try (0..<6250).map { $0 % 1000 == 999 ? try Scene.failed($0) : try Scene.done($0) }
    let lines = draw(Scene.sample([], events), at: 1).split(separator: "\n")
    #expect(Set(lines.filter { $0.hasPrefix("done: /tmp/out/file-") }).count == 6244)
    #expect(lines.count == 6244)
  }

  @Test("the end leaves nothing unsaid")
  mutating func ending() throws {
    let sample = Scene.sample([], [try Scene.done(1), try Scene.failed(2)])
    let text = String(decoding: log.end(sample, at: .seconds(1)), as: UTF8.self)
    #expect(text == "done: /tmp/out/file-1.bin, 4.0 KiB\n")
  }

  @Test("colour, where wanted, is on the first word only")
  func color() throws {
    var log = PlainLog(isColored: true, words: Scene.words)
    // A watch has no end at which to tell it.
    var sample = Scene.sample([], [try Scene.failed(2)])
    sample.watch = WatchStatus(lists: ["a.txt"], files: 3)
    let bytes = log.draw(sample, at: .seconds(1))
    #expect(
      String(decoding: bytes, as: UTF8.self)
        == "\u{1B}[31mfailed:\u{1B}[0m https://example.org/file-2.bin: HTTP 404\n")
  }
}
