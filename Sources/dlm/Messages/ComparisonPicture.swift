import Comparing
import DownloadModel
import TerminalProgress

/// The drawings of `dlm compare` for a terminal: a bar a mode, and the files of a run as a waterfall.
struct ComparisonPicture {
  let report: ComparisonReport
  let width: Int
  let isUnicode: Bool
  var isColored = false

  /// Longer bars say nothing more.
  private static let mostCells = 120
  private static let leastBar = 10
  /// Files of a waterfall, evenly drawn from all.
  private static let mostRows = 16

  var lines: [String] {
    let waterfall = waterfall
    return bars + (waterfall.isEmpty ? [] : [""] + waterfall)
  }

  /// `parallel ███▊ 214 ms ± 2 %`: the median time, and behind it how far the slowest run went.
  var bars: [String] {
    let names = report.results.map(\.mode.name)
    let labels = report.results.map(label)
    let nameWidth = (names.map(\.count).max() ?? 0) + 2
    let labelWidth = (labels.map(\.count).max() ?? 0) + 2
    let room = max(Self.leastBar, width - nameWidth - labelWidth)
    guard let longest = report.results.map(\.times.maximum).max(), longest > .zero else { return [] }
    return report.results.enumerated().map { index, result in
      let median = Double(room) * (result.times.median / longest)
      let slowest = Double(room) * (result.times.maximum / longest)
      return TextColumns.line([names[index]], [nameWidth]) + colored(bar(median, slowest), "36")
        + "  \(labels[index])"
    }
  }

  private func label(_ result: ModeResult) -> String {
    let time = ComparisonMessages.milliseconds(result.times.median)
    guard result.times.count > 1 else { return time }
    return "\(time) \(isUnicode ? "±" : "+-") \(Int((result.times.spread * 100).rounded())) %"
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
    guard let slowest = ranked.first else { return [] }
    let shown = ranked.count > 1 ? [slowest, ranked[ranked.count - 1]] : [slowest]
    let runs = shown.map { ($0, FileTimeline.all($0.medianRun.details)) }
    guard runs.allSatisfy({ !$0.1.isEmpty }), let end = runs.flatMap({ $0.1.map(\.end) }).max(), end > .zero
    else { return [] }
    var lines: [String] = []
    let names = RowNames(
      runs.flatMap { Self.some($0.1).map(\.address) }, cells: Self.nameCells, more: isUnicode ? "…" : "..")
    for (result, files) in runs {
      let some = Self.some(files)
      let count = some.count < files.count ? "\(some.count) of \(Quantity.count(files.count)) files" : "files"
      lines.append("\(result.mode.name), \(count):")
      lines += some.map { "  " + row($0, named: names[$0.address], end: end) }
    }
    return lines + [axis(end), legend]
  }

  private static func some(_ files: [FileTimeline]) -> [FileTimeline] {
    guard files.count > mostRows else { return files }
    return (0..<mostRows).map { files[$0 * (files.count - 1) / (mostRows - 1)] }
  }

  private static let nameCells = 16
  private var axisCells: Int { max(Self.leastBar, width - Self.nameCells - 4) }

  private func row(_ file: FileTimeline, named name: String, end: Duration) -> String {
    var row = TextColumns.line([name], [Self.nameCells + 1])
    var run = ""
    var phase: FilePhase?
    for cell in 0..<axisCells {
      let from = end * cell / axisCells
      let to = end * (cell + 1) / axisCells
      let next = Self.phase(of: file, from, to)
      if next != phase {
        row += colored(run, Self.color(of: phase))
        (run, phase) = ("", next)
      }
      run += glyph(next)
    }
    row += colored(run, Self.color(of: phase))
    while row.last == " " { row.removeLast() }
    return row
  }

  /// What fills most of that time; nil before and after.
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

