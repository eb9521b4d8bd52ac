import DownloadModel
import FoundationEssentials

/// A command of a folder, and what its run came to.
struct RunHistory: Equatable {
  let run: String
  let command: Command
  /// Nil while a run is under way, and after one that says nothing about its mode (`RunReport.isThrough`).
  var last: PastRun?

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

/// An event in a folder, a line of its history each (`RunHistory`).
enum RunEvent: Equatable {
  case began(run: String, RunHistory.Command)
  /// - Parameter run: nil for one that no command repeats (`dlm compare`).
  case ended(run: String?, PastRun)
  /// Its list broke off later: as if it had never begun.
  case void(run: String)

  var ended: PastRun? { if case .ended(_, let past) = self { past } else { nil } }
}

extension RunHistory {
  private static let most = 16

  /// What a folder's events come to, the newest last. Earlier runs are known too, because a void run gives way to the
  /// one before it, and several may be under way at once.
  static func all(_ events: [RunEvent]) -> [RunHistory] {
    var all: [RunHistory] = []
    for event in events {
      switch event {
      case .began(let run, var command):
        // A list that is taken again has lost its logins already.
        if let before = all.last?.command, before.sources == command.sources,
          before.withheld.contains(.addressLogins), !command.withheld.contains(.addressLogins)
        {
          command.withheld.append(.addressLogins)
        }
        all.append(RunHistory(run: run, command: command))
        if all.count > most { all.removeFirst() }
      case .ended(let run, let past):
        guard past.directory != nil, let index = all.lastIndex(where: { $0.run == run }) else { continue }
        var ended = all.remove(at: index)
        ended.last = past
        all.append(ended)
      case .void(let run): all.removeAll { $0.run == run }
      }
    }
    return all
  }

  /// Fewer events that come to the same: the newer half of the runs that fetched, and those whose times stand.
  static func fewer(_ events: [RunEvent]) -> [RunEvent] {
    let commands = Dictionary(all(events).map { ($0.run, $0.command) }) { $1 }
    let runs = events.compactMap(\.ended)
    let newest = runs.filter { $0.fetched > 0 }.suffix(runs.count { $0.fetched > 0 } / 2)
    var older = runs.count { $0.fetched > 0 } - newest.count
    let times = Dictionary(newest.map { ($0.listDigest, $0.listDigest) }) { $1 }.mapValues { RunTimes(runs, of: $0) }
    return events.compactMap { event in
      switch event {
      case .began(let run, _): return commands[run].map { .began(run: run, $0) }
      case .ended(let run, var past):
        let isStanding = times[past.listDigest]?[past.mode] == past
        if past.fetched > 0 { older -= 1 }
        let isNew = past.fetched > 0 && older < 0
        guard isStanding || isNew || run.map({ commands[$0] != nil }) ?? false else { return nil }
        if isStanding { past.isOfAll = true }
        return .ended(run: run, past)
      case .void: return nil
      }
    }
  }
}

/// The events as text, a JSON object a line. `withheld` is `proxy`, `logins`, or `header:` and a field's name. A line
/// that is no such object (a torn write, another version), or has numbers that no run has, says nothing.
enum RunEventLines {
  private static let format = 1

  /// - Returns: text to be appended. It begins with a line end, because the line before it may be torn.
  static func text(_ events: [RunEvent]) -> [UInt8] {
    Array(("\n" + events.map { JSONValue.object(fields($0)).text + "\n" }.joined()).utf8)
  }

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

    /// No run takes longer than thirty years, or ends after the year 9999.
    private var past: PastRun? {
      guard let command = command.flatMap({ PastRun.Command(rawValue: $0) }),
        let mode = mode.flatMap({ DownloadMode(rawValue: $0) }), let list,
        let jobs, let files, let bytes, let seconds, let at, 1...(1 << 16) ~= jobs, 0...(1 << 50) ~= files,
        0...(1 << 50) ~= failed ?? 0, 0...(1 << 60) ~= bytes, 0...1e9 ~= seconds, 0...253_402_300_799_999 ~= at
      else { return nil }
      return PastRun(
        command: command, sources: sources ?? [], mode: mode, adaptsJobs: adapts ?? false, listDigest: list,
        jobs: jobs, fetched: files, failed: failed ?? 0, transferredBytes: bytes, seconds: seconds,
        endedAt: at, directory: directory, isOfAll: all ?? false)
    }
  }

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
