/// A port of 127.0.0.1 at which nobody accepts and as many wait as may: whoever else connects to it gets no
/// answer, neither yes nor no.
package struct FullPort: ~Copyable {
  private let listener: LoopbackSocket
  private let waiting: LoopbackSocket
  package let port: UInt16

  package init() throws {
    let (listener, port) = try LoopbackSocket.bound()
    do {
      try listener.listen(backlog: 0)
      guard let waiting = try LoopbackSocket.connected(to: port) else {
        throw SupportFailure.systemCall("connect to 127.0.0.1", errno: 0)
      }
      (self.listener, self.waiting, self.port) = (listener, waiting, port)
    } catch {
      listener.close()
      throw error
    }
  }

  deinit {
    waiting.close()
    listener.close()
  }
}
