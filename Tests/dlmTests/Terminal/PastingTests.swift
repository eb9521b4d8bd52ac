import DownloadModel
import Foundation
import Glibc
import TestSupport
import Testing

@testable import dlm

@Suite("Links that are pasted into a running download", .serialized)
struct PastingTests {
  private static func paste(_ text: String) -> String { "\u{1B}[200~\(text)\u{1B}[201~" }

  @Test(
    arguments: [
      (["https://h.example/a/b.bin"], nil, "1 link pasted: h.example/b.bin. Download it? [y/n]"),
      (
        ["http://u:p@h.example/a?token=secret", "http://h.example/"], nil,
        "2 links pasted: h.example/a, h.example/. Download them? [y/n]"
      ),
      (
        ["a", "b", "c", "d", "e"].map { "http://h/\($0)" }, "No.",
        "5 links pasted: h/a, h/b, h/c, 2 more. Download them? [y/n]   No."
      ),
    ] as [([String], String?, String)])
  func question(links: [String], note: String?, line: String) {
    #expect(QuestionMessages.line(links, note: note) == line)
  }

  @Test(
    arguments: [
      (2, 0, "added 2 files to the run in x"), (1, 1, "added 1 file to the run in x, which has 1 already"),
      (0, 2, "added nothing to the run in x, which has that already"),
    ])
  func answer(added: Int, known: Int, line: String) {
    #expect(QuestionMessages.added(Addition(added: added, known: known), to: "the run in x") == line)
  }

  /// Lines that end are whole, however they were typed; a wrong key between them ends none.
  @Test(
    arguments: [
      ([(0, "ab"), (400, "|")], ["", "ab"]), ([(0, "ab|")], ["ab"]), ([(0, "abc<d|")], ["abd"]),
      ([(0, "ab"), (400, "+"), (800, "|")], [""]), ([(0, "ab|"), (400, "|")], ["ab"]),
    ] as [([(at: Int, keys: String)], [String])])
  func typedLines(reads: [(at: Int, keys: String)], lines: [String]) {
    var rule = TerminalKeys.TypingRule()
    let keys = reads.flatMap { read in
      rule.take(
        read.keys.map { $0 == "|" ? .enter : $0 == "<" ? .backspace : .text(String($0)) }, at: .milliseconds(read.at))
    }
    #expect(keys.compactMap { if case .paste(let text) = $0 { text } else { nil } } == lines)
  }

  @Test(arguments: ["parallel", "async-let", "sequential"])
  func joinsTheRun(mode: String) async throws {
    let halting = try KeysTests.Halting(["a.bin"])
    defer { halting.origin.stop() }
    for name in ["one", "two", "three"] { halting.origin.route("/\(name)", .file(Array(name.utf8))) }
    let terminal = try halting.start(["-m", mode, "-d", "out"], columns: 120)
    defer { terminal.stop() }
    try await terminal.wait(for: "a.bin.*33%")
    // What is no address is a wrong key.
    try await terminal.type(Self.paste("no address\rq\rhttp://"))
    try await terminal.wait(for: "\\? shows the keys")
    let (one, two) = (halting.origin.url("/one"), halting.origin.url("/two"))
    try await terminal.type(Self.paste("\(one)\r\(two)\r\(halting.urls[0])\r"))
    try await terminal.wait(
      for: "3 links pasted: 127.0.0.1/one, 127.0.0.1/two, 127.0.0.1/a.bin. Download them\\? \\[y/n\\]")
    try await terminal.type("\r")
    try await terminal.wait(for: "Not one of these keys")
    try await terminal.type("y")
    try await terminal.wait(for: "dlm: added 2 files to this run, which has 1 already")
    if mode != "sequential" {
      // Its lane was the only one.
      try await terminal.wait(for: "✓ two", everywhere: true)
    }
    try await terminal.wait(for: "/3 files")
    try await terminal.type(Self.paste(halting.origin.url("/three")))
    try await terminal.wait(for: "1 link pasted: 127.0.0.1/three. Download it")
    try await terminal.type("n")
    try await terminal.wait(forAbsenceOf: "pasted")
    halting.gate.open()
    let end = try await terminal.waitForEnd()
    #expect(end.status == 0 && end.modeAfter == end.modeBefore, "\(end.text)")
    #expect(try halting.place.names(in: "out") == ["a.bin", "one", "two"])
    #expect(halting.origin.log.count { $0.path == "/a.bin" } == 1)
    // They are of the list that is remembered.
    let again = try await halting.place.dlm("get", "--no-compare")
    #expect(again.errorText.contains("up to date: 3 files"), "\(again.errorText)")
    // The terminal was told to mark no more of what is pasted.
    let sent = String(decoding: try terminal.sent(), as: UTF8.self)
    #expect(sent.components(separatedBy: "\u{1B}[?2004").last?.hasPrefix("l") == true)
  }

