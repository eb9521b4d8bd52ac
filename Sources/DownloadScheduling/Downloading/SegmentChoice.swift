import DownloadModel

/// What a free transfer fetches next of a file, decided by what is still to come.
struct SegmentChoice: Equatable {
  var segment: Int
  var offset: Int64

  /// A segment with less than twice this is not divided: of a distant server, eight MiB are worth sixteen transfers.
  static let least: Int64 = 256 * 1024

  /// The segment that no transfer fetches; else the end of the one that would take longest, as far as no transfer has
  /// asked for it; else, if that gains much, its half although a connection must then be broken off; else nil.
  /// - Parameter rates: bytes a second of the segments in flight, where known; for the others `typical` is assumed.
  static func next(
    _ segments: [OpenSegment], rates: [Int: Double], typical: Double, worthwhile: Duration
  ) -> SegmentChoice? {
    if let free = segments.first(where: { !$0.isTaken }) {
      return SegmentChoice(segment: free.id, offset: free.position)
    }
    func seconds(_ segment: OpenSegment) -> Double { Double(segment.length) / max(rates[segment.id] ?? typical, 1) }
    let worth = worthwhile / .seconds(1)
    let slow = segments.filter { $0.length >= 2 * least && seconds($0) > worth }
    for segment in slow.sorted(by: { seconds($0) > seconds($1) }) {
      // Its transfer goes on meanwhile, so the half behind it will be the larger one.
      let half = segment.position + segment.length / 2
      let offset = max(half, segment.asked)
      // A quarter of the segment is worth a request too.
      if segment.end - offset >= max(least, segment.length / 4) {
        return SegmentChoice(segment: segment.id, offset: offset)
      }
      if seconds(segment) > 4 * worth { return SegmentChoice(segment: segment.id, offset: half) }
    }
    return nil
  }
}
