import DownloadModel

/// Consecutive bytes of a file that one transfer at a time fills, from their start on.
struct Segment: Equatable {
  static let first = OpenSegment.first

  let id: Int
  let start: Int64
  // Offsets behind the last byte that reached the file, that arrived (a buffer may hold it), and that was asked for.
  var written: Int64
  var received: Int64
  var asked: Int64 = 0
  /// Whether a transfer fills it.
  var isTaken = false
}