  /// The run waits for the answer, although all else is done.
  @Test(arguments: [true, false]) func answeredAtTheEnd(isWanted: Bool) async throws {
    let halting = try KeysTests.Halting(["a.bin"])
    defer { halting.origin.stop() }
    halting.origin.route("/one", .file([1]))
    let terminal = try halting.start(columns: 120)
    defer { terminal.stop() }
    try await terminal.wait(for: "a.bin.*33%")
    // Without the marks, as a line.
    try await terminal.type(halting.origin.url("/one") + "\r")
    try await terminal.wait(for: "1 link pasted")
    halting.gate.open()
    let asked = try await terminal.wait(for: "1/1 file")
    #expect(asked.status == nil && asked.text.contains("1 link pasted"), "\(asked.text)")
    try await terminal.type(isWanted ? "y" : "n")
    #expect(try await terminal.waitForEnd().status == 0)
    #expect(try halting.place.names() == (isWanted ? ["a.bin", "one"] : ["a.bin"]))
  }

  @Test func interrupted() async throws {
    let halting = try KeysTests.Halting(["a.bin"])
    defer { halting.origin.stop() }
    let terminal = try halting.start(columns: 120)
    defer { terminal.stop() }
    try await terminal.wait(for: "a.bin.*33%")
    try await terminal.type(Self.paste(halting.origin.url("/one")))
    try await terminal.wait(for: "1 link pasted")
    try await terminal.type("\u{03}")
    let end = try await terminal.waitForEnd()
    #expect(end.status == 130 && end.modeAfter == end.modeBefore, "\(end.text)")
  }

  /// A real shell: what is pasted is asked about after Ctrl-Z and `fg` too, and what follows it is the shell's.
  @Test func stoppedAndContinued() async throws {
    let halting = try KeysTests.Halting(["a.bin"])
    defer { halting.origin.stop() }
    halting.origin.route("/one", .file([1]))
    let tmux = try await TmuxRun(halting.place, columns: 120)
    defer { tmux.stop() }
    try await tmux.run("\(try DLMExecutable.path()) get -s 1 --stall-timeout 300 '\(halting.urls[0])'")
    try await tmux.wait { $0.contains { $0.contains("a.bin") && $0.contains("33%") } }
    try await tmux.press("C-z")
    try await tmux.wait { $0.last?.hasPrefix("$") == true }
    try await tmux.run("fg")
    try await tmux.wait { $0.suffix(4).contains { $0.contains("0/1 file") } }
    try await tmux.paste(halting.origin.url("/one"))
    try await tmux.wait { $0.last == "1 link pasted: 127.0.0.1/one. Download it? [y/n]" }
    try await tmux.press("y")
    try await tmux.wait { $0.contains("dlm: added 1 file to this run") }
    halting.gate.open()
    try await tmux.wait { $0.last?.hasPrefix("$") == true }
    #expect(try halting.place.names() == ["a.bin", "one"])
  }
}
