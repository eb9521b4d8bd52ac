import DownloadModel

/// What is noted of the runs in a folder, as they go: each event is a line of the folder's history, and what
/// is remembered is what the lines come to (`RunEvents`).
enum RunEvent: Equatable {
  /// Its list could be read, and names something.
  case began(run: String, RunHistory.Command)
  /// How long a mode took for a list. The time counts if the run did no less than the one before it in its
  /// mode, or if `isOfAll`: all files were fetched, whatever an earlier run did.
  case measured(DownloadMode, RunHistory.Run, isOfAll: Bool)
  /// Every file of its list was there.
  case ended(run: String, RunHistory.WholeRun)
  /// Its list broke off after it had been taken for readable: as if it had never begun.
  case void(run: String)
  /// How long a run of a command took. It stands in a file of its own (`PastRuns`).
  case ran(String, DownloadMode, RunHistory.Run, adaptsJobs: Bool, sources: [String])
}

/// What the events of a folder come to.
///
/// The run of the newest event is the last one. Runs before it are known too, because one that is void gives
/// way to the one before it, and several may be under way at once.
struct RunEvents: Equatable {
  private var runs: [DownloadMode: RunHistory.Run] = [:]
  private var commands: [Begun] = []

  private struct Begun: Equatable {
    let run: String
    let command: RunHistory.Command
    var last: RunHistory.WholeRun?
  }

  /// How many runs are known by their commands.
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
    case .measured(let mode, let run, let isOfAll):
      if isOfAll || run.replaces(runs[mode]) { runs[mode] = run }
    case .ended(let run, let last):
      guard let index = commands.lastIndex(where: { $0.run == run }) else { return }
      var begun = commands.remove(at: index)
      begun.last = last
      commands.append(begun)
    case .void(let run): commands.removeAll { $0.run == run }
    case .ran: break
    }
  }

  /// - Returns: nil if no run is known.
  func history(of folder: String) -> RunHistory? {
    commands.last.map { RunHistory(folder: folder, command: $0.command, last: $0.last, runs: runs) }
  }

  /// Where the runs that are known by their commands put their files, as far as they said so.
  var outputFolders: [String] {
    commands.flatMap { [$0.command.directory, $0.last?.directory].compactMap(\.self) }
  }

  /// The fewest events that come to the same.
  var events: [RunEvent] {
    let measured = runs.sorted { ($0.value.endedAt, $0.key.rawValue) < ($1.value.endedAt, $1.key.rawValue) }
    return measured.map { .measured($0.key, $0.value, isOfAll: true) }
      + commands.flatMap { begun -> [RunEvent] in
        let began = RunEvent.began(run: begun.run, begun.command)
        return begun.last.map { [began, .ended(run: begun.run, $0)] } ?? [began]
      }
  }
}

/// The events as text.
///
///     1 began 2k9zq3x8 source=/home/a/my%20urls.txt into=/home/a option=--jobs=4 withheld=proxy .
///     1 measured parallel list=5d41… jobs=16 fetched=1000 bytes=67108864 seconds=4.1 at=1763816400123 .
///     1 ended 2k9zq3x8 mode=parallel list=5d41… directory=/home/a .
///     1 measured sequential list=5d41… jobs=1 fetched=9 bytes=67 seconds=12.3 at=1763816500123 of=all .
///     1 void 7bb01kq .
///     1 ran compare mode=parallel adapts=yes list=5d41… jobs=16 … source=/home/a/urls.txt .
///
/// A line is words between single blanks: the number of this format, the event, whose it is, values by their
/// names, and a full stop. A blank, a control character or a percent sign in a value is percent-encoded.
/// `withheld` is `proxy`, `logins`, or `header:` and a field's name. Readers must ignore names that they do
/// not know. A line without the full stop was not written to its end (the power failed, or the disk is full);
/// such a line, and one in another format, says nothing.
enum RunEventLines {
  private static let format = "1"
  private static let end = "."

  /// - Returns: text to be added behind whatever stands there. It begins with a line end, because the line
  ///   before it may be torn.
  static func text(_ events: [RunEvent]) -> [UInt8] {
    var text: [UInt8] = [newline]
    for event in events {
      var line = Line()
      switch event {
      case .began(let run, let command):
        line.add("began", run)
        for source in command.sources { line.add(name: "source", source) }
        if let directory = command.directory { line.add(name: "into", directory) }
        for option in command.options { line.add(name: "option", option) }
        for withheld in command.withheld { line.add(name: "withheld", word(withheld)) }
      case .measured(let mode, let run, let isOfAll):
        line.add("measured", mode.rawValue)
        line.add(run)
        if isOfAll { line.add(name: "of", "all") }
      case .ended(let run, let last):
        line.add("ended", run)
        line.add(name: "mode", last.mode.rawValue)
        line.add(name: "list", last.listDigest)
        line.add(name: "directory", last.directory)
      case .void(let run): line.add("void", run)
      case .ran(let command, let mode, let run, let adaptsJobs, let sources):
        line.add("ran", command)
        line.add(name: "mode", mode.rawValue)
        if adaptsJobs { line.add(name: "adapts", "yes") }
        line.add(run)
        for source in sources { line.add(name: "source", source) }
      }
      text += line.bytes
    }
    return text
  }

