import DownloadModel

/// Which bytes of a file are there, are coming, or are still to be asked for, while several transfers fill it.
///
///     0          trunk             part 1            part 2            total
///     ├──────────────►·············├──────────►······├────────────────►┤
///
/// The trunk grows from the start of the file, as every download does; a part begins further on. When the trunk has
/// come to a part that is not under way, the part's bytes are the trunk's. Offsets are in bytes; rules only.
struct FileParts: Sendable, Equatable {
  struct Part: Sendable, Equatable {
    let id: Int
    let start: Int64
    /// Behind the last byte that is there.
    var position: Int64
    var end: Int64
    /// Whether a transfer fetches it.
    var isTaken: Bool
    /// Behind the last byte that its transfer asked for.
    var asked: Int64 = 0
  }

  /// In the order of the file, not overlapping, all behind the trunk.
  private(set) var parts: [Part] = []
  private var nextID = 1

  var isEmpty: Bool { parts.isEmpty }

  subscript(id: Int) -> Part? { parts.first { $0.id == id } }

  /// Where the trunk must stop.
  func trunkEnd(total: Int64?) -> Int64? { parts.first?.start ?? total }

  /// Bytes in the parts.
  var length: Int64 { parts.reduce(0) { $0 + $1.position - $1.start } }

  /// What is there, as a record notes it.
  func done(trunk: Int64) -> [ClosedRange<Int64>] {
    var ranges: [ClosedRange<Int64>] = trunk > 0 ? [0...trunk - 1] : []
    for part in parts where part.position > part.start {
      if let last = ranges.last, last.upperBound + 1 == part.start {
        ranges[ranges.count - 1] = last.lowerBound...part.position - 1
      } else {
        ranges.append(part.start...part.position - 1)
      }
    }
    return ranges
  }

  /// What a record noted.
  /// - Returns: nil if the ranges cannot be those of such a file.
  init?(done: [ClosedRange<Int64>], total: Int64) {
    var end: Int64 = 0
    for (index, range) in done.enumerated() {
      guard range.lowerBound >= end, range.upperBound < total else { return nil }
      end = range.upperBound + 1
      if index == 0, range.lowerBound == 0 { continue }  // the trunk
      parts.append(
        Part(id: nextID, start: range.lowerBound, position: end, end: total, isTaken: false))
      nextID += 1
    }
    for index in parts.indices.dropLast() { parts[index].end = parts[index + 1].start }
  }

  init() {}

  /// What is not there yet.
  /// - Parameters:
  ///   - trunk: where the trunk's next byte goes.
  ///   - trunkRuns: whether a transfer fetches the trunk.
  func open(trunk: Int64, trunkRuns: Bool, total: Int64) -> [OpenSpan] {
    var spans: [OpenSpan] = []
    let trunkEnd = trunkEnd(total: total) ?? total
    if trunk < trunkEnd {
      spans.append(OpenSpan(id: OpenSpan.trunk, position: trunk, end: trunkEnd, isTaken: trunkRuns))
    }
    for part in parts where part.position < part.end {
      spans.append(
        OpenSpan(
          id: part.id, position: part.position, end: part.end, isTaken: part.isTaken,
          asked: min(part.end, max(part.position, part.asked))))
    }
    return spans
  }

  /// Takes the end of a span from whoever fetches it, or all of one that nobody fetches.
  /// - Returns: the new part's number; nil if the span has changed meanwhile or cannot be split there.
  mutating func take(
    _ id: Int, from offset: Int64, trunk: Int64, trunkRuns: Bool, total: Int64
  ) -> Int? {
    if id == OpenSpan.trunk {
      let end = trunkEnd(total: total) ?? total
      guard offset < end, trunkRuns ? offset > trunk : offset == trunk else { return nil }
      return insert(offset, end, at: 0)
    }
    guard let index = parts.firstIndex(where: { $0.id == id }), offset < parts[index].end else { return nil }
    if !parts[index].isTaken {
      guard offset == parts[index].position else { return nil }
      parts[index].isTaken = true
      return id
    }
    guard offset > parts[index].position else { return nil }
    let end = parts[index].end
    parts[index].end = offset
    return insert(offset, end, at: index + 1)
  }

  private mutating func insert(_ start: Int64, _ end: Int64, at index: Int) -> Int {
    let id = nextID
    nextID += 1
    parts.insert(Part(id: id, start: start, position: start, end: end, isTaken: true), at: index)
    return id
  }

  /// A part's transfer asks for what it lacks, up to an offset.
  mutating func ask(_ id: Int, upTo end: Int64) {
    guard let index = parts.firstIndex(where: { $0.id == id }) else { return }
    parts[index].asked = end
  }

  /// The trunk has come to a part of which nothing has come yet, and goes on into it: who has brought nothing holds up
  /// nobody. A cache that fetches the file itself answers for its parts when it is done, and with the whole.
  mutating func overtake(_ id: Int) {
    guard parts.first?.id == id, parts[0].position == parts[0].start else { return }
    parts.removeFirst()
  }

  /// A part's bytes reached the file.
  mutating func advance(_ id: Int, to position: Int64) {
    guard let index = parts.firstIndex(where: { $0.id == id }) else { return }
    parts[index].position = min(position, parts[index].end)
  }

  /// Nobody fetches the part any more. One that brought nothing goes back to what is before it, whose transfer may be
  /// able to go on into it.
  mutating func release(_ id: Int) {
    guard let index = parts.firstIndex(where: { $0.id == id }) else { return }
    (parts[index].isTaken, parts[index].asked) = (false, 0)
    guard parts[index].position == parts[index].start else { return }
    if index > 0 { parts[index - 1].end = parts[index].end }
    parts.remove(at: index)
  }

  /// Makes the trunk's what it has come to.
  /// - Returns: where the trunk's next byte goes.
  mutating func absorb(trunk: Int64) -> Int64 {
    var trunk = trunk
    while let first = parts.first, first.start == trunk, !first.isTaken {
      trunk = first.position
      parts.removeFirst()
    }
    return trunk
  }
}
