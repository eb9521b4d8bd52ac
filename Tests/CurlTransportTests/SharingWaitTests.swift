import DownloadModel
import TestSupport
import Testing

@testable import CurlTransport

@Suite("Transfers that wait for a connection to share (HTTP/2)")
struct SharingWaitTests {
  // MARK: The rule

  /// Which of these hosts may begin a transfer.
  private static func allowed(_ rule: inout SharingWait, _ hosts: [String], at now: UInt64) -> [String] {
    hosts.filter { rule.mayBegin($0, at: now) }
  }

  /// Which of these hosts the end of a transfer makes known.
  private static func met(_ rule: inout SharingWait, _ hosts: [String]) -> [String] {
    hosts.filter { rule.meet($0) }
  }

  @Test func theFirstGoesAlone() {
    var rule = SharingWait(longest: .nanoseconds(30))
    #expect(rule.deadline == nil)
    #expect(Self.allowed(&rule, ["a", "a", "a"], at: 100) == ["a"])
    #expect(rule.deadline == 130)
    // Another host has another server.
    #expect(Self.allowed(&rule, ["a", "b", "b"], at: 110) == ["b"])
    #expect(rule.deadline == 130)
    #expect(Self.met(&rule, ["a", "a"]) == ["a"], "once")
    #expect(Self.allowed(&rule, ["a", "b", "a"], at: 120) == ["a", "a"])
    #expect(rule.deadline == 140)
    #expect(Self.met(&rule, ["b"]) == ["b"])
    #expect(rule.deadline == nil)
  }

  @Test(arguments: [(129, []), (130, ["a"]), (139, ["a"]), (140, ["a", "b"])] as [(UInt64, [String])])
  func waitsHaveAnEnd(now: UInt64, ended: [String]) {
    var rule = SharingWait(longest: .nanoseconds(30))
    #expect(Self.allowed(&rule, ["a"], at: 100) == ["a"])
    #expect(Self.allowed(&rule, ["b"], at: 110) == ["b"])
    let overdue = rule.overdue(at: now)
    #expect(overdue.sorted() == ended)
    let again = rule.overdue(at: now)
    #expect(again.isEmpty, "once each")
    #expect(Self.allowed(&rule, ["a", "b"], at: now) == ended)
  }

  /// The segments of a large file begin while its first transfer goes on.
  @Test func nobodyWaitsBehindALongTransfer() {
    var rule = SharingWait(longest: .nanoseconds(30))
    #expect(Self.allowed(&rule, ["a", "a"], at: 100) == ["a"])
    #expect(Self.allowed(&rule, ["a"], at: 129).isEmpty)
    #expect(Self.allowed(&rule, ["a", "a"], at: 130) == ["a", "a"])
    // Those that have waited until then are not forgotten.
    let overdue = rule.overdue(at: 131)
    #expect(overdue == ["a"])
  }

  @Test func whatIsRememberedDoesNotGrow() {
    var rule = SharingWait(longest: .seconds(1))
    let hosts = (0..<(3 * SharingWait.mostHosts)).map { "\($0)" }
    for host in hosts {
      #expect(Self.allowed(&rule, [host], at: 0) == [host])
      #expect(Self.met(&rule, [host]) == [host])
    }
    #expect(rule.deadline == nil)
    // The first ones are forgotten, and new again; the last ones are not.
    #expect(Self.allowed(&rule, [hosts[0], hosts[0]], at: 0) == [hosts[0]])
    #expect(Self.allowed(&rule, Array(hosts.suffix(2)), at: 0) == hosts.suffix(2))
  }

  // MARK: Transfers

  private static let body = SplitMix64.bytes(count: 5000, seed: 3)
  /// The first bytes of the body come with the head: nginx counts that too, so that they would come two minutes later.
  private static let slowly = "location /slow { limit_rate 1; limit_rate_after 1k; }"

