import DownloadModel

/// What a free transfer fetches next of a file: a function of what is still to come.
struct SegmentChoice: Sendable, Equatable {
  var span: Int
  /// Where in the span it begins.
  var offset: Int64

  /// Less than twice as much is left to whoever fetches it. Eight MiB from afar are worth sixteen transfers.
  static let least: Int64 = 256 * 1024

  /// - Parameters:
  ///   - rates: bytes a second of the spans that are fetched, as far as they are known.
  ///   - typical: what is assumed of the others.
  ///   - worthwhile: what is over sooner is left to whoever fetches it.
  /// - Returns: a span that nobody fetches; else the half of what would take longest, as far as nobody has asked for it;
  ///   else what costs a connection that is broken off with bytes on their way, if that gains much; else nil.
  static func next(
    _ spans: [OpenSpan], rates: [Int: Double], typical: Double, worthwhile: Duration
  ) -> SegmentChoice? {
    if let free = spans.first(where: { !$0.isTaken }) {
      return SegmentChoice(span: free.id, offset: free.position)
    }
    func seconds(_ span: OpenSpan) -> Double { Double(span.length) / max(rates[span.id] ?? typical, 1) }
    let worth = worthwhile / .seconds(1)
    let slow = spans.filter { $0.length >= 2 * least && seconds($0) > worth }.sorted {
      seconds($0) > seconds($1)
    }
    for span in slow {
      // The one that is there goes on meanwhile, so that the half behind is the larger one by the time it is asked for.
      let half = span.position + span.length / 2
      let offset = max(half, span.asked)
      // A quarter of it is worth a request too.
      if span.end - offset >= max(least, span.length / 4) {
        return SegmentChoice(span: span.id, offset: offset)
      }
      if seconds(span) > 4 * worth { return SegmentChoice(span: span.id, offset: half) }
    }
    return nil
  }
}
