/// The texts of a page that are not in its report. Each may come from outside.
package struct ReportFacts: Sendable {
  package var list: String
  /// As typed.
  package var command: String
  /// ISO 8601.
  package var date: String
  /// The conclusion in one sentence.
  package var headline: String
  /// Reasons to trust the numbers less, one sentence each.
  package var notes: [String]
  /// The environment of the measurement: kernel, cores, versions.
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
