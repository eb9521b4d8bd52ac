import FlyingSocks
import Foundation
import Testing

@testable import DemoOrigin

// A story: with the library's own pool every request but the first of a connection took 82 ms instead of 42,
// because the body waited for a delayed acknowledgement of the head. Timing that would make a test of luck,
// so the cause is tested: the option on the socket that waits.
@Suite("Sockets send at once")
struct PromptSocketPoolTests {
  private struct IdlePool: AsyncSocketPool {
    func prepare() async throws {}
    func run() async throws {}
    func suspendSocket(_ socket: Socket, untilReadyFor events: Socket.Events) async throws {}
  }

  @Test func aSocketThatWaitsForARequestSendsAtOnce() async throws {
    let socket = try Socket(domain: AF_INET, type: .stream)
    let sendsAtOnce = BoolSocketOption(level: Int32(IPPROTO_TCP), name: TCP_NODELAY)
    let pool = PromptSocketPool(base: IdlePool())

    try await pool.suspendSocket(socket, untilReadyFor: .write)
    let before = try socket.getValue(for: sendsAtOnce)
    try await pool.suspendSocket(socket, untilReadyFor: .read)
    let after = try socket.getValue(for: sendsAtOnce)
    try socket.close()
    #expect(!before && after)
  }
}
