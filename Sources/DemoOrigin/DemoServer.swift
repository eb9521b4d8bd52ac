import CLinux
import Glibc

/// The server of a `DemoOrigin`: one thread that waits for all its sockets, and for the moments in which answers and
/// their pieces are due.
///
/// HTTP/1.1 as far as an origin of files needs it: heads up to 64 KiB, bodies of requests by their length alone,
/// connections that stay open.
final class DemoServer: Sendable {
  /// How answers are made and sent.
  struct Conduct: Sendable {
    let files: [String: DemoFile]
    /// From a request, or from where it gets its worker, to the first byte of its answer.
    let latency: Duration
    let schedule: PacingSchedule
    /// How many requests are answered at a time, in the order in which they came; nil for any number.
    let workers: Int?
  }

  let port: UInt16
  fileprivate let conduct: Conduct
  fileprivate let listener: Int32
  fileprivate let wakeUp: (read: Int32, write: Int32)
  /// Listens on 127.0.0.1.
  /// - Parameter port: 0 for any that is free.
  init(port: UInt16, _ conduct: Conduct) throws(DemoOriginError) {
    self.conduct = conduct
    func failure() -> DemoOriginError { .cannotListen(String(cString: strerror(errno))) }
    var ends: [Int32] = [-1, -1]
    guard pipe(&ends) == 0 else { throw failure() }
    let listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    for descriptor in ends + [listener] { Self.prepare(descriptor) }
    var (address, length) = (sockaddr_in(), socklen_t(MemoryLayout<sockaddr_in>.size))
    address.sin_family = sa_family_t(AF_INET)
    address.sin_port = port.bigEndian
    address.sin_addr.s_addr = INADDR_LOOPBACK.bigEndian
    Self.turnOn(SOL_SOCKET, SO_REUSEADDR, of: listener)
    // Heads and bodies are written apart: else a short body waits for the acknowledgement of its head, which clients
    // hold back for 40 ms. Connections inherit it.
    Self.turnOn(Int32(IPPROTO_TCP), TCP_NODELAY, of: listener)
    let isListening = withUnsafeMutablePointer(to: &address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
        bind(listener, address, length) == 0 && listen(listener, SOMAXCONN) == 0
          && getsockname(listener, address, &length) == 0
      }
    }
    guard isListening else {
      let error = failure()
      for descriptor in ends + [listener] { close(descriptor) }
      throw error
    }
    self.port = UInt16(bigEndian: address.sin_port)
    (self.listener, wakeUp) = (listener, (ends[0], ends[1]))
  }

  /// It never waits, and no program that is started gets it.
  fileprivate static func prepare(_ descriptor: Int32) {
    _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC)
    _ = fcntl(descriptor, F_SETFL, O_NONBLOCK)
  }

  private static func turnOn(_ level: Int32, _ option: Int32, of descriptor: Int32) {
    var on: Int32 = 1
    setsockopt(descriptor, level, option, &on, socklen_t(MemoryLayout<Int32>.size))
  }

  deinit { for descriptor in [listener, wakeUp.read, wakeUp.write] { close(descriptor) } }

  /// Has `run` return, whatever it is doing. From any thread.
  func stop() {
    var byte: UInt8 = 0
    // A full pipe says the same already.
    _ = write(wakeUp.write, &byte, 1)
  }

  /// Serves until `stop`, and then closes every connection.
  func run() {
    var connections = DemoConnections(server: self)
    connections.run()
  }
}

/// The connections of a server. They belong to the one thread that runs them.
private struct DemoConnections {
  let server: DemoServer
  private var connections: [Connection] = []
  /// Requests that wait for a worker, by their connections' numbers.
  private var waiting: [Int] = []
  private var busy = 0
  private var lastNumber = 0

  private typealias Moment = ContinuousClock.Instant

  private struct Connection {
    enum Phase {
      case reading
      /// For a worker.
      case waiting(DemoAnswer)
      case answering(DemoAnswer, at: Moment)
      case sending(DemoAnswer, Progress)
      case closed
    }

    let number: Int
    let descriptor: Int32
    var input: [UInt8] = []
    /// Bytes of a request's body that are still to come, and mean nothing.
    var ignored = 0
    var phase = Phase.reading
  }

  /// How far an answer has been sent.
  private struct Progress {
    /// Made, and not taken by the socket yet.
    var bytes: ArraySlice<UInt8>
    /// Of the body, how many bytes were made.
    var made = 0
    let start: Moment
  }

  private static let longestHead = 64 << 10
  private var conduct: DemoServer.Conduct { server.conduct }

  init(server: DemoServer) { self.server = server }

  mutating func run() {
    defer { for connection in connections { close(connection.descriptor) } }
    while true {
      var polled = [server.wakeUp.read, server.listener].map {
        pollfd(fd: $0, events: Int16(POLLIN), revents: 0)
      }
      polled += connections.map { pollfd(fd: $0.descriptor, events: events(of: $0), revents: 0) }
      guard wait(&polled), polled[0].revents == 0 else { return }
      if polled[1].revents != 0 { accept() }
      for (index, one) in polled.dropFirst(2).enumerated() { serve(index, ready: one.revents) }
      connections.removeAll { connection in
        guard case .closed = connection.phase else { return false }
        close(connection.descriptor)
        return true
      }
    }
  }

