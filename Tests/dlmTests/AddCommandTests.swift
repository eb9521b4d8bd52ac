import Foundation
import Glibc
import TestSupport
import Testing

@Suite("dlm add hands addresses to the run that is under way in a folder", .serialized)
struct AddCommandTests {
  private static let body = SplitMix64.bytes(count: 1 << 20, seed: 7)

  private struct Run {
    let origin: FaultyOrigin
    let gate: Gate
    let place: Workplace
    let run: CommandRun

    /// A run of one file that stops halfway until the gate opens.
    init(_ more: String...) async throws {
      (origin, gate, place) = (try FaultyOrigin(), try Gate(), try Workplace())
      origin.route("/big", .file(body, FileOptions(ending: .stall(after: 1 << 19, until: gate))))
      for name in ["a", "b"] { origin.route("/\(name)", .file(Array(name.utf8))) }
      _ = try place.list([origin.url("/big")])
      let options = ["-d", "out", "-s", "1", "--progress", "plain"]
      run = try place.start(["get", "urls.txt"] + options + more)
      try await origin.wait(path: "/big", bodyBytesSent: 1 << 19)
    }

    func add(_ names: String..., folder: String = "out") async throws -> CommandResult {
      try await place.start(["add", "-d", folder] + names.map { origin.url("/\($0)") }).waitForExit()
    }
  }

  @Test(arguments: [[], ["--watch"]]) func joinsTheRun(more: [String]) async throws {
    let run = try await Run(more.first ?? "--no-keys")
    defer { run.origin.stop() }
    let added = try await run.add("a", "big", "b")
    #expect(added.status == 0, "\(added.errorText)")
    #expect(added.outputText == "added 2 files to the run in out, which has 1 already\n")
    let again = try await run.add("b", folder: "./out/")
    #expect(again.outputText == "added nothing to the run in ./out/, which has that already\n", "\(again.errorText)")
    try await run.place.wait(forSize: 1, of: "out/a")
    try await run.place.wait(forSize: 1, of: "out/b")
    run.gate.open()
    if !more.isEmpty {
      try await run.place.wait(forSize: Self.body.count, of: "out/big")
      run.run.send(SIGINT)
    }
    let ended = try await run.run.waitForExit()
    #expect(ended.status == 0, "\(ended.errorText)")
    #expect(ended.errorText.contains("dlm: added 2 files to this run, which has 1 already"), "\(ended.errorText)")
    #expect(try run.place.names(in: "out") == ["a", "b", "big"])
    #expect(run.origin.log.count { $0.path == "/big" } == 1)
    #expect(try run.place.folder.names(in: "home/state/dlm/records") == ["1.json"])
    // The next run of the list has them too.
    let next = try await run.place.dlm("get", "--no-compare")
    #expect(next.errorText.contains("up to date: 3 files"), "\(next.errorText)")
  }

  /// Whether or not the run has `-d`.
  @Test func findsTheRunThatWasStartedHere() async throws {
    let run = try await Run()
    defer { run.origin.stop() }
    let added = try await run.place.dlm("add", run.origin.url("/a"))
    #expect(
      added.status == 0 && added.outputText.hasSuffix("to the run in \(run.place.work)/out\n"), "\(added.errorText)")
    let stalls = OriginAnswer.file(Self.body, FileOptions(ending: .stall(after: 1 << 19, until: run.gate)))
    run.origin.route("/second", stalls)
    let arguments = ["get", run.origin.url("/second"), "-d", "other", "-s", "1"]
    let other = try run.place.start(arguments)
    // It is known after its first second.
    var said = try await run.place.dlm("add", run.origin.url("/b"))
    try await poll("the other run") {
      said = try await run.place.dlm("add", run.origin.url("/b"))
      return said.status != 0
    }
    #expect(said.status == 64 && said.errorText.contains("choose one with -d: "), "\(said.errorText)")
    #expect(try await run.add("b", folder: "other").status == 0)
    run.gate.open()
    for process in [run.run, other] { #expect(try await process.waitForExit().status == 0) }
    #expect(try run.place.names(in: "other") == ["b", "second"])
  }