  /// The events of a text; lines that say nothing are left out.
  static func events(_ text: some Collection<UInt8>) -> [RunEvent] {
    text.split(separator: newline).compactMap { line in
      String(validating: line, as: UTF8.self).flatMap { event($0) }
    }
  }

  private static let newline = UInt8(ascii: "\n")

  private struct Line {
    private var words = Array("\(format)".utf8)

    mutating func add(_ event: String, _ whose: String) {
      add(event)
      add(whose)
    }

    mutating func add(name: String, _ value: String) {
      words += [UInt8(ascii: " ")] + Array(name.utf8) + [UInt8(ascii: "=")]
      addEncoded(value)
    }

    mutating func add(_ run: RunHistory.Run) {
      add(name: "list", run.listDigest)
      add(name: "jobs", "\(run.jobs)")
      add(name: "fetched", "\(run.fetched)")
      add(name: "bytes", "\(run.transferredBytes)")
      add(name: "seconds", "\(run.seconds)")
      add(name: "at", "\(run.endedAt)")
    }

    private mutating func add(_ word: String) {
      words.append(UInt8(ascii: " "))
      addEncoded(word)
    }

    private mutating func addEncoded(_ text: String) {
      words += PercentEncoding.encode(text.utf8) { $0 <= 0x20 || $0 == 0x7f || $0 == UInt8(ascii: "%") }
    }

    var bytes: [UInt8] { words + Array(" \(end)\n".utf8) }
  }

  /// - Returns: nil for a line that says nothing.
  private static func event(_ line: String) -> RunEvent? {
    // What was lost with the power reads as zeros; no line that was written holds such a byte.
    guard line.utf8.allSatisfy({ $0 >= 0x20 && $0 != 0x7f }) else { return nil }
    let words = line.utf8.split(separator: UInt8(ascii: " "), omittingEmptySubsequences: false)
      .map { Substring($0) }
    guard words.count >= 4, words[0] == format, words[words.count - 1] == end,
      let values = Values(words[3..<(words.count - 1)]), let whose = decoded(words[2])
    else { return nil }
    switch words[1] {
    case "began":
      let withheld = values.all("withheld").compactMap { Self.withheld($0) }
      return .began(
        run: whose,
        RunHistory.Command(
          sources: values.all("source"), options: values.all("option"), withheld: withheld,
          directory: values["into"]))
    case "measured":
      guard let mode = DownloadMode(rawValue: whose), let run = values.run else { return nil }
      return .measured(mode, run, isOfAll: values["of"] == "all")
    case "ended":
      guard let mode = values["mode"].flatMap({ DownloadMode(rawValue: $0) }), let list = values["list"],
        let directory = values["directory"]
      else { return nil }
      return .ended(
        run: whose, RunHistory.WholeRun(mode: mode, listDigest: list, directory: directory))
    case "void": return .void(run: whose)
    case "ran":
      guard let mode = values["mode"].flatMap({ DownloadMode(rawValue: $0) }), let run = values.run else {
        return nil
      }
      return .ran(
        whose, mode, run, adaptsJobs: values["adapts"] == "yes", sources: values.all("source"))
    default: return nil
    }
  }

  private struct Values {
    private var pairs: [(name: Substring, value: String)] = []

    /// - Returns: nil if a word is no value.
    init?(_ words: ArraySlice<Substring>) {
      for word in words {
        guard let equals = word.utf8.firstIndex(of: UInt8(ascii: "=")),
          let value = decoded(word[word.utf8.index(after: equals)...])
        else { return nil }
        pairs.append((word[..<equals], value))
      }
    }

    subscript(name: String) -> String? { pairs.first { $0.name == name }?.value }

    /// Nil if a value is missing, or none, or beyond all runs: the file may be damaged.
    var run: RunHistory.Run? {
      guard let list = self["list"], let jobs = self["jobs"].flatMap({ Int($0) }), 1...(1 << 16) ~= jobs,
        let fetched = self["fetched"].flatMap({ Int($0) }), 0...(1 << 50) ~= fetched,
        let bytes = self["bytes"].flatMap({ Int64($0) }), 0...(1 << 60) ~= bytes,
        let seconds = self["seconds"].flatMap({ Double($0) }), 0...1e9 ~= seconds,
        let time = self["at"].flatMap({ Int64($0) }), 0...(1 << 50) ~= time
      else { return nil }
      return RunHistory.Run(
        listDigest: list, jobs: jobs, fetched: fetched, transferredBytes: bytes, seconds: seconds,
        endedAt: time)
    }

    func all(_ name: String) -> [String] { pairs.filter { $0.name == name }.map(\.value) }
  }

  private static func decoded(_ text: Substring) -> String? {
    PercentEncoding.decodeStrictly(text).flatMap { String(validating: $0, as: UTF8.self) }
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
