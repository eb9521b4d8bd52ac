import Synchronization
import TestSupport
import Testing

@testable import DownloadModel
@testable import TerminalProgress

@Suite("The renderer")
struct ProgressRendererTests {
  private let feed = ProgressFeed()
  private let terminal = MemoryTerminal()
  private let clock = ManualClock()

  private func renderer(
    _ style: ProgressStyle.Resolved = .bars, environment: TerminalEnvironment = Scene.environment
  ) throws -> ProgressRenderer {
    try #require(
      ProgressRenderer(
        feed: feed, style: style, output: terminal, environment: environment,
        words: Scene.words, clock: clock))
  }

  @Test("a style that shows nothing costs no thread and no timer: it has no renderer")
  func nothingShown() {
    let renderer = ProgressRenderer(
      feed: feed, style: .none, output: terminal, environment: Scene.environment,
      words: Scene.words, clock: clock)
    #expect(renderer == nil)
  }

  private func end(_ request: DownloadRequest, size: Int64) {
    let outcome = DownloadOutcome(
      kind: .fetched, path: "out/\(request.address.lastPathSegment)", size: size, transferred: size)
    feed.end(request, .success(outcome))
  }

  @Test("a run from the first frame to the prompt")
  func run() async throws {
    let renderer = try renderer()
    async let drawing: Void = renderer.run()
    try await clock.waitForSleepers(1)
    #expect(terminal.writes == 0)

    let (first, second) = (try Scene.request(0), try Scene.request(1))
    feed.listed(2, complete: true)
    let meters = [feed.start(first), feed.start(second)]
    for meter in meters { meter.begin(at: 0, total: 1000) }
    try await clock.step()
    #expect(terminal.lines.count == 1)
    for _ in 0..<6 { try await clock.step() }
    #expect(terminal.lines.count == 3)
    #expect(!terminal.emulator.isCursorShown)

    meters[0].add(1000)
    end(first, size: 1000)
    try await clock.step()
    #expect(terminal.lines.count == 3)
    #expect(terminal.lines.first == "✓ file-0.bin                1000 B")

    end(second, size: 0)
    await renderer.finish()
    await drawing
    #expect(terminal.lines.map { $0.prefix(12) } == ["✓ file-0.bin", "✓ file-1.bin"])
    let screen = terminal.emulator
    #expect(screen.isCursorShown && screen.wrapsLines && !screen.isInFrame)
    #expect(screen.cursor == (2, 0))
    #expect(screen.unknown.isEmpty && screen.overruns == 0)
  }

  @Test("nothing is written while nothing changes")
  func quiet() async throws {
    let renderer = try renderer()
    async let drawing: Void = renderer.run()
    feed.listed(1, complete: true)
    _ = feed.start(try Scene.request(0))
    for _ in 0..<10 { try await clock.step() }
    let writes = terminal.writes
    for _ in 0..<100 { try await clock.step() }
    #expect(terminal.writes == writes)
    await renderer.finish()
    await drawing
  }

  @Test(
    "ten frames a second, four ticks for lines",
    arguments: [
      (ProgressStyle.Resolved.bars, 10), (.plain, 4),
    ])
  func pace(style: ProgressStyle.Resolved, steps: Int) async throws {
    let renderer = try renderer(style)
    async let drawing: Void = renderer.run()
    for _ in 0..<steps { try await clock.step() }
    #expect(clock.now.offset == .seconds(1))
    await renderer.finish()
    await drawing
  }

  @Test("a run that is over before the first frame")
  func short() async throws {
    let renderer = try renderer()
    end(try Scene.request(0), size: 5)
    await renderer.finish()
    await renderer.run()
    await renderer.finish()
    #expect(terminal.writes == 1)
    #expect(terminal.lines == ["✓ file-0.bin                   5 B"])
    #expect(terminal.emulator.isCursorShown)
  }

  @Test("nothing to say, nothing written", arguments: [ProgressStyle.Resolved.bars, .plain])
  func silent(style: ProgressStyle.Resolved) async throws {
    let renderer = try renderer(style)
    await renderer.finish()
    #expect(terminal.writes == 0)
  }

  @Test("a cancelled run stops drawing, and finish still has the last word")
  func cancelled() async throws {
    let renderer = try renderer()
    let request = try Scene.request(0)
    try await withThrowingTaskGroup { group in
      group.addTask { await renderer.run() }
      try await clock.step()
      group.cancelAll()
    }
    end(request, size: 5)
    await renderer.finish()
    #expect(terminal.lines.count == 1)
    #expect(terminal.emulator.isCursorShown)
  }

  @Test("a second signal restores the terminal from any thread, once, and nothing is drawn over it")
  func restoresNow() async throws {
    let renderer = try renderer()
    feed.listed(1, complete: false)
    await renderer.drawFrame()
    #expect(!terminal.emulator.isCursorShown)
    renderer.restoreNow()
    renderer.restoreNow()
    #expect(terminal.writes == 2)
    #expect(terminal.emulator.isCursorShown && terminal.lines.isEmpty)
    feed.listed(2, complete: true)
    await renderer.drawFrame()
    await renderer.finish()
    #expect(terminal.writes == 2)
  }

  @Test("a second signal in the middle of the first frame's write")
  func restoresDuringWrite() async throws {
    let renderer = try renderer()
    feed.listed(1, complete: false)
    terminal.with { $0.duringWrite = { renderer.restoreNow() } }
    await renderer.drawFrame()
    #expect(terminal.emulator.isCursorShown)
    #expect(terminal.lines.isEmpty)
  }

  @Test("lines need no restoring")
  func nothingToRestore() async throws {
    let renderer = try renderer(.plain)
    end(try Scene.request(0), size: 5)
    await renderer.drawFrame()
    renderer.restoreNow()
    #expect(!terminal.text.contains("\u{1B}[?"))
  }

  @Test("stopped and continued: a clean line and a cursor in between")
  func suspends() async throws {
    let renderer = try renderer()
    feed.listed(1, complete: false)
    await renderer.drawFrame()
    await renderer.suspend()
    #expect(terminal.lines.isEmpty && terminal.emulator.isCursorShown)
    feed.listed(2, complete: false)
    await renderer.drawFrame()
    #expect(terminal.lines.isEmpty)
    await renderer.resume()
    #expect(terminal.lines.count == 1 && !terminal.emulator.isCursorShown)
    await renderer.finish()
    #expect(terminal.emulator.isCursorShown)
  }

  @Test("stopped without a word, continued below what the shell wrote meanwhile")
  func resumesUnannounced() async throws {
    let renderer = try renderer()
    feed.listed(1, complete: true)
    await renderer.drawFrame()
    let region = terminal.lines
    terminal.with { $0.emulator.feed(Array("\r\n[1]+ Stopped\r\n$ fg\r\n".utf8)) }
    await renderer.resume()
    #expect(terminal.lines == region + ["[1]+ Stopped", "$ fg"] + region)
    await renderer.finish()
    await renderer.resume()
    #expect(terminal.lines == region + ["[1]+ Stopped", "$ fg"])
    #expect(terminal.emulator.isCursorShown)
  }

  @Test("echo is off exactly while the terminal is ours")
  func keys() async throws {
    let renderer = try renderer()
    feed.listed(1, complete: true)
    await renderer.drawFrame()
    #expect(terminal.with { $0.hasKeys })
    await renderer.suspend()
    #expect(!terminal.with { $0.hasKeys })
    await renderer.drawFrame()
    #expect(!terminal.with { $0.hasKeys })
    terminal.with { $0.isInForeground = false }
    await renderer.resume()
    await renderer.drawFrame()
    #expect(!terminal.with { $0.hasKeys })
    terminal.with { $0.isInForeground = true }
    await renderer.drawFrame()
    #expect(terminal.with { $0.hasKeys })
    await renderer.finish()
    #expect(!terminal.with { $0.hasKeys })

    let second = try self.renderer()
    await second.drawFrame()
    second.restoreNow()
    #expect(!terminal.with { $0.hasKeys })
    await second.drawFrame()
    #expect(!terminal.with { $0.hasKeys })
    await second.finish()
  }

  @Test("lines leave the keys to the shell")
  func noKeys() async throws {
    let renderer = try renderer(.plain)
    await renderer.drawFrame()
    #expect(!terminal.with { $0.hasKeys })
  }

  /// A SIGSTOP says nothing before it stops, and after `bg` the shell's prompt stands where the region stood.
  @Test("stopped without a word and continued in the background: no cell is touched")
  func backgroundUnannounced() async throws {
    let renderer = try renderer()
    feed.listed(1, complete: true)
    await renderer.drawFrame()
    terminal.with {
      $0.isInForeground = false
      $0.emulator.feed(Array("\r\n[1]+ Stopped\r\n$ bg\r\n$ ".utf8))
    }
    let lines = terminal.lines
    await renderer.resume()
    await renderer.drawFrame()
    #expect(terminal.lines == lines && terminal.emulator.isCursorShown)
    await renderer.finish()
    #expect(terminal.lines == lines)
  }

  @Test("in the background there are lines but no region, and the cursor is left to the shell")
  func background() async throws {
    let renderer = try renderer()
    feed.listed(2, complete: true)
    terminal.with { $0.isInForeground = false }
    await renderer.drawFrame()
    #expect(terminal.writes == 0)
    end(try Scene.request(0), size: 5)
    await renderer.drawFrame()
    #expect(terminal.lines == ["✓ file-0.bin                   5 B"])
    #expect(terminal.emulator.isCursorShown)
    terminal.with { $0.isInForeground = true }
    await renderer.drawFrame()
    #expect(terminal.lines.count == 2 && !terminal.emulator.isCursorShown)
    await renderer.finish()
  }

  @Test("a stopped terminal keeps no event from being told later")
  func stopped() async throws {
    let renderer = try renderer()
    terminal.with { $0.isReady = false }
    end(try Scene.request(0), size: 5)
    await renderer.drawFrame()
    #expect(terminal.writes == 0)
    terminal.with { $0.isReady = true }
    await renderer.drawFrame()
    #expect(terminal.lines.first?.hasPrefix("✓ file-0.bin") == true)
  }

  /// Once the renderer left the events unread then, and a long run's memory grew with its list.
  @Test("when the output is lost nothing more is tried, and events do not pile up")
  func lost() async throws {
    let renderer = try renderer()
    terminal.with { $0.isLost = true }
    feed.listed(1, complete: false)
    await renderer.drawFrame()
    terminal.with { $0.isLost = false }
    weak var kept: DownloadRequest.Wishes?
    do {
      let wishes = DownloadRequest.Wishes(outputName: "x")
      kept = wishes
      _ = feed.start(DownloadRequest(id: 0, address: try Scene.request(0).address, wishes: wishes))
    }
    await renderer.drawFrame()
    #expect(kept == nil)
    await renderer.finish()
    #expect(terminal.writes == 0)
  }

  @Test("what others say stands above the region, and is theirs to write once nothing is drawn")
  func says() async throws {
    let renderer = try renderer()
    feed.listed(1, complete: true)
    await renderer.drawFrame()
    let region = terminal.lines
    #expect(renderer.say(["one", "two"]))
    #expect(terminal.lines == region, "with the next frame")
    await renderer.drawFrame()
    #expect(terminal.lines == ["one", "two"] + region)
    #expect(renderer.say(["three"]))
    await renderer.finish()
    #expect(terminal.lines == ["one", "two", "three"])
    #expect(!renderer.say(["four"]))
  }

  @Test("what others say is not kept for a terminal that has gone")
  func saysNothingMore() async throws {
    let renderer = try renderer()
    terminal.with { $0.isLost = true }
    feed.listed(1, complete: true)
    await renderer.drawFrame()
    #expect(!renderer.say(["one"]))
    await renderer.finish()
  }

  @Test("a window that changes is drawn anew, in its bounds")
  func resizes() async throws {
    let renderer = try renderer()
    async let drawing: Void = renderer.run()
    feed.listed(40, complete: true)
    for id in 0..<12 { feed.start(try Scene.request(id)).begin(at: 0, total: 1 << 30) }
    for (columns, rows) in [(80, 24), (40, 10), (132, 50), (20, 6), (80, 24)] {
      terminal.with { $0.emulator.resize(columns: columns, rows: rows) }
      for _ in 0..<8 { try await clock.step() }
      #expect(terminal.lines.count == min(14, rows - 3))
      #expect(terminal.lines.last?.contains("0/40") == true)
    }
    await renderer.finish()
    await drawing
    #expect(terminal.lines.isEmpty && terminal.emulator.overruns == 0)
  }

  @Test("the taskbar, where the terminal has one, is cleared at the end")
  func taskbar() async throws {
    let environment = TerminalEnvironment(
      isTerminal: true, variables: ["TERM": "xterm", "LANG": "C.UTF-8", "TERM_PROGRAM": "ghostty"])
    let renderer = try renderer(environment: environment)
    feed.listed(2, complete: false)
    await renderer.drawFrame()
    feed.listed(2, complete: true)
    let meters = [feed.start(try Scene.request(0)), feed.start(try Scene.request(1))]
    for meter in meters { meter.begin(at: 0, total: 100) }
    await renderer.drawFrame()
    meters[0].add(50)
    await renderer.drawFrame()
    feed.end(try Scene.request(1), .failure(DownloadError(.status)))
    await renderer.drawFrame()
    await renderer.drawFrame()
    let commands = [
      "9;4;3;0", "2;dlm", "9;4;1;0", "2;dlm 0%", "9;4;1;25", "2;dlm 25%", "9;4;2;50", "2;dlm 50%",
    ]
    #expect(terminal.emulator.operatingSystemCommands == commands)
    #expect(terminal.emulator.keptTitles == 1)
    await renderer.suspend()
    #expect(terminal.emulator.keptTitles == 0)
    await renderer.resume()
    #expect(terminal.emulator.keptTitles == 1)
    await renderer.finish()
    #expect(
      terminal.emulator.operatingSystemCommands == commands + ["9;4;0;0"] + commands.suffix(2) + ["9;4;0;0"])
    #expect(terminal.emulator.keptTitles == 0 && terminal.emulator.unknown.isEmpty)
  }

  @Test("a second signal gives taskbar and title back", arguments: ["xterm-256color", "linux", "screen"])
  func signs(term: String) async throws {
    let environment = TerminalEnvironment(
      isTerminal: true, variables: ["TERM": term, "LANG": "C.UTF-8", "TERM_PROGRAM": "ghostty"])
    let renderer = try renderer(environment: environment)
    feed.listed(2, complete: true)
    await renderer.drawFrame()
    #expect(terminal.emulator.keptTitles == (term.hasPrefix("xterm") ? 1 : 0))
    renderer.restoreNow()
    #expect(terminal.emulator.operatingSystemCommands.last == "9;4;0;0" && terminal.emulator.keptTitles == 0)
  }
}
