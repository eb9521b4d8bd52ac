import Glibc
import TestSupport
import Testing

@testable import DemoOrigin

// Each wait here would last an hour: a test ends only because `stop()` ends it.
@Suite("An origin starts and stops", .timeLimit(.minutes(hangMinutes)))
struct DemoOriginLifeTests {
  private let file = DemoFile(path: "/slow.bin", size: 3600, seed: 1)

  private func origin(latency: Duration = .zero, rate: Int? = 1) -> DemoOrigin {
    DemoOrigin(files: [file], latency: latency, bytesPerSecondPerConnection: rate)
  }

  @Test func stopEndsABodyUnderWay() async throws {
    let origin = origin()
    try await origin.start()
    let curl = try CurlCommand.start(["--include"] + (await origin.addresses))
    try await curl.wait(forOutput: "\r\n\r\n")
    await origin.stop()
    let status = try await curl.waitForExit().status
    // 18: shorter than announced; 56: reset.
    #expect(status == 18 || status == 56)
  }

  @Test func stopEndsTheLatency() async throws {
    let origin = origin(latency: .seconds(3600))
    try await origin.start()
    let curl = try CurlCommand.start(["--verbose"] + (await origin.addresses))
    try await curl.wait(forErrorOutput: "> GET")
    await origin.stop()
    // 503 if the request was read already, else the connection just ends. No 200 and no 500.
    let text = try await curl.waitForExit().errorText
    #expect(!text.contains("< HTTP/1.1 200") && !text.contains("< HTTP/1.1 500"))
  }

  @Test func stopEndsAnIdleConnection() async throws {
    let origin = origin(rate: nil)
    try await origin.start()
    let addresses = await origin.addresses
    // curl holds the connection after the first answer, while it waits to send the second request.
    let curl = try CurlCommand.start([
      "--verbose", "--rate", "1/m", "--output", "/dev/null", addresses[0], "--output", "/dev/null",
      addresses[0],
    ])
    try await curl.wait(forErrorOutput: "left intact")
    await origin.stop()
    try await expectNoAnswer(addresses)
    curl.send(SIGKILL)
    #expect(try await curl.waitForExit().status != 0)
  }

  /// Refused as a rule. A process that another test started at the wrong moment may hold a copy of the
  /// listening socket for as long as it runs: then the connection comes up, and breaks off when that process
  /// ends.
  private func expectNoAnswer(_ addresses: [String]) async throws {
    let result = try await CurlCommand.result(["--include"] + addresses)
    #expect(result.status != 0)
    #expect(!result.outputText.contains("HTTP/1.1"))
  }

  @Test func nobodyListensAfterStop() async throws {
    let origin = origin()
    try await origin.start()
    let addresses = await origin.addresses
    await origin.stop()
    try await expectNoAnswer(addresses)
    #expect(await origin.addresses.isEmpty)
  }

  @Test func startsAgainAfterStop() async throws {
    let origin = origin(rate: nil)
    for _ in 1...3 {
      let body = try await origin.serving { try await CurlCommand.response($0).body }
      #expect(body == file.bytes(in: 0..<3600))
    }
  }

  @Test func runsOnceAtATime() async throws {
    let origin = origin()
    let port = try await origin.start()
    #expect(try await origin.start() == port)
    #expect(await origin.addresses == ["http://127.0.0.1:\(port)/slow.bin"])
    await origin.stop()
    await origin.stop()
  }

  @Test func stopsWhenTheBodyOfServingThrows() async throws {
    struct Trouble: Error {}
    let origin = origin()
    await #expect(throws: Trouble.self) { try await origin.serving { _ in throw Trouble() } }
    #expect(await origin.addresses.isEmpty)
  }

  @Test func stopDuringStartLeavesNothingRunning() async throws {
    let origin = origin()
    for _ in 1...20 {
      async let starting: Void = {
        // Either it came first or it was stopped on the way: both are right, a server left behind is not.
        _ = try? await origin.start()
      }()
      await origin.stop()
      await starting
      await origin.stop()
      #expect(await origin.addresses.isEmpty)
    }
  }
}
