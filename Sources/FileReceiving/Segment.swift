import DownloadModel

/// Consecutive bytes of a file. One transfer at a time fills them from their start.
struct Segment {
  static let first = OpenSegment.first

  let id: Int
  var start: Int64 = 0
  // Offsets after the last byte that was written to the file, received (it may be in a buffer), and requested.
  var written: Int64 = 0
  var received: Int64 = 0
  var asked: Int64 = 0
  /// Whether a transfer fills the segment.
  var isTaken = false
}
