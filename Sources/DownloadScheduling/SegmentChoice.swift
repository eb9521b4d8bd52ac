import DownloadModel

/// What a free transfer fetches next of a file: a function of what is still to come.
struct SegmentChoice: Sendable, Equatable {
  var span: Int
  /// Where in the span it begins.
  var offset: Int64

  /// Less than this is left to whoever fetches it.
  static let least: Int64 = 512 * 1024

  /// - Parameters:
  ///   - rates: bytes a second of the spans that are fetched, as far as they are known.
  ///   - typical: what is assumed of the others.
  ///   - worthwhile: what is over sooner is left to whoever fetches it.
  /// - Returns: a span that nobody fetches; else the larger half of what would take longest; else nil.
  static func next(
    _ spans: [OpenSpan], rates: [Int: Double], typical: Double, worthwhile: Duration
  ) -> SegmentChoice? {
    if let free = spans.first(where: { !$0.isTaken }) {
      return SegmentChoice(span: free.id, offset: free.position)
    }
    func seconds(_ span: OpenSpan) -> Double { Double(span.length) / max(rates[span.id] ?? typical, 1) }
    guard let slowest = spans.max(by: { seconds($0) < seconds($1) }), slowest.length > least,
      seconds(slowest) > worthwhile / .seconds(1)
    else { return nil }
    // The one that is there goes on meanwhile, so that the half behind is the larger one by the time it is asked for.
    return SegmentChoice(span: slowest.id, offset: slowest.position + slowest.length / 2)
  }
}
