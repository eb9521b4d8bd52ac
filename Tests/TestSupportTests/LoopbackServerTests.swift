import Foundation
import TestSupport
import Testing

@Suite("Real servers of Debian's, each with a folder of its own")
struct LoopbackServerTests {
  @Test func apacheServesItsFolder() async throws {
    let server = try await LoopbackServer.apache(workers: 2)
    try server.folder.write([1, 2, 3], to: "root/f.bin")
    let result = try await CommandRun.result(of: "curl", ["-sS", server.url("/f.bin")])
    #expect(result.output == [1, 2, 3], "\(result.errorText)")
    server.stop()
    #expect(!server.send(0))
  }

  @Test func haproxyStandsBeforeAnother() async throws {
    let origin = try FaultyOrigin()
    defer { origin.stop() }
    origin.route("/f", .file([4, 5]))
    let server = try await LoopbackServer.haproxy(before: origin.port)
    defer { server.stop() }
    let result = try await CommandRun.result(of: "curl", ["-sS", server.url("/f")])
    #expect(result.output == [4, 5], "\(result.errorText)")
  }
}
