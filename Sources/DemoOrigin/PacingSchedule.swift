/// When the bytes of one body are due on a connection of limited bandwidth.
///
/// Deadlines count from the start of the body, not from the chunk before: a late wake-up makes one chunk late
/// and leaves the rest, and so the whole, on time.
struct PacingSchedule: Sendable, Equatable {
  /// nil: as fast as the socket takes them.
  let bytesPerSecond: Int?

  /// - Parameter bytesPerSecond: less than 1 counts as 1.
  init(bytesPerSecond: Int?) {
    self.bytesPerSecond = bytesPerSecond.map { max(1, $0) }
  }

  /// Bytes sent at a time: a hundredth of a second's worth, fine enough to look like a stream and coarse
  /// enough that many connections cost few wake-ups.
  var chunkSize: Int {
    guard let bytesPerSecond else { return Self.largestChunk }
    return min(max(1, bytesPerSecond / 100), Self.largestChunk)
  }

  /// How long after the body's start the first `count` bytes have gone through; nil if at once.
  func due(after count: Int) -> Duration? {
    bytesPerSecond.map { .seconds(Double(count) / Double($0)) }
  }

  private static let largestChunk = 64 << 10
}
