import FlyingFox
import FlyingSocks
import Glibc

/// Between the server library and the rule that decides: waits the latency, translates, paces the body.
struct DemoResponder: HTTPHandler {
  let files: [String: DemoFile]
  let latency: Duration
  let schedule: PacingSchedule
  /// Nil where any number of requests is answered at a time.
  let workers: WorkerPool?

  func handleRequest(_ request: HTTPRequest) async throws -> HTTPResponse {
    let worker = await workers?.take()
    do {
      if latency > .zero { try await Task.sleep(for: latency, tolerance: .zero) }
      try Task.checkCancellation()
    } catch {
      // Cancelled: the origin stops. The library would answer an error with 500, which is no truth.
      let headers: HTTPHeaders = [.connection: "close"]
      return HTTPResponse(statusCode: .serviceUnavailable, headers: headers)
    }
    let now = Int64(time(nil))
    return response(DemoAnswer(to: DemoRequest(request), files: files, now: now), worker)
  }

  /// - Parameter worker: is busy until the body has been sent.
  private func response(_ answer: DemoAnswer, _ worker: WorkerPool.Worker?) -> HTTPResponse {
    var headers = HTTPHeaders()
    for (name, value) in answer.fields { headers[HTTPHeader(name)] = value }
    // With a count the library sends Content-Length; without one it would send chunks.
    let body = answer.body.map { body in
      HTTPBodySequence(
        from: PacedBody(content: body.content, range: body.range, schedule: schedule, worker: worker),
        count: body.range.count, suggestedBufferSize: schedule.chunkSize)
    }
    return HTTPResponse(
      statusCode: Self.statusCode(answer.status), headers: headers, body: body ?? HTTPBodySequence())
  }

  private static func statusCode(_ status: Int) -> HTTPStatusCode {
    switch status {
    case 200: .ok
    case 206: .partialContent
    case 304: .notModified
    case 404: .notFound
    case 405: .methodNotAllowed
    case 416: .rangeNotSatisfiable
    default: HTTPStatusCode(status, phrase: "")
    }
  }
}

extension DemoRequest {
  init(_ request: HTTPRequest) {
    let connection = request.headers[.connection]?.lowercased() ?? ""
    self.init(
      method: request.method.rawValue, path: request.path, range: request.headers[.range],
      ifRange: request.headers[HTTPHeader("If-Range")], ifNoneMatch: request.headers[.ifNoneMatch],
      ifModifiedSince: request.headers[.ifModifiedSince],
      wantsClose: connection.split(separator: ",").contains {
        $0.split { $0 == " " || $0 == "\t" } == ["close"]
      })
  }
}

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

/// A part of a file as a stream of chunks, made as they are wanted and handed out when they are due.
struct PacedBody: AsyncBufferedSequence {
  typealias Element = UInt8

  let content: DemoContent
  let range: Range<Int>
  let schedule: PacingSchedule
  var worker: WorkerPool.Worker?

  func makeAsyncIterator() -> Iterator { Iterator(body: self) }

  struct Iterator: AsyncBufferedIteratorProtocol {
    private let body: PacedBody
    private var sent = 0
    private var start: ContinuousClock.Instant?

    init(body: PacedBody) { self.body = body }

    mutating func next() async throws -> UInt8? { try await nextBuffer(suggested: 1)?.first }

    mutating func nextBuffer(suggested count: Int) async throws -> [UInt8]? {
      let length = Swift.min(count, body.range.count - sent)
      guard length > 0 else { return nil }
      let start = start ?? ContinuousClock.now
      self.start = start
      if let due = body.schedule.due(after: sent + length) {
        try await Task.sleep(until: start + due, tolerance: .zero, clock: .continuous)
      }
      let first = body.range.lowerBound + sent
      sent += length
      return body.content.bytes(in: first..<(first + length))
    }
  }
}

/// When the bytes of one body are due on a connection of limited bandwidth.
///
/// Deadlines count from the start of the body, not from the chunk before: a late wake-up makes one chunk late
/// and leaves the rest, and so the whole, on time.
struct PacingSchedule: Sendable, Equatable {
  /// nil: as fast as the socket takes them.
  let bytesPerSecond: Int?
  /// The part of all packets that is lost, from 0 to 1. Each costs its body a round trip, as a fast
  /// retransmit does (RFC 5681 §3.2).
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

  /// Bytes sent at a time: a hundredth of a second's worth, fine enough to look like a stream and coarse
  /// enough that many connections cost few wake-ups.
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
