import DownloadModel

/// What a page says that is not in its report. Each text may come from outside.
package struct ReportFacts: Sendable {
  package var list: String
  /// As typed.
  package var command: String
  /// ISO 8601.
  package var date: String
  /// The judgement in one sentence.
  package var headline: String
  /// Reasons to trust the numbers less, a sentence each.
  package var notes: [String]
  /// What it was measured on: kernel, cores, versions.
  package var machine: [(name: String, value: String)]

  package init(
    list: String, command: String, date: String, headline: String, notes: [String] = [],
    machine: [(name: String, value: String)] = []
  ) {
    self.list = list
    self.command = command
    self.date = date
    self.headline = headline
    self.notes = notes
    self.machine = machine
  }
}
