package import DownloadModel
package import DownloadScheduling

/// The values that define one run: from a command line's settings, or from those of this library.
package struct RunPlan: Sendable {
  package var strategy: any DownloadStrategy
  /// Files at a time on each loop; one width for each loop that is used.
  package var widths: [Int]
  /// The most transfers of one large file at a time.
  package var segments: Int
  /// `nil` for as many files at a time as there are lanes.
  package var adaptive: AdaptiveConcurrency?
  /// The most files of one host at a time.
  package var ceiling: Int
  /// Ceilings of hosts that are shared out among processes, by host and port.
  package var lowered: [String: Int] = [:]
  /// The most requests at a time to an unknown host (HTTP rule 56).
  package var opening = RunPlan.fewAtFirst
  package var retry: RetryPolicy
  package var order = RequestOrder.list
  /// Whether the list is read ahead for urgent requests from the start.
  package var looksAhead = false
  /// Whether transfers share connections (HTTP/2), so that their number is unknown.
  package var sharesConnections = false
  /// Whether it leaves hosts to runs that are not in the background.
  package var isBackground = false
  package var rates = RequestRates()
  var firstLoop = 0
  package static let fewAtFirst = 8

  package init(_ strategy: any DownloadStrategy, _ concurrency: RunConcurrency, ceiling: Int, retry: RetryPolicy) {
    self.strategy = strategy
    self.ceiling = ceiling
    self.retry = retry
    widths = concurrency.widths
    segments = concurrency.segments
  }
}
