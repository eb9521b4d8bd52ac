import Glibc
import TestSupport
import Testing

@Suite("No lane sleeps while a file could begin, and a server that comes back loses none", .serialized)
struct SleepingLaneTests {
  /// Nothing is answered before all have been asked for, so that lanes that sleep wait for ever. The list comes
  /// in two pieces: the second fills the run.
  @Test(arguments: ["async-let", "parallel"], ["1", "2"])
  func allAreAskedForBeforeAnyIsAnswered(mode: String, loops: String) async throws {
    let (origin, gate) = (try FaultyOrigin(), try Gate())
    defer { origin.stop() }
    for number in 0..<60 { origin.route("/\(number)", .late([1], until: gate)) }
    let place = try Workplace(["DLM_LOOPS": loops])
    let run = try place.start(
      ["get", "-", "--jobs", "auto", "--per-host", "64", "--mode", mode, "--no-cache", "-d", "out"], input: .open)
    run.write(Array((origin.url("/0") + "\n").utf8))
    try await origin.wait(forRequests: 1)
    run.write((1..<60).flatMap { Array((origin.url("/\($0)") + "\n").utf8) })
    run.closeInput()
    try await origin.wait(forRequests: 60)
    gate.open()
    let result = try await run.waitForExit()
    #expect(result.status == 0, "\(result.errorText)")
    #expect(try place.names(in: "out").count == 60)
  }

  /// The story: four addresses that answered 500 held `-j 4` for half a minute, and one by one for two, while another
  /// server's files waited. Here they would hold it for ever.
  @Test(arguments: ["sequential", "async-let", "parallel"], ["1", "2"])
  func filesThatWaitForTheirNextAttemptHoldNoPlace(mode: String, loops: String) async throws {
    let (failing, good) = (try FaultyOrigin(), try FaultyOrigin())
    defer { for origin in [failing, good] { origin.stop() } }
    for number in 0..<4 { failing.route("/\(number)", .status(500, headers: ["Retry-After: 500"])) }
    for number in 0..<20 { good.route("/g\(number)", .file([1])) }
    let place = try Workplace(["DLM_LOOPS": loops])
    let list = try place.list((0..<4).map { failing.url("/\($0)") } + (0..<20).map { good.url("/g\($0)") })
    let run = try place.start(["get", list, "-j", "4", "--mode", mode, "-d", "out"])
    for number in 0..<20 { try await place.wait(forSize: 1, of: "out/g\(number)") }
    run.send(SIGINT)
    let result = try await run.waitForExit()
    #expect(result.status == 130)
    #expect(result.errorText.contains("20 of 24 files done"), "\(result.errorText)")
    #expect(failing.log.count == 4, "each was asked for once")
  }

  /// The story: five attempts could be over within a second.
  @Test func aServerThatIsKilledAndComesBack() async throws {
    // Below the ports that the system gives to others meanwhile.
    let port = 20_000 + Int(getpid()) % 10_000
    let place = try Workplace()
    var server = try await DelayedOrigin(port: port, seconds: 0.05, hasThreads: true)
    let list = try place.list((0..<60).map { server.url("/f\($0)") })
    let run = try place.start(["get", list, "-j", "4", "-d", "out"])
    try await place.wait(forSize: 4, of: "out/f3")
    server.stop()
    try await Task.sleep(for: .seconds(3))
    server = try await DelayedOrigin(port: port, seconds: 0.05, hasThreads: true)
    let result = try await run.waitForExit()
    server.stop()
    #expect(result.status == 0, "\(result.errorText)")
    #expect(try place.names(in: "out").count == 60)
  }
}