  private func glyph(_ phase: FilePhase?) -> String {
    let (blocks, letters) =
      switch phase {
      case nil: (" ", " ")
      case .queued: ("·", ".")
      case .lookingUp, .connecting, .securing: ("▒", "c")
      case .waiting: ("░", "-")
      case .receiving, .finishing: ("█", "#")
      }
    return isUnicode ? blocks : letters
  }

  private static let margin = String(repeating: " ", count: nameCells + 3)

  private func axis(_ end: Duration) -> String {
    let text = ComparisonMessages.milliseconds(end)
    return Self.margin + "0" + String(repeating: " ", count: max(1, axisCells - 1 - text.count)) + text
  }

  private var legend: String {
    let parts: [(FilePhase, String)] = [
      (.queued, "queued"), (.connecting, "connecting"), (.waiting, "waiting"), (.receiving, "receiving"),
    ]
    return Self.margin
      + parts.map { colored(glyph($0), Self.color(of: $0)) + " \($1)" }.joined(separator: "   ")
  }

  /// SGR (ECMA-48 §8.3.117).
  private static func color(of phase: FilePhase?) -> String? {
    switch phase {
    case nil: nil
    case .queued: "2"
    case .lookingUp, .connecting, .securing: "35"
    case .waiting: "33"
    case .receiving, .finishing: "32"
    }
  }

  private func colored(_ text: String, _ code: String?) -> String {
    guard isColored, !text.isEmpty, let code else { return text }
    return "\u{1b}[\(code)m\(text)\u{1b}[0m"
  }
}

extension ComparisonPicture {
  /// Nil without a terminal, since what is piped is for programs, or for later.
  init?(_ report: ComparisonReport, on size: TerminalSize?, _ variables: [String: String]) {
    guard let size else { return nil }
    let environment = TerminalEnvironment(isTerminal: true, variables: variables)
    self.init(
      report: report, width: min(size.columns, Self.mostCells), isUnicode: environment.drawsBlocks,
      isColored: environment.isColored)
  }
}

/// Short names of addresses: their ends, and of those that end alike the part that differs.
struct RowNames {
  private let cells: Int
  /// The mark for what is left out.
  private let more: String
  private var names: [String: String] = [:]

  init(_ addresses: [String], cells: Int, more: String) {
    (self.cells, self.more) = (cells, more)
    let texts = Dictionary(addresses.map { ($0, Array(TerminalText.sanitized($0))) }) { $1 }
    for (name, group) in Dictionary(grouping: texts, by: { end(of: $0.value) }) {
      if group.count == 1 { names[group[0].key] = name } else { tell(group.map { ($0.key, $0.value) }) }
    }
  }

  subscript(address: String) -> String { names[address] ?? "" }

  private func end(of text: [Character]) -> String {
    let last = Array(text.split(separator: "/").last ?? text[...])
    return last.count > cells ? more + String(last.suffix(cells - more.count)) : String(last)
  }

  /// Names each from the first place in which they differ; those that still look alike, from the next.
  private mutating func tell(_ group: [(address: String, text: [Character])]) {
    let first = group[0].text
    let same = group.map { zip($0.text, first).prefix { $0 == $1 }.count }.min() ?? 0
    let groups = Dictionary(grouping: group) { window(of: $0.text, from: same) }
    for (name, group) in groups {
      // Those that differ only in secrets are one text.
      if group.count == 1 || groups.count == 1 {
        for (address, _) in group { names[address] = name }
      } else {
        tell(group)
      }
    }
  }

  /// From the beginning of the path's part in which the place is, if that is near.
  private func window(of text: [Character], from place: Int) -> String {
    let part = (text[..<place].lastIndex(of: "/") ?? -1) + 1
    let room = cells - (part > 0 ? more.count : 0)
    let isNear = place - part < cells / 2 || text.count - part <= room
    let begin = isNear ? part : max(part, min(place, text.count - cells / 2))
    let rest = text[begin...]
    let shown = rest.count > room ? rest.prefix(room - more.count) + Array(more) : rest
    return (begin > 0 ? more : "") + String(shown)
  }
}
