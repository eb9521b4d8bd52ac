import Foundation
import Glibc
import TestSupport
import Testing

@Suite("dlm cache status tells what other processes have under way", .serialized)
struct RunningStatusTests {
  private static let body = SplitMix64.bytes(count: 1 << 20, seed: 7)

  /// A run of two files; one stops halfway until the gate opens.
  private static func start(_ origin: FaultyOrigin, _ place: Workplace, _ gate: Gate, _ more: String...)
    async throws -> CommandRun
  {
    origin.route("/small", .file([1, 2, 3]))
    origin.route("/big", .file(body, FileOptions(ending: .stall(after: 1 << 19, until: gate))))
    _ = try place.list([origin.url("/small"), origin.url("/big")])
    let run = try place.start(["get", "urls.txt", "-d", "out", "-s", "1", "--progress", "none"] + more)
    try await origin.wait(path: "/big", bodyBytesSent: 1 << 19)
    return run
  }

  /// Asks again and again until a run is shown, and its first file is done.
  private static func status(_ place: Workplace, _ arguments: String...) async throws -> String {
    var text = ""
    try await poll("a run with its first file done") {
      let status = try await place.start(["cache", "status"] + arguments).waitForExit()
      #expect(status.status == 0, "\(status.errorText)")
      text = status.outputText
      return text.contains("/big") && !text.contains("0 of 2")
    }
    return text
  }

  /// Again each second, until Ctrl-C.
  @Test func watched() async throws {
    let origin = try FaultyOrigin()
    defer { origin.stop() }
    let place = try Workplace()
    let gate = try Gate()
    let run = try await Self.start(origin, place, gate)
    _ = try await Self.status(place)
    let watch = try place.start(["status", "--watch"])
    try await poll("two looks") { watch.outputText.split(separator: "\n").count { $0.hasPrefix("1  running") } > 1 }
    gate.open()
    try await watch.wait(forOutput: "1  done")
    watch.send(SIGINT)
    _ = try await watch.waitForExit()
    #expect(try await run.waitForExit().status == 0)
  }

  @Test func aRunIsToldOfWhileItLasts() async throws {
    let origin = try FaultyOrigin()
    defer { origin.stop() }
    let place = try Workplace()
    let before = try await place.dlm("cache", "status").outputText
    #expect(before.split(separator: "\n").count == 1)
    let gate = try Gate()
    let run = try await Self.start(origin, place, gate)
    let lines = try await Self.status(place).split(separator: "\n")
    #expect(lines.count == 3, "\(lines)")
    let head = "Running: 1  running  urls.txt  1 of 2 files, 50 %, 512 KiB, "
    #expect(lines[1].hasPrefix(head), "\(lines)")
    #expect(lines[1].hasSuffix("/work/out"))
    #expect(lines[2] == "  \(origin.url("/big")): 512 KiB of 1.0 MiB")

    let text = try await Self.status(place, "--json")
    let json = try #require(try JSONSerialization.jsonObject(with: Data(text.utf8)) as? [String: Any])
    #expect(json["folder"] as? String == place.folder.path("home/cache/dlm"))
    #expect(json["entries"] is Int && json["fileBytes"] is Int && json["indexBytes"] is Int)
    let running = try #require(json["running"] as? [[String: Any]])
    #expect(running.count == 1)
    #expect(running[0]["process"] as? Int == Int(run.processID) && running[0]["done"] as? Int == 1)
    let active = try #require(running[0]["active"] as? [[String: Any]])
    #expect(active.count == 1 && active[0]["url"] as? String == origin.url("/big"))
    #expect(active[0]["bytes"] as? Int == 1 << 19 && active[0]["total"] as? Int == 1 << 20)

    gate.open()
    #expect(try await run.waitForExit().status == 0)
    #expect(try await place.dlm("cache", "status").outputText.split(separator: "\n").count == 1)
    #expect(try await place.dlm("cache", "status", "--json").outputText.contains("\"running\":[]"))
  }

