import DownloadModel

/// Sums over all files, so that files side by side count each.
package struct TimeShares: Sendable, Equatable {
  package private(set) var times: [FilePhase: Duration] = [:]

  package init(_ timelines: [FileTimeline]) {
    for span in timelines.lazy.flatMap(\.spans) { times[span.phase, default: .zero] += span.length }
  }

  package subscript(phase: FilePhase) -> Duration { times[phase] ?? .zero }

  /// All but the queue: what the files took themselves.
  var ofFiles: Duration { times.reduce(.zero) { $0 + ($1.key == .queued ? .zero : $1.value) } }
}
