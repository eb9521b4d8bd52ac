import DownloadCaching
import DownloadModel
import FoundationEssentials
import StrategyComparing

/// What the last `get` in a folder was.
struct RunHistory: Equatable {
  /// The working folder, absolute.
  var folder: String
  /// The command of the last run.
  var command: Command
  /// Nil while a run is under way, and after one that says nothing about its mode (`RunReport.isThrough`).
  var last: PastRun?

  /// What a run was asked for, as far as the next one may know it.
  struct Command: Equatable {
    /// Lists by their whole path, addresses without credentials.
    var sources: [String]
    /// As the user would type them; see `RememberedOptions`.
    var options: [String] = []
    var withheld: [Withheld] = []
    /// The output folder, absolute.
    var directory: String?
    var mode: DownloadMode?
  }
}

/// One run of a folder that went through its list.
struct PastRun: Equatable {
  enum Command: String { case get, compare }

  var command = Command.get
  /// The sources of its list, as the next command would name them; without credentials.
  var sources: [String] = []
  var mode: DownloadMode
  /// Whether `jobs` was the most, and the run found out what is good.
  var adaptsJobs = false
  var listDigest: String
  var jobs: Int
  /// Files whose bodies came over the network.
  var fetched: Int
  /// Files and lines of the list that came to nothing.
  var failed = 0
  /// The bytes of the fetched files that were not here before.
  var transferredBytes: Int64
  var seconds: Double
  /// In milliseconds since 1970.
  var endedAt: Int64
  /// Where its files stand, absolute and without links; nil where another run cannot be compared with them.
  var directory: String?
  /// Whether it fetched all files, whatever an earlier run did.
  var isOfAll = false

  /// Bytes a second over the network; nil where that is no time at all.
  var bytesPerSecond: Double? { seconds > 0 ? Double(transferredBytes) / seconds : nil }

  /// Whether both moved the same files; a run that found most of them unchanged measures something else. For files
  /// without a byte, this cannot tell whether they were fetched.
  func didSameWork(as other: PastRun) -> Bool {
    listDigest == other.listDigest && failed == other.failed && transferredBytes == other.transferredBytes
      && (transferredBytes > 0 || fetched == other.fetched)
  }

  /// Whether both measured the same: the same work in the same way.
  func isLike(_ other: PastRun) -> Bool {
    mode == other.mode && adaptsJobs == other.adaptsJobs && (adaptsJobs || jobs == other.jobs)
      && didSameWork(as: other)
  }

  /// Whether it takes the place of an earlier run of its list and mode. One that fetched nothing, or less, did other
  /// work, so the measured time stays.
  func replaces(_ earlier: PastRun?) -> Bool {
    if isOfAll { return true }
    guard fetched > 0 else { return false }
    guard let earlier, fetched <= earlier.fetched else { return true }
    return transferredBytes >= earlier.transferredBytes
  }

  /// For programs; its line in the history has the same fields.
  var fields: [String: JSONValue] {
    [
      "command": .text(command.rawValue), "mode": .text(mode.rawValue), "jobs": .of(jobs),
      "adapts": .flag(adaptsJobs), "files": .of(fetched), "failed": .of(failed),
      "bytes": .number(transferredBytes), "seconds": .decimal(seconds), "list": .text(listDigest),
    ]
  }

  /// The runs of a comparison, in the order of their rounds.
  static func all(
    of report: ComparisonReport, _ settings: Settings, sources: [String], listDigest: String
  ) -> [PastRun] {
    let endedAt = WallClock.milliseconds()
    return report.results.flatMap(\.runs).sorted { $0.round < $1.round }.map { run in
      PastRun(
        command: .compare, sources: sources, mode: run.mode.mode,
        adaptsJobs: run.mode.jobs == nil && settings.adaptsJobs && run.mode.mode != .sequential,
        listDigest: listDigest, jobs: run.mode.jobs ?? max(1, run.details.mostAtOnce), fetched: run.files,
        failed: report.leftOut.count, transferredBytes: run.bytes, seconds: run.wall / .seconds(1), endedAt: endedAt)
    }
  }
}

/// How long the modes took for one list: for each the run whose time stands for it.
struct RunTimes: Equatable {
  private var runs: [DownloadMode: PastRun] = [:]

  /// - Parameter all: of any list, in the order in which they ended.
  init(_ all: [PastRun], of listDigest: String) {
    for run in all where run.listDigest == listDigest && run.command == .get {
      if run.replaces(runs[run.mode]) { runs[run.mode] = run }
    }
  }

  subscript(mode: DownloadMode) -> PastRun? { runs[mode] }

  struct Comparison: Equatable {
    var run: PastRun
    /// Both moved the same files over the network.
    var isFair: Bool
  }

