import Comparing
import DownloadModel
import TerminalProgress

struct HistoryMessages {
  /// The oldest first.
  let runs: [PastRun]
  /// Paths are shown as they would be typed there.
  let folder: String
  /// The SOURCE that represents a list from a pipe.
  let isPiped: (_ list: String) -> Bool
  let most: Int
  /// Of the window; `nil` for no window.
  var columns: Int?

  /// One table, the newest run last.
  var lines: [String] {
    let shown = runs.suffix(most)
    let rows = shown.map { past in
      [
        TimeText.local(seconds: past.endedAt / 1000), Self.mode(past), Quantity.count(past.fetched),
        Quantity.bytes(past.transferredBytes), Quantity.measurement(.seconds(past.seconds)),
        "  \(what(past))",
      ]
    }
    let table = TextColumns.lines(
      [["WHEN", "MODE", "FILES", "FETCHED", "TIME", "  WHAT"]] + rows, [18, 16, -5, -10, -9, 0])
    let earlier = runs.count > most ? ["(\(Quantity.count(runs.count - most)) earlier)"] : []
    let trends = trends(Set(shown.map(\.listDigest)))
    return [table[0]] + earlier + table.dropFirst() + (trends.isEmpty ? [] : [""] + trends)
  }

  /// One run a line, with URLs without signatures.
  var json: [JSONValue] {
    runs.suffix(most).map { past in
      var fields = past.fields
      fields["ended"] = TimeText.utc(milliseconds: past.endedAt)
      fields["sources"] = past.sources.map { Redaction.redacted($0) }
      return JSONValue(fields)
    }
  }

  /// `urls.txt, compare, 1 failed`
  private func what(_ past: PastRun) -> String {
    let marks =
      (past.command == .compare ? ", compare" : "")
      + (past.failed > 0 ? ", \(Quantity.count(past.failed)) failed" : "")
    // The previous column ends at 60; a line of exactly the window's width would be broken.
    return name(past, cells: columns.map { $0 - 61 - marks.count } ?? .max) + marks
  }

  /// In full if there is room, else its last part.
  private func name(_ past: PastRun, cells: Int) -> String {
    let isPiped = past.sources.contains { source in
      self.isPiped(source) || ["/dev/fd/", "/dev/stdin", "/proc/self/fd/"].contains { source.hasPrefix($0) }
    }
    guard !isPiped, let first = past.sources.first else { return "a list from a pipe" }
    let more = past.sources.count > 1 ? " and \(Quantity.count(past.sources.count - 1)) more" : ""
    let whole = TerminalText.sanitized(CommandLineText.quoted(first, from: folder))
    let room = max(8, cells - more.count)
    return (whole.count <= room ? whole : TextCut.ends(of: [whole], to: room, ellipsis: "…")[whole] ?? "") + more
  }

  private static func mode(_ past: PastRun) -> String {
    ComparedMode(past.mode, jobs: past.adaptsJobs ? nil : past.jobs).name
  }

  /// `urls.txt, parallel: 5 runs of the same work, 0.24 s to 1.20 s, the last 0.25 s ▇▂▁▁▁`
  private func trends(_ lists: Set<String>) -> [String] {
    var lines: [String] = []
    var told: [PastRun] = []
    for past in runs.reversed() where lists.contains(past.listDigest) && !told.contains(where: past.isLike) {
      told.append(past)
      let alike = runs.filter(past.isLike).map(\.seconds)
      guard alike.count > 1, let least = alike.min(), let most = alike.max() else { continue }
      func time(_ seconds: Double) -> String { Quantity.measurement(.seconds(seconds)) }
      lines.append(
        "\(name(past, cells: (columns ?? .max) / 3)), \(Self.mode(past)): \(alike.count) runs of the same work, "
          + "\(time(least)) to \(time(most)), the last \(time(past.seconds))  \(Self.sparks(Array(alike.suffix(24))))")
    }
    return lines
  }

  /// Bars of eight heights, from zero to the longest.
  static func sparks(_ values: [Double]) -> String {
    guard let most = values.max(), most > 0 else { return "" }
    let bars = ["▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"]
    return values.map { bars[min(bars.count - 1, Int($0 / most * Double(bars.count)))] }.joined()
  }
}
