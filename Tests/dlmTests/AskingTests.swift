import Foundation
import Glibc
import TestSupport
import Testing

@testable import dlm

@Suite("Questions about names: one at a time, below the bars, while files go on", .serialized)
struct AskingTests {
  private static func place() throws -> Workplace {
    let place = try Workplace(["NO_COLOR": "1"])
    for name in ["a", "b", "c", "d"] { _ = try place.folder.write(Array("mine".utf8), to: "work/\(name)") }
    return place
  }

  @Test func conflicts() async throws {
    let origin = try FaultyOrigin()
    defer { origin.stop() }
    let gate = try Gate()
    for (index, name) in ["a", "b", "c", "d"].enumerated() { origin.route("/\(name)", .file([UInt8(index)])) }
    origin.route("/slow", .file([9, 9], FileOptions(ending: .stall(after: 1, until: gate))))
    let place = try Self.place()
    let urls = ["a", "b", "c", "d", "slow"].map { origin.url("/\($0)") }
    let terminal = try TerminalRun(place, ["get", "-j", "1", "--on-conflict", "ask"] + urls)
    defer { terminal.stop() }
    // All were fetched, and the last is under way, while the first question waits.
    try await origin.wait(path: "/slow", bodyBytesSent: 1)
    let asked = try await terminal.wait(for: "^a exists \\(4 B")
    #expect(!asked.text.contains("b exists"), "one at a time")
    // No row, and no count, says what an answer will decide; what waits for one says so.
    #expect(!asked.text.contains("✓") && !asked.text.contains("saved as"), "\(asked.text)")
    #expect(asked.text.contains("0/5 files"), "\(asked.text)")
    try await terminal.wait(for: "1 running, 4 questions")
    try await terminal.type("x")
    try await terminal.wait(for: "Not one of these keys")
    try await terminal.type("r")
    try await terminal.wait(for: "^b exists")
    try await terminal.type("s")
    try await terminal.wait(for: "^c exists")
    try await terminal.type("k")
    try await terminal.wait(for: "^d exists")
    try await terminal.type("K")
    gate.open()
    let end = try await terminal.waitForEnd()
    #expect(end.status == 0, "\(end.text)")
    for row in [
      "✓ a .*replacing an existing file", "✓ b .*skipped: a file exists", "✓ c.1 ",
      "✓ d.1 ", "4 downloaded .*1 of them replacing an existing file, 1 skipped .a file",
    ] {
      #expect(try end.everything.contains { try Regex(row).firstMatch(in: $0) != nil }, "\(row): \(end.text)")
    }
    #expect(try place.names() == ["a", "b", "c", "c.1", "d", "d.1", "slow"])
    #expect(try place.file("a") == [0])
    for name in ["b", "c", "d"] { #expect(try place.file(name) == Array("mine".utf8)) }
    #expect(try place.file("c.1") == [2])
    // What was replaced is dlm's now, under its own name: nothing is fetched or asked again for it.
    let again = try await place.dlm("get", origin.url("/a"))
    #expect(again.errorText.contains("up to date: 1 file"), "\(again.errorText)")
  }

  @Test func forAll() async throws {
    let origin = try FaultyOrigin()
    defer { origin.stop() }
    for name in ["a", "b", "c", "d"] { origin.route("/\(name)", .file([1])) }
    let place = try Self.place()
    let terminal = try TerminalRun(
      place, ["get", "--on-conflict", "ask"] + ["a", "b", "c", "d"].map { origin.url("/\($0)") })
    defer { terminal.stop() }
    try await terminal.wait(for: "exists")
    try await terminal.type("R")
    #expect(try await terminal.waitForEnd().status == 0)
    #expect(try place.names() == ["a", "b", "c", "d"])
    for name in ["a", "b", "c", "d"] { #expect(try place.file(name) == [1]) }
  }

  /// Ctrl-C with questions open: both files of each are kept.
  @Test func interrupted() async throws {
    let origin = try FaultyOrigin()
    defer { origin.stop() }
    for name in ["a", "b", "c"] { origin.route("/\(name)", .file([1])) }
    let place = try Self.place()
    let urls = ["a", "b", "c"].map { origin.url("/\($0)") }
    let terminal = try TerminalRun(place, ["get", "-j", "1", "--on-conflict", "ask", "--summary-json", "s"] + urls)
    defer { terminal.stop() }
    try await terminal.wait(for: "0 running, 3 questions")
    try await terminal.type("r")
    try await terminal.wait(for: "^b exists")
    try await terminal.type("\u{03}")
    let end = try await terminal.waitForEnd()
    #expect(end.status == 130)
    #expect(end.text.contains("Interrupted: 1 of 3 files done, 2 not answered."), "\(end.text)")
    #expect(end.text.contains("✓ b.1 "), "\(end.text)")
    #expect(try place.names() == ["a", "b", "b.1", "c", "c.1", "d", "s"])
    #expect(String(decoding: try place.file("s"), as: UTF8.self).contains("\"done\":1"))
  }

  /// The bytes of what was copied are counted as such only where they stay.
  @Test func copies() async throws {
    let origin = try FaultyOrigin()
    defer { origin.stop() }
    for name in ["a", "b", "c"] { origin.route("/\(name)", .file([1])) }
    let place = try Self.place()
    let urls = ["a", "b", "c"].map { origin.url("/\($0)") }
    #expect(try await place.start(["get", "-d", "other"] + urls).waitForExit().status == 0)
    let terminal = try TerminalRun(place, ["get", "-j", "1", "--on-conflict", "ask"] + urls, columns: 100)
    defer { terminal.stop() }
    for (name, key) in [("a", "r"), ("b", "s"), ("c", "k")] {
      try await terminal.wait(for: "^\(name) exists")
      try await terminal.type(key)
    }
    let end = try await terminal.waitForEnd()
    #expect(
      end.text.contains("2 from cache, 1 of them replacing an existing file, 1 skipped (a file existed)"),
      "\(end.text)")
  }

  @Test func withoutATerminalBothAreKept() async throws {
    let origin = try FaultyOrigin()
    defer { origin.stop() }
    origin.route("/a", .file([1]))
    let place = try Self.place()
    #expect(try await place.dlm("get", "--on-conflict", "ask", origin.url("/a")).status == 0)
    #expect(try place.names().contains("a.1"))
    #expect(try place.file("a") == Array("mine".utf8))
  }

  @Test func names() async throws {
    let origin = try FaultyOrigin()
    defer { origin.stop() }
    origin.route("/one", .file([1]))
    origin.route("/two", .file([2]))
    let place = try Self.place()
    let terminal = try TerminalRun(
      place, ["get", "-j", "1", "--ask-names", origin.url("/one"), origin.url("/two")])
    defer { terminal.stop() }
    try await terminal.wait(for: "^Name: \\[one\\]")
    try await terminal.type("a")  // replaces what is suggested
    try await terminal.wait(for: "^Name: a\\|")
    try await terminal.type("\r")
    try await terminal.wait(for: "that name is taken")
    // Several lines are pasted, and arrows edit: one question is answered.
    try await terminal.type("\u{1B}[200~rst.bin\rsecond\r\u{1B}[201~\u{1B}[Hfi")
    try await terminal.wait(for: "^Name: fi\\|rst.bin ")
    try await terminal.type("\r")
    try await terminal.wait(for: "^Name: \\[two\\]")
    try await terminal.type("\r")
    let end = try await terminal.waitForEnd()
    #expect(end.status == 0, "\(end.text)")
    #expect(end.text.contains("✓ first.bin ") && !end.text.contains("✓ one "), "\(end.text)")
    #expect(try place.names() == ["a", "b", "c", "d", "first.bin", "two"])
    #expect(try place.file("first.bin") == [1])
    #expect(try await place.dlm("get", origin.url("/one")).errorText.contains("up to date: 1 file"))
  }

  /// What was left as it was, or never answered, is asked about again; what has a name is not.
  @Test func whatIsLeftIsAskedAboutAgain() async throws {
    let origin = try FaultyOrigin()
    defer { origin.stop() }
    for name in ["one", "two", "three"] { origin.route("/\(name)", .file(Array(name.utf8))) }
    let place = try Self.place()
    let urls = ["one", "two", "three"].map { origin.url("/\($0)") }
    func start() throws -> TerminalRun { try TerminalRun(place, ["get", "-j", "1", "--ask-names"] + urls) }
    let first = try start()
    defer { first.stop() }
    try await first.wait(for: "^Name: \\[one\\]")
    try await first.type("first\r")
    try await first.wait(for: "^Name: \\[two\\]")
    try await first.type("\u{1B}")
    try await first.wait(for: "^Name: \\[three\\]")
    try await first.type("\u{03}")
    #expect(try await first.waitForEnd().status == 130)
    let second = try start()
    defer { second.stop() }
    try await second.wait(for: "^Name: \\[two\\]")
    try await second.type("second\r")
    try await second.wait(for: "^Name: \\[three\\]")
    try await second.type("\r")
    #expect(try await second.waitForEnd().status == 0)
    let third = try await place.start(["get", "--ask-names"] + urls).waitForExit()
    #expect(third.errorText.contains("up to date: 3 files"), "\(third.errorText)")
    #expect(try place.names() == ["a", "b", "c", "d", "first", "second", "three"])
    #expect(origin.log.count { $0.method == "GET" && $0.headers["if-none-match"] == nil } == 3)
    let last = try start()
    defer { last.stop() }
    let end = try await last.waitForEnd()
    #expect(end.status == 0 && !end.text.contains("Name:"), "\(end.text)")
  }
}