  /// - Returns: false if nothing can be waited for.
  private func wait(_ polled: inout [pollfd]) -> Bool {
    var timeout = timespec()
    if let due = connections.compactMap({ due($0) }).min() {
      let (seconds, attoseconds) = max(.zero, due - .now).components
      timeout = timespec(tv_sec: Int(seconds), tv_nsec: Int(attoseconds / 1_000_000_000))
    } else {
      timeout.tv_sec = 3600
    }
    return dlm_poll(&polled, UInt(polled.count), timeout) >= 0 || errno == EINTR
  }

  private func events(of connection: Connection) -> Int16 {
    switch connection.phase {
    case .reading: Int16(POLLIN)
    case .sending(_, let progress) where !progress.bytes.isEmpty: Int16(POLLOUT)
    case .sending, .waiting, .answering, .closed: 0
    }
  }

  /// When a connection goes on by itself.
  private func due(_ connection: Connection) -> Moment? {
    switch connection.phase {
    case .answering(_, let moment): moment
    case .sending(let answer, let progress) where progress.bytes.isEmpty: due(answer, progress)
    case .sending, .reading, .waiting, .closed: nil
    }
  }

  private mutating func accept() {
    while true {
      let descriptor = Glibc.accept(server.listener, nil, nil)
      guard descriptor >= 0 else { return }
      DemoServer.prepare(descriptor)
      lastNumber += 1
      connections.append(Connection(number: lastNumber, descriptor: descriptor))
    }
  }

  // MARK: A connection

  private mutating func serve(_ index: Int, ready: Int16) {
    // The client has gone; while it is read from, reading says so.
    if ready & Int16(POLLERR | POLLHUP | POLLNVAL) != 0, ready & Int16(POLLIN) == 0 { return end(index) }
    if ready & Int16(POLLIN) != 0 { receive(index) }
    if case .answering(let answer, let moment) = connections[index].phase, moment <= .now {
      begin(answer, index)
    }
    if case .sending(let answer, let progress) = connections[index].phase { send(answer, progress, index) }
  }

  private mutating func receive(_ index: Int) {
    var block = [UInt8](repeating: 0, count: 16 << 10)
    let count = read(connections[index].descriptor, &block, block.count)
    if count < 0, errno == EAGAIN || errno == EINTR { return }
    guard count > 0, connections[index].input.count < Self.longestHead else { return end(index) }
    connections[index].input += block[..<count]
    readRequest(index)
  }

  /// Takes the next request, if it is there as a whole.
  private mutating func readRequest(_ index: Int) {
    let ignored = min(connections[index].ignored, connections[index].input.count)
    connections[index].input.removeFirst(ignored)
    connections[index].ignored -= ignored
    guard let end = connections[index].input.firstRange(of: Array("\r\n\r\n".utf8)) else { return }
    let head = connections[index].input[..<end.lowerBound]
    guard let (request, length) = DemoRequest.read(head) else { return self.end(index) }
    connections[index].input.removeSubrange(..<end.upperBound)
    connections[index].ignored = length
    let answer = DemoAnswer(to: request, files: conduct.files, now: Int64(time(nil)))
    if let workers = conduct.workers, busy >= max(1, workers) {
      connections[index].phase = .waiting(answer)
      return waiting.append(connections[index].number)
    }
    take(answer, index)
  }

  private mutating func take(_ answer: DemoAnswer, _ index: Int) {
    busy += 1
    connections[index].phase = .answering(answer, at: .now + conduct.latency)
  }

  private mutating func begin(_ answer: DemoAnswer, _ index: Int) {
    connections[index].phase = .sending(answer, Progress(bytes: answer.head[...], start: .now))
  }

  private func due(_ answer: DemoAnswer, _ progress: Progress) -> Moment? {
    let count = nextCount(answer, progress)
    return conduct.schedule.due(after: progress.made + count).map { progress.start + $0 } ?? progress.start
  }

  private func nextCount(_ answer: DemoAnswer, _ progress: Progress) -> Int {
    min(conduct.schedule.chunkSize, (answer.body?.range.count ?? 0) - progress.made)
  }

