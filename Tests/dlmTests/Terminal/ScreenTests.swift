import Foundation
import Glibc
import TestSupport
import Testing

/// The display in a real terminal, looked at cell by cell.
@Suite("On a real terminal", .serialized)
struct ScreenTests {
  /// A server that sends a part of a file, and no more until the gate is open.
  private struct Halting {
    let origin: FaultyOrigin
    let gate: Gate
    let place: Workplace

    init(_ variables: [String: String] = [:]) throws {
      (origin, gate, place) = (try FaultyOrigin(), try Gate(), try Workplace(variables))
      let body = SplitMix64.bytes(count: 3 << 20, seed: 1)
      origin.route("/large", .file(body, FileOptions(ending: .stall(after: 1 << 20, until: gate))))
    }

    func start(_ more: [String] = [], columns: Int = 80, rows: Int = 24) throws -> TerminalRun {
      try TerminalRun(
        place, ["get", "-s", "1", origin.url("/large")] + more, columns: columns, rows: rows)
    }
  }

  private static let region = "0/1 file"

  private static func expectLeft(_ screen: TerminalRun.Screen, _ status: Int) {
    #expect(screen.status == status, "\(screen.text)")
    #expect(screen.modeAfter == screen.modeBefore)
    #expect(screen.isCursorShown)
    #expect(screen.column == 0, "the prompt has a line of its own: \(screen.text)")
    #expect(!screen.everything.contains { $0.contains(region) }, "\(screen.everything)")
  }

  @Test func echoIsOffWhileBarsStand() async throws {
    let halting = try Halting()
    defer { halting.origin.stop() }
    let terminal = try halting.start()
    defer { terminal.stop() }
    let standing = try await terminal.wait(for: Self.region)
    #expect(standing.mode != standing.modeBefore)
    #expect(!standing.isCursorShown)
    try await terminal.type("echo typed\r\u{1B}[A")
    try await terminal.wait(forFrames: standing.frames + 3)
    let typed = try await terminal.screen()
    #expect(!typed.text.contains("typed"))
    halting.gate.open()
    let end = try await terminal.waitForEnd()
    Self.expectLeft(end, 0)
    #expect(!end.everything.contains { $0.contains("typed") })
  }

  /// Texts of others once went into the middle of a frame, and were cut or left a row of the region behind.
  @Test func whatOthersSayStandsAboveTheRegionWhole() async throws {
    let halting = try Halting()
    defer { halting.origin.stop() }
    for index in 0..<30 { halting.origin.route("/f\(index)", .file([1])) }
    let small = (0..<30).map { halting.origin.url("/f\($0)") }
    let terminal = try halting.start(small + ["--verbose", "-d", "out"], columns: 60)
    defer { terminal.stop() }
    let standing = try await terminal.wait(for: "30/31 files")
    #expect(standing.lines.last { !$0.isEmpty }?.contains("30/31 files") == true, "\(standing.text)")
    #expect(standing.lines.count { $0.contains("30/31 files") } == 1)
    halting.gate.open()
    let end = try await terminal.waitForEnd()
    #expect(end.status == 0 && end.isCursorShown && end.column == 0)
    // Broken by the terminal at its edge and nowhere else.
    let text = end.everything.map { $0.padding(toLength: 60, withPad: " ", startingAt: 0) }.joined()
    for address in small {
      #expect(text.contains("size=1 transferred=1 url=\(address) "), "\(text)")
    }
    #expect(!end.everything.contains { $0.contains("/31 files ") }, "\(end.everything)")
  }

  @Test(arguments: [("\u{03}", 0, 130), ("", SIGTERM, 143), ("", SIGHUP, 129), ("\u{1C}", 0, -3)])
  func everyWayOut(keys: String, signal: Int32, status: Int) async throws {
    // A developer's toolchain would ask what to show of a SIGQUIT.
    let halting = try Halting(["SWIFT_BACKTRACE": "enable=no"])
    defer { halting.origin.stop() }
    let terminal = try halting.start()
    defer { terminal.stop() }
    try await terminal.wait(for: Self.region)
    if keys.isEmpty { try await terminal.send(signal) } else { try await terminal.type(keys) }
    Self.expectLeft(try await terminal.waitForEnd(), status)
  }

  /// What crashes gives the terminal back before it ends as it would have.
  @Test(arguments: [SIGSEGV, SIGABRT, SIGTRAP])
  func crash(signal: Int32) async throws {
    // A developer's toolchain would ask what to show of the crash.
    let halting = try Halting(["SWIFT_BACKTRACE": "enable=no"])
    defer { halting.origin.stop() }
    let terminal = try halting.start()
    defer { terminal.stop() }
    try await terminal.wait(for: Self.region)
    try await terminal.send(signal)
    Self.expectLeft(try await terminal.waitForEnd(), -Int(signal))
  }

