import DownloadModel
import TerminalProgress

/// A report as one JSON document; its fields are described at `ReportPages.json`.
struct ReportJSON {
  let contents: ReportContents
  let facts: ReportFacts

  var value: JSONValue {
    .object([
      "version": .number(1), "list": text(facts.list), "command": text(facts.command),
      "date": text(facts.date), "headline": text(facts.headline), "notes": .list(facts.notes.map(text)),
      "machine": .list(facts.machine.map { .object(["name": text($0.name), "value": text($0.value)]) }),
      "conclusion": contents.report.conclusion.map(conclusion) ?? .null,
      "modes": .list(contents.modes.map(mode)),
    ])
  }

  private func text(_ text: String) -> JSONValue { .text(Redaction.redacted(text)) }

  private func milliseconds(_ time: Duration?) -> JSONValue { .of(time.map { $0 / .milliseconds(1) }) }

  private func conclusion(_ found: Conclusion) -> JSONValue {
    .object([
      "winner": .text(found.winner.name), "reference": .text(found.reference.name),
      "equals": .list(found.equals.map { .text($0.name) }), "speed": speed(found.speed),
      "certainty": .text(found.certainty.rawValue),
    ])
  }

  private func speed(_ speed: RelativeSpeed?) -> JSONValue {
    speed.map { .object(["factor": .of($0.factor), "deviation": .of($0.deviation)]) } ?? .null
  }

  private func mode(_ mode: ReportContents.Mode) -> JSONValue {
    let times = mode.result.times
    return .object([
      "name": .text(mode.name), "mode": .text(mode.result.mode.mode.rawValue),
      "jobs": .of(mode.result.mode.jobs), "median": milliseconds(times.median),
      "mean": milliseconds(times.mean), "minimum": milliseconds(times.minimum),
      "maximum": milliseconds(times.maximum), "standardDeviation": milliseconds(times.standardDeviation),
      "spread": times.count > 1 ? .decimal(times.spread) : .null,
      "speed": mode.isBaseline ? .null : speed(mode.speed), "bytesPerSecond": .of(mode.result.bytesPerSecond),
      "medianRound": .of(mode.run.round), "runs": .list(mode.result.runs.map(run)),
      "files": .list(mode.files.map(file)),
    ])
  }

  private func run(_ run: RunMeasurement) -> JSONValue {
    let details = run.details
    func known(_ value: Int) -> JSONValue { .of(details.transfers.isEmpty ? nil : value) }
    let shares = TimeShares(FileTimeline.all(details))
    return .object([
      "round": .of(run.round), "wall": milliseconds(run.wall), "files": .of(run.files),
      "bytes": .of(run.bytes), "firstByte": milliseconds(details.timeToFirstByte),
      "cpu": details.processorTime > .zero ? milliseconds(details.processorTime) : .null,
      "peakMemory": .of(details.peakMemory), "connections": known(details.connections),
      "requests": known(details.requests), "retries": known(details.retries),
      "mostAtOnce": .of(details.mostAtOnce > 0 ? details.mostAtOnce : nil),
      "phases": .object(
        Dictionary(uniqueKeysWithValues: shares.times.map { ($0.key.rawValue, milliseconds($0.value)) })),
    ])
  }

  private func file(_ file: FileTimeline) -> JSONValue {
    let spans = file.spans.map { span in
      JSONValue.object([
        "phase": .text(span.phase.rawValue), "begin": milliseconds(span.begin), "end": milliseconds(span.end),
      ])
    }
    return .object([
      "url": text(file.address), "bytes": .of(file.bytes), "failed": .flag(file.hasFailed), "spans": .list(spans),
    ])
  }
}
