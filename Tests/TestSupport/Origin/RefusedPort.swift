/// A port of 127.0.0.1 that refuses connections for as long as the object lives: it is bound, so that nobody
/// else can get it, but nobody listens.
public final class RefusedPort: Sendable {
  public let port: UInt16
  private let socket: LoopbackSocket

  public init() throws(SupportFailure) { (socket, port) = try LoopbackSocket.bound() }

  deinit { socket.close() }

  public func url(_ path: String) -> String { "http://127.0.0.1:\(port)\(path)" }
}