  /// The newest run in another mode; one that can be compared goes before one that cannot. Nil also for a run that
  /// fetched nothing, because it measures nothing.
  func comparison(for this: PastRun) -> Comparison? {
    guard this.fetched > 0 else { return nil }
    return runs.values.filter { $0.mode != this.mode }
      .map { Comparison(run: $0, isFair: $0.didSameWork(as: this)) }
      .max { ($0.isFair ? 1 : 0, $0.run.endedAt) < ($1.isFair ? 1 : 0, $1.run.endedAt) }
  }

  /// The known times without another run: the fastest mode, and sequential or the slowest, of those that did the same
  /// work.
  var measured: (fast: PastRun, slow: PastRun)? {
    let all = runs.values.sorted { $0.seconds < $1.seconds }
    guard let fast = all.first else { return nil }
    let others = all.dropFirst().filter { $0.didSameWork(as: fast) }
    return (others.first { $0.mode == .sequential } ?? others.last).map { (fast, $0) }
  }
}

/// What is noted of the runs in a folder, as they go: each event is a line of the folder's history, and what is
/// remembered is what the lines come to (`RunEvents`).
enum RunEvent: Equatable {
  /// Its list could be read, and names something.
  case began(run: String, RunHistory.Command)
  /// It went through its list.
  /// - Parameter run: nil for one that no command repeats (`dlm compare`).
  case ended(run: String?, PastRun)
  /// Its list broke off after it had been taken for readable: as if it had never begun.
  case void(run: String)

  var ended: PastRun? { if case .ended(_, let past) = self { past } else { nil } }
}

/// What the events of a folder come to. The run of the newest event is the last one. Runs before it are known too,
/// because one that is void gives way to the one before it, and several may be under way at once.
struct RunEvents: Equatable {
  private var commands: [Begun] = []

  private struct Begun: Equatable {
    let run: String
    let command: RunHistory.Command
    var last: PastRun?
  }

  static let mostCommands = 16

  init(_ events: [RunEvent]) { for event in events { add(event) } }

  private mutating func add(_ event: RunEvent) {
    switch event {
    case .began(let run, var command):
      // A list that is taken again has lost its logins already.
      if let before = commands.last?.command, before.sources == command.sources,
        before.withheld.contains(.addressLogins), !command.withheld.contains(.addressLogins)
      {
        command.withheld.append(.addressLogins)
      }
      commands.append(Begun(run: run, command: command))
      if commands.count > Self.mostCommands { commands.removeFirst() }
    case .ended(let run, let past):
      guard past.directory != nil, let index = commands.lastIndex(where: { $0.run == run }) else { return }
      var begun = commands.remove(at: index)
      begun.last = past
      commands.append(begun)
    case .void(let run): commands.removeAll { $0.run == run }
    }
  }

  func history(of folder: String) -> RunHistory? {
    commands.last.map { RunHistory(folder: folder, command: $0.command, last: $0.last) }
  }

  /// Where the runs that are known by their commands put their files.
  var outputFolders: [String] {
    commands.flatMap { [$0.command.directory, $0.last?.directory].compactMap(\.self) }
  }

  /// Fewer events that come to the same, with the newer half of the runs that fetched something.
  static func fewer(_ events: [RunEvent]) -> [RunEvent] {
    let commands = Dictionary(RunEvents(events).commands.map { ($0.run, $0.command) }) { $1 }
    let runs = events.compactMap(\.ended)
    let newest = runs.filter { $0.fetched > 0 }.suffix(runs.count { $0.fetched > 0 } / 2)
    var older = runs.count { $0.fetched > 0 } - newest.count
    let times = Dictionary(newest.map { ($0.listDigest, $0.listDigest) }) { $1 }.mapValues {
      RunTimes(runs, of: $0)
    }
    return events.compactMap { event in
      switch event {
      case .began(let run, _): return commands[run].map { .began(run: run, $0) }
      case .ended(let run, var past):
        let isStanding = times[past.listDigest]?[past.mode] == past
        if past.fetched > 0 { older -= 1 }
        let isNew = past.fetched > 0 && older < 0
        guard isStanding || isNew || run.map({ commands[$0] != nil }) ?? false else { return nil }
        // What it replaced is gone.
        if isStanding { past.isOfAll = true }
        return .ended(run: run, past)
      case .void: return nil
      }
    }
  }
}

/// The events as text, a JSON object a line.
///
///     {"directory":"/home/a","event":"began","mode":"parallel","options":["--jobs=4"],"run":"2k9zq3x8",
///      "sources":["/home/a/my urls.txt"],"v":1,"withheld":["proxy"]}
///     {"at":1763816400123,"bytes":67108864,"directory":"/home/a","event":"ended","files":1000,"jobs":16,
///      "list":"5d41…","mode":"parallel","run":"2k9zq3x8","seconds":4.1,…,"v":1}
///     {"event":"void","run":"7bb01kq","v":1}
///
/// `withheld` is `proxy`, `logins`, or `header:` and a field's name. A line that is no such object (the power failed,
/// the disk was full, another version wrote it), or has numbers that no run has, says nothing.
enum RunEventLines {
  private static let format = 1

