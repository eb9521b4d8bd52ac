import DownloadModel
import TerminalProgress

/// What `dlm history` says.
struct HistoryMessages {
  private let runs: [PastRun]
  private let folder: String
  private let most: Int

  /// - Parameters:
  ///   - runs: the oldest first.
  ///   - folder: whose paths are shown as they are typed there.
  ///   - most: of each list.
  init(_ runs: [PastRun], folder: String, most: Int) {
    self.runs = runs
    self.folder = folder
    self.most = most
  }

  /// Said where there is nothing to show.
  static func nothing(_ list: String?) -> String {
    let what = list.map { "of \(TerminalText.sanitized($0))" } ?? "in this folder"
    return "dlm: no run \(what) is remembered that fetched something: dlm get LIST is one"
  }

  /// The list that was run last comes last.
  var lines: [String] {
    var order: [String] = []
    var byList: [String: [PastRun]] = [:]
    for run in runs {
      let digest = run.run.listDigest
      byList[digest, default: []].append(run)
      order.removeAll { $0 == digest }
      order.append(digest)
    }
    return Array(order.map { table(byList[$0] ?? []) }.joined(separator: [""]))
  }

  private func table(_ runs: [PastRun]) -> [String] {
    guard let newest = runs.last else { return [] }
    var lines = [
      names(newest.sources), Self.row("WHEN", "COMMAND", "MODE", "FILES", "FETCHED", "TIME", "RATE"),
    ]
    if runs.count > most { lines.append("(\(Quantity.count(runs.count - most)) earlier)") }
    for past in runs.suffix(most) {
      lines.append(
        Self.row(
          TimeText.local(seconds: past.run.endedAt / 1000), past.command.rawValue, Self.mode(past),
          Quantity.count(past.run.fetched), Quantity.bytes(past.run.transferredBytes),
          ComparisonMessages.milliseconds(.seconds(past.run.seconds)),
          past.bytesPerSecond.map(Quantity.rate) ?? "–"))
    }
    return lines + trends(runs)
  }

  private func names(_ sources: [String]) -> String {
    let here = folder.hasSuffix("/") ? folder : folder + "/"
    return sources.map { source in
      TerminalText.sanitized(
        CommandLineText.quoted(source.hasPrefix(here) ? String(source.dropFirst(here.count)) : source))
    }.joined(separator: " ")
  }

  private static func mode(_ past: PastRun) -> String {
    past.mode == .sequential
      ? past.mode.rawValue : "\(past.mode.rawValue)\(past.adaptsJobs ? "" : " -j \(past.run.jobs)")"
  }

  /// `parallel: 5 runs of the same work, 0.24 s to 1.20 s, the last 0.25 s  ▇▂▁▁▁`
  private func trends(_ runs: [PastRun]) -> [String] {
    var lines: [String] = []
    var told: [PastRun] = []
    for past in runs.reversed() where !told.contains(where: { $0.isLike(past) }) {
      told.append(past)
      let alike = runs.filter { $0.isLike(past) }.map(\.run.seconds)
      guard alike.count > 1, let least = alike.min(), let most = alike.max() else { continue }
      func time(_ seconds: Double) -> String { ComparisonMessages.milliseconds(.seconds(seconds)) }
      lines.append(
        "\(Self.mode(past)): \(alike.count) runs of the same work, \(time(least)) to \(time(most)), the last "
          + "\(time(past.run.seconds))  \(Self.sparks(Array(alike.suffix(24))))")
    }
    return lines
  }

  /// Bars of eight heights, from nothing to the longest.
  static func sparks(_ values: [Double]) -> String {
    guard let most = values.max(), most > 0 else { return "" }
    let bars = ["▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"]
    return values.map { bars[min(bars.count - 1, Int($0 / most * Double(bars.count)))] }.joined()
  }

  private static func row(
    _ when: String, _ command: String, _ mode: String, _ files: String, _ bytes: String, _ time: String,
    _ rate: String
  ) -> String {
    func right(_ text: String, _ width: Int) -> String {
      String(repeating: " ", count: max(1, width - text.count)) + text
    }
    func left(_ text: String, _ width: Int) -> String {
      text + String(repeating: " ", count: max(1, width - text.count))
    }
    return left(when, 18) + left(command, 9) + left(mode, 16) + right(files, 7) + right(bytes, 10)
      + right(time, 10) + right(rate, 12)
  }

  static func json(_ past: PastRun) -> JSONValue {
    .object([
      "command": .text(past.command.rawValue), "mode": .text(past.mode.rawValue),
      "jobs": .number(Int64(past.run.jobs)), "adapts": .flag(past.adaptsJobs),
      "files": .number(Int64(past.run.fetched)), "bytes": .number(past.run.transferredBytes),
      "seconds": .decimal(past.run.seconds), "list": .text(past.run.listDigest),
      "ended": .text(TimeText.utc(milliseconds: past.run.endedAt)),
      "sources": .list(past.sources.map { .text($0) }),
    ])
  }
}
