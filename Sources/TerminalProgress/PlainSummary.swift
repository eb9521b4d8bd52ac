import DownloadModel

/// The state of a run in one sentence.
struct PlainSummary {
  let text: String

  init(_ sum: TotalLine.Content) {
    let progress = sum.progress
    let tally = progress.tally
    let bound = tally.listIsComplete ? "" : "at least "
    var parts = ["\(Quantity.count(tally.done)) of \(bound)\(Quantity.count(tally.listed)) files done"]
    if tally.failed > 0 { parts.append("\(Quantity.count(tally.failed)) failed") }
    let whole = progress.totalBytes.map { " of \(Quantity.bytes($0))" } ?? ""
    parts.append(Quantity.bytes(progress.bytes) + whole)
    parts.append(Quantity.rate(sum.rate))
    if let left = sum.timeLeft, progress.remaining > 0 {
      let bound = progress.isLowerBound ? "at least" : "about"
      parts.append("\(bound) \(Self.rounded(left)) left")
    }
    text = "progress: " + parts.joined(separator: ", ")
  }

  /// A guess has no tenths.
  private static func rounded(_ left: Duration) -> String {
    let seconds = Int64(min(left.inSeconds, 1e15).rounded(.up))
    return seconds < 60 ? "\(seconds) s" : Quantity.duration(.seconds(seconds))
  }
}
