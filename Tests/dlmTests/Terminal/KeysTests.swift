import Foundation
import Glibc
import TerminalProgress
import TestSupport
import Testing

@testable import dlm

@Suite("What keys mean, and when they are taken")
struct ScreenKeysTests {
  @Test(
    arguments: [
      (.text("?"), .help), (.text("p"), .pause), (.text("+"), .more), (.text("="), .more),
      (.text("-"), .fewer), (.text("<"), .slower), (.text(">"), .faster),
      (.up, .up), (.down, .down), (.text("s"), .skip), (.text("d"), .details), (.text("f"), .failures),
      (.text("q"), .stop), (.escape, .close), (.text("x"), .unknown), (.enter, .unknown),
      (.paste("q"), .unknown), (.control("l"), .unknown),
    ] as [(TerminalKey, ScreenKey)])
  func table(key: TerminalKey, meaning: ScreenKey) { #expect(ScreenKey(key) == meaning) }

  /// What comes in one read, and when, in milliseconds: characters, `^` for an arrow, `|` for Enter.
  private typealias Read = (at: Int, keys: String)

  private static func key(_ character: Character) -> TerminalKey {
    switch character {
    case "^": .up
    case "|": .enter
    case "<": .backspace
    default: .text(String(character))
    }
  }

  /// The commands that come of it, and when; `…` is typing.
  @Test(
    arguments: [
      ([(0, "q")], [(300, "q")]), ([(0, "?")], [(0, "?")]), ([(0, "^")], [(0, "^")]), ([(0, "|")], [(0, "|")]),
      // A word, typed at once or slowly, with or without its end.
      ([(0, "ls")], [(0, "…")]), ([(0, "s|")], [(0, "…")]), ([(0, "q"), (200, "|")], [(200, "…")]),
      ([(0, "q"), (100, "u"), (250, "i"), (500, "t")], [(100, "…"), (250, "…"), (500, "…")]),
      ([(0, "ls"), (290, "q"), (580, "s")], [(0, "…"), (290, "…"), (580, "…")]),
      ([(0, "q"), (299, "<")], [(299, "…")]), ([(0, "s"), (100, "+")], [(100, "…")]),
      // Its second letter was read late.
      ([(0, "q"), (900, "u")], [(900, "…")]),
      // After a while a letter stands alone again.
      ([(0, "ls"), (300, "q")], [(0, "…"), (600, "q")]), ([(0, "d"), (301, "s")], [(300, "d"), (601, "s")]),
      // A key that is held down, and keys that are no letters.
      ([(0, "p"), (30, "p"), (60, "pp")], [(360, "pppp")]), ([(0, "++"), (30, "-")], [(0, "++"), (30, "-")]),
      ([(0, "^^"), (10, "s")], [(0, "^^"), (310, "s")]), ([(0, "d"), (10, "^")], [(10, "d^")]),
      ([(0, "+"), (10, "q")], [(0, "+"), (310, "q")]), ([(0, "^q")], [(0, "^"), (300, "q")]),
    ] as [([Read], [Read])])
  private func typing(reads: [Read], commands: [Read]) {
    var (rule, found) = (TerminalKeys.TypingRule(), [Read]())
    func note(_ keys: [TerminalKey], _ now: Int) {
      let text = keys.map { key in
        switch key {
        case .text(let text): text
        case .up: "^"
        case .enter: "|"
        default: "…"
        }
      }
      if !keys.isEmpty { found.append((now, text.joined())) }
    }
    for (place, read) in reads.enumerated() {
      note(rule.take(read.keys.map(Self.key), at: .milliseconds(read.at)), read.at)
      // The reader waits until then, unless it is late.
      guard let due = rule.due.map({ Int($0 / .milliseconds(1)) }) else { continue }
      let early = rule.take([], at: .milliseconds(due - 1))
      #expect(early.isEmpty)
      let next = place + 1 < reads.count ? reads[place + 1].at : Int.max
      if next > due, next != 900 { note(rule.take([], at: .milliseconds(due)), due) }
    }
    #expect(found.map { "\($0.at) \($0.keys)" } == commands.map { "\($0.at) \($0.keys)" })
  }

  /// Wanted, list from standard input, standard input a terminal, output piped, error the own terminal.
  @Test(arguments: [
    (true, false, true, false, true, true),  // as typed
    (false, false, true, false, true, false),  // --no-keys
    (true, true, false, false, true, true),  // foo | dlm get -
    (true, true, true, false, true, false),  // a list that is typed
    (true, false, false, false, true, false),  // xargs, < /dev/null, while read
    (true, false, true, true, true, false),  // dlm get … | less
    (true, false, true, false, false, false),  // bars on another terminal
  ])
  func taken(
    isWanted: Bool, readsInput: Bool, isInputTerminal: Bool, isOutputPiped: Bool, isErrorControlling: Bool,
    areTaken: Bool
  ) {
    let streams = ScreenKeys.Streams(
      isInputTerminal: isInputTerminal, isOutputPiped: isOutputPiped, isErrorControlling: isErrorControlling)
    #expect(
      ScreenKeys.areTaken(isWanted: isWanted, readsInput: readsInput, by: streams) == areTaken)
  }
}