  /// Sends what is due, as far as the socket takes it.
  private mutating func send(_ answer: DemoAnswer, _ progress: Progress, _ index: Int) {
    var progress = progress
    while true {
      if progress.bytes.isEmpty {
        let count = nextCount(answer, progress)
        guard count > 0, let body = answer.body else { return finish(answer, index) }
        guard due(answer, progress).map({ $0 <= .now }) ?? true else { break }
        let first = body.range.lowerBound + progress.made
        progress.bytes = body.content.bytes(in: first..<(first + count))[...]
        progress.made += count
      }
      let count = progress.bytes.withUnsafeBytes {
        Glibc.send(connections[index].descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
      }
      if count < 0, errno == EAGAIN || errno == EINTR { break }
      guard count > 0 else { return end(index) }
      progress.bytes = progress.bytes.dropFirst(count)
    }
    connections[index].phase = .sending(answer, progress)
  }

  private mutating func finish(_ answer: DemoAnswer, _ index: Int) {
    free()
    if answer.fields["Connection"] == "close" {
      // What the client has not read yet must reach it, so the end comes before the close.
      shutdown(connections[index].descriptor, Int32(SHUT_WR))
      connections[index].phase = .closed
      return
    }
    connections[index].phase = .reading
    // It may have sent the next request already.
    readRequest(index)
  }

  private mutating func end(_ index: Int) {
    switch connections[index].phase {
    case .answering, .sending: free()
    case .waiting: waiting.removeAll { $0 == connections[index].number }
    case .reading, .closed: break
    }
    connections[index].phase = .closed
  }

  /// A worker is free: the one that waits longest gets it.
  private mutating func free() {
    busy -= 1
    guard !waiting.isEmpty else { return }
    let number = waiting.removeFirst()
    guard let next = connections.firstIndex(where: { $0.number == number }),
      case .waiting(let answer) = connections[next].phase
    else { return }
    take(answer, next)
  }
}

extension DemoRequest {
  /// - Parameter head: without the empty line that ends it.
  /// - Returns: the request and how long its body is; nil for what is no request.
  static func read(_ head: some Collection<UInt8>) -> (DemoRequest, bodyLength: Int)? {
    let lines = String(decoding: head, as: UTF8.self).split(separator: "\r\n")
    guard let first = lines.first?.split(separator: " "), first.count == 3, first[2].hasPrefix("HTTP/1.") else {
      return nil
    }
    var request = DemoRequest(method: String(first[0]), path: String(first[1].prefix { $0 != "?" }))
    var length = 0
    for line in lines.dropFirst() {
      guard let colon = line.firstIndex(of: ":") else { return nil }
      let value = String(line[colon...].dropFirst().drop { $0 == " " || $0 == "\t" })
      switch line[..<colon].lowercased() {
      case "range": request.range = value
      case "if-range": request.ifRange = value
      case "if-none-match": request.ifNoneMatch = value
      case "if-modified-since": request.ifModifiedSince = value
      case "connection":
        request.wantsClose = value.lowercased().split(separator: ",").contains {
          $0.split { $0 == " " || $0 == "\t" } == ["close"]
        }
      case "content-length": length = Int(value) ?? 0
      default: break
      }
    }
    return (request, length)
  }
}

extension DemoAnswer {
  /// The head as it is sent.
  var head: [UInt8] {
    var fields = fields
    if fields["Content-Length"] == nil { fields["Content-Length"] = String(body?.range.count ?? 0) }
    let lines = fields.sorted { $0.key < $1.key }.map { "\($0.key): \($0.value)\r\n" }
    return Array("HTTP/1.1 \(status) \(Self.reason(status))\r\n\(lines.joined())\r\n".utf8)
  }

  private static func reason(_ status: Int) -> String {
    switch status {
    case 200: "OK"
    case 206: "Partial Content"
    case 304: "Not Modified"
    case 404: "Not Found"
    case 405: "Method Not Allowed"
    case 416: "Range Not Satisfiable"
    default: ""
    }
  }
}

/// When the bytes of one body are due on a connection of limited bandwidth.
///
/// Deadlines count from the start of the body, not from the chunk before: a late wake-up makes one chunk late and
/// leaves the rest, and so the whole, on time.
struct PacingSchedule: Sendable, Equatable {
  /// nil: as fast as the socket takes them.
  let bytesPerSecond: Int?
  /// The part of all packets that is lost, from 0 to 1. Each costs its body a round trip, as a fast retransmit does
  /// (RFC 5681 §3.2).
  let loss: Double
  let roundTrip: Duration

  /// - Parameter bytesPerSecond: less than 1 counts as 1.
  init(bytesPerSecond: Int?, loss: Double = 0, roundTrip: Duration = .zero) {
    self.bytesPerSecond = bytesPerSecond.map { max(1, $0) }
    self.loss = min(1, max(0, loss))
    self.roundTrip = roundTrip
  }

  /// Bytes of a packet on Ethernet, with its options (RFC 7323).
  private static let packet = 1448

  /// Bytes sent at a time: a hundredth of a second's worth, fine enough to look like a stream and coarse enough that
  /// many connections cost few wake-ups.
  var chunkSize: Int {
    guard let bytesPerSecond else { return Self.largestChunk }
    return min(max(1, bytesPerSecond / 100), Self.largestChunk)
  }

  /// How long after the body's start the first `count` bytes have gone through; nil if at once.
  func due(after count: Int) -> Duration? {
    // Evenly, and the same for each run: what is compared must not depend on luck.
    let lost = (Double(count) / Double(Self.packet) * loss).rounded(.down)
    let waited = roundTrip * Int(lost)
    guard let bytesPerSecond else { return lost > 0 ? waited : nil }
    return .seconds(Double(count) / Double(bytesPerSecond)) + waited
  }

  private static let largestChunk = 64 << 10
}
