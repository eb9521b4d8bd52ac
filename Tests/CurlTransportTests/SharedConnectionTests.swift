import DownloadModel
import TestSupport
import Testing

@testable import CurlTransport

@Suite("Transfers that wait for a connection to share (HTTP/2)")
struct SharedConnectionTests {
  private static let body = SplitMix64.bytes(count: 5000, seed: 3)
  /// The first bytes of the body come with the head: nginx counts that too, so that they would come two minutes later.
  private static let slowly = "location /slow { limit_rate 1; limit_rate_after 1k; }"

  /// - Returns: how many of so many downloads at once are complete.
  private static func fetch(_ count: Int, of url: String, by transport: CurlTransport) async throws -> Int {
    let address = try Address(url)
    return await withTaskGroup(of: Bool.self) { group in
      for _ in 0..<count {
        group.addTask {
          let fetched = try? await transport.fetch(address)
          return fetched?.1.bytes == body
        }
      }
      return await group.reduce(0) { $0 + ($1 ? 1 : 0) }
    }
  }

  private static func sharing(_ server: NginxServer) -> (inout TransportOptions) -> Void {
    return {
      $0.trust.caFile = server.caCertificatePath
      $0.usesHTTP2 = true
    }
  }

  @Test func oneConnectionForAll() async throws {
    let server = try await NginxServer()
    defer { server.stop() }
    try server.write(Self.body, to: "f")
    try await withTransport(Self.sharing(server)) { transport, _ in
      let complete = try await Self.fetch(32, of: server.tlsURL("/f"), by: transport)
      #expect(complete == 32)
    }
    let log = try await server.accessLog(atLeast: 32)
    #expect(Set(log.map(\.connection)).count == 1)
  }

  /// Where nothing can be shared, each transfer has a connection for itself, and does not wait for another's end.
  @Test(arguments: [true, false]) func aServerWithoutHTTP2(isTLS: Bool) async throws {
    let server = try await NginxServer(serverLines: [Self.slowly], offersHTTP2: false)
    defer { server.stop() }
    for name in ["f", "slow"] { try server.write(Self.body, to: name) }
    let slow = try Address(isTLS ? server.tlsURL("/slow") : server.url("/slow"))
    try await withTransport(Self.sharing(server)) { transport, _ in
      let endless = Task { _ = try await transport.fetch(slow) }
      let complete = try await Self.fetch(31, of: isTLS ? server.tlsURL("/f") : server.url("/f"), by: transport)
      #expect(complete == 31)
      endless.cancel()
    }
  }

  @Test func aLongTransferHoldsUpNoOther() async throws {
    let server = try await NginxServer(serverLines: [Self.slowly])
    defer { server.stop() }
    for name in ["f", "slow"] { try server.write(Self.body, to: name) }
    let slow = try Address(server.tlsURL("/slow"))
    try await withTransport(Self.sharing(server)) { transport, _ in
      let (begun, tell) = AsyncStream.makeStream(of: Void.self)
      let sink = CollectingSink { _ throws(DownloadError) in
        tell.finish()
        return .write
      }
      let endless = Task { _ = try await transport.fetch(slow, into: sink) }
      for await _ in begun {}
      let complete = try await Self.fetch(8, of: server.tlsURL("/f"), by: transport)
      #expect(complete == 8)
      endless.cancel()
    }
  }

  /// No connection comes up.
  @Test func cancelledOrShutDownWhileItWaits() async throws {
    let server = try FullPort()
    let address = try Address("https://127.0.0.1:\(server.port)/f")
    try await withTransport({ $0.usesHTTP2 = true }) { transport, _ in
      let waiting = (0..<4).map { _ in Task { try await transport.fetch(address) } }
      waiting[2].cancel()
      let error = await #expect(throws: DownloadError.self) { try await waiting[2].value }
      #expect(error?.code == .cancelled)
      await transport.shutdown()
      for task in waiting {
        let error = await #expect(throws: DownloadError.self) { try await task.value }
        #expect(error?.code == .cancelled)
      }
    }
  }
}