/// Keys of a user at a real terminal, with files that come no further until a gate opens.
@Suite("Keys while files come", .serialized)
struct KeysTests {
  struct Halting {
    let origin: FaultyOrigin
    let gate: Gate
    let place: Workplace
    let urls: [String]

    init(_ names: [String]) throws {
      (origin, gate, place) = (try FaultyOrigin(), try Gate(), try Workplace())
      for (index, name) in names.enumerated() {
        let body = SplitMix64.bytes(count: 3 << 20, seed: UInt64(index))
        origin.route("/\(name)", .file(body, FileOptions(ending: .stall(after: 1 << 20, until: gate))))
      }
      urls = names.map { [origin] in origin.url("/\($0)") }
    }

    func start(_ more: [String] = [], columns: Int = 80, rows: Int = 24) throws -> TerminalRun {
      try TerminalRun(
        place, ["get", "-s", "1"] + more + urls, columns: columns, rows: rows)
    }
  }

  private static func expectLeft(_ screen: TerminalRun.Screen, _ status: Int) {
    #expect(screen.status == status, "\(screen.text)")
    #expect(screen.modeAfter == screen.modeBefore)
    #expect(screen.isCursorShown && screen.column == 0)
  }

  @Test func helpOpensAndCloses() async throws {
    let halting = try Halting(["a.bin", "b.bin"])
    defer { halting.origin.stop() }
    let terminal = try halting.start()
    defer { terminal.stop() }
    try await terminal.wait(for: "a.bin.*\\n.*b.bin")
    try await terminal.type("x")
    try await terminal.wait(for: "\\? shows the keys")
    try await terminal.type("?")
    let help = try await terminal.wait(for: "q, b +stop; go on without this terminal")
    #expect(help.text.contains("a.bin") && help.text.contains("b.bin"), "\(help.text)")
    #expect(help.text.contains("0/2 files"))
    try await terminal.type("\u{1B}")
    try await terminal.wait(forAbsenceOf: "q, b +stop")
    try await terminal.type("?")
    try await terminal.wait(for: "q, b +stop")
    // In a wide window beside the rows.
    try await terminal.resize(columns: 120, rows: 24)
    try await terminal.wait(for: "a.bin.* │   p +pause.*\\n.*b.bin.* │")
    try await terminal.resize(columns: 80, rows: 24)
    try await terminal.wait(for: "a.bin.*\\n.*b.bin.*\\n  p +pause")
    try await terminal.type("?")
    try await terminal.wait(forAbsenceOf: "q, b +stop")
    halting.gate.open()
    Self.expectLeft(try await terminal.waitForEnd(), 0)
  }

