import Comparing
import TerminalProgress

/// The drawings of `dlm compare` for a terminal: one bar for each mode, and a waterfall of files in the slowest and in
/// the fastest mode.
struct ComparisonPicture {
  let report: ComparisonReport
  let width: Int
  let isUnicode: Bool
  var isColored = false

  /// Longer bars show nothing more.
  private static let mostCells = 120
  private static let leastBar = 10
  /// Files of a waterfall, selected evenly from all.
  private static let mostRows = 16

  /// `parallel ███▊ 214 ms`: the median time, followed by a mark up to the slowest run.
  var bars: [String] {
    let labels = report.results.map { Quantity.measurement($0.times.median) }
    let nameWidth = (report.results.map(\.mode.name.count).max() ?? 0) + 2
    let labelWidth = (labels.map(\.count).max() ?? 0) + 2
    let room = max(Self.leastBar, width - nameWidth - labelWidth)
    guard let longest = report.results.map(\.times.maximum).max(), longest > .zero else { return [] }
    return zip(report.results, labels).map { result, label in
      let median = Double(room) * (result.times.median / longest)
      let slowest = Double(room) * (result.times.maximum / longest)
      return TextColumns.line([result.mode.name], [nameWidth]) + colored(bar(median, slowest), "36") + "  \(label)"
    }
  }

  private func bar(_ median: Double, _ slowest: Double) -> String {
    if !isUnicode {
      let whole = max(1, Int(median.rounded()))
      return String(repeating: "#", count: whole)
        + String(repeating: "-", count: max(0, Int(slowest.rounded()) - whole))
    }
    let eighths = max(1, Int((median * 8).rounded()))
    var text = String(repeating: "█", count: eighths / 8)
    if eighths % 8 > 0 { text.append(["▏", "▎", "▍", "▌", "▋", "▊", "▉"][eighths % 8 - 1]) }
    let rest = Int(slowest.rounded()) - text.count
    return rest > 0 ? text + String(repeating: "─", count: rest) : text
  }

  /// The files of the slowest mode and of the fastest, on one time axis.
  var waterfall: [String] {
    let ranked = report.results.sorted { $0.times.median > $1.times.median }
    let runs = (ranked.prefix(1) + ranked.dropFirst().suffix(1)).map { ($0, FileTimeline.all($0.medianRun.details)) }
    guard runs.allSatisfy({ !$0.1.isEmpty }), let end = runs.flatMap({ $0.1.map(\.end) }).max(), end > .zero
    else { return [] }
    var lines: [String] = []
    let names = TextCut.ends(
      of: runs.flatMap { Self.some($0.1).map(\.address) }, to: nameCells, ellipsis: isUnicode ? "…" : "..")
    for (result, files) in runs {
      let some = Self.some(files)
      let count = some.count < files.count ? "\(some.count) of \(Quantity.count(files.count)) files" : "files"
      lines.append("\(result.mode.name), \(count):")
      lines += some.map { "  " + row($0, named: names[$0.address] ?? "", end: end) }
    }
    return lines + [axis(end), legend]
  }

  private static func some(_ files: [FileTimeline]) -> [FileTimeline] {
    guard files.count > mostRows else { return files }
    return (0..<mostRows).map { files[$0 * (files.count - 1) / (mostRows - 1)] }
  }

  private var nameCells: Int { max(16, width / 4) }
  private var axisCells: Int { max(Self.leastBar, width - nameCells - 4) }

  private func row(_ file: FileTimeline, named name: String, end: Duration) -> String {
    var row = TextColumns.line([name], [nameCells + 1])
    var run = ""
    var phase: FilePhase?
    for cell in 0..<axisCells {
      let from = end * cell / axisCells
      let to = end * (cell + 1) / axisCells
      let next = Self.phase(of: file, from, to)
      if next != phase {
        row += colored(run, Self.look(phase).color)
        run = ""
        phase = next
      }
      run += glyph(next)
    }
    row += colored(run, Self.look(phase).color)
    while row.last == " " { row.removeLast() }
    return row
  }

  /// The phase with most of that time; `nil` before and after.
  private static func phase(of file: FileTimeline, _ from: Duration, _ to: Duration) -> FilePhase? {
    var best: (phase: FilePhase, length: Duration)?
    for span in file.spans where span.end > from && span.begin < to {
      let length = min(span.end, to) - max(span.begin, from)
      // Any work in a cell is shown rather than waiting for a turn.
      let weight = span.phase == .queued ? length / 1000 : length
      if weight > best?.length ?? .zero { best = (span.phase, weight) }
    }
    return best?.phase
  }

  private func glyph(_ phase: FilePhase?) -> String { isUnicode ? Self.look(phase).block : Self.look(phase).letter }

  /// With the parameters of its colour (SGR, ECMA-48 §8.3.117).
  private static func look(_ phase: FilePhase?) -> (block: String, letter: String, color: String?) {
    switch phase {
    case nil: (" ", " ", nil)
    case .queued: ("·", ".", "2")
    case .lookingUp, .connecting, .securing: ("▒", "c", "35")
    case .waiting: ("░", "-", "33")
    case .receiving, .finishing: ("█", "#", "32")
    }
  }

  private var margin: String { String(repeating: " ", count: nameCells + 3) }

  private func axis(_ end: Duration) -> String {
    let text = Quantity.measurement(end)
    return margin + "0" + String(repeating: " ", count: max(1, axisCells - 1 - text.count)) + text
  }

  private var legend: String {
    let parts: [FilePhase] = [.queued, .connecting, .waiting, .receiving]
    return margin + parts.map { colored(glyph($0), Self.look($0).color) + " \($0.name)" }.joined(separator: "   ")
  }

  private func colored(_ text: String, _ code: String?) -> String {
    guard isColored, !text.isEmpty, let code else { return text }
    return "\u{1b}[\(code)m\(text)\u{1b}[0m"
  }
}

extension ComparisonPicture {
  /// `nil` without a terminal, because piped output is for programs, or for later.
  init?(_ report: ComparisonReport, on size: TerminalSize?, _ variables: [String: String]) {
    guard let size else { return nil }
    let environment = TerminalEnvironment(isTerminal: true, variables: variables)
    self.init(
      report: report, width: min(size.columns, Self.mostCells), isUnicode: environment.drawsBlocks,
      isColored: environment.isColored)
  }
}
