import CLinux
import DownloadModel
import Glibc

/// One thread that waits for all its sockets, and for the times at which answers and their chunks are due. It supports
/// the HTTP/1.1 of an origin of files: heads up to 64 KiB, no request bodies.
final class DemoServer: Sendable {
  struct Conduct {
    let files: [String: DemoFile]
    /// From a request, or from the assignment of a worker, to the first byte of the answer.
    let latency: Duration
    let schedule: PacingSchedule
    /// How many requests are answered at a time, in the order of arrival, at least one; `nil` for no limit.
    let workers: Int?
  }

  let port: UInt16
  fileprivate let conduct: Conduct
  fileprivate let listener: Int32
  fileprivate let wakeUp: (read: Int32, write: Int32)

  /// Listens on 127.0.0.1; port 0 means any free port.
  init(port: UInt16, _ conduct: Conduct) throws(DemoOrigin.Failure) {
    self.conduct = conduct
    func failure() -> DemoOrigin.Failure { .cannotListen(String(cString: strerror(errno))) }
    var ends: [Int32] = [-1, -1]
    guard pipe(&ends) == 0 else { throw failure() }
    let listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
    for descriptor in ends + [listener] { Self.prepare(descriptor) }
    Self.turnOn(SOL_SOCKET, SO_REUSEADDR, of: listener)
    // Otherwise a short body waits for the acknowledgement of its head, which clients delay by 40 ms. Connections
    // inherit it.
    Self.turnOn(Int32(IPPROTO_TCP), TCP_NODELAY, of: listener)
    guard let port = Self.listen(on: listener, port) else {
      let error = failure()
      for descriptor in ends + [listener] { close(descriptor) }
      throw error
    }
    self.port = port
    self.listener = listener
    wakeUp = (ends[0], ends[1])
  }

  /// - Returns: the port; `nil` after a failure, with its cause in errno.
  private static func listen(on listener: Int32, _ port: UInt16) -> UInt16? {
    var address = sockaddr_in()
    var length = socklen_t(MemoryLayout<sockaddr_in>.size)
    address.sin_family = sa_family_t(AF_INET)
    address.sin_port = port.bigEndian
    address.sin_addr.s_addr = INADDR_LOOPBACK.bigEndian
    let isListening = withUnsafeMutablePointer(to: &address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
        bind(listener, address, length) == 0 && Glibc.listen(listener, SOMAXCONN) == 0
          && getsockname(listener, address, &length) == 0
      }
    }
    return isListening ? UInt16(bigEndian: address.sin_port) : nil
  }

  /// Makes it non-blocking, and not inherited by child processes.
  fileprivate static func prepare(_ descriptor: Int32) {
    _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC)
    _ = fcntl(descriptor, F_SETFL, O_NONBLOCK)
  }

  private static func turnOn(_ level: Int32, _ option: Int32, of descriptor: Int32) {
    var on: Int32 = 1
    setsockopt(descriptor, level, option, &on, socklen_t(MemoryLayout<Int32>.size))
  }

  deinit { for descriptor in [listener, wakeUp.read, wakeUp.write] { close(descriptor) } }

  /// Makes `run` return, whatever it is doing. May be called from any thread.
  func stop() {
    var byte: UInt8 = 0
    // A full pipe already wakes the thread.
    _ = write(wakeUp.write, &byte, 1)
  }

  /// Serves until `stop`, and then closes every connection.
  func run() {
    var connections = DemoConnections(server: self)
    connections.run()
  }

  /// When the bytes of one body are due on a connection of limited bandwidth. Deadlines count from the start of the
  /// body, so a late wake-up delays one chunk but not the whole body.
  struct PacingSchedule {
    /// At least 1; `nil`: as fast as the socket accepts them.
    let bytesPerSecond: Int?
    /// The fraction of packets that are lost, 0 to 1; each delays its body by a round trip, like a fast retransmit
    /// (RFC 5681 §3.2).
    var loss = 0.0
    var roundTrip = Duration.zero

    /// Payload bytes of a packet on Ethernet, with its options (RFC 7323).
    private static let packet = 1448
    private static let largestChunk = 64 << 10

    /// Bytes sent at a time: those of a hundredth of a second look like a stream, and need few wake-ups.
    var chunkSize: Int { bytesPerSecond.map { min(max(1, $0 / 100), Self.largestChunk) } ?? Self.largestChunk }

    /// Time from the body's start until the first `count` bytes are sent; `nil` if at once.
    func due(after count: Int) -> Duration? {
      // Evenly, and equal for each run: a comparison must not depend on luck.
      let lost = (Double(count) / Double(Self.packet) * loss).rounded(.down)
      let waited = roundTrip * Int(lost)
      guard let bytesPerSecond else { return lost > 0 ? waited : nil }
      return .seconds(Double(count) / Double(bytesPerSecond)) + waited
    }
  }
}

/// The connections of a server. Confined to the one thread that runs them.
private struct DemoConnections {
  typealias Moment = ContinuousClock.Instant

  final class Connection {
    let descriptor: Int32
    var input: [UInt8] = []
    /// `nil` while a request is read.
    var reply: Reply?
    var isClosed = false

    init(_ descriptor: Int32) { self.descriptor = descriptor }
    deinit { close(descriptor) }
  }

  struct Reply {
    let answer: DemoAnswer
    /// When its first byte is due; `nil` while no worker is free.
    var start: Moment?
    /// Produced, but not yet accepted by the socket.
    var bytes: ArraySlice<UInt8>
    /// Bytes of the body that were produced.
    var made = 0
  }

  private static let longestHead = 64 << 10

  let server: DemoServer
  var connections: [Connection] = []
  /// Connections whose requests wait for a worker, in the order of arrival.
  var waiting: [Connection] = []
  var busy = 0
  private var conduct: DemoServer.Conduct { server.conduct }