  @Test func slowerAndFaster() async throws {
    let halting = try Halting(["a.bin"])
    defer { halting.origin.stop() }
    let terminal = try halting.start()
    defer { terminal.stop() }
    try await terminal.wait(for: "a.bin")
    try await terminal.type(">")
    try await terminal.wait(for: "no limit")
    try await terminal.type("<")
    try await terminal.wait(for: "at most \\d")
    for _ in 0..<40 { try await terminal.type(">") }
    try await terminal.wait(for: "no limit")
    halting.gate.open()
    Self.expectLeft(try await terminal.waitForEnd(), 0)
  }

  @Test func arrowsSelectAndDetailsDescribe() async throws {
    let halting = try Halting(["a.bin", "b.bin"])
    defer { halting.origin.stop() }
    let terminal = try halting.start(columns: 100)
    defer { terminal.stop() }
    try await terminal.wait(for: "a.bin.*\\n.*b.bin")
    try await terminal.type("d")
    try await terminal.wait(for: "select a file first")
    try await terminal.type("\u{1B}[B")
    try await terminal.wait(for: "^> a.bin")
    try await terminal.type("\u{1B}[B")
    try await terminal.wait(for: "^  a.bin.*\\n> b.bin")
    try await terminal.type("d")
    let details = try await terminal.wait(for: "connection +127.0.0.1:\\d+, HTTP/1.1")
    #expect(details.text.contains("URL         \(halting.urls[1])"), "\(details.text)")
    #expect(details.text.contains("first byte after"), "\(details.text)")
    try await terminal.type("d")
    try await terminal.wait(for: "^  a.bin.*\\n> b.bin")
    halting.gate.open()
    Self.expectLeft(try await terminal.waitForEnd(), 0)
  }

  @Test func failuresSoFar() async throws {
    let halting = try Halting(["a.bin"])
    defer { halting.origin.stop() }
    let terminal = try halting.start([halting.origin.url("/none-1"), halting.origin.url("/none-2")])
    defer { terminal.stop() }
    try await terminal.wait(for: "2 failed")
    try await terminal.type("f")
    let shown = try await terminal.wait(for: "2 failed so far:")
    for name in ["none-1", "none-2"] {
      #expect(shown.text.contains("\(name)  404"), "\(shown.text)")
    }
    try await terminal.type("\u{1B}")
    try await terminal.wait(forAbsenceOf: "so far:")
    halting.gate.open()
    Self.expectLeft(try await terminal.waitForEnd(), 1)
  }

  /// What was meant for a shell does nothing: typed ahead of the bars, with or without Enter, or while they stand.
  @Test(arguments: ["q", "quit", "s\r", "ls\r", "q\r", "+\r?\r"])
  func whatIsTypedIsNoCommand(text: String) async throws {
    let halting = try Halting(["a.bin"])
    defer { halting.origin.stop() }
    let dlm = try DLMExecutable.path()
    let terminal = try TerminalRun(
      halting.place,
      command: [
        "sh", "-c", "echo ready; until [ -e go ]; do sleep 0.02; done; exec '\(dlm)' get -s 1 '\(halting.urls[0])'",
      ])
    defer { terminal.stop() }
    try await terminal.wait(for: "ready")
    try await terminal.type(text)
    _ = try halting.place.folder.write([], to: "work/go")
    try await terminal.wait(for: "a.bin.*33%")
    // An arrow lets act what waits, before it acts itself.
    try await terminal.type("\u{1B}[B")
    try await terminal.wait(for: "^> a.bin")
    try await terminal.type("quit")
    let screen = try await terminal.wait(for: "\\? shows the keys")
    #expect(!screen.text.contains("at a time") && !screen.text.contains("paused"), "\(screen.text)")
    try await terminal.type("\u{1B}[A")
    try await terminal.wait(forAbsenceOf: "shows the keys")
    halting.gate.open()
    Self.expectLeft(try await terminal.waitForEnd(), 0)
    #expect(try halting.place.names().contains("a.bin"))
  }

