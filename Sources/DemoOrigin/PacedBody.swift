import FlyingSocks

/// A part of a file as a stream of chunks, made as they are wanted and handed out when they are due.
struct PacedBody: AsyncBufferedSequence {
  typealias Element = UInt8

  let content: DemoContent
  let range: Range<Int>
  let schedule: PacingSchedule

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