  mutating func run() {
    while true {
      let wishes = connections.map { wish($0) }
      var polled = [pollfd(fd: server.wakeUp.read, events: Int16(POLLIN), revents: 0)]
      polled.append(pollfd(fd: server.listener, events: Int16(POLLIN), revents: 0))
      polled += zip(connections, wishes).map { pollfd(fd: $0.descriptor, events: $1.events, revents: 0) }
      guard wait(for: &polled, until: wishes.compactMap(\.due).min()), polled[0].revents == 0 else { return }
      for (connection, one) in zip(connections, polled.dropFirst(2)) { serve(connection, ready: one.revents) }
      connections.removeAll { $0.isClosed }
      if polled[1].revents != 0 { accept() }
    }
  }

  /// - Returns: false if poll fails, other than by a signal.
  private func wait(for polled: inout [pollfd], until moment: Moment?) -> Bool {
    let (seconds, attoseconds) = moment.map { max(.zero, $0 - .now) }?.components ?? (3600, 0)
    return dlm_poll(&polled, UInt(polled.count), Int(seconds), Int(attoseconds / 1_000_000_000)) >= 0 || errno == EINTR
  }

  /// The event for which a connection waits: its socket, a time, or neither while another connection has the worker.
  private func wish(_ connection: Connection) -> (events: Int16, due: Moment?) {
    guard let reply = connection.reply else { return (Int16(POLLIN), nil) }
    guard let due = due(reply) else { return (0, nil) }
    return reply.bytes.isEmpty || due > .now ? (0, due) : (Int16(POLLOUT), nil)
  }

  private mutating func accept() {
    while true {
      let descriptor = Glibc.accept(server.listener, nil, nil)
      guard descriptor >= 0 else { return }
      DemoServer.prepare(descriptor)
      connections.append(Connection(descriptor))
    }
  }

  // MARK: A connection

  private mutating func serve(_ connection: Connection, ready: Int16) {
    // The connection was reset. If it is readable, too, the read reports that.
    if ready & Int16(POLLERR | POLLHUP | POLLNVAL) != 0, ready & Int16(POLLIN) == 0 { return end(connection) }
    if ready & Int16(POLLIN) != 0 { receive(connection) }
    if let due = connection.reply.flatMap(due), due <= .now { send(connection) }
  }

  private mutating func receive(_ connection: Connection) {
    var block = [UInt8](repeating: 0, count: 16 << 10)
    let count = read(connection.descriptor, &block, block.count)
    if count < 0, errno == EAGAIN || errno == EINTR { return }
    guard count > 0, connection.input.count < Self.longestHead else { return end(connection) }
    connection.input += block[..<count]
    readRequest(connection)
  }

  /// Takes the next request if it is complete.
  private mutating func readRequest(_ connection: Connection) {
    guard let end = connection.input.place(of: "\r\n\r\n") else { return }
    guard let request = DemoRequest(head: connection.input[..<end.lowerBound]) else { return self.end(connection) }
    connection.input.removeSubrange(..<end.upperBound)
    let answer = DemoAnswer(to: request, files: conduct.files, now: Int64(time(nil)))
    connection.reply = Reply(answer: answer, bytes: answer.head[...])
    if let workers = conduct.workers, busy >= workers {
      waiting.append(connection)
    } else {
      take(connection)
    }
  }

  private mutating func take(_ connection: Connection) {
    busy += 1
    connection.reply?.start = .now + conduct.latency
  }

  /// When the next bytes may be sent; `nil` while no worker is free.
  private func due(_ reply: Reply) -> Moment? {
    guard reply.bytes.isEmpty else { return reply.start }
    return reply.start.map { $0 + (conduct.schedule.due(after: reply.made + nextCount(reply)) ?? .zero) }
  }

  private func nextCount(_ reply: Reply) -> Int {
    min(conduct.schedule.chunkSize, (reply.answer.body?.range.count ?? 0) - reply.made)
  }

  /// Sends the bytes that are due, as far as the socket accepts them.
  private mutating func send(_ connection: Connection) {
    while var reply = connection.reply {
      if reply.bytes.isEmpty {
        let count = nextCount(reply)
        guard count > 0, let body = reply.answer.body else { return finish(connection) }
        guard let due = due(reply), due <= .now else { return }
        let first = body.range.lowerBound + reply.made
        reply.bytes = body.file.bytes(in: first..<(first + count))[...]
        reply.made += count
        connection.reply = reply
      }
      let count = reply.bytes.withUnsafeBytes {
        Glibc.send(connection.descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
      }
      if count < 0, errno == EAGAIN || errno == EINTR { return }
      guard count > 0 else { return end(connection) }
      connection.reply?.bytes = reply.bytes.dropFirst(count)
    }
  }

  private mutating func finish(_ connection: Connection) {
    let isLast = connection.reply?.answer.fields["Connection"] == "close"
    leaveWorker(connection)
    // Unread bytes must still reach the client, so the stream is shut down before the close.
    if isLast { shutdown(connection.descriptor, Int32(SHUT_WR)) }
    connection.isClosed = isLast
    // The client may have sent the next request already.
    if !isLast { readRequest(connection) }
  }

  private mutating func end(_ connection: Connection) {
    waiting.removeAll { $0 === connection }
    leaveWorker(connection)
    connection.isClosed = true
  }

  /// Frees the connection's worker, if it has one, for the connection that has waited longest.
  private mutating func leaveWorker(_ connection: Connection) {
    defer { connection.reply = nil }
    guard connection.reply?.start != nil else { return }
    busy -= 1
    if !waiting.isEmpty { take(waiting.removeFirst()) }
  }
}
