import DownloadModel
import StrategyComparing
import TerminalProgress

/// A report as one JSON document; its fields are described at `ReportPages.json`.
struct ReportJSON {
  let contents: ReportContents
  let facts: ReportFacts

  var text: String { value.text + "\n" }

  var value: JSONValue {
    .object([
      "version": .number(1), "list": text(facts.list), "command": text(facts.command),
      "date": text(facts.date), "headline": text(facts.headline), "notes": .list(facts.notes.map(text)),
      "machine": .list(
        facts.machine.map { .object(["name": text($0.name), "value": text($0.value)]) }),
      "conclusion": contents.report.conclusion.map(conclusion) ?? .null,
      "modes": .list(contents.modes.map(mode)),
    ])
  }

  /// A phase's name for programs.
  static func key(_ phase: FilePhase) -> String {
    switch phase {
    case .queued: "queued"
    case .lookingUp: "lookup"
    case .connecting: "connect"
    case .securing: "tls"
    case .waiting: "waiting"
    case .receiving: "receiving"
    case .finishing: "finishing"
    }
  }

  private static func key(_ certainty: Conclusion.Certainty) -> String {
    switch certainty {
    case .clear: "clear"
    case .tie: "tie"
    case .withinScatter: "within-scatter"
    case .unknown: "unknown"
    }
  }

  private func text(_ text: String) -> JSONValue { .text(Redaction.redacted(text)) }

  private func milliseconds(_ time: Duration?) -> JSONValue {
    time.map { .decimal($0 / .milliseconds(1)) } ?? .null
  }

  private func conclusion(_ found: Conclusion) -> JSONValue {
    .object([
      "winner": .text(found.winner.name), "reference": .text(found.reference.name),
      "equals": .list(found.equals.map { .text($0.name) }), "speed": speed(found.speed),
      "certainty": .text(Self.key(found.certainty)),
    ])
  }

  private func speed(_ speed: RelativeSpeed?) -> JSONValue {
    guard let speed else { return .null }
    return .object([
      "factor": .decimal(speed.factor), "deviation": speed.deviation.map { .decimal($0) } ?? .null,
    ])
  }

  private func mode(_ mode: ReportContents.Mode) -> JSONValue {
    let times = mode.result.times
    return .object([
      "name": .text(mode.name), "mode": .text(mode.result.mode.mode.rawValue),
      "jobs": .number(orNull: mode.result.mode.jobs.map(Int64.init)),
      "median": milliseconds(times.median), "mean": milliseconds(times.mean),
      "minimum": milliseconds(times.minimum), "maximum": milliseconds(times.maximum),
      "standardDeviation": milliseconds(times.standardDeviation),
      "spread": times.count > 1 ? .decimal(times.spread) : .null,
      "speed": mode.isBaseline ? .null : speed(mode.speed),
      "bytesPerSecond": mode.result.bytesPerSecond.map { .decimal($0) } ?? .null,
      "medianRound": .number(Int64(mode.run.round)),
      "runs": .list(mode.result.runs.map(run)), "files": .list(mode.files.map(file)),
    ])
  }

  private func run(_ run: RunMeasurement) -> JSONValue {
    let details = run.details
    let isDetailed = !details.transfers.isEmpty
    func known(_ value: Int) -> JSONValue { isDetailed ? .number(Int64(value)) : .null }
    let shares = TimeShares(FileTimeline.all(details))
    return .object([
      "round": .number(Int64(run.round)), "wall": milliseconds(run.wall),
      "files": .number(Int64(run.files)), "bytes": .number(run.bytes),
      "firstByte": milliseconds(details.timeToFirstByte),
      "cpu": details.processorTime > .zero ? milliseconds(details.processorTime) : .null,
      "peakMemory": .number(orNull: details.peakMemory), "connections": known(details.connections),
      "requests": known(details.requests), "retries": known(details.retries),
      "mostAtOnce": details.mostAtOnce > 0 ? .number(Int64(details.mostAtOnce)) : .null,
      "phases": .object(
        Dictionary(
          uniqueKeysWithValues: shares.times.map { (Self.key($0.key), milliseconds($0.value)) })),
    ])
  }

  private func file(_ file: FileTimeline) -> JSONValue {
    .object([
      "url": text(file.address), "bytes": .number(file.bytes), "failed": .flag(file.hasFailed),
      "spans": .list(
        file.spans.map {
          .object([
            "phase": .text(Self.key($0.phase)), "begin": milliseconds($0.begin), "end": milliseconds($0.end),
          ])
        }),
    ])
  }
}
