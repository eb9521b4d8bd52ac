public import DownloadModel

/// A report of a comparison, or of a single run, in all its forms. A page is whole in itself: it needs no network and
/// no script, and names nothing that is not in the report.
///
/// All texts lose their secrets here (`Redaction`), and in the forms for people what hides from the eye.
public struct ReportPages: Sendable {
  private let contents: ReportContents
  private let facts: ReportFacts

  /// - Parameter report: with a single mode and run, the pages show that one, and compare nothing.
  public init(_ report: ComparisonReport, _ facts: ReportFacts) {
    (contents, self.facts) = (ReportContents(report), facts)
  }

  /// One HTML page with all drawings and tables, its style and its script.
  public var html: String { ReportPage(contents: contents, facts: facts).html }

  /// One document of RFC 8259 on one line. Fields may be added; what is not known is null.
  ///
  /// - `version`: 1, until a field changes its meaning.
  /// - `list`, `command`, `date`, `headline`, `notes`, `machine` (`name`, `value`): the facts.
  /// - `conclusion`: `winner`, `reference`, `equals` (names of modes), `speed` (`factor`, `deviation`), `certainty`
  ///   (`clear`, `tie`, `within-scatter`, `unknown`).
  /// - `modes`: each with `name`, `mode`, `jobs`; `median`, `mean`, `minimum`, `maximum`, `standardDeviation`; `spread`
  ///   (a part of the median), `speed` (against sequential, or else the conclusion's reference), `bytesPerSecond`;
  ///   `runs`; `medianRound`, the round of the run that stands for the mode; and of that one `files`: `url`, `bytes`,
  ///   `failed` and `spans` (`phase`, `begin`, `end`).
  /// - `runs`: each with `round`, `wall`, `files`, `bytes`, `firstByte` (median), `cpu`, `peakMemory`, `connections`,
  ///   `requests`, `retries`, `mostAtOnce`, and `phases`, the sums over all files.
  ///
  /// Phases are `queued`, `lookup`, `connect`, `tls`, `waiting`, `receiving`, `finishing`. All times are milliseconds,
  /// those of spans since the start of the run; all sizes are bytes.
  public var json: String { value.text + "\n" }

  /// The same, as part of another.
  public var value: JSONValue { ReportJSON(contents: contents, facts: facts).value }

  /// For an issue or a chat: the headline, the table and the notes.
  public var markdown: String { ReportMarkdown(contents: contents, facts: facts).text }
}

/// What a page says that is not in its report. Each text may come from outside.
public struct ReportFacts: Sendable {
  /// Name of the list; shown only.
  public var list: String
  /// As typed.
  public var command: String
  /// ISO 8601.
  public var date: String
  /// The judgement in one sentence.
  public var headline: String
  /// Reasons to trust the numbers less, a sentence each.
  public var notes: [String]
  /// What it was measured on: kernel, cores, versions.
  public var machine: [(name: String, value: String)]

  public init(
    list: String, command: String, date: String, headline: String, notes: [String] = [],
    machine: [(name: String, value: String)] = []
  ) {
    (self.list, self.command, self.date) = (list, command, date)
    (self.headline, self.notes, self.machine) = (headline, notes, machine)
  }
}