  /// - Returns: text to be added behind whatever stands there. It begins with a line end, because the line before it
  ///   may be torn.
  static func text(_ events: [RunEvent]) -> [UInt8] {
    Array(("\n" + events.map { JSONValue.object(fields($0)).text + "\n" }.joined()).utf8)
  }

  /// The events of a text; lines that say nothing are left out.
  /// - Parameter word: of the lines that are wanted; nil for all.
  static func events(_ text: some Collection<UInt8>, with word: String? = nil) -> [RunEvent] {
    let decoder = JSONDecoder()
    return text.split(separator: UInt8(ascii: "\n")).compactMap { line in
      guard word.map({ line.firstRange(of: $0.utf8) != nil }) ?? true else { return nil }
      return (try? decoder.decode(Line.self, from: Data(line)))?.runEvent
    }
  }

  private static func fields(_ event: RunEvent) -> [String: JSONValue] {
    var fields: [String: JSONValue?]
    switch event {
    case .began(let run, let command):
      fields = [
        "event": .text("began"), "run": .text(run), "sources": texts(command.sources),
        "options": texts(command.options), "withheld": texts(command.withheld.map(word)),
        "directory": command.directory.map { .text($0) }, "mode": command.mode.map { .text($0.rawValue) },
      ]
    case .ended(let run, let past):
      fields = past.fields
      fields["event"] = .text("ended")
      fields["run"] = run.map { .text($0) }
      fields["sources"] = texts(past.sources)
      fields["directory"] = past.directory.map { .text($0) }
      fields["at"] = .number(past.endedAt)
      if past.isOfAll { fields["all"] = .flag(true) }
    case .void(let run): fields = ["event": .text("void"), "run": .text(run)]
    }
    fields["v"] = .of(format)
    return fields.compactMapValues(\.self)
  }

  private static func texts(_ texts: [String]) -> JSONValue { .list(texts.map { .text($0) }) }

  private struct Line: Decodable {
    let v: Int
    let event: String
    let run, command, mode, list, directory: String?
    let sources, options, withheld: [String]?
    let adapts, all: Bool?
    let jobs, files, failed: Int?
    let bytes, at: Int64?
    let seconds: Double?

    /// Nil for a line that says nothing.
    var runEvent: RunEvent? {
      switch (v, event) {
      case (format, "began"):
        guard let run, let sources else { return nil }
        let command = RunHistory.Command(
          sources: sources, options: options ?? [], withheld: (withheld ?? []).compactMap(RunEventLines.withheld),
          directory: directory, mode: mode.flatMap { DownloadMode(rawValue: $0) })
        return .began(run: run, command)
      case (format, "ended"): return past.map { .ended(run: run, $0) }
      case (format, "void"): return run.map { .void(run: $0) }
      default: return nil
      }
    }

    private var past: PastRun? {
      guard let command = command.flatMap({ PastRun.Command(rawValue: $0) }),
        let mode = mode.flatMap({ DownloadMode(rawValue: $0) }), let list,
        let jobs, let files, let bytes, let seconds, let at, 1...(1 << 16) ~= jobs, 0...(1 << 50) ~= files,
        0...(1 << 50) ~= failed ?? 0, 0...(1 << 60) ~= bytes, 0...longestRun ~= seconds, 0...latestEnd ~= at
      else { return nil }
      return PastRun(
        command: command, sources: sources ?? [], mode: mode, adaptsJobs: adapts ?? false, listDigest: list,
        jobs: jobs, fetched: files, failed: failed ?? 0, transferredBytes: bytes, seconds: seconds,
        endedAt: at, directory: directory, isOfAll: all ?? false)
    }
  }

  /// In seconds: thirty years. No run takes longer, and it would be computed with and shown.
  private static let longestRun = 1e9
  /// In milliseconds since 1970: the year 9999.
  private static let latestEnd: Int64 = 253_402_300_799_999

  private static func word(_ withheld: Withheld) -> String {
    switch withheld {
    case .header(let name): "header:\(name)"
    case .proxy: "proxy"
    case .addressLogins: "logins"
    }
  }

  private static func withheld(_ word: String) -> Withheld? {
    switch word {
    case "proxy": .proxy
    case "logins": .addressLogins
    default: word.hasPrefix("header:") ? .header(name: String(word.utf8.dropFirst(7)) ?? "") : nil
    }
  }
}
