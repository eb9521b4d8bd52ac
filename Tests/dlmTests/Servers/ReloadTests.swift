import Foundation
import Glibc
import TestSupport
import Testing

@Suite("A server that is reloaded or restarted in the middle of a run")
struct ReloadTests {
  private static let body = SplitMix64.bytes(count: 40_000, seed: 9)
  private static let count = 300

  /// Apache lets its processes end what they are at (SIGUSR1), or ends them at once (SIGHUP), and takes its
  /// configuration anew. Either way each file arrives whole, and a graceful one fails nobody.
  @Test(arguments: [
    (SIGUSR1, "parallel"), (SIGUSR1, "async-let"), (SIGUSR1, "sequential"), (SIGHUP, "parallel"),
  ])
  func apache(signal: Int32, mode: String) async throws {
    let server = try await LoopbackServer.apache(
      workers: 16, modules: ["env", "ratelimit"],
      lines: ["<Location />", "SetOutputFilter RATE_LIMIT", "SetEnv rate-limit 400", "</Location>"])
    defer { server.stop() }
    for index in 0..<Self.count { try server.serve(Self.body, as: "f\(index).bin") }
    let place = try Workplace()
    _ = try place.list((0..<Self.count).map { server.url("/f\($0).bin") })
    let run = try place.start(["get", "urls.txt", "-d", "out", "-m", mode])
    for reload in 1...3 {
      while !run.hasEnded, (try? place.names(in: "out").count) ?? 0 < reload * 20 {
        try await Task.sleep(for: .milliseconds(10))
      }
      server.send(signal)
    }
    let result = try await run.waitForExit()
    #expect(result.status == 0, "\(result.errorText.suffix(3000))")
    for index in 0..<Self.count { #expect(try place.file("out/f\(index).bin") == Self.body) }
    #expect(try place.names(in: "out").count == Self.count)
  }
}
