import Foundation
import TestSupport
import Testing

@Suite("Under a real shell's job control", .serialized)
struct JobControlTests {
  /// Fifty times Ctrl-Z and `fg`: at each prompt the terminal is as it was, and the prompt has a clean line.
  @Test func stoppedAndContinued() async throws {
    let (origin, gate, place) = (try FaultyOrigin(), try Gate(), try Workplace(["TERM": "xterm"]))
    defer { origin.stop() }
    let body = SplitMix64.bytes(count: 3 << 20, seed: 1)
    origin.route("/large", .file(body, FileOptions(ending: .stall(after: 1 << 20, until: gate))))
    let tmux = try await TmuxRun(place)
    defer { tmux.stop() }
    try await tmux.run("stty -g > before")
    try await tmux.run(
      "'\(try DLMExecutable.path())' get --stall-timeout 600 \(origin.url("/large")); stty -g > end")
    for round in 1...50 {
      try await tmux.wait { $0.last?.contains("0/1 file") == true }
      try await tmux.press("C-z")
      try await tmux.wait { $0.last == "$" && $0.contains { $0.contains("Stopped") } }
      try await tmux.run("stty -g > stopped.\(round)")
      try await tmux.run("echo round \(round)")
      let shown = try await tmux.wait { $0.suffix(2) == ["round \(round)", "$"] }
      #expect(!shown.contains { $0.contains("0/1 file") }, "\(shown)")
      try await tmux.run("fg")
    }
    try await tmux.wait { $0.last?.contains("0/1 file") == true }
    gate.open()
    try await tmux.wait { $0.last == "$" }
    let before = try place.file("before")
    for round in 1...50 { #expect(try place.file("stopped.\(round)") == before) }
    #expect(try place.file("large") == body)
  }

  /// `dlm attach` stopped at once and left the bars of the run under the prompt.
  @Test func attachedStoppedAndContinued() async throws {
    let (origin, gate, place) = (try FaultyOrigin(), try Gate(), try Workplace(["TERM": "xterm"]))
    defer { origin.stop() }
    let body = SplitMix64.bytes(count: 3 << 20, seed: 1)
    origin.route("/large", .file(body, FileOptions(ending: .stall(after: 1 << 20, until: gate))))
    #expect(try await place.dlm("get", "--detach", origin.url("/large")).status == 0)
    let tmux = try await TmuxRun(place)
    defer { tmux.stop() }
    try await tmux.run("stty -g > before")
    try await tmux.run("'\(try DLMExecutable.path())' attach; stty -g > end")
    for round in 1...5 {
      try await tmux.wait { $0.last?.contains("0/1 file") == true }
      try await tmux.press("C-z")
      try await tmux.wait { $0.last == "$" && $0.contains { $0.contains("Stopped") } }
      try await tmux.run("stty -g > stopped.\(round)")
      try await tmux.run("echo round \(round)")
      let shown = try await tmux.wait { $0.suffix(2) == ["round \(round)", "$"] }
      #expect(!shown.contains { $0.contains("0/1 file") }, "\(shown)")
      try await tmux.run("fg")
    }
    try await tmux.wait { $0.last?.contains("0/1 file") == true }
    gate.open()
    try await tmux.wait { $0.last == "$" && $0.contains { $0.contains("1  done") } }
    let before = try place.file("before")
    for round in 1...5 { #expect(try place.file("stopped.\(round)") == before) }
    #expect(try place.file("large") == body)
  }

  /// A job in the background leaves the terminal to the shell, and has it again after `fg`.
  @Test func inTheBackground() async throws {
    let (origin, gate, place) = (try FaultyOrigin(), try Gate(), try Workplace(["TERM": "xterm"]))
    defer { origin.stop() }
    let body = SplitMix64.bytes(count: 3 << 20, seed: 1)
    origin.route("/large", .file(body, FileOptions(ending: .stall(after: 1 << 20, until: gate))))
    let tmux = try await TmuxRun(place)
    defer { tmux.stop() }
    try await tmux.run("'\(try DLMExecutable.path())' get --stall-timeout 600 \(origin.url("/large"))")
    try await tmux.wait { $0.last?.contains("0/1 file") == true }
    try await tmux.press("C-z")
    try await tmux.wait { $0.last == "$" && $0.contains { $0.contains("Stopped") } }
    try await tmux.run("bg")
    try await tmux.wait { $0.last == "$" && $0.contains { $0.hasSuffix("&") } }
    try await tmux.run("jobs; echo typed")
    let shown = try await tmux.wait { $0.suffix(2) == ["typed", "$"] }
    #expect(
      shown.contains { $0.contains("Running") } && !shown.contains { $0.contains("0/1 file") }, "\(shown)")
    try await tmux.run("fg")
    try await tmux.wait { $0.last?.contains("0/1 file") == true }
    gate.open()
    try await tmux.wait { $0.last == "$" }
    #expect(try place.file("large") == body)
  }

  /// Every step narrower once left a copy of the bars in the scroll-back, at the window's top even 31 of them.
  @Test(arguments: [
    ("clear", Array(stride(from: 118, through: 60, by: -2)), false),
    ("seq 60", Array(stride(from: 118, through: 60, by: -2)), false), ("seq 60", [60], false),
    // With a panel beside the rows.
    ("clear", Array(stride(from: 118, through: 60, by: -2)), true),
    ("seq 60", Array(stride(from: 118, through: 60, by: -2)), true), ("seq 60", [60], true),
  ])
  func narrowedLeavesNothing(before: String, widths: [Int], hasPanel: Bool) async throws {
    let (origin, gate, place) = (try FaultyOrigin(), try Gate(), try Workplace(["TERM": "xterm", "LANG": "C.UTF-8"]))
    defer { origin.stop() }
    let names = (0..<6).map { "large-\($0)-of-the-files-that-come.bin" }
    for name in names {
      let body = SplitMix64.bytes(count: 3 << 20, seed: 1)
      origin.route("/\(name)", .file(body, FileOptions(ending: .stall(after: 1 << 20, until: gate))))
    }
    _ = try place.list(names.map { origin.url("/\($0)") })
    let tmux = try await TmuxRun(place, columns: 120, rows: 30)
    defer { tmux.stop() }
    try await tmux.run(before)
    try await tmux.run("'\(try DLMExecutable.path())' get -s 1 -j 6 --stall-timeout 600 urls.txt")
    var shown = try await tmux.wait {
      $0.count { $0.contains("large-") } == 6 && $0.last?.contains("0/6 files") == true
    }
    if hasPanel {
      try await tmux.press("?")
      shown = try await tmux.wait { $0.contains { $0.contains("large-") && $0.contains(" │   p  ") } }
    }
    for columns in widths {
      let row = shown.last { $0.contains("large-") }
      try await tmux.resize(columns: columns, rows: 30)
      shown = try await tmux.wait { $0.last { $0.contains("large-") } != row && $0.last?.contains("0/6") == true }
    }
    #expect(shown.count { $0.contains("large-") } == 6, "\(shown)")
    #expect(shown.count { $0.contains("0/6") } == 1, "\(shown)")
    #expect(shown.count { $0.contains("pause or resume") } == (hasPanel ? 1 : 0), "\(shown)")
    try await tmux.press("C-c")
    shown = try await tmux.wait { $0.last == "$" }
    #expect(!shown.contains { $0.contains("large-") || $0.contains("0/6 ") || $0.contains("│") }, "\(shown)")
  }
}
