package import DownloadModel

/// The progress of a run, by the rule of the total line; for other processes.
package struct RunOutlook: Sendable {
  private var total = RunTotal()
  /// From 0 to 1; `nil` while unknown.
  package private(set) var fraction: Double?
  package private(set) var timeLeft: Duration?

  package init() {}

  /// - Parameter now: since the start.
  package mutating func update(_ sample: ProgressSample, at now: Duration) {
    let content = total.update(sample, at: now)
    fraction = content.progress.fraction
    timeLeft = content.timeLeft
  }
}
