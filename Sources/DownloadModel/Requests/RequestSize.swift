/// How much of a segment one request asks for. While much is missing it is never all, so that a free transfer can take
/// bytes that no other has requested, and no connection is closed with bytes in flight.
package struct RequestSize: Sendable, Equatable {
  /// The segment's missing bytes are divided by this: 2 for a half, 4 for a quarter.
  package var divisor: Int64
  /// In bytes. If less than twice as many are missing, one request asks for all of them.
  package var least: Int64

  package static let smallest: Int64 = 1 << 20

  package init(divisor: Int64, least: Int64) {
    self.divisor = max(1, divisor)
    self.least = max(Self.smallest, least)
  }

  /// Offset behind the last byte to request.
  package func end(from position: Int64, to end: Int64) -> Int64 {
    let size = max(least, (end - position) / divisor)
    return end - position - size < least ? end : position + size
  }
}
