import DownloadModel

/// Which bytes of a file are there, in flight, or still to be asked for. Pure.
///
///     0        segment 0           segment 1         segment 2        total
///     ├──────────────►·············├──────────►······├───────────────►┤
///
/// The segments cover the file without a gap: each ends where the next begins, the last at the file's length. So a
/// segment taken from another's end shortens that one, and an empty segment that is released lengthens the one before.
/// Segment 0 grows from the start of the file, and absorbs a segment that it reaches and that no transfer fills.
struct SegmentMap: Equatable {
  // Stored separately because most files have no other segment, and then need no array.
  private var head = Segment(id: Segment.first, start: 0, written: 0, received: 0)
  private var others: [Segment] = []
  private var nextID = 1
  /// Length of the whole file; nil while no answer gave it.
  var total: Int64?
  /// Whether the file's length on disk no longer says which bytes are there.
  private(set) var isSplit = false
  /// Whether no further segment is begun, because the server gives no ranges.
  private(set) var refusesFurther = false
  var requestSize: RequestSize?

  /// What an interrupted download had left; nil if the ranges cannot be those of a file of that length.
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

  /// Drops all bytes. Numbers of segments are not used again, because a transfer may still hold an old one.
  mutating func startOver() {
    head = Segment(id: Segment.first, start: 0, written: 0, received: 0)
    others = []
    total = nil
    isSplit = false
  }

  /// Makes bytes of a whole file missing ones.
  mutating func drop(_ ranges: [Range<Int64>]) {
    let starts = [0] + ranges.map(\.upperBound)
    let done = zip(starts, ranges.map(\.lowerBound) + [length]).filter(<).map { $0...$1 - 1 }
    if let rest = SegmentMap(done: done, total: length) { self = rest }
  }

  // MARK: What is there

  /// Bytes in the file, from its start on.
  var length: Int64 { head.written }
  /// Offset of the next byte for the start of the file.
  var position: Int64 { head.received }
  var hasOthers: Bool { !others.isEmpty }
  var secondStart: Int64? { others.first?.start }

  // Bytes of the further segments that have arrived, are in the file, and wait in buffers.
  var receivedFurther: Int64 { others.reduce(0) { $0 + $1.received - $1.start } }
  var writtenFurther: Int64 { others.reduce(0) { $0 + $1.written - $1.start } }
  var bufferedFurther: Int64 { others.reduce(0) { $0 + $1.received - $1.written } }

  var done: [ClosedRange<Int64>] {
    var ranges: [ClosedRange<Int64>] = head.written > 0 ? [0...head.written - 1] : []
    for segment in others where segment.written > segment.start {
      if let last = ranges.last, last.upperBound + 1 == segment.start {
        ranges[ranges.count - 1] = last.lowerBound...segment.written - 1
      } else {
        ranges.append(segment.start...segment.written - 1)
      }
    }
    return ranges
  }

  subscript(id: Int) -> Segment? { id == Segment.first ? head : others.first { $0.id == id } }

  var further: [Int] { others.map(\.id) }

  /// Offset behind a segment's last byte; nil for the last of a file of unknown length, and for one that is gone.
  func end(of id: Int) -> Int64? {
    if id == Segment.first { return secondStart ?? total }
    return others.firstIndex { $0.id == id }.flatMap { end(at: $0) }
  }

  private func end(at index: Int) -> Int64? { index + 1 < others.count ? others[index + 1].start : total }

  /// The segments that have bytes still to arrive, in the order of the file; empty while the length is unknown.
  var open: [OpenSegment] {
    guard let total else { return [] }
    var open: [OpenSegment] = []
    let headEnd = secondStart ?? total
    // No `asked` here: the first request has no end of its own, so it can be broken off wherever another begins.
    if head.received < headEnd {
      open.append(OpenSegment(id: Segment.first, position: head.received, end: headEnd, isTaken: head.isTaken))
    }
    for (index, segment) in others.enumerated() {
      guard let end = end(at: index), segment.received < end else { continue }
      open.append(
        OpenSegment(
          id: segment.id, position: segment.received, end: end, isTaken: segment.isTaken,
          asked: min(end, max(segment.received, segment.asked))))
    }
    return open
  }

  /// Whether a segment's transfer reached an end behind which it asked for more, before another one took the rest.
  func isCutOff(_ id: Int, at end: Int64?) -> Bool {
    self[id].map { segment in end.map { segment.received == $0 && segment.asked > $0 } ?? false } ?? false
  }

  // MARK: What changes it

  mutating func setFirst(taken: Bool) { head.isTaken = taken }

  mutating func refuseFurther() { refusesFurther = true }

  /// Takes the end of a segment from the transfer that fills it, or all of a segment that no transfer fills.
  /// - Returns: the number of the segment that the caller now has.
  mutating func take(_ id: Int, from offset: Int64) -> Int? {
    guard !refusesFurther, total != nil, let segment = self[id], offset < end(of: id) ?? 0 else { return nil }
    let index = others.firstIndex { $0.id == id }
    guard segment.isTaken else {
      guard offset == segment.received else { return nil }
      guard let index else { return insert(offset, at: 0) }
      others[index].isTaken = true
      return id
    }
    // Bytes that have arrived may still be buffered, so the cut must not lie among them.
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

  /// Drops what was buffered for a segment, because the disk did not take it.
  mutating func dropBuffered(of id: Int) { change(id) { $0.received = $0.written } }

  private mutating func change(_ id: Int, _ body: (inout Segment) -> Void) {
    if id == Segment.first { return body(&head) }
    guard let index = others.firstIndex(where: { $0.id == id }) else { return }
    body(&others[index])
  }

  /// Removes the segments up to `offset` of which nothing has arrived: the first transfer goes on into them. A cache
  /// that fetches the file itself answers range requests only when it has the whole file.
  mutating func clearWay(to offset: Int64) {
    while let next = others.first, offset >= next.start, next.isTaken, next.received == next.start {
      others.removeFirst()
    }
  }

  /// Notes that no transfer fills the segment any more. One that brought nothing is merged into the one before.
  mutating func release(_ id: Int) {
    if id == Segment.first {
      head.isTaken = false
    } else if let index = others.firstIndex(where: { $0.id == id }) {
      others[index].isTaken = false
      others[index].asked = 0
      if others[index].written == others[index].start { others.remove(at: index) }
    }
    // The start of the file absorbs what it reaches.
    guard head.received == head.written else { return }
    while let next = others.first, next.start == head.written, !next.isTaken {
      head.written = next.written
      head.received = next.received
      others.removeFirst()
    }
  }
}
