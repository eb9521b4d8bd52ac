/// Sums of the phases over all files; files that run in parallel all count.
package struct TimeShares: Sendable {
  package private(set) var times: [FilePhase: Duration] = [:]

  package init(_ timelines: [FileTimeline]) {
    for span in timelines.lazy.flatMap(\.spans) { times[span.phase, default: .zero] += span.length }
  }

  package subscript(phase: FilePhase) -> Duration { times[phase] ?? .zero }

  /// All phases but the queue: the time of the files themselves.
  var ofFiles: Duration { times.reduce(.zero) { $0 + ($1.key == .queued ? .zero : $1.value) } }
}
