import ArgumentParser
import DownloadModel
import FoundationEssentials
import Glibc
import SystemPackage
import TerminalProgress

struct HistoryCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "history", abstract: "Show how long the lists of this folder took, run by run.",
    discussion: """
      The runs of get and compare in this folder that went through their list and fetched something, a list at a time, \
      and how each mode's time has moved. Kept in $XDG_STATE_HOME/dlm, for you alone; the newest few hundred.

      EXAMPLES
        dlm history
        dlm history urls.txt
        dlm history --json
      """)

  @Argument(help: .value("list", "Only runs of this list (default: all of this folder)."), completion: .file())
  var list: String?

  @Option(name: [.customShort("n"), .long], help: .value("N", "The newest N of each list.")) var runs = 20
  @Flag(help: "A JSON object a line, for programs.") var json = false

  func validate() throws {
    guard runs >= 1 else { throw ValidationError("--runs needs at least 1.") }
  }

  func run() async throws {
    let store = RunHistoryStore(ProcessInfo.processInfo.environment)
    let name = list.map { RunMemory.name(of: Source($0, isList: true), store) ?? $0 }
    StandardError.say([store.warning].compactMap(\.self))
    let all = store.past.filter { past in name.map { past.sources.contains($0) } ?? true }
    let messages = HistoryMessages(runs: all, folder: store.folder, most: runs)
    if json { return try StandardOutput.write(messages.json) }
    guard !all.isEmpty else {
      let what = list.map { "of \(TerminalText.sanitized($0))" } ?? "in this folder"
      StandardError.say([
        "dlm: no run \(what) is remembered that went through its list and fetched something: dlm get LIST is one"
      ])
      throw ExitCode(ExitStatus.sourceUnreadable.rawValue)
    }
    try StandardOutput.say(messages.lines)
  }
}

struct HistoryMessages {
  /// The oldest first.
  let runs: [PastRun]
  /// Paths are shown as they are typed there.
  let folder: String
  /// Runs of each list.
  let most: Int

  /// The list that was run last comes last.
  var lines: [String] { Array(byList.map(table).joined(separator: [""])) }

  /// A run a line, with addresses without what signs them.
  var json: String {
    byList.flatMap { $0.suffix(most) }.map { past in
      var fields = past.fields
      fields["ended"] = .text(TimeText.utc(milliseconds: past.endedAt))
      fields["sources"] = .list(past.sources.map { .text(Redaction.redacted($0)) })
      return JSONValue.object(fields).text + "\n"
    }.joined()
  }

  private var byList: [[PastRun]] {
    Dictionary(grouping: runs.enumerated(), by: \.element.listDigest).values
      .sorted { ($0.last?.offset ?? 0) < ($1.last?.offset ?? 0) }.map { $0.map(\.element) }
  }

  private func table(_ runs: [PastRun]) -> [String] {
    guard let newest = runs.last else { return [] }
    let rows = runs.suffix(most).map { past in
      [
        TimeText.local(seconds: past.endedAt / 1000), past.command.rawValue, Self.mode(past),
        Quantity.count(past.fetched), Quantity.bytes(past.transferredBytes),
        ComparisonMessages.milliseconds(.seconds(past.seconds)),
        past.bytesPerSecond.map(Quantity.rate) ?? "–",
        past.failed > 0 ? "  \(Quantity.count(past.failed)) failed" : "",
      ]
    }
    let lines = TextColumns.lines(
      [["WHEN", "COMMAND", "MODE", "FILES", "FETCHED", "TIME", "RATE", ""]] + rows, [18, 9, 16, -7, -10, -10, -12, 0])
    let earlier = runs.count > most ? ["(\(Quantity.count(runs.count - most)) earlier)"] : []
    let names = newest.sources.map { TerminalText.sanitized(CommandLineText.quoted($0, from: folder)) }
    return [names.joined(separator: " "), lines[0]] + earlier + lines.dropFirst() + trends(runs)
  }

  private static func mode(_ past: PastRun) -> String {
    past.mode.rawValue + (past.mode == .sequential || past.adaptsJobs ? "" : " -j \(past.jobs)")
  }

  /// `parallel: 5 runs of the same work, 0.24 s to 1.20 s, the last 0.25 s ▇▂▁▁▁`
  private func trends(_ runs: [PastRun]) -> [String] {
    var lines: [String] = []
    var told: [PastRun] = []
    for past in runs.reversed() where !told.contains(where: { $0.isLike(past) }) {
      told.append(past)
      let alike = runs.filter { $0.isLike(past) }.map(\.seconds)
      guard alike.count > 1, let least = alike.min(), let most = alike.max() else { continue }
      func time(_ seconds: Double) -> String { ComparisonMessages.milliseconds(.seconds(seconds)) }
      lines.append(
        "\(Self.mode(past)): \(alike.count) runs of the same work, \(time(least)) to \(time(most)), the last "
          + "\(time(past.seconds))  \(Self.sparks(Array(alike.suffix(24))))")
    }
    return lines
  }

  /// Bars of eight heights, from nothing to the longest.
  static func sparks(_ values: [Double]) -> String {
    guard let most = values.max(), most > 0 else { return "" }
    let bars = ["▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"]
    return values.map { bars[min(bars.count - 1, Int($0 / most * Double(bars.count)))] }.joined()
  }
}

/// Points in time as people and programs read them (RFC 3339, ISO 8601).
enum TimeText {
  /// `2026-11-20T18:22:03.123Z`
  static func utc(milliseconds: Int64) -> String {
    let (seconds, rest) = milliseconds.quotientAndRemainder(dividingBy: 1000)
    var (time, fields) = (time_t(seconds), tm())
    guard gmtime_r(&time, &fields) != nil else { return "" }
    return fields.text("%04Y-%m-%dT%H:%M:%S") + ".\(String(1000 + rest).dropFirst())Z"
  }

  /// `2026-11-20 18:22`, in this user's time zone.
  static func local(seconds: Int64) -> String {
    var (time, fields) = (time_t(seconds), tm())
    guard localtime_r(&time, &fields) != nil else { return "" }
    return fields.text("%04Y-%m-%d %H:%M")
  }
}
