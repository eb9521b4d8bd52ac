import DownloadModel

/// What the total line needs to remember from frame to frame.
struct RunTotal: Sendable {
  private var rate = RateEstimate(start: .zero)
  private var received: Int64 = 0
  private var rejected = 0
  private var framesWithBytes = 0
  /// Once files had to wait for their turn the bar goes by files to the end: it would jump back if the last
  /// ones, now all under way, turned out to be the large ones.
  private var countsFiles = false

  /// - Parameters:
  ///   - active: what is under way, read once for this frame.
  ///   - longest: the longest time that one of the files is going to take; nil where none is known.
  mutating func update(
    _ sample: ProgressSample, active: [FileProgress], longest: Duration? = nil, at now: Duration
  ) -> TotalLine.Content {
    let arrived = sample.received - received
    received = sample.received
    if arrived > 0 { framesWithBytes += 1 }
    rate.add(bytes: arrived, at: now)
    for case .rejected in sample.events { rejected += 1 }
    let progress = RunProgress(sample.tally, rejected: rejected, active: active)
    if sample.tally.listIsComplete, progress.queued > 0 { countsFiles = true }
    let byBytes = countsFiles ? nil : progress.fractionOfBytes
    // The run does not end before its last file, however fast those were that are done.
    let timeLeft = rate.timeLeft(remaining: progress.remaining, at: now).map { max($0, longest ?? .zero) }
    return TotalLine.Content(
      progress: progress, fraction: byBytes ?? progress.fractionOfFiles, step: framesWithBytes / 2,
      rate: rate.rate(at: now), timeLeft: timeLeft)
  }
}
