import Glibc

/// A TCP socket on 127.0.0.1. A descriptor with a vocabulary: whoever made it closes it.
struct LoopbackSocket: Sendable {
  let descriptor: Int32

  // In <poll.h> behind _GNU_SOURCE, which Swift's Glibc module does not define; Linux's number on every
  // machine.
  private static let peerClosed = Int16(0x2000)

  /// - Parameters:
  ///   - port: 0 lets the system choose.
  ///   - number: the last of the address.
  static func bound(to port: UInt16 = 0, at number: UInt32 = 1) throws(SupportFailure) -> (
    socket: LoopbackSocket, port: UInt16
  ) {
    let socket = try unconnected()
    do throws(SupportFailure) {
      var address = loopback(port, number)
      var size = socklen_t(MemoryLayout<sockaddr_in>.size)
      let failed = withUnsafeMutablePointer(to: &address) {
        $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
          bind(socket.descriptor, $0, size) != 0 || getsockname(socket.descriptor, $0, &size) != 0
        }
      }
      if failed { throw .systemCall("bind to 127.0.0.1", errno: errno) }
      return (socket, UInt16(bigEndian: address.sin_port))
    } catch {
      socket.close()
      throw error
    }
  }

  /// A client's socket; nil when nobody accepts on that port.
  static func connected(to port: UInt16) throws(SupportFailure) -> LoopbackSocket? {
    let socket = try unconnected()
    var address = loopback(port)
    let outcome = withUnsafePointer(to: &address) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        connect(socket.descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
      }
    }
    if outcome == 0 { return socket }
    socket.close()
    return nil
  }

  /// - Returns: as many different ports, free a moment ago.
  static func freePorts(_ count: Int) throws(SupportFailure) -> [UInt16] {
    // All are bound at the same time, so they differ.
    var bound: [(socket: LoopbackSocket, port: UInt16)] = []
    defer { for entry in bound { entry.socket.close() } }
    for _ in 0..<count { bound.append(try LoopbackSocket.bound()) }
    return bound.map(\.port)
  }

  private static func unconnected() throws(SupportFailure) -> LoopbackSocket {
    let kind = Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue)
    let descriptor = socket(AF_INET, kind, 0)
    guard descriptor >= 0 else { throw .systemCall("socket", errno: errno) }
    return LoopbackSocket(descriptor: descriptor)
  }

  private static func loopback(_ port: UInt16, _ number: UInt32 = 1) -> sockaddr_in {
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_port = port.bigEndian
    address.sin_addr.s_addr = (0x7F00_0000 + number).bigEndian
    return address
  }

  /// The listener does not block: `accept` waits beside it, for a connection or the end.
  /// - Parameter backlog: how many connections may wait to be accepted, besides one.
  func listen(backlog: Int32 = SOMAXCONN) throws(SupportFailure) {
    guard Glibc.listen(descriptor, backlog) == 0, fcntl(descriptor, F_SETFL, O_NONBLOCK) == 0 else {
      throw .systemCall("listen", errno: errno)
    }
  }

  /// The next connection. Blocks.
  /// - Returns: nil when the listener was shut down.
  func accept() -> LoopbackSocket? {
    while true {
      let accepted = Glibc.accept(descriptor, nil, nil)
      if accepted >= 0 {
        var on: Int32 = 1
        setsockopt(accepted, Int32(IPPROTO_TCP), TCP_NODELAY, &on, socklen_t(MemoryLayout<Int32>.size))
        return LoopbackSocket(descriptor: accepted)
      }
      switch errno {
      case EAGAIN: if wait(for: Int16(POLLIN)) == .hungUp { return nil }
      // Descriptors are free again when other connections have ended.
      case EMFILE, ENFILE: poll(nil, 0, 10)
      case EINTR, ECONNABORTED: continue
      default: return nil
      }
    }
  }

  /// Sends all of it. Blocks; never raises SIGPIPE.
  /// - Parameter more: something follows at once, so the kernel may put both into one segment.
  /// - Returns: how many bytes the kernel took; fewer than given when the client has gone.
  func send(_ bytes: UnsafeRawBufferPointer, more: Bool) -> Int {
    let flags = Int32(MSG_NOSIGNAL) | (more ? Int32(MSG_MORE) : 0)
    var sent = 0
    while sent < bytes.count {
      let count = Glibc.send(descriptor, bytes.baseAddress?.advanced(by: sent), bytes.count - sent, flags)
      if count > 0 {
        sent += count
      } else if errno != EINTR {
        break
      }
    }
    return sent
  }

  /// Appends what has arrived. Blocks.
  /// - Returns: false at the end of the stream or on an error.
  func receive(into buffer: inout [UInt8]) -> Bool {
    var piece = [UInt8](repeating: 0, count: 16_384)
    while true {
      let count = recv(descriptor, &piece, piece.count, 0)
      if count > 0 {
        buffer += piece[..<count]
        return true
      }
      if count == 0 || errno != EINTR { return false }
    }
  }

  enum Wake { case ready, hungUp, timedOut }

  /// Blocks until the peer closes, `gate` is open, or the time is over.
  func waitForHangUp(or gate: Gate? = nil, for limit: Duration? = nil) -> Wake {
    wait(for: Self.peerClosed, or: gate, limit)
  }

  private func wait(for events: Int16, or gate: Gate? = nil, _ limit: Duration? = nil) -> Wake {
    var watched = [pollfd(fd: descriptor, events: events, revents: 0)]
    if let gate { watched.append(pollfd(fd: gate.readEnd, events: Int16(POLLIN), revents: 0)) }
    let milliseconds = limit.map { Int32(max(1, $0.inSeconds * 1000)) } ?? -1
    while true {
      let count = poll(&watched, nfds_t(watched.count), milliseconds)
      if count < 0, errno == EINTR { continue }
      if count == 0 { return .timedOut }
      let over = Int16(POLLHUP) | Int16(POLLERR) | Int16(POLLNVAL) | Self.peerClosed
      return count < 0 || watched[0].revents & over != 0 ? .hungUp : .ready
    }
  }

  /// Wakes every thread that is blocked in this socket, without freeing its number.
  func shutDown() { Glibc.shutdown(descriptor, Int32(SHUT_RDWR)) }

  func close() { Glibc.close(descriptor) }

  /// Blocks until the peer's side has acknowledged everything that was sent, or has gone.
  func awaitAcknowledgement() {
    var queued: Int32 = 0
    // The kernel has no event for an empty send queue.
    while ioctl(descriptor, UInt(TIOCOUTQ), &queued) == 0, queued > 0,
      waitForHangUp(for: .milliseconds(1)) == .timedOut
    {}
  }

  /// Closes with RST instead of FIN. What is still in the send queue is thrown away.
  func reset() {
    var abort = linger(l_onoff: 1, l_linger: 0)
    setsockopt(descriptor, SOL_SOCKET, SO_LINGER, &abort, socklen_t(MemoryLayout<linger>.size))
    close()
  }
}

/// A port of 127.0.0.1 that refuses connections for as long as the object lives: it is bound, so that nobody
/// else can get it, but nobody listens.
package final class RefusedPort: Sendable {
  package let port: UInt16
  private let socket: LoopbackSocket

  package init() throws(SupportFailure) { (socket, port) = try LoopbackSocket.bound() }

  deinit { socket.close() }

  package func url(_ path: String) -> String { "http://127.0.0.1:\(port)\(path)" }
}
