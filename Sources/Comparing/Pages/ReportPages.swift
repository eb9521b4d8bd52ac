package import DownloadModel

/// A report of a comparison, or of a single run, in all its forms. A page needs no network and no script. All texts
/// lose their secrets here (`Redaction`), and the forms for people also lose invisible characters.
package struct ReportPages: Sendable {
  let contents: ReportContents
  let facts: ReportFacts

  /// - Parameter report: with a single mode and run, the pages show that run, and compare nothing.
  package init(_ report: ComparisonReport, _ facts: ReportFacts) {
    contents = ReportContents(report)
    self.facts = facts
  }

  /// One JSON document (RFC 8259), without a final line end. Fields may be added; unknown values are null.
  ///
  /// - `version`: 1, until a field changes its meaning.
  /// - `list`, `command`, `date`, `headline`, `notes`, `machine` (`name`, `value`): the facts.
  /// - `conclusion`: `winner`, `reference`, `equals` (names of modes), `speed` (`factor`, `deviation`), `certainty`
  ///   (`clear`, `tie`, `within-scatter`, `unknown`, `too-short`).
  /// - `modes`: each with `name`, `mode`, `jobs`; `median`, `mean`, `minimum`, `maximum`, `standardDeviation`; `spread`
  ///   (a part of the median), `speed` (against sequential, or else the conclusion's reference), `bytesPerSecond`;
  ///   `runs`; `medianRound`, the round of the run that represents the mode; and, for that run, `files`: `url`,
  ///   `bytes`, `failed` and `spans` (`phase`, `begin`, `end`).
  /// - `runs`: each with `round`, `wall`, `files`, `bytes`, `firstByte` (median), `cpu`, `peakMemory`, `connections`,
  ///   `requests`, `retries`, `mostAtOnce`, and `phases`, the sums over all files.
  ///
  /// Phases are `queued`, `lookup`, `connect`, `tls`, `waiting`, `receiving`, `finishing`. All times are milliseconds,
  /// those of spans since the start of the run; all sizes are bytes.
  package var json: String { value.text }

  /// The same, as part of another document.
  package var value: JSONValue {
    JSONValue([
      "version": 1, "list": text(facts.list), "command": text(facts.command), "date": text(facts.date),
      "headline": text(facts.headline), "notes": facts.notes.map(text),
      "machine": facts.machine.map { JSONValue(["name": text($0.name), "value": text($0.value)]) },
      "conclusion": contents.report.conclusion.map(conclusion), "modes": contents.modes.map(mode),
    ])
  }

  private func text(_ text: String) -> String { Redaction.redacted(text) }

  private func milliseconds(_ time: Duration?) -> Double? { time.map { $0 / .milliseconds(1) } }

  private func conclusion(_ found: Conclusion) -> JSONValue {
    JSONValue([
      "winner": found.winner.name, "reference": found.reference.name,
      "equals": found.equals.map(\.name), "speed": speed(found.speed),
      "certainty": found.certainty.rawValue,
    ])
  }

  private func speed(_ speed: RelativeSpeed?) -> JSONValue? {
    speed.map { JSONValue(["factor": $0.factor, "deviation": $0.deviation]) }
  }

  private func mode(_ mode: ReportContents.Mode) -> JSONValue {
    let times = mode.result.times
    return JSONValue([
      "name": mode.name, "mode": mode.result.mode.mode.rawValue, "jobs": mode.result.mode.jobs,
      "median": milliseconds(times.median), "mean": milliseconds(times.mean), "minimum": milliseconds(times.minimum),
      "maximum": milliseconds(times.maximum), "standardDeviation": milliseconds(times.standardDeviation),
      "spread": times.count > 1 ? times.spread : nil, "speed": mode.isBaseline ? nil : speed(mode.speed),
      "bytesPerSecond": mode.result.bytesPerSecond, "medianRound": mode.run.round,
      "runs": mode.result.runs.map(run), "files": mode.files.map(file),
    ])
  }

  private func run(_ run: RunMeasurement) -> JSONValue {
    let details = run.details
    func known(_ value: Int) -> Int? { details.transfers.isEmpty ? nil : value }
    let shares = TimeShares(FileTimeline.all(details))
    return JSONValue([
      "round": run.round, "wall": milliseconds(run.wall), "files": run.files,
      "bytes": run.bytes, "firstByte": milliseconds(details.timeToFirstByte),
      "cpu": details.processorTime > .zero ? milliseconds(details.processorTime) : nil,
      "peakMemory": details.peakMemory, "connections": known(details.connections),
      "requests": known(details.requests), "retries": known(details.retries),
      "mostAtOnce": details.mostAtOnce > 0 ? details.mostAtOnce : nil,
      "phases": JSONValue(
        Dictionary(uniqueKeysWithValues: shares.times.map { ($0.key.rawValue, milliseconds($0.value)) })),
    ])
  }

  private func file(_ file: FileTimeline) -> JSONValue {
    let spans = file.spans.map { span in
      JSONValue([
        "phase": span.phase.rawValue, "begin": milliseconds(span.begin), "end": milliseconds(span.end),
      ])
    }
    return JSONValue([
      "url": text(file.address), "bytes": file.bytes, "failed": file.hasFailed, "spans": spans,
    ])
  }
}