  /// `dlm status` and `dlm ls` were unknown commands.
  @Test func aCommandOfItsOwn() async throws {
    let origin = try FaultyOrigin()
    defer { origin.stop() }
    let place = try Workplace()
    #expect(try await place.dlm("status").outputText == "no download is running\n")
    #expect(try await place.dlm("status", "--json").outputText.isEmpty)
    let gate = try Gate()
    let run = try await Self.start(origin, place, gate)
    _ = try await Self.status(place)
    for name in ["status", "ls"] {
      let lines = try await place.dlm(name).outputText.split(separator: "\n")
      #expect(lines.count == 1 && lines[0].hasPrefix("1  running  urls.txt  1 of 2 files, 50 %, "), "\(lines)")
    }
    let text = try await place.dlm("ls", "--json").outputText
    let json = try #require(try JSONSerialization.jsonObject(with: Data(text.utf8)) as? [String: Any])
    #expect(json["list"] as? String == "urls.txt" && json["process"] as? Int == Int(run.processID), "\(text)")
    let fraction = try #require(json["fraction"] as? Double)
    #expect(fraction > 0.4 && fraction < 0.6, "\(text)")
    gate.open()
    #expect(try await run.waitForExit().status == 0)
  }

  /// A text for people loses its secrets and its control characters; in JSON that must not eat a quote.
  @Test func aFolderThatLooksLikeASecretBreaksNoJSON() async throws {
    let origin = try FaultyOrigin()
    defer { origin.stop() }
    let place = try Workplace()
    let gate = try Gate()
    let run = try await Self.start(origin, place, gate, "-d", "a?token=b\"c\u{9B}\\")
    let text = try await Self.status(place, "--json")
    let json = try #require(try JSONSerialization.jsonObject(with: Data(text.utf8)) as? [String: Any])
    let running = try #require(json["running"] as? [[String: Any]])
    #expect((running.first?["directory"] as? String)?.hasSuffix("/work/a?token=…\"c\\") == true, "\(text)")
    gate.open()
    #expect(try await run.waitForExit().status == 0)
  }

  @Test func aKilledRunHasDied() async throws {
    let origin = try FaultyOrigin()
    defer { origin.stop() }
    let place = try Workplace()
    let gate = try Gate()
    let run = try await Self.start(origin, place, gate)
    _ = try await Self.status(place)
    run.send(SIGKILL)
    _ = try await run.waitForExit()
    #expect(try await !place.dlm("cache", "status").outputText.contains("Running"))
    let status = try await place.dlm("status").outputText
    #expect(status == "1  died  urls.txt  dlm resume 1, into \(place.work)/out\n")
    gate.open()
    let resumed = try await place.dlm("resume", "1")
    #expect(resumed.status == 0, "\(resumed.errorText)")
    #expect(try place.file("out/big") == Self.body)
  }

  @Test func anInterruptedRunWasStopped() async throws {
    let origin = try FaultyOrigin()
    defer { origin.stop() }
    let place = try Workplace()
    let gate = try Gate()
    let run = try await Self.start(origin, place, gate)
    _ = try await Self.status(place)
    run.send(SIGINT)
    #expect(try await run.waitForExit().status == 130)
    let status = try await place.dlm("status").outputText
    #expect(status.hasPrefix("1  stopped  urls.txt  1 file, 512 KiB, dlm resume 1, into "), "\(status)")
    #expect(try place.folder.names(in: "home/state/dlm/records") == ["1.json"])
  }

  /// A stopped process does not answer, and the others are shown.
  @Test func aRunThatDoesNotAnswer() async throws {
    let origin = try FaultyOrigin()
    defer { origin.stop() }
    let place = try Workplace()
    let gate = try Gate()
    let run = try await Self.start(origin, place, gate)
    _ = try await Self.status(place)
    run.send(SIGSTOP)
    let status = try await place.dlm("status").outputText
    #expect(status.contains("1  does not answer  urls.txt  process \(run.processID), into "), "\(status)")
    run.send(SIGCONT)
    gate.open()
    #expect(try await run.waitForExit().status == 0)
  }

  @Test func aRunOfAMomentTellsNothing() async throws {
    let origin = try FaultyOrigin()
    defer { origin.stop() }
    let place = try Workplace()
    origin.route("/small", .file([1, 2, 3]))
    #expect(try await place.dlm("get", origin.url("/small")).status == 0)
    #expect((try? place.folder.names(in: "home/state/dlm/records")) ?? [] == [])
  }

  /// A run without the cache once showed itself to nobody, and took no additions.
  @Test func aRunWithoutTheCache() async throws {
    let origin = try FaultyOrigin()
    defer { origin.stop() }
    let place = try Workplace()
    let gate = try Gate()
    let run = try await Self.start(origin, place, gate, "--no-cache")
    #expect(try await Self.status(place).contains("Running: 1  running"))
    gate.open()
    #expect(try await run.waitForExit().status == 0)
  }
}
