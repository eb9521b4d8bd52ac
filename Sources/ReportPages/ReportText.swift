import DownloadModel
import StrategyComparing
import TerminalProgress

/// A report as GitHub-flavoured Markdown.
struct ReportMarkdown {
  let contents: ReportContents
  let facts: ReportFacts

  var text: String {
    var blocks = [
      "# \(Self.escaped(facts.headline))",
      Self.escaped([facts.list, contents.scope, facts.date].filter { !$0.isEmpty }.joined(separator: " · ")),
      table([""] + contents.modes.map(\.name), contents.measures.map { [$0.name] + $0.values }),
    ]
    if !facts.notes.isEmpty { blocks.append(list(facts.notes)) }
    if !facts.command.isEmpty { blocks.append("    \(Markup.clean(facts.command))") }
    if !facts.machine.isEmpty { blocks.append(list(facts.machine.map { "\($0.name): \($0.value)" })) }
    if !contents.definitions.isEmpty { blocks.append(list(contents.definitions)) }
    return blocks.filter { !$0.isEmpty }.joined(separator: "\n\n") + "\n"
  }

  private func list(_ items: [String]) -> String {
    items.map { "- \(Self.escaped($0))" }.joined(separator: "\n")
  }

  private func table(_ head: [String], _ rows: [[String]]) -> String {
    func line(_ cells: [String]) -> String { "| \(cells.map(Self.escaped).joined(separator: " | ")) |" }
    let rule = "| :-- |" + String(repeating: " --: |", count: head.count - 1)
    return ([line(head), rule] + rows.map(line)).joined(separator: "\n")
  }

  /// What Markdown would take for its own, with a backslash (CommonMark 0.31 §2.4). Where a line begins, some
  /// characters mean more than within it, and `1. ` begins a list.
  static func escaped(_ text: String) -> String {
    let scalars = Array(Markup.clean(text).unicodeScalars)
    let digits = scalars.prefix { ("0"..."9").contains($0) }.count
    let isNumbered = digits > 0 && (digits + 1 == scalars.count || scalars.dropFirst(digits + 1).first == " ")
    var escaped = String.UnicodeScalarView()
    for (index, scalar) in scalars.enumerated() {
      let isSpecial =
        switch scalar {
        case "\\", "`", "*", "_", "[", "]", "<", ">", "|", "~", "&", "#": true
        case "+", "-", "=": index == 0
        case ".", ")": isNumbered && index == digits
        default: false
        }
      if isSpecial { escaped.append("\\") }
      escaped.append(scalar)
    }
    return String(escaped)
  }
}

/// A report as comma-separated values (RFC 4180), a row a run: times in milliseconds, sizes in bytes, and
/// nothing where nothing is known.
struct ReportCSV {
  let contents: ReportContents

  private static let head = [
    "mode", "jobs", "round", "wall_ms", "files", "bytes", "bytes_per_second", "first_byte_ms", "cpu_ms",
    "peak_memory", "connections", "requests", "retries", "most_at_once",
  ]

  var text: String {
    let phases = FilePhase.allCases
    let head = Self.head + phases.map { "\(ReportJSON.key($0))_ms" }
    let rows = contents.modes.flatMap { $0.result.runs.map { row($0, phases) } }
    // None of the values has a comma or a quote: they are numbers and the names of modes.
    return ([head] + rows).map { $0.joined(separator: ",") + "\r\n" }.joined()
  }

  private func row(_ run: RunMeasurement, _ phases: [FilePhase]) -> [String] {
    let details = run.details
    let isDetailed = !details.transfers.isEmpty
    let shares = TimeShares(FileTimeline.all(details))
    func known(_ value: Int) -> String { isDetailed ? String(value) : "" }
    return [
      run.mode.mode.rawValue, run.mode.jobs.map(String.init) ?? "", String(run.round),
      Self.milliseconds(run.wall), String(run.files), String(run.bytes),
      run.wall > .zero ? Markup.number((Double(run.bytes) / (run.wall / .seconds(1))).rounded()) : "",
      details.timeToFirstByte.map(Self.milliseconds) ?? "",
      details.processorTime > .zero ? Self.milliseconds(details.processorTime) : "",
      details.peakMemory.map { String($0) } ?? "",
      known(details.connections), known(details.requests), known(details.retries),
      details.mostAtOnce > 0 ? String(details.mostAtOnce) : "",
    ] + phases.map { shares.times[$0].map(Self.milliseconds) ?? "" }
  }

  private static func milliseconds(_ time: Duration) -> String { Markup.number(time / .milliseconds(1)) }
}
