import DownloadModel

/// The bytes of a file that are complete, in flight, or still to be requested. Pure.
///
///     0        segment 0           segment 1         segment 2        total
///     ├──────────────►·············├──────────►······├───────────────►┤
///
/// The segments cover the file without a gap: each ends where the next starts, the last at the file's length. A segment
/// taken from another's end shortens that one. An empty segment that is released lengthens the one before. Segment 0
/// grows from the start of the file, and absorbs a segment that it reaches and that no transfer fills.
struct SegmentMap {
  // Separate, because most files have no other segment, and then need no array.
  private var head = Segment(id: Segment.first)
  private var others: [Segment] = []
  private var nextID = 1
  /// Length of the complete file; `nil` if unknown.
  var total: Int64?
  /// Whether the file's length on disk no longer says which bytes are complete.
  private(set) var isSplit = false
  /// Whether no further segment may start, because the server does not support ranges.
  var refusesFurther = false
  var requestSize: RequestSize?

  /// The state that an interrupted download left; `nil` if the ranges do not fit a file of that length.
  init?(done: [ClosedRange<Int64>], total: Int64) {
    self.total = total
    isSplit = true
    var end: Int64 = 0
    for range in done {
      guard range.lowerBound >= end, range.upperBound < total else { return nil }
      end = range.upperBound + 1
      if range.lowerBound == 0 {
        head.written = end
        head.received = end
      } else {
        others.append(Segment(id: nextID, start: range.lowerBound, written: end, received: end))
        nextID += 1
      }
    }
  }

  init(length: Int64 = 0, total: Int64? = nil) {
    head.written = length
    head.received = length
    self.total = total
  }

  /// Drops all bytes. Segment numbers are not reused, because a transfer may still hold an old one.
  mutating func startOver() {
    head = Segment(id: Segment.first)
    others = []
    total = nil
    isSplit = false
  }

  /// Marks bytes of a complete file as missing.
  mutating func drop(_ ranges: [Range<Int64>]) {
    let starts = [0] + ranges.map(\.upperBound)
    let done = zip(starts, ranges.map(\.lowerBound) + [length]).filter(<).map { $0...$1 - 1 }
    if let rest = SegmentMap(done: done, total: length) { self = rest }
  }

  // MARK: Queries

  /// Bytes in the file from its start to the first gap.
  var length: Int64 { head.written }
  /// Offset of the next byte of segment 0.
  var position: Int64 { head.received }
  var hasOthers: Bool { !others.isEmpty }
  var secondStart: Int64? { others.first?.start }

  // Bytes of the further segments: received, written to the file, and in buffers.
  var receivedFurther: Int64 { others.reduce(0) { $0 + $1.received - $1.start } }
  var writtenFurther: Int64 { others.reduce(0) { $0 + $1.written - $1.start } }
  var bufferedFurther: Int64 { others.reduce(0) { $0 + $1.received - $1.written } }

  var done: [ClosedRange<Int64>] {
    var ranges: [ClosedRange<Int64>] = []
    for segment in [head] + others where segment.written > segment.start {
      if let last = ranges.last, last.upperBound + 1 == segment.start {
        ranges[ranges.count - 1] = last.lowerBound...segment.written - 1
      } else {
        ranges.append(segment.start...segment.written - 1)
      }
    }
    return ranges
  }

  subscript(id: Int) -> Segment? { id == Segment.first ? head : others.first { $0.id == id } }

  private func index(of id: Int) -> Int? { others.firstIndex { $0.id == id } }

  var further: [Int] { others.map(\.id) }

  /// Offset after a segment's last byte; `nil` for the last segment if the file's length is unknown, and for a removed
  /// one.
  func end(of id: Int) -> Int64? {
    if id == Segment.first { return secondStart ?? total }
    guard let index = index(of: id) else { return nil }
    return index + 1 < others.count ? others[index + 1].start : total
  }

  /// The segments with missing bytes, in the order of the file; empty if the file's length is unknown.
  var open: [OpenSegment] {
    guard let total else { return [] }
    let ends = others.map(\.start) + [total]
    return zip([head] + others, ends).compactMap { segment, end in
      if segment.received >= end { return nil }
      // The first request has no end, so it can be cut off wherever another segment starts.
      let asked = segment.id == Segment.first ? 0 : segment.asked
      return OpenSegment(
        id: segment.id, position: segment.received, end: end, isTaken: segment.isTaken,
        asked: min(end, max(segment.received, asked)))
    }
  }

  /// Whether a segment's transfer requested bytes after `end` and reached it, because another transfer took the rest.
  func isCutOff(_ id: Int, at end: Int64?) -> Bool {
    guard let segment = self[id], let end else { return false }
    return segment.received == end && segment.asked > end
  }

  // MARK: Changes

  mutating func setFirst(taken: Bool) { head.isTaken = taken }

  /// Takes the end of a segment from its transfer, or all of a segment that no transfer fills.
  /// - Returns: the number of the caller's segment; `nil` if it cannot be taken.
  mutating func take(_ id: Int, from offset: Int64) -> Int? {
    guard !refusesFurther, total != nil, let segment = self[id], offset < end(of: id) ?? 0 else { return nil }
    let index = index(of: id)
    guard segment.isTaken else {
      guard offset == segment.received else { return nil }
      guard let index else { return insert(offset, at: 0) }
      others[index].isTaken = true
      return id
    }
    // Received bytes may still be in a buffer, so the cut must not be among them.
    guard offset > segment.received || index != nil && offset == segment.received && offset > segment.written
    else { return nil }
    return insert(offset, at: index.map { $0 + 1 } ?? 0)
  }

  private mutating func insert(_ start: Int64, at index: Int) -> Int {
    defer { nextID += 1 }
    others.insert(Segment(id: nextID, start: start, written: start, received: start, isTaken: true), at: index)
    isSplit = true
    return nextID
  }

  mutating func ask(_ id: Int, upTo end: Int64) { change(id) { $0.asked = end } }

  mutating func receive(_ count: Int, for id: Int) { change(id) { $0.received += Int64(count) } }

  mutating func write(_ id: Int, to offset: Int64) {
    change(id) { segment in
      segment.written = offset
      segment.received = max(segment.received, offset)
    }
  }

  /// Drops a segment's buffered bytes after a failed write.
  mutating func dropBuffered(of id: Int) { change(id) { $0.received = $0.written } }

  private mutating func change(_ id: Int, _ body: (inout Segment) -> Void) {
    if id == Segment.first { return body(&head) }
    guard let index = index(of: id) else { return }
    body(&others[index])
  }

  /// Removes the empty segments up to `offset`: the first transfer continues into them. A cache that is downloading the
  /// file itself answers range requests only when it has the complete file.
  mutating func clearWay(to offset: Int64) {
    while let next = others.first, offset >= next.start, next.isTaken, next.received == next.start {
      others.removeFirst()
    }
  }

  /// Notes that no transfer fills the segment any more. A segment without bytes is merged into the one before.
  mutating func release(_ id: Int) {
    if id == Segment.first {
      head.isTaken = false
    } else if let index = index(of: id) {
      others[index].isTaken = false
      others[index].asked = 0
      if others[index].written == others[index].start { others.remove(at: index) }
    }
    // The start of the file absorbs the segments that it reaches.
    guard head.received == head.written else { return }
    while let next = others.first, next.start == head.written, !next.isTaken {
      head.written = next.written
      head.received = next.received
      others.removeFirst()
    }
  }
}
