import Foundation
import Glibc
import TestSupport
import Testing

/// A run in which all that can happen happens, on terminals and off them.
@Suite("All that can happen in one run", .serialized)
struct WholeRunTests {
  /// Two servers, one of which is busy; two hundred files, a burst of failures, and one file that stalls until
  /// the gate is open.
  private struct Servers {
    let (origin, busy): (FaultyOrigin, FaultyOrigin)
    let gate: Gate
    let place: Workplace
    let arguments: [String]

    init(_ variables: [String: String] = [:]) throws {
      (origin, busy, gate) = (try FaultyOrigin(), try FaultyOrigin(), try Gate())
      place = try Workplace(variables)
      for index in 0..<200 { origin.route("/small\(index).bin", .file([UInt8(index & 255)])) }
      for index in 0..<30 { origin.route("/gone\(index).bin", .status(404)) }
      let body = SplitMix64.bytes(count: 3 << 20, seed: 1)
      origin.route("/large.bin", .file(body, FileOptions(ending: .stall(after: 1 << 20, until: gate))))
      for index in 0..<10 {
        // More refusals in a row, and the host would be given up.
        let refusal = OriginAnswer.status(503, headers: ["Retry-After: 1"])
        busy.route("/busy\(index).bin", script: index < 2 ? [refusal, .file([1])] : [.file([1])])
      }
      let list =
        [origin.url("/large.bin")] + (0..<10).map { [busy] in busy.url("/busy\($0).bin") }
        + (0..<100).map { [origin] in origin.url("/small\($0).bin") }
        + (0..<30).map { [origin] in origin.url("/gone\($0).bin") }
        + (100..<200).map { [origin] in origin.url("/small\($0).bin") }
      _ = try place.list(list)
      arguments = ["get", "urls.txt", "-d", "out", "-s", "1", "-j", "8"]
    }

    func stop() {
      origin.stop()
      busy.stop()
    }
  }

  /// What was told of the files: each once, those that are only counted included.
  /// - Parameter mark: of a file that came.
  private static func expectTold(_ lines: [String], mark: String) {
    var told: [String: Int] = [:]
    var counted = 0
    for line in lines {
      if line.hasPrefix(mark), let count = line.firstMatch(of: /([0-9]+) more done/) {
        counted += Int(count.1) ?? 0
      } else if line.hasPrefix(mark) || line.hasPrefix("    http://"),
        let name = line.firstMatch(of: /(small|large|busy|gone)[0-9]*\.bin/)
      {
        told[String(name.0), default: 0] += 1
      }
    }
    let all = lines.joined(separator: "\n")
    #expect(told.values.allSatisfy { $0 == 1 }, "\(told.filter { $0.value > 1 }): \(all)")
    // Of thirty failures at a terminal, ten are named.
    let failures = told.keys.count { $0.hasPrefix("gone") }
    let unnamed = lines.contains { $0.contains("and 20 more") } ? 20 : 0
    #expect(failures + unnamed == 30, "\(failures): \(all)")
    #expect(told.count + counted + unnamed == 241, "\(told.count) and \(counted): \(all)")
    #expect(told["large.bin"] == 1, "\(all)")
  }

