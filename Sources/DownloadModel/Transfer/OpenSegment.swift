/// A segment of a file with missing bytes.
package struct OpenSegment: Sendable, Equatable {
  /// The number of the segment at the start of the file, which the download's own target fills.
  package static let first = 0

  package let id: Int
  /// Offset in the file of the next byte to arrive.
  package var position: Int64
  /// Offset behind the last byte.
  package var end: Int64
  package var isTaken: Bool
  /// Offset behind the bytes that the current request must deliver: another transfer can take the bytes behind it. The
  /// first request of a file has no end, so for the first segment this is `position`.
  package var asked: Int64

  package init(id: Int, position: Int64, end: Int64, isTaken: Bool, asked: Int64? = nil) {
    self.id = id
    self.position = position
    self.end = end
    self.isTaken = isTaken
    self.asked = asked ?? position
  }

  package var length: Int64 { end - position }
}
