import TestSupport
import Testing

@Suite("Limits: everything together, a host, a file, requests in a time")
struct LimitRateTests {
  /// Half a megabyte, at a megabyte a second, over two loops; large and small.
  @Test func bothLoopsShareTheLimit() async throws {
    let origin = try FaultyOrigin()
    defer { origin.stop() }
    var bodies: [String: [UInt8]] = ["large": SplitMix64.bytes(count: 300_000, seed: 1)]
    for index in 0..<20 { bodies["s\(index)"] = SplitMix64.bytes(count: 15_000, seed: UInt64(index + 2)) }
    for (name, body) in bodies { origin.route("/\(name)", .file(body)) }
    let place = try Workplace(["DLM_LOOPS": "2"])
    let clock = ContinuousClock()
    let start = clock.now
    let result = try await place.start(
      ["get", "--limit-rate", "1M", "--no-cache"] + bodies.keys.sorted().map { origin.url("/\($0)") }
    ).waitForExit()
    #expect(result.status == 0, "\(result.errorText)")
    // No upper bound: machines are slow. The last quarter of a second's worth is not waited for.
    #expect(start.duration(to: clock.now) > .milliseconds(200))
    for (name, body) in bodies { #expect(try place.file(name) == body) }
  }

  private static let second = SplitMix64.bytes(count: 500_000, seed: 9)

  /// As an option, in the environment, and in a section of a settings file. No upper bounds: machines are slow.
  @Test(arguments: ["option", "file", "hours", "environment", "section"])
  func aSecondOfBytes(form: String) async throws {
    let origin = try FaultyOrigin()
    defer { origin.stop() }
    origin.route("/f", .file(Self.second))
    let place = try Workplace(form == "environment" ? ["DLM_LIMIT_RATE": "none\n127.0.0.1=500K"] : [:])
    if form == "section" {
      let lines = "jobs = 4\n[elsewhere.example]\nlimit-rate = 1K\n[127.0.0.1]\nlimit-rate = 500K\n"
      try place.folder.write(Array(lines.utf8), to: "home/config/dlm/dlm.conf")
    }
    let options = [
      "option": ["--limit-rate", "127.0.0.1=500K", "--limit-rate", "9G"],
      "file": ["--limit-rate-file", "500K", "-s", "8"],
      "hours": ["--limit-rate", "500K@00:00-24:00", "--limit-rate", "9G"],
    ]
    let start = ContinuousClock.now
    let run = try await place.dlm(["get", origin.url("/f")] + options[form, default: []])
    #expect(run.status == 0, "\(run.errorText)")
    #expect(start.duration(to: .now) > .milliseconds(800) && origin.log.count == 1)
    #expect(try place.file("f") == Self.second)
  }

  @Test func twoProcessesShareTheLimitOfAHost() async throws {
    let origin = try FaultyOrigin()
    defer { origin.stop() }
    for name in ["a", "b"] { origin.route("/\(name)", .file(Self.second)) }
    let place = try Workplace(["DLM_LIMIT_RATE": "127.0.0.1=500K"])
    let start = ContinuousClock.now
    let runs = try ["a", "b"].map { try place.start(["get", origin.url("/\($0)"), "-d", $0]) }
    for run in runs { #expect(try await run.waitForExit().status == 0) }
    #expect(start.duration(to: .now) > .milliseconds(1700))
  }

  /// Small files at full speed, but no more than four a second; two processes are one client.
  @Test(arguments: [1, 2]) func requestsInATime(processes: Int) async throws {
    let origin = try FaultyOrigin()
    defer { origin.stop() }
    for number in 0..<6 { origin.route("/\(number)", .file([UInt8(number)])) }
    let place = try Workplace(["DLM_RATE": "4/s"])
    let start = ContinuousClock.now
    let runs = try (0..<processes).map { process in
      let names = (0..<6).filter { $0 % processes == process }
      return try place.start(["get", "-d", "\(process)"] + names.map { origin.url("/\($0)") })
    }
    for run in runs { #expect(try await run.waitForExit().status == 0) }
    #expect(start.duration(to: .now) > .milliseconds(1200) && origin.log.count == 6)
  }

  /// At this rate it would take 17 minutes.
  @Test func aRunUnderWayIsGivenAnotherLimit() async throws {
    let origin = try FaultyOrigin()
    defer { origin.stop() }
    origin.route("/f", .file(SplitMix64.bytes(count: 1 << 20, seed: 9)))
    let place = try Workplace()
    let run = try place.start(["get", origin.url("/f"), "--limit-rate", "1K"])
    try await origin.wait(forRequests: 1)
    let wrong = try await place.dlm("add", "--limit-rate", "5M@09:00-17:00")
    #expect(wrong.status == 64 && wrong.errorText.contains("without hours"), "\(wrong.errorText)")
    #expect(try await place.dlm("add").status == 64)
    let said = try await place.dlm("add", "--limit-rate", "none")
    #expect(said.status == 0 && said.outputText.hasSuffix("is limited to none\n"), "\(said.errorText)")
    #expect(try await run.waitForExit().status == 0)
  }

  @Test(arguments: ["0", "-5", "fast", "5X", ""])
  func noRates(text: String) async throws {
    let place = try Workplace()
    let result = try await place.dlm("get", "--limit-rate", text, "http://127.0.0.1:9/x")
    #expect(result.status == 64)
  }
}
