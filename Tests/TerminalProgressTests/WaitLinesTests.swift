import DownloadModel
import Testing

@testable import TerminalProgress

@Suite("What waits, for what, and for how long")
struct WaitLinesTests {
  private func lines(
    _ content: WaitLines.Content, _ sample: ProgressSample, running: Int = 2, columns: Int = 100,
    most: Int = 4, at seconds: Double = 83, glyphs: Glyphs = .unicode, tellsFailure: Bool = true
  ) -> [String] {
    let layout = FrameLayout(
      size: TerminalSize(columns: columns, rows: 24), glyphs: glyphs, isColored: false)
    let active = (0..<running).map { _ in FileProgress(position: 0, start: 0, total: nil) }
    let progress = RunProgress(sample.tally, active: active)
    return WaitLines(layout: layout).lines(
      content, TotalLine.Content(progress: progress, step: 0, rate: 0), tellsFailure: tellsFailure,
      at: .seconds(seconds), most: most
    ).map(\.text)
  }

  private func busy() throws -> WaitLines.Content {
    var sample = Scene.sample(
      [],
      [
        .retry(
          try Scene.request(1), NextAttempt(attempt: 2, retry: 1, of: 5, delay: .seconds(4)),
          error: DownloadError(.status, cause: .http(status: 503)))
      ])
    sample.hosts = [
      HostWait(host: "example.org", limit: 2, isLearnt: true, waiting: 40, pause: .seconds(3.2))
    ]
    var content = WaitLines.Content()
    content.take(sample, Scene.words)
    return content
  }

