import DownloadModel

/// The bytes that a free transfer requests next of a file, chosen from those still missing.
struct SegmentChoice: Equatable {
  var segment: Int
  var offset: Int64

  /// A segment shorter than twice this is not divided. From a distant server, 8 MiB are worth sixteen transfers.
  static let least: Int64 = 256 * 1024

  /// The first choice is a segment without a transfer. The second is the end of the segment that would take longest,
  /// from the first byte that its transfer has not requested. The third, if that gains much, is half of that segment,
  /// although its connection must then be closed. Else `nil`.
  /// - Parameter rates: bytes a second of the segments in flight, where known; `typical` is assumed for the others.
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
      // Its transfer continues meanwhile, so the second half takes longer than the first.
      let half = segment.position + segment.length / 2
      let offset = max(half, segment.asked)
      // A quarter of the segment is worth a request, too.
      if segment.end - offset >= max(least, segment.length / 4) {
        return SegmentChoice(segment: segment.id, offset: offset)
      }
      if seconds(segment) > 4 * worth { return SegmentChoice(segment: segment.id, offset: half) }
    }
    return nil
  }
}