  /// As the first Ctrl-C: what can be resumed is saved, and the same command resumes.
  @Test func stopKeeps() async throws {
    let halting = try Halting(["a.bin"])
    defer { halting.origin.stop() }
    let terminal = try halting.start()
    defer { terminal.stop() }
    try await terminal.wait(for: "33%")
    try await terminal.type("qq")
    let end = try await terminal.waitForEnd()
    Self.expectLeft(end, 130)
    #expect(end.everything.contains { $0.contains("Resume with") }, "\(end.text)")
    #expect(try halting.place.names().contains("a.bin.part"))
    halting.gate.open()
    let again = try await halting.place.dlm("get", "-s", "1", halting.urls[0])
    #expect(again.status == 0, "\(again.errorText)")
    #expect(try halting.place.file("a.bin") == SplitMix64.bytes(count: 3 << 20, seed: 0))
    let range = halting.origin.record.requests(to: "/a.bin").last?.headers["range"]
    #expect(range == "bytes=1048576-", "\(range ?? "none")")
  }

  /// What is typed is left for the shell.
  @Test func withoutKeys() async throws {
    let halting = try Halting(["a.bin"])
    defer { halting.origin.stop() }
    let dlm = try DLMExecutable.path()
    let terminal = try TerminalRun(
      halting.place,
      command: [
        "sh", "-c",
        "'\(dlm)' get --no-keys -s 1 '\(halting.urls[0])'; IFS= read -r line; echo \"got [$line]\"",
      ])
    defer { terminal.stop() }
    let standing = try await terminal.wait(for: "a.bin")
    try await terminal.type("q?\r")
    try await terminal.wait(forFrames: standing.frames + 3)
    #expect(try await terminal.screen().status == nil)
    halting.gate.open()
    let end = try await terminal.waitForEnd()
    #expect(end.everything.contains("got [q?]"), "\(end.text)")
  }

  @Test func aSmallWindow() async throws {
    let halting = try Halting(["a.bin", "b.bin"])
    defer { halting.origin.stop() }
    let terminal = try halting.start(columns: 40, rows: 9)
    defer { terminal.stop() }
    try await terminal.wait(for: "a.bin.*\\n.*b.bin")
    try await terminal.type("?")
    try await terminal.wait(for: "a.bin.*\\n.*b.bin.*\\n.*p pause")
    try await terminal.type("?")
    try await terminal.wait(forAbsenceOf: "p pause")
    try await terminal.type("q")
    Self.expectLeft(try await terminal.waitForEnd(), 130)
  }

  /// A run is held longer than it may stall, and nothing that had come is fetched again.
  @Test func pauseAndGoOn() async throws {
    let origin = try FaultyOrigin()
    defer { origin.stop() }
    let place = try Workplace()
    let body = SplitMix64.bytes(count: 1_200_000, seed: 7)
    origin.route(
      "/a.bin", .file(body, FileOptions(ending: .trickle(piece: 20_000, every: .milliseconds(50)))))
    origin.route("/b.bin", .file([1]))
    let terminal = try TerminalRun(
      place,
      ["get", "-s", "1", "-j", "1", "--stall-timeout", "2", origin.url("/a.bin"), origin.url("/b.bin")])
    defer { terminal.stop() }
    try await terminal.wait(for: "a.bin.* KiB")
    try await terminal.type("p")
    let paused = try await terminal.wait(for: "a.bin.*paused")
    #expect(paused.text.contains("0/2 files · paused"), "\(paused.text)")
    let row = paused.lines.first { $0.contains("a.bin") }
    try await Task.sleep(for: .seconds(5))
    let later = try await terminal.screen()
    #expect(later.lines.first { $0.contains("a.bin") } == row, "\(later.text)")
    #expect(origin.record.requests(to: "/b.bin").isEmpty)
    try await terminal.type("p")
    try await terminal.wait(forAbsenceOf: "paused")
    Self.expectLeft(try await terminal.waitForEnd(), 0)
    #expect(origin.record.requests(to: "/a.bin").count == 1)
    #expect(try place.file("a.bin") == body)
  }

