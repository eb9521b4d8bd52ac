/// The state of a run at one moment.
package struct ProgressSample: Sendable {
  package var tally: ProgressTally
  /// Body bytes received by the whole run so far, including those of files in flight.
  package var received: Int64
  /// Unordered, without files that started while the feed had no reader; empty for a reader of totals.
  package var active: [ActiveDownload] = []
  /// Since the reader's last sample.
  package var events: [ProgressEvent] = []
  /// The hosts that keep files waiting, the one with the most first; empty for a reader without events.
  package var hosts: [HostWait] = []
  /// Further connections of split files, without the first of each; 0 for a reader without events.
  package var further = 0
  /// `nil` for a run that watches no lists, and for a reader without events.
  package var watch: WatchStatus?
  package var prompt: [String] = []
  package var isPaused = false
  /// Files at a time that the user chose during the run; `nil` if not.
  package var width: Int?
  /// The cause for which the list waits, as a text.
  package var awaited: String?

  package struct ActiveDownload: Sendable {
    package let id: Int
    package let address: Address
    package let meter: TransferMeter
    /// The mirror that is used; `nil` for the file's own URL.
    package var mirror: Address?
  }
}

extension ProgressSample {
  package init(tally: ProgressTally, received: Int64) { self.init(tally: tally, received: received, active: []) }
}