  /// 200 files at 80×24, a window that changes, keys all the while, and a stop in the midst.
  @Test func onATerminal() async throws {
    let servers = try Servers()
    defer { servers.stop() }
    let terminal = try TerminalRun(servers.place, servers.arguments)
    defer { terminal.stop() }
    try await terminal.type("typed")
    try await terminal.wait(for: "failed")
    try await terminal.resize(columns: 40, rows: 10)
    try await terminal.type("typed\u{1B}[A\r")
    try await terminal.wait(for: "210/241")
    try await terminal.resize(columns: 80, rows: 24)
    try await terminal.wait(for: "^  large.bin.*stalled")
    let standing = try await terminal.wait(for: "^✗ gone.*404 Not Found \\(and 29 more failed\\)$")
    #expect(standing.text.contains("210/241 · 30 failed"), "\(standing.text)")
    try await terminal.type("\u{1A}")
    let stopped = try await terminal.wait(forStops: 1)
    #expect(stopped.modesAtStops == [stopped.modeBefore] && stopped.isCursorShown && stopped.column == 0)
    try await terminal.print("$ fg\r\n")
    try await terminal.foreground()
    try await terminal.wait(for: "^\\$ fg\n(.*\n)*.*210/241")
    servers.gate.open()
    let end = try await terminal.waitForEnd()
    #expect(end.status == 1 && end.isCursorShown && end.column == 0 && end.modeAfter == end.modeBefore)
    let all = end.everything
    Self.expectTold(all, mark: "✓ ")
    #expect(!all.contains { $0.contains("typed") || $0.contains("/241") || $0.contains("running") }, "\(all)")
    // In each frame the region is there once and whole, and below its total is at most what was said to the
    // keys, which are none of dlm's.
    for frame in try await terminal.frames() {
      let totals = frame.indices.filter { frame[$0].contains("/241") || frame[$0].contains("/≥") }
      #expect(totals.count <= 1, "\(frame)")
      if let last = totals.last { #expect(Self.isRest(frame[(last + 1)...]), "\(frame)") }
    }
  }

  /// Frames of the old size reach a window that has shrunk already, as on a loaded machine. Rows of the region may
  /// scroll away, but no line above it is lost.
  @Test func inAWindowThatShrinksMeanwhile() async throws {
    let servers = try Servers()
    defer { servers.stop() }
    let terminal = try TerminalRun(servers.place, servers.arguments)
    defer { terminal.stop() }
    try await terminal.wait(for: "failed")
    for rows in [12, 9] {
      try await terminal.resize(columns: 80, rows: rows, isTold: false)
      let frames = try await terminal.screen().frames
      try await terminal.wait(forFrames: frames + 3)
      try await terminal.resize(columns: 80, rows: rows)
      // Between two frames, it would not be seen.
      try await terminal.wait(forFrames: frames + 5)
      try await terminal.resize(columns: 80, rows: 24)
    }
    try await terminal.wait(for: "210/241", everywhere: true)
    servers.gate.open()
    let end = try await terminal.waitForEnd()
    #expect(end.status == 1)
    Self.expectTold(end.everything, mark: "✓ ")
  }

  private static func isRest(_ lines: ArraySlice<String>) -> Bool {
    let said = lines.filter { !$0.isEmpty }
    return said.isEmpty || said == ["  ? shows the keys"]
  }

  @Test(arguments: ["pipe", "TERM=dumb"])
  func asLines(on terminal: String) async throws {
    let servers = try Servers()
    defer { servers.stop() }
    servers.gate.open()
    let text: String
    if terminal == "pipe" {
      let run = try await servers.place.start(servers.arguments).waitForExit()
      #expect(run.status == 1)
      text = run.errorText
    } else {
      let run = try TerminalRun(
        servers.place, command: ["env", terminal, try DLMExecutable.path()] + servers.arguments, columns: 400)
      defer { run.stop() }
      let end = try await run.waitForEnd()
      #expect(end.status == 1 && end.modeAfter == end.modeBefore)
      text = String(decoding: try run.sent(), as: UTF8.self).replacing("\r\n", with: "\n")
    }
    #expect(!text.contains("\u{1B}") && !text.contains("\r"), "\(text)")
    Self.expectTold(text.split(separator: "\n").map(String.init), mark: "done: ")
  }

  @Test func withoutColour() async throws {
    let servers = try Servers(["NO_COLOR": "1"])
    defer { servers.stop() }
    let terminal = try TerminalRun(servers.place, servers.arguments)
    defer { terminal.stop() }
    try await terminal.wait(for: "210/241")
    servers.gate.open()
    let end = try await terminal.waitForEnd()
    Self.expectTold(end.everything, mark: "✓ ")
    let text = String(decoding: try terminal.sent(), as: UTF8.self)
    #expect(text.contains("\u{1B}[?2026h"))
    #expect(!text.contains(/\u{1B}\[[0-9;]*3[0-7][0-9;]*m/), "a colour")
  }

  @Test func withoutUnicode() async throws {
    let servers = try Servers(["LC_ALL": "C", "LANG": "C"])
    defer { servers.stop() }
    let terminal = try TerminalRun(servers.place, servers.arguments)
    defer { terminal.stop() }
    try await terminal.wait(for: "210/241")
    servers.gate.open()
    let end = try await terminal.waitForEnd()
    Self.expectTold(end.everything, mark: "+ ")
    let sent = try terminal.sent()
    #expect(sent.allSatisfy { $0 < 0x80 })
  }

  /// Names that other scripts, marks and attackers would write, in windows that have no room for them.
  @Test(arguments: [(80, 24), (20, 10), (20, 4), (9, 3)])
  func names(columns: Int, rows: Int) async throws {
    let (origin, gate, place) = (try FaultyOrigin(), try Gate(), try Workplace())
    defer { origin.stop() }
    let names = [
      "日本語のとても長い名前のファイルです.iso", "ملف كبير جدا.zip", "👩‍👩‍👧‍👦👍🏽 emoji 🇩🇪.png",
      "e\u{301}o\u{308}u\u{308} combining.txt",
      "\u{1B}[31mred\u{1B}[0m\u{1B}]0;title\u{7}.bin", "\u{202E}gpj.exe", "a\r\nb\u{8}\u{9B}2J.bin",
    ]
    let body = SplitMix64.bytes(count: 100_000, seed: 1)
    var list: [String] = []
    for name in names {
      let path = "/" + (name.addingPercentEncoding(withAllowedCharacters: .alphanumerics) ?? "")
      origin.route(path, .file(body, FileOptions(ending: .stall(after: 50_000, until: gate))))
      list.append(origin.url(path))
    }
    _ = try place.list(list)
    let terminal = try TerminalRun(
      place, ["get", "urls.txt", "-d", "out", "-j", "7", "-s", "1"], columns: columns, rows: rows)
    defer { terminal.stop() }
    try await origin.wait(for: "all to begin") { $0.bodyBytesSent.count == names.count }
    try await terminal.type("x\r")
    if rows > 3 {
      let standing = try await terminal.wait(for: "0/7")
      #expect(!standing.isCursorShown)
    }
    gate.open()
    let end = try await terminal.waitForEnd()
    #expect(end.status == 0 && end.isCursorShown && end.column == 0 && end.modeAfter == end.modeBefore)
    #expect(!end.everything.contains { $0.contains("0/7") }, "\(end.everything)")
    let text = String(decoding: try terminal.sent(), as: UTF8.self)
    #expect(!text.contains("\u{1B}]0;") && !text.contains("\u{1B}[31mred") && !text.contains("\u{202E}"))
    #expect(!text.unicodeScalars.contains { $0.value == 7 || $0.value == 8 || $0.value == 0x9B })
    #expect(try place.names(in: "out").count == names.count)
    for frame in try await terminal.frames() {
      #expect(frame.count { $0.contains("0/7") } <= 1, "\(frame)")
    }
  }
}