  @Test(arguments: [["no address"], ["list.txt"], ["http://h/a", "-"], ["http://h/a\nhttp://h/b"]])
  func mistakes(words: [String]) async throws {
    let place = try Workplace()
    let said = try await place.start(["add"] + words).waitForExit()
    #expect(said.status == 64 && said.errorText.contains("is not a URL"), "\(said.errorText)")
  }

  @Test func nothingIsUnderWay() async throws {
    let run = try await Run()
    defer { run.origin.stop() }
    let elsewhere = try await run.add("a", folder: ".")
    #expect(elsewhere.status == 64, "\(elsewhere.outputText)")
    #expect(
      elsewhere.errorText.contains(
        "no download is running in this folder; start one with dlm get URL"))
    let secret = try await run.place.dlm("add", "-d", ".", "http://u:p4ss@h/x?token=s3cret")
    #expect(secret.status == 64 && !secret.errorText.contains("p4ss") && !secret.errorText.contains("s3cret"))
    run.gate.open()
    #expect(try await run.run.waitForExit().status == 0)
    #expect(try await run.add("a").status == 64)
    #expect(try run.place.names(in: "out") == ["big"])
  }

  /// Neither of the two is the worse for a SIGKILL of the other.
  @Test func killed() async throws {
    let run = try await Run()
    defer { run.origin.stop() }
    #expect(try await run.add("a").status == 0)
    run.run.send(SIGSTOP)
    let adding = try run.place.start(["add", "-d", "out", run.origin.url("/b")])
    try await Task.sleep(for: .milliseconds(300))
    run.run.send(SIGKILL)
    let told = try await adding.waitForExit()
    #expect(told.status == 64 && told.outputText.isEmpty, "\(told.outputText)")
    run.gate.open()
    let next = try await run.place.dlm("get", "--no-compare")
    #expect(next.status == 0, "\(next.errorText)")
    #expect(try run.place.names(in: "out") == ["a", "big"])
  }

  @Test func aListForARunByItsNumber() async throws {
    let run = try await Run()
    defer { run.origin.stop() }
    let more = try run.place.list([run.origin.url("/a"), run.origin.url("/b"), run.origin.url("/a")], name: "more.txt")
    var added = try await run.place.dlm("add", "--run", "1", "--list", more)
    for _ in 0..<50 where added.status == 64 { added = try await run.place.dlm("add", "--run", "1", "--list", more) }
    #expect(added.outputText.contains("added 2 files to the run in"), "\(added.errorText)")
    #expect(try await run.place.dlm("add", "--run", "7", run.origin.url("/a")).status == 64)
    let missing = try await run.place.dlm("add", "--list", "nothing.txt")
    #expect(missing.status == 66 && missing.errorText.contains("--list nothing.txt cannot be read"))
    run.gate.open()
    #expect(try await run.run.waitForExit().status == 0)
    #expect(try run.place.names(in: "out") == ["a", "b", "big"])
  }

  /// A run whose name or checksum is its one file's takes others under their own.
  @Test func aNameIsOneFiles() async throws {
    let run = try await Run()
    defer { run.origin.stop() }
    run.gate.open()
    #expect(try await run.run.waitForExit().status == 0)
    let gate = try Gate()
    run.origin.route("/slow", .file(Self.body, FileOptions(ending: .stall(after: 1 << 19, until: gate))))
    let named = try run.place.start(["get", run.origin.url("/slow"), "-o", "disk.iso", "-s", "1"])
    try await run.origin.wait(path: "/slow", bodyBytesSent: 1 << 19)
    #expect(try await run.add("a", folder: ".").status == 0)
    try await run.place.wait(forSize: 1, of: "a")
    gate.open()
    #expect(try await named.waitForExit().status == 0)
    #expect(try run.place.names().contains("disk.iso"))
    #expect(try await run.place.dlm("get", "--no-compare").status == 0)
  }
}