  /// Stopped in a pause, it keeps what it has as at any other time.
  @Test func stoppedInAPause() async throws {
    let halting = try Halting(["a.bin"])
    defer { halting.origin.stop() }
    let terminal = try halting.start()
    defer { terminal.stop() }
    try await terminal.wait(for: "33%")
    try await terminal.type("p")
    try await terminal.wait(for: "a.bin.*paused")
    try await terminal.type("q")
    Self.expectLeft(try await terminal.waitForEnd(), 130)
    #expect(try halting.place.names().contains("a.bin.part"))
  }

  @Test(arguments: ["parallel", "async-let"]) func moreAndFewerAtATime(mode: String) async throws {
    let names = ["a.bin", "b.bin", "c.bin", "d.bin"]
    let halting = try Halting(names)
    defer { halting.origin.stop() }
    let terminal = try halting.start(["-j", "1", "-m", mode], columns: 100)
    defer { terminal.stop() }
    try await terminal.wait(for: "a.bin.*33%")
    #expect(halting.origin.record.greatestInFlight == 1)
    try await terminal.type("+")
    try await terminal.wait(for: "0/4 files · 2 at once")
    try await terminal.wait(for: "b.bin.*33%")
    try await terminal.type("=")
    try await terminal.wait(for: "0/4 files · 3 at once")
    try await terminal.wait(for: "c.bin.*33%")
    try await terminal.type("-")
    let screen = try await terminal.wait(for: "0/4 files · 2 at once")
    #expect(!screen.text.contains("d.bin"))
    halting.gate.open()
    Self.expectLeft(try await terminal.waitForEnd(), 0)
    #expect(halting.origin.record.greatestInFlight == 3)
  }

  @Test func oneAtATimeStaysSo() async throws {
    let halting = try Halting(["a.bin", "b.bin"])
    defer { halting.origin.stop() }
    let terminal = try halting.start(["-m", "sequential"])
    defer { terminal.stop() }
    try await terminal.wait(for: "a.bin.*33%")
    try await terminal.type("+")
    try await terminal.wait(for: "one file at a time")
    halting.gate.open()
    Self.expectLeft(try await terminal.waitForEnd(), 0)
    #expect(halting.origin.record.greatestInFlight == 1)
  }

  /// One file is given up; the other goes on, and the next run has only what is missing to fetch.
  @Test(arguments: ["parallel", "async-let", "sequential"]) func skipOne(mode: String) async throws {
    let halting = try Halting(["a.bin", "b.bin"])
    defer { halting.origin.stop() }
    let terminal = try halting.start(["-m", mode], columns: 120)
    defer { terminal.stop() }
    try await terminal.wait(for: "a.bin.*33%")
    try await terminal.type("\u{1B}[B")
    try await terminal.wait(for: "^> a.bin")
    try await terminal.type("s")
    try await terminal.wait(for: "a.bin  skipped: what can be resumed is saved")
    try await terminal.wait(for: "b.bin.*33%")
    halting.gate.open()
    let end = try await terminal.waitForEnd()
    Self.expectLeft(end, 75)
    #expect(end.everything.contains { $0.contains("1 skipped by you") }, "\(end.text)")
    #expect(try halting.place.file("b.bin") == SplitMix64.bytes(count: 3 << 20, seed: 1))
    #expect(try halting.place.names().contains("a.bin.part"))
    // In one piece, however slow this machine is.
    let again = try await halting.place.dlm("get", "-s", "1", halting.urls[0], halting.urls[1])
    #expect(again.status == 0, "\(again.errorText)")
    #expect(try halting.place.file("a.bin") == SplitMix64.bytes(count: 3 << 20, seed: 0))
    #expect(halting.origin.record.requests(to: "/a.bin").last?.headers["range"] == "bytes=1048576-")
    #expect(halting.origin.record.requests(to: "/b.bin").count <= 2)
  }

