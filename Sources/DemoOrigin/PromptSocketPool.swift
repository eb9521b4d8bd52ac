import FlyingSocks
import Foundation

/// A pool whose sockets send at once (TCP_NODELAY).
///
/// The library writes head and body apart and offers no socket option. With Nagle's algorithm the body of a
/// short answer then waits for the acknowledgement of its head, which a client on a reused connection holds
/// back for 40 ms: as much again as the whole latency, and nothing that a setting of the origin explains.
/// Every connection waits here for its request, so here the option is set.
struct PromptSocketPool<Base: AsyncSocketPool>: AsyncSocketPool {
  let base: Base

  func prepare() async throws { try await base.prepare() }

  func run() async throws { try await base.run() }

  func suspendSocket(_ socket: Socket, untilReadyFor events: Socket.Events) async throws {
    // The listening socket too, whose option its connections inherit.
    if events.contains(.read) { try socket.setValue(true, for: .sendsAtOnce) }
    try await base.suspendSocket(socket, untilReadyFor: events)
  }
}

extension SocketOption where Self == BoolSocketOption {
  fileprivate static var sendsAtOnce: BoolSocketOption {
    BoolSocketOption(level: Int32(IPPROTO_TCP), name: TCP_NODELAY)
  }
}