  /// - Returns: how many of so many files that are asked for at once come whole.
  private static func fetch(_ count: Int, of server: NginxServer, by transport: CurlTransport) async throws
    -> Int
  {
    let address = try Address(server.tlsURL("/f"))
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

  /// So long that only the end of the first transfer ends the waits.
  private static func waiting(_ server: NginxServer, _ wait: Duration = .seconds(3600))
    -> (inout TransportOptions) -> Void
  {
    return {
      $0.caFile = server.caCertificatePath
      $0.usesHTTP2 = true
      $0.sharingWait = wait
    }
  }

  @Test func oneConnectionForAll() async throws {
    let server = try await NginxServer()
    defer { server.stop() }
    try server.write(Self.body, to: "f")
    try await withTransport(Self.waiting(server)) { transport, _ in
      let whole = try await Self.fetch(32, of: server, by: transport)
      #expect(whole == 32)
    }
    let log = try await server.accessLog(atLeast: 32)
    #expect(Set(log.map(\.connection)).count == 1)
  }

  /// That a server speaks HTTP/1.1 is found out by the first transfer, and holds up none of the others.
  @Test func aServerWithoutHTTP2() async throws {
    let server = try await NginxServer(
      serverLines: [Self.slowly], offersHTTP2: false)
    defer { server.stop() }
    for name in ["f", "slow"] { try server.write(Self.body, to: name) }
    try await withTransport(Self.waiting(server)) { transport, _ in
      let first = try await Self.fetch(1, of: server, by: transport)
      #expect(first == 1)
      // Each has a connection for itself, and does not wait for another's end.
      let slow = try Address(server.tlsURL("/slow"))
      let endless = Task { _ = try await transport.fetch(slow) }
      let whole = try await Self.fetch(31, of: server, by: transport)
      #expect(whole == 31)
      endless.cancel()
    }
  }

  @Test func theFirstTakesTooLong() async throws {
    let server = try await NginxServer(serverLines: [Self.slowly])
    defer { server.stop() }
    for name in ["f", "slow"] { try server.write(Self.body, to: name) }
    let slow = try Address(server.tlsURL("/slow"))
    try await withTransport(Self.waiting(server, .milliseconds(10))) { transport, _ in
      let (begun, tell) = AsyncStream.makeStream(of: Void.self)
      let sink = CollectingSink { _ throws(DownloadError) in
        tell.finish()
        return .write
      }
      let endless = Task { _ = try await transport.fetch(slow, into: sink) }
      for await _ in begun {}
      let whole = try await Self.fetch(8, of: server, by: transport)
      #expect(whole == 8)
      endless.cancel()
    }
  }

  @Test func cancelledOrShutDownWhileItWaits() async throws {
    let server = try await NginxServer(serverLines: [Self.slowly])
    defer { server.stop() }
    for name in ["f", "slow"] { try server.write(Self.body, to: name) }
    let (slow, file) = (try Address(server.tlsURL("/slow")), try Address(server.tlsURL("/f")))
    try await withTransport(Self.waiting(server)) { transport, _ in
      let (begun, tell) = AsyncStream.makeStream(of: Void.self)
      let sink = CollectingSink { _ throws(DownloadError) in
        tell.finish()
        return .write
      }
      let endless = Task { try await transport.fetch(slow, into: sink) }
      for await _ in begun {}
      let waiting = (0..<3).map { _ in Task { try await transport.fetch(file) } }
      waiting[0].cancel()
      let error = await #expect(throws: DownloadError.self) { try await waiting[0].value }
      #expect(error?.code == .cancelled)
      await transport.shutdown()
      for task in waiting[1...] + [endless] {
        let error = await #expect(throws: DownloadError.self) { try await task.value }
        #expect(error?.code == .cancelled)
      }
    }
    let log = try server.accessLog()
    #expect(log.allSatisfy { $0.target == "/slow" }, "none of them was asked for")
  }
}
