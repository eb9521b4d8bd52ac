import Foundation
import Glibc
import Testing

@testable import TestSupport

@Suite("An origin that holds its clients")
struct OriginHoldingTests {
  /// A client without manners: says one thing and keeps the connection.
  private func client(_ origin: FaultyOrigin, get path: String) throws -> LoopbackSocket {
    let socket = try #require(try LoopbackSocket.connected(to: origin.port))
    let request = Array("GET \(path) HTTP/1.1\r\nHost: h\r\n\r\n".utf8)
    #expect(request.withUnsafeBytes { socket.send($0, more: false) } == request.count)
    return socket
  }

  private func read(_ count: Int, from socket: LoopbackSocket) -> [UInt8] {
    var received: [UInt8] = []
    while received.count < count, socket.receive(into: &received) {}
    return received
  }

  @Test func `A stalled body goes on when its gate opens, on the same connection`() async throws {
    let origin = try FaultyOrigin()
    defer { origin.stop() }
    let gate = try Gate()
    let body = SplitMix64.bytes(count: 2000, seed: 3)
    origin.route("/f", .file(body, .init(ending: .stall(after: 700, until: gate))))
    let run = try CommandRun("curl", ["-q", "-sS", "--noproxy", "*", origin.url("/f"), origin.url("/f")])
    try await origin.wait(path: "/f", bodyBytesSent: 700)
    #expect(origin.record.inFlight == 1)
    #expect(origin.record.bodyBytesSent == ["/f": 700])
    gate.open()
    let result = try await run.waitForExit()
    #expect(result.output.firstDifference(from: body + body) == nil)
    #expect(origin.log.map(\.connection) == [1, 1])
  }

  /// Cancelling a transfer is only seen to work if the origin notices a client that goes while it waits.
  @Test func `A client that goes away during a stall is noticed`() async throws {
    let origin = try FaultyOrigin()
    defer { origin.stop() }
    origin.route("/f", .file([1, 2, 3], .init(ending: .stall(after: 1))))
    let socket = try client(origin, get: "/f")
    try await origin.wait(path: "/f", bodyBytesSent: 1)
    #expect(origin.record.connectionsOpen == 1)
    socket.close()
    try await origin.wait(for: "the connection to end") { $0.connectionsOpen == 0 && $0.inFlight == 0 }
  }

  @Test func `Many silent connections are all in flight, and all end at one gate`() async throws {
    let origin = try FaultyOrigin()
    defer { origin.stop() }
    let gate = try Gate()
    origin.route("/silent", .silence(until: gate))
    let sockets = try (0..<300).map { _ in try client(origin, get: "/silent") }
    defer { for socket in sockets { socket.close() } }
    try await origin.wait(for: "300 requests in flight") { $0.inFlight == 300 }
    #expect(origin.record.greatestInFlight == 300)
    gate.open()
    for socket in sockets { #expect(read(1, from: socket).isEmpty) }
    try await origin.wait(for: "all to end") { $0.connectionsOpen == 0 }
    #expect(origin.record.connectionsOpened == 300)
  }

  /// A bound must never look broken: what comes after `settle` may be seen by the client before it is done.
  @Test func `A settled answer no longer counts as in flight, though it is not done`() async throws {
    let origin = try FaultyOrigin()
    defer { origin.stop() }
    let socket = try #require(try LoopbackSocket.connected(to: origin.port))
    defer { socket.close() }
    let core = OriginCore()
    let gate = try Gate()
    let request = OriginRequest(method: "GET", target: "/")
    var plan = OriginPlan(.close, to: request, date: "")
    plan.steps = [.settle, .stall(gate), .close]
    _ = core.begin(request, on: 1)
    #expect(core.record.inFlight == 1)
    Thread.detachNewThread { [plan] in
      _ = OriginConnection(core: core, socket: socket, number: 1).carryOut(plan, of: request)
      core.sent(1, of: request)
    }
    try await core.wait(for: "the answer to settle") { $0.inFlight == 0 }
    #expect(core.record.bodyBytesSent.isEmpty)
    gate.open()
    try await core.wait(for: "the end") { $0.bodyBytesSent["/"] == 1 }
    #expect(core.record.inFlight == 0)
    #expect(core.record.greatestInFlight == 1)
  }

  /// One client, one request at a time, each on a connection and so a thread of its own.
  @Test(arguments: [FileOptions.Framing.contentLength, .chunked(size: 1000), .closeDelimited])
  func `Counts are right as soon as the client has its answer`(_ framing: FileOptions.Framing) async throws {
    let origin = try FaultyOrigin()
    defer { origin.stop() }
    let body = SplitMix64.bytes(count: 3000, seed: 4)
    origin.route("/f", .file(body, .init(framing: framing)))
    let end = framing == .chunked(size: 1000) ? Array("\r\n0\r\n\r\n".utf8) : Array(body.suffix(9))
    for _ in 0..<200 {
      let socket = try client(origin, get: "/f")
      var received: [UInt8] = []
      while framing == .closeDelimited || received.firstRange(of: end) == nil,
        socket.receive(into: &received)
      {}
      socket.close()
    }
    #expect(origin.record.greatestInFlight == 1)
    #expect(origin.record.connectionsOpened == 200)
    #expect(origin.record.bodyBytesSent["/f"] == 600_000)
  }

  @Test func `Stopping ends stalled, silent, idle, flooded and unread connections, twice`() async throws {
    let origin = try FaultyOrigin()
    let large = [UInt8](repeating: 1, count: 50_000_000)
    origin.route("/stall", .file([1, 2], .init(ending: .stall(after: 1))))
    origin.route("/silent", .silence())
    origin.route("/flood", .headerFlood)
    origin.route("/large", .file(large), .file(large, .init(ending: .reset(after: 40_000_000))))
    let paths = ["/stall", "/silent", "/idle", "/flood", "/large", "/large"]
    let sockets = try paths.map { try client(origin, get: $0) }
    defer { for socket in sockets { socket.close() } }
    try await origin.wait(forRequests: paths.count)
    origin.stop()
    #expect(origin.record.connectionsOpen == 0)
    #expect(try LoopbackSocket.connected(to: origin.port) == nil)
    origin.stop()
  }

  @Test func `An origin that is let go stops itself`() async throws {
    var port: UInt16 = 0
    do {
      let origin = try FaultyOrigin()
      port = origin.port
      let socket = try client(origin, get: "/")
      #expect(!read(1, from: socket).isEmpty)
      socket.close()
    }
    #expect(try LoopbackSocket.connected(to: port) == nil)
  }

  /// The client reads slowly, so most of the body is still in the origin's send queue when the reset is due.
  @Test func `A reset comes after exactly the bytes that were promised`() async throws {
    let origin = try FaultyOrigin()
    defer { origin.stop() }
    let body = SplitMix64.bytes(count: 9_000_000, seed: 5)
    origin.route("/f", .file(body, .init(date: .absent, ending: .reset(after: 8_000_000))))
    let socket = try client(origin, get: "/f")
    defer { socket.close() }
    let received = read(.max, from: socket)
    #expect(errno == ECONNRESET)
    let head = try #require(received.firstRange(of: Array("\r\n\r\n".utf8)))
    #expect(received[head.upperBound...].firstDifference(from: body[..<8_000_000]) == nil)
  }
}
