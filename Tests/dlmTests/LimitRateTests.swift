import TestSupport
import Testing

@Suite("--limit-rate: everything together, no faster")
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

  @Test(arguments: ["0", "-5", "fast", "5X", ""])
  func noRates(text: String) async throws {
    let place = try Workplace()
    let result = try await place.dlm("get", "--limit-rate", text, "http://127.0.0.1:9/x")
    #expect(result.status == 64)
  }
}