  @Test func skipAFileInSegments() async throws {
    let (origin, place) = (try FaultyOrigin(), try Workplace())
    defer { origin.stop() }
    let body = SplitMix64.bytes(count: 8 << 20, seed: 3)
    let slowly = FileOptions(ending: .trickle(piece: 16_384, every: .milliseconds(30)))
    origin.route("/large.bin", .file(body, slowly))
    let terminal = try TerminalRun(
      place, ["get", "-s", "4", origin.url("/large.bin")])
    defer { terminal.stop() }
    try await origin.wait(forRequests: 2, path: "/large.bin")
    try await terminal.wait(for: "^  large.bin")
    try await terminal.type("s")
    try await terminal.wait(for: "select a file first")
    try await terminal.type("\u{1B}[B")
    try await terminal.wait(for: "^> large.bin")
    try await terminal.type("s")
    Self.expectLeft(try await terminal.waitForEnd(), 75)
    let again = try await place.dlm("get", origin.url("/large.bin"))
    #expect(again.status == 0, "\(again.errorText)")
    #expect(try place.file("large.bin") == body)
  }

  /// While a question is asked the keys are its answer; before and after it they are commands.
  @Test func keysDuringAQuestion() async throws {
    let halting = try Halting(["a.bin"])
    defer { halting.origin.stop() }
    halting.origin.route("/small", .file([1, 2, 3]))
    let terminal = try halting.start(["--ask-names", "-j", "2", halting.origin.url("/small")])
    defer { terminal.stop() }
    try await terminal.wait(for: "Name: \\[small\\]")
    try await terminal.type("q")
    try await terminal.wait(for: "Name: q\\|")
    try await terminal.type("?p")
    let asked = try await terminal.wait(for: "Name: q\\?p\\|")
    #expect(asked.status == nil && !asked.text.contains("paused"), "\(asked.text)")
    try await terminal.type("\r")
    try await terminal.wait(forAbsenceOf: "Name:")
    try await terminal.type("p")
    try await terminal.wait(for: "a.bin.*paused")
    try await terminal.type("p")
    try await terminal.wait(forAbsenceOf: "paused")
    halting.gate.open()
    try await terminal.wait(for: "Name: \\[a.bin\\]")
    try await terminal.type("\r")
    Self.expectLeft(try await terminal.waitForEnd(), 0)
    #expect(try halting.place.names() == ["a.bin", "q?p"])
  }

  /// Without a terminal no question is asked, and that is said.
  @Test func questionsWithoutATerminal() async throws {
    let halting = try Halting([])
    defer { halting.origin.stop() }
    halting.origin.route("/small", .file([1, 2, 3]))
    let run = try await halting.place.dlm("get", "--ask-names", halting.origin.url("/small"))
    #expect(run.status == 0)
    #expect(
      run.errorText.contains("--ask-names: there is no terminal with progress bars to ask on, so each file keeps"),
      "\(run.errorText)")
    #expect(try halting.place.names() == ["small"])
  }
}

@Suite("A picture of an image that is being named")
struct PicturePreviewTests {
  @Test(
    arguments: [
      (["TERM": "xterm-kitty"], .kitty), (["TERM": "xterm-256color", "KITTY_WINDOW_ID": "1"], .kitty),
      (["TERM": "xterm-ghostty", "TERM_PROGRAM": "ghostty"], .kitty),
      (["TERM": "xterm-256color", "TERM_PROGRAM": "iTerm.app"], .iTerm),
      (["TERM": "xterm-256color", "TERM_PROGRAM": "WezTerm"], .iTerm),
      (["TERM": "xterm-256color", "LC_TERMINAL": "iTerm2"], .iTerm),
      (["TERM": "xterm-256color"], nil), ([:], nil), (["TERM": "dumb", "KITTY_WINDOW_ID": "1"], nil),
      (["TERM": "xterm-kitty", "TMUX": "/tmp/tmux"], nil), (["TERM": "screen", "KITTY_WINDOW_ID": "1"], nil),
      (["TERM": "tmux-256color", "LC_TERMINAL": "iTerm2"], nil), (["TERM": "xterm-kitty", "STY": "1"], nil),
    ] as [([String: String], PicturePreview.Way?)])
  func ways(environment: [String: String], way: PicturePreview.Way?) {
    #expect(PicturePreview.way(environment) == way)
  }