  @Test("a host that takes no more for now, as it said")
  func spent() throws {
    var content = try busy()
    content.hosts[0].isSpent = true
    let sample = Scene.sample(listed: 42)
    #expect(
      lines(content, sample, columns: 100)
        == ["  2 running, 40 waiting · example.org takes no more requests for now, next in 4 s · 1:23"])
  }

  @Test("nothing waits: no line")
  func nothing() {
    #expect(lines(WaitLines.Content(), Scene.sample(listed: 2)).isEmpty)
  }

  @Test("all is done, and lists are watched")
  func watching() {
    var content = WaitLines.Content()
    content.watch = WatchStatus(lists: ["urls.txt"], files: 40, nextLook: .seconds(598))
    let sample = Scene.sample(listed: 40, fetched: 40)
    #expect(lines(content, sample, running: 0) == ["  watching urls.txt; 40 files, next look in 9:58"])
    #expect(lines(content, sample, running: 0, columns: 30) == ["  watching urls.txt… in 9:58"])
    content.watch = WatchStatus(lists: ["urls.txt"], files: 1)
    #expect(lines(content, sample, running: 0) == ["  watching urls.txt; 1 file"])
    #expect(lines(content, sample, running: 1).isEmpty)
  }

  /// `starting … 0 B/s` stood for as long as a pipe or a server took.
  @Test("a list that is waited for says so, where nothing else is to be done")
  func awaited() throws {
    var content = WaitLines.Content()
    content.awaited = "reading https://host.example/list: host not found, retrying in 2 s"
    let sample = Scene.sample(complete: false)
    #expect(
      lines(content, sample, running: 0) == [
        "  reading https://host.example/list: host not found, retrying in 2 s"
      ])
    let short = try #require(lines(content, sample, running: 0, columns: 60).first)
    #expect(short.hasPrefix("  reading ") && short.hasSuffix("…le/list: host not found, retrying in 2 s"), "\(short)")
    #expect(lines(content, sample, running: 0, at: 0.5).isEmpty)
    #expect(lines(content, Scene.sample(listed: 1, complete: false), running: 1).isEmpty)
  }

  @Test("a failure keeps its name, and the first words of its cause")
  func failedName() throws {
    var content = WaitLines.Content()
    let error = DownloadError(.status)
    let words = ProgressMessages(
      failure: { "\($0.code)" }, cause: { _ in "wrong checksum: wanted md5:374a917f9a1b2c3d, got 0123456789abcdef" },
      rejection: { _ in "" })
    let request = try Scene.request(1, "sample_accession_0001.bin")
    content.take(Scene.sample([], [.ended(request, .failure(error))]), words)
    let sample = Scene.sample(listed: 9, failed: 1)
    #expect(
      lines(content, sample, columns: 80).first
        == "✗ sample_accession_0001.bin  wrong checksum: wanted md5:374a917f9a1b2c3d, …")
    #expect(
      lines(content, sample, columns: 60).first == "✗ sample_accession_0001.bin  wrong checksum: wanted md5…")
    #expect(lines(content, sample, columns: 40).first == "✗ sample_….bin  wrong checksum: want…")
  }

  @Test("split files say how many connections they have together")
  func connections() {
    var (content, sample) = (WaitLines.Content(), Scene.sample(listed: 1))
    (sample.further, sample.tally.listed) = (31, 1)
    content.take(sample, Scene.words)
    #expect(lines(content, sample, running: 1) == ["  1 file over 32 connections · 1:23"])
    sample.tally.listed = 14
    #expect(lines(content, sample) == ["  2 files over 33 connections, 12 waiting · 1:23"])
  }

  @Test("files wait for their turn; what was here is a count")
  func turn() {
    var sample = Scene.sample(listed: 1242, fetched: 20)
    #expect(lines(WaitLines.Content(), sample) == ["  2 running, 1,220 waiting · 1:23"])
    sample.tally.unchanged = 7
    sample.tally.fresh = 3
    sample.tally.copied = 10
    #expect(
      lines(WaitLines.Content(), sample)
        == ["  2 running, 1,200 waiting · 10 unchanged, 10 from cache · 1:23"])
  }

  @Test(
    "a busy host: how many at a time and when next, whatever does not fit left out",
    arguments: [
      (100, "  2 running, 40 waiting · example.org is busy, 2 at once, next in 4 s: HTTP 503 · 1:23"),
      (84, "  2 running, 40 waiting · example.org is busy, 2 at once, next in 4 s · 1:23"),
      (64, "  2 running, 40 waiting · is busy, next in 4 s · 1:23"),
      (44, "  2 running, 40 waiting · next in 4 s"), (30, "  next in 4 s"), (20, "  next in 4 s"),
      (10, "  2 runni"), (3, ""),
    ])
  func host(columns: Int, expected: String) throws {
    #expect(
      lines(try busy(), Scene.sample(listed: 42), columns: columns) == (expected.isEmpty ? [] : [expected]))
  }

  @Test("a host that gives no answer is not called busy")
  func silent() throws {
    var sample = Scene.sample(
      [],
      [
        .retry(
          try Scene.request(1), NextAttempt(attempt: 2, retry: 1, of: 5, delay: .seconds(4)),
          error: DownloadError(.connect))
      ])
    sample.hosts = [HostWait(host: "example.org", limit: 8, isLearnt: true, waiting: 1, pause: .seconds(4))]
    var content = WaitLines.Content()
    content.take(sample, Scene.words)
    #expect(
      lines(content, Scene.sample(listed: 1), running: 0)
        == ["  0 running, 1 waiting · example.org does not answer, next in 4 s: connect · 1:23"])
    // It is asked again by now, and may answer this time.
    content.hosts[0].pause = nil
    #expect(
      lines(content, Scene.sample(listed: 1), running: 1)
        == ["  1 running · example.org did not answer, 8 at once: connect · 1:23"])
  }

  @Test("the user's own limit is no fault of the host")
  func own() {
    var content = WaitLines.Content()
    content.hosts = [HostWait(host: "a.example", limit: 2, isLearnt: false, waiting: 3, pause: nil)]
    #expect(
      lines(content, Scene.sample(listed: 5)) == ["  2 running, 3 waiting · a.example: 2 at once · 1:23"])
  }

  @Test("files that are tried again, by cause, each on a line of its own; the last failure above them")
  func several() throws {
    var content = try busy()
    let next = NextAttempt(attempt: 3, retry: 2, of: 5, delay: .seconds(3))
    content.retries = [
      ActiveRow.Retry(next: next, until: .seconds(86), cause: "reset\u{1B}[2J"),
      ActiveRow.Retry(next: next, until: .seconds(85), cause: "reset\u{1B}[2J"),
      ActiveRow.Retry(next: next, until: .seconds(84), cause: "timeout"),
    ]
    content.take(Scene.sample([], [try Scene.failed(7, "a.iso")]), Scene.words)
    content.hosts = try busy().hosts
    let sample = Scene.sample(listed: 42, failed: 3)
    #expect(
      lines(content, sample, running: 5) == [
        "✗ a.iso  HTTP 404 (and 2 more failed)",
        "  2 running, 37 waiting · example.org is busy, 2 at once, next in 4 s: HTTP 503 · 1:23",
        "  2 files again in 2 s: reset[2J", "  1 file again in 1 s: timeout",
      ])
    // A panel of all failures has it already.
    #expect(lines(content, sample, running: 5, tellsFailure: false).first?.hasPrefix("  2 running") == true)
    #expect(
      lines(content, sample, running: 5, most: 1) == [
        "  2 running, 37 waiting · example.org is busy, 2 at once, next in 4 s: HTTP 503 · 1:23"
      ])
  }

  @Test("no line reaches the window's width", arguments: 1...300)
  func bounds(columns: Int) throws {
    for glyphs in [Glyphs.unicode, .ascii] {
      var content = try busy()
      content.hosts[0].host = "例え.テスト"
      let name = "%E6%9D%B1%E4%BA%AC%E3%81%AE%E5%9C%B0%E5%9B%B3e%CC%81%D7%A9%D7%9C%F0%9F%91%A9.pdf"
      content.take(
        Scene.sample([], [try Scene.failed(7, name), try Scene.failed(8, name)]), Scene.words)
      content.hosts = [HostWait(host: "例え.テスト", limit: 2, isLearnt: true, waiting: 40, pause: .seconds(4))]
      for most in 0...4 {
        let lines = lines(
          content, Scene.sample(listed: 42_000, failed: 30), columns: columns, most: most, glyphs: glyphs)
        #expect(lines.count <= most)
        for line in lines { #expect(CellWidth.of(line) < columns, "\(columns): \(line)") }
      }
    }
  }
}
