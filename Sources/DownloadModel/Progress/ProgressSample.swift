import Synchronization

/// The state of a run at one moment.
package struct ProgressSample: Sendable {
  package var tally: ProgressTally
  /// Body bytes received by the whole run so far, those of files in flight included.
  package var received: Int64
  /// In no order, without files that began while the feed had no reader; empty for a reader of totals.
  package var active: [ActiveDownload] = []
  /// Since the reader's last sample.
  package var events: [ProgressEvent] = []
  /// The hosts that keep files waiting, the one with most of them first; empty for a reader without events.
  package var hosts: [HostWait] = []
  /// Connections of split files beside the first of each; 0 for a reader without events.
  package var further = 0
  /// Nil for a run that watches no lists, and for a reader without events.
  package var watch: WatchStatus?
  package var prompt: [String] = []
  /// How many files at a time the user chose during the run; nil if not.
  package var width: Int?
  /// What the list is waited for, in words.
  package var awaited: String?
}

extension ProgressSample {
  package init(tally: ProgressTally, received: Int64) { self.init(tally: tally, received: received, active: []) }
}