  private static func png(_ width: UInt8 = 1, _ height: UInt8 = 1, more: Int = 0) -> [UInt8] {
    var bytes: [UInt8] = [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A, 0, 0, 0, 13]
    bytes.append(contentsOf: "IHDR".utf8)
    bytes.append(contentsOf: [0, 0, 0, width, 0, 0, 0, height])
    bytes.append(contentsOf: repeatElement(7, count: more))
    return bytes
  }

  @Test func sequences() throws {
    let small = try #require(PicturePreview.text(Self.png(), .kitty))
    #expect(small.hasPrefix("\u{1B}_Ga=T,f=100,r=8,q=2,m=0;iVBOR") && small.hasSuffix("\u{1B}\\"))
    let long = try #require(PicturePreview.text(Self.png(more: 6000), .kitty))
    #expect(long.components(separatedBy: "\u{1B}_G").count == 3)
    #expect(long.contains("\u{1B}_Gm=0;"))
    let inline = try #require(PicturePreview.text(Self.jpeg(1, 1), .iTerm))
    #expect(
      inline.hasPrefix("\u{1B}]1337;File=inline=1;height=8;preserveAspectRatio=1;size=16:/9j/")
        && inline.hasSuffix("\u{07}"))
  }

  private static func bytes(_ number: Int) -> [UInt8] { [UInt8(number >> 8), UInt8(number & 255)] }

  /// A comment, a table, and a frame's header.
  private static func jpeg(_ width: Int, _ height: Int) -> [UInt8] {
    [0xFF, 0xD8, 0xFF, 0xFE, 0, 2, 0xFF, 0xC2, 0, 6, 8] + bytes(height) + bytes(width) + [0]
  }

  /// What the terminal would have to decode is known before, whatever kind it is.
  @Test func pixels() {
    func isShown(_ bytes: [UInt8]) -> Bool { PicturePreview.text(bytes, .iTerm) != nil }
    #expect(isShown(Self.jpeg(10_000, 9000)) && !isShown(Self.jpeg(10_001, 1)) && !isShown(Self.jpeg(1, 65535)))
    #expect(!isShown(Self.jpeg(0, 1)) && !isShown([0xFF, 0xD8, 0xFF, 0xE0]))
    func gif(_ width: Int, _ height: Int) -> [UInt8] {
      Array("GIF89a".utf8) + Self.bytes(width).reversed() + Self.bytes(height).reversed() + [0, 0, 0, 0x3B]
    }
    #expect(isShown(gif(10_000, 9000)) && !isShown(gif(10_001, 1)) && !isShown(gif(1, 65535)))
    #expect(!isShown(gif(0, 1)) && !isShown(Array("GIF89a".utf8)))
  }

  @Test func headers() throws {
    func size(_ bytes: [UInt8]) -> [Int]? { PicturePreview.header(bytes).map { [$0.width, $0.height] } }
    #expect(size(Self.png(3, 4)) == [3, 4] && size(Self.jpeg(4032, 3024)) == [4032, 3024])
    #expect(size(Array("RIFF0000WEBPVP8X0000".utf8) + [UInt8](repeating: 0, count: 20)) == nil)
    for bytes in [Self.png(), Self.jpeg(1, 1).dropLast()] {
      for count in bytes.indices { #expect(size(Array(bytes[..<count])) == nil, "\(count)") }
    }
    #expect(PicturePreview.text(Self.png(more: 2 << 20), .kitty)?.utf8.count ?? 0 > 2 << 20)
  }

  /// What the terminal cannot decode, or should not be asked to.
  @Test func noPicture() {
    #expect(PicturePreview.text([0xFF, 0xD8, 0xFF], .kitty) == nil)
    #expect(PicturePreview.text(Array("<svg>".utf8), .iTerm) == nil)
    #expect(PicturePreview.text([], .iTerm) == nil)
    #expect(PicturePreview.text(Self.png(0, 1), .kitty) == nil)
    #expect(PicturePreview.text(Self.png(more: PicturePreview.mostBytes), .kitty) == nil)
    #expect(PicturePreview.read("/dev/zero") == nil)
    #expect(PicturePreview.read("/nowhere") == nil)
  }
}
