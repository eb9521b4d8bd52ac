import Foundation
import Glibc
import TestSupport
import Testing

@testable import dlm

@Suite("Questions about names: one at a time, below the bars, while files go on", .serialized)
struct AskingTests {
  /// `dlm` on a terminal of its own, whose keys are this process's to press.
  private static func start(_ place: Workplace, _ arguments: [String]) throws -> CommandRun {
    let words = [try DLMExecutable.path()] + arguments
    let command = words.map { "'\($0)'" }.joined(separator: " ")
    return try place.start("script", ["-qefc", command, "/dev/null"], input: .open)
  }

  private static func place() throws -> Workplace {
    let place = try Workplace(["TERM": "xterm", "NO_COLOR": "1"])
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
    let run = try Self.start(place, ["get", "-j", "1", "--on-conflict", "ask"] + urls)
    // All were fetched, and the last is under way, while the first question waits.
    try await origin.wait(path: "/slow", bodyBytesSent: 1)
    try await run.wait(forOutput: "a is here already (4 B")
    #expect(!run.outputText.contains("b is here already"), "one at a time")
    run.write(Array("xr".utf8))  // x means nothing
    try await run.wait(forOutput: "b is here already")
    run.write(Array("s".utf8))
    try await run.wait(forOutput: "c is here already")
    run.write(Array("k".utf8))
    try await run.wait(forOutput: "d is here already")
    run.write(Array("K".utf8))
    gate.open()
    let result = try await run.waitForExit()
    #expect(result.status == 0, "\(result.outputText)")
    #expect(try place.names() == ["a", "b", "c", "c.1", "d", "d.1", "slow"])
    #expect(try place.file("a") == [0])
    for name in ["b", "c", "d"] { #expect(try place.file(name) == Array("mine".utf8)) }
    #expect(try place.file("c.1") == [2])
    // What was replaced is dlm's now, under its own name: nothing is fetched or asked again for it.
    let again = try await place.dlm("get", origin.url("/a"))
    #expect(again.errorText.contains("1 unchanged"), "\(again.errorText)")
  }

  @Test func forAll() async throws {
    let origin = try FaultyOrigin()
    defer { origin.stop() }
    for name in ["a", "b", "c", "d"] { origin.route("/\(name)", .file([1])) }
    let place = try Self.place()
    let run = try Self.start(
      place, ["get", "--on-conflict", "ask"] + ["a", "b", "c", "d"].map { origin.url("/\($0)") })
    try await run.wait(forOutput: "is here already")
    run.write(Array("R".utf8))
    #expect(try await run.waitForExit().status == 0)
    #expect(try place.names() == ["a", "b", "c", "d"])
    for name in ["a", "b", "c", "d"] { #expect(try place.file(name) == [1]) }
  }

  /// Ctrl-C with questions open: both files of each are kept.
  @Test func interrupted() async throws {
    let origin = try FaultyOrigin()
    defer { origin.stop() }
    for name in ["a", "b"] { origin.route("/\(name)", .file([1])) }
    let place = try Self.place()
    let run = try Self.start(place, ["get", "--on-conflict", "ask", origin.url("/a"), origin.url("/b")])
    try await run.wait(forOutput: "is here already")
    run.write([0x03])
    #expect(try await run.waitForExit(within: .seconds(20)).status == 130)
    #expect(try place.names() == ["a", "a.1", "b", "b.1", "c", "d"])
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
    let run = try Self.start(
      place, ["get", "-j", "1", "--ask-names", origin.url("/one"), origin.url("/two")])
    try await run.wait(forOutput: "Name: one")
    run.write(Array("\u{7F}\u{7F}\u{7F}a\n".utf8))  // that name is taken
    try await run.wait(forOutput: "that name is taken")
    run.write(Array("\u{15}first.bin\n".utf8))
    try await run.wait(forOutput: "Name: two")
    run.write(Array("\n".utf8))
    let result = try await run.waitForExit()
    #expect(result.status == 0, "\(result.outputText)")
    #expect(try place.names() == ["a", "b", "c", "d", "first.bin", "two"])
    #expect(try place.file("first.bin") == [1])
    #expect(try await place.dlm("get", origin.url("/one")).errorText.contains("1 unchanged"))
  }

  @Test func typing() {
    var line = TypedLine("old")
    var wasEntered = false
    for key in Array("\u{15}é\u{1B}[Dx\u{7F}\u{1B}[3~z".utf8) { wasEntered = line.take(key) || wasEntered }
    #expect(!wasEntered)
    #expect(line.text == "éz")
    let isEntered = line.take(0x0D)
    #expect(isEntered)
  }
}