  @Test func standardInputFromElsewhere() async throws {
    let halting = try Halting()
    defer { halting.origin.stop() }
    let dlm = try DLMExecutable.path()
    _ = try halting.place.list([halting.origin.url("/large")], name: "list")
    let terminal = try TerminalRun(halting.place, command: ["sh", "-c", "'\(dlm)' get - < list"])
    defer { terminal.stop() }
    let standing = try await terminal.wait(for: Self.region)
    #expect(standing.mode != standing.modeBefore)
    halting.gate.open()
    Self.expectLeft(try await terminal.waitForEnd(), 0)
  }

  /// A run above a thousand lines had no end in sight.
  @Test func aLongListIsCountedAhead() async throws {
    let halting = try Halting()
    defer { halting.origin.stop() }
    halting.origin.route("/small", .status(404))
    let addresses = [halting.origin.url("/large")] + (1..<3000).map { "\(halting.origin.url("/small"))?\($0)" }
    _ = try halting.place.list(addresses, name: "list")
    let terminal = try TerminalRun(halting.place, ["get", "--jobs", "1", "list"])
    defer { terminal.stop() }
    let standing = try await terminal.wait(for: "0/3,000 files")
    #expect(standing.text.contains("%"), "\(standing.text)")
    try await terminal.type("\u{03}")
    let end = try await terminal.waitForEnd()
    #expect(end.everything.contains { $0.contains("0 of 3,000") }, "\(end.everything)")
  }

  /// `starting … 0 B/s` stood for as long as that took.
  @Test func whatAListIsWaitedForIsSaid() async throws {
    let halting = try Halting()
    defer { halting.origin.stop() }
    halting.gate.open()
    _ = try halting.place.list([halting.origin.url("/large")], name: "list")
    #expect(mkfifo("\(halting.place.work)/go", 0o600) == 0)
    let dlm = try DLMExecutable.path()
    let command = "{ read line < go; cat list; } | '\(dlm)' get -"
    let terminal = try TerminalRun(halting.place, command: ["sh", "-c", command])
    defer { terminal.stop() }
    let standing = try await terminal.wait(for: "waiting for standard input")
    #expect(standing.lines.last { !$0.isEmpty } == "  starting", "\(standing.text)")
    let writing = try halting.place.start("sh", ["-c", "echo now > go"])
    Self.expectLeft(try await terminal.waitForEnd(), 0)
    #expect(try await writing.waitForExit().status == 0)
  }

  /// A list that is typed is seen, and ends with Ctrl-D.
  @Test func aTypedListKeepsItsEcho() async throws {
    let halting = try Halting()
    defer { halting.origin.stop() }
    let terminal = try TerminalRun(halting.place, ["get", "-"])
    defer { terminal.stop() }
    try await terminal.type("\(halting.origin.url("/large"))\r")
    try await terminal.wait(for: "0/≥1|0/1 file")
    let standing = try await terminal.screen()
    #expect(standing.mode == standing.modeBefore)
    try await terminal.type("\u{04}")
    halting.gate.open()
    #expect(try await terminal.waitForEnd().status == 0)
  }

  // MARK: Stopped and continued

  /// Once the process went on for a moment after it had sent itself the stop: keys stayed raw, and the region
  /// was drawn beside the shell's prompt.
  @Test func stoppedFiftyTimes() async throws {
    let halting = try Halting()
    defer { halting.origin.stop() }
    let terminal = try halting.start()
    defer { terminal.stop() }
    try await terminal.wait(for: Self.region)
    for round in 1...50 {
      try await terminal.type("\u{1A}")
      let stopped = try await terminal.wait(forStops: round)
      #expect(stopped.modesAtStops.last == stopped.modeBefore)
      #expect(stopped.column == 0 && stopped.isCursorShown, "\(round): \(stopped.text)")
      #expect(!stopped.text.contains(Self.region), "\(round): \(stopped.text)")
      try await terminal.print("$ \(round)\r\n")
      let still = try await terminal.screen()
      #expect(still.mode == still.modeBefore)
      #expect(still.frames == stopped.frames, "nothing is drawn beside the prompt")
      try await terminal.foreground()
      // Keys are taken before a region is drawn.
      let again = try await terminal.wait(for: Self.region)
      #expect(again.mode != again.modeBefore)
    }
    halting.gate.open()
    let end = try await terminal.waitForEnd()
    Self.expectLeft(end, 0)
    #expect(end.everything.filter { $0.hasPrefix("$ ") } == (1...50).map { "$ \($0)" })
  }

  @Test(arguments: [SIGTSTP, SIGSTOP])
  func inTheBackground(signal: Int32) async throws {
    let halting = try Halting()
    defer { halting.origin.stop() }
    let terminal = try halting.start()
    defer { terminal.stop() }
    try await terminal.wait(for: Self.region)
    try await terminal.send(signal)
    try await terminal.wait(forStops: 1)
    // As a shell does: its own mode, and a prompt.
    try await terminal.print("\r\n$ bg\r\n$ ")
    try await terminal.background()
    try await Task.sleep(for: .milliseconds(500))
    let behind = try await terminal.screen()
    #expect(behind.modesAtStops.count == 1, "it goes on")
    #expect(behind.isCursorShown)
    #expect(behind.lines.last { !$0.isEmpty } == "$", "\(behind.text)")
    try await terminal.print("fg\r\n")
    try await terminal.foreground()
    let again = try await terminal.wait(for: "^\\$ fg\\n(  large.*\\n)?.*\(Self.region)")
    #expect(again.mode != again.modeBefore)
    halting.gate.open()
    let end = try await terminal.waitForEnd()
    #expect(end.status == 0 && end.isCursorShown && end.column == 0)
  }

  /// Where no shell could continue it, Ctrl-Z does not stop it for good.
  @Test func withoutAShellCtrlZIsNothing() async throws {
    let halting = try Halting(["TERM": "xterm"])
    defer { halting.origin.stop() }
    let run = try halting.place.start(
      "script", ["-qefc", "'\(try DLMExecutable.path())' get \(halting.origin.url("/large"))", "/dev/null"],
      input: .open)
    try await run.wait(forOutput: "[?25l")
    run.write([0x1A])
    try await run.wait(forOutput: "[?25h")
    halting.gate.open()
    #expect(try await run.waitForExit().status == 0)
  }

  // MARK: Frames

  @Test func resizedWhileFilesEnd() async throws {
    let origin = try FaultyOrigin()
    defer { origin.stop() }
    let gate = try Gate()
    let place = try Workplace()
    for index in 0..<200 { origin.route("/f\(index).bin", .file([UInt8(index & 255)])) }
    for index in 0..<8 {
      let body = SplitMix64.bytes(count: 2 << 20, seed: UInt64(index))
      origin.route(
        "/large\(index).bin", .file(body, FileOptions(ending: .stall(after: 1 << 20, until: gate))))
    }
    _ = try place.list(
      (0..<8).map { origin.url("/large\($0).bin") } + (0..<200).map { origin.url("/f\($0).bin") })
    let terminal = try TerminalRun(
      place, ["get", "urls.txt", "-d", "out", "-j", "12", "-s", "1"])
    defer { terminal.stop() }
    try await terminal.wait(for: "^  large.*\\n.*200/208 files")
    for (columns, rows) in [(40, 10), (120, 40), (20, 6), (80, 24)] {
      try await terminal.resize(columns: columns, rows: rows)
      try await terminal.type("typed all the while")
      let wide = columns >= 40
      let screen = try await terminal.wait(for: wide ? "^  large[0-9].*\\n(.*\\n)*.*200/208" : "200/208")
      let standing = screen.lines.filter { $0.contains("/208") }
      #expect(standing.count == 1, "\(columns)×\(rows): \(screen.text)")
      let last = screen.lines.last { !$0.isEmpty && !$0.hasPrefix("  ? shows the") }
      #expect(last?.contains("200/208") == true, "\(screen.text)")
      #expect(!screen.text.contains("typed"))
    }
    gate.open()
    let end = try await terminal.waitForEnd()
    #expect(end.status == 0 && end.isCursorShown && end.column == 0 && end.modeAfter == end.modeBefore)
    // Every frame shows the region once and whole, with the total last.
    for frame in try await terminal.frames() {
      #expect(frame.count { $0.contains("/208") } <= 1, "\(frame)")
    }
  }

  /// On a terminal that cuts lines, where tmux breaks them (`JobControlTests`).
  @Test func narrowedStepByStep() async throws {
    let halting = try Halting()
    defer { halting.origin.stop() }
    let terminal = try halting.start(columns: 120)
    defer { terminal.stop() }
    var screen = try await terminal.wait(for: "^  large.*(1.0 MiB|33%)(.*\\n)*.*\(Self.region)")
    for columns in stride(from: 118, through: 40, by: -2) {
      try await terminal.resize(columns: columns, rows: 24)
      screen = try await terminal.wait(forFrames: screen.frames + 1)
    }
    screen = try await terminal.wait(for: "0/1 ")
    #expect(screen.everything.count { $0.contains("0/1 ") } == 1, "\(screen.everything)")
    #expect(screen.everything.count { $0.hasPrefix("  large") } == 1, "\(screen.everything)")
    halting.gate.open()
    Self.expectLeft(try await terminal.waitForEnd(), 0)
  }

  /// 4.2 KB a frame were sent before, 84 KB a second.
  @Test func bytesASecond() async throws {
    let origin = try FaultyOrigin()
    defer { origin.stop() }
    let place = try Workplace()
    for index in 0..<8 {
      // Slow enough that every frame has something new.
      let body = SplitMix64.bytes(count: 600_000, seed: UInt64(index))
      origin.route(
        "/large\(index).bin",
        .file(body, FileOptions(ending: .trickle(piece: 3_000, every: .milliseconds(20)))))
    }
    let terminal = try TerminalRun(
      place, ["get", "-s", "1", "-j", "8"] + (0..<8).map { origin.url("/large\($0).bin") }, columns: 120,
      rows: 40)
    defer { terminal.stop() }
    try await terminal.wait(for: "^  large.*\\n(  large.*\\n){6}  large")
    let end = try await terminal.waitForEnd()
    #expect(end.status == 0, "\(end.text)")
    #expect(end.mostBytesInASecond <= 30_000, "\(end.mostBytesInASecond)")
  }
}
