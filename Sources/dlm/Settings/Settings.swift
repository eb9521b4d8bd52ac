import ArgumentParser
import DownloadModel
import DownloadScheduling
import FoundationEssentials
import TerminalProgress

/// Every setting of a run with its value: option, else environment (`DLM_…`), else `./.dlm.conf`, else
/// `$XDG_CONFIG_HOME/dlm/dlm.conf`, else the default here. Config/dlm.conf explains each.
struct Settings {
  /// The options with all sources applied, for code that needs only their values.
  private(set) var own: GetOptions
  let shared: RunOptions
  /// The environment from which they were read.
  let environment: [String: String]
  var mode: DownloadMode { own.mode ?? .parallel }
  var form: ListForm
  var jobs: Int
  /// The numbers of `--jobs`, `nil` for auto; more than one only for `dlm compare`.
  var widths: [Int?]
  /// Whether the run finds a good number of files at a time, up to `jobs`.
  var adaptsJobs: Bool
  /// The most transfers of one large file at a time.
  var segments: Int { shared.segments?.number ?? Self.mostSegments }
  /// Network loops, each with a thread. More than there are cores would only alternate; eight saturate any link of one
  /// machine.
  var loops: Int { setLoops?.number ?? max(1, min(8, ProcessInfo.processInfo.activeProcessorCount)) }
  private var setLoops: Parallelism?
  var retry: RetryPolicy
  var connection: ConnectionSettings
  var output: OutputSettings
  var first: [NamePattern] { own.first.map(NamePattern.init) }
  var order: RequestOrder { own.order ?? .list }
  var progress: ProgressStyle
  var failedList: OutputFile?
  var checksumFile: OutputFile?
  var listFile: OutputFile?
  var events: OutputFile?
  var report: ReportFile?
  var summaryFile: OutputFile?

  var isSilent: Bool { shared.quiet || progress == .none }

  /// Prints lines that a silent run omits.
  func say(_ lines: [String]) { if !isSilent { StandardError.say(lines) } }

  // The limits of `auto`, as long as hosts refuse none and more gain more.
  static let mostPerHost = 64
  static let mostSegments = 32
  static let mostJobs = 64

  /// - Throws: `ValidationError`, which names the option or setting and the remedy.
  init(_ typed: GetCommand, _ lists: [Source], _ sources: SettingsSources, comparesWidths: Bool = false) throws {
    var command = typed
    var sources = sources
    try sources.complete(&command)
    try NamedFiles.check(command, lists, sources.environment)
    own = command.own
    shared = command.shared
    environment = sources.environment
    form = try ListForm(command.lists, sources.environment)
    if form.depth > 0, let other = lists.first(where: { !$0.isListAt }) {
      throw ValidationError("--depth needs the URL of a page, whose server has its folders; \(other.name) is not one.")
    }
    form.hasDirectory = own.directory != nil
    widths = try Self.widths(of: shared.jobs, comparesWidths)
    try Self.check("per-host", [shared.perHost?.number])
    try Self.check("segments", [shared.segments?.number])
    adaptsJobs = widths[0] == nil
    jobs = widths[0] ?? Self.mostJobs
    try Self.checkCommands(own, sources)
    setLoops = try sources.value("loops")
    try Self.check("loops", [setLoops?.number])
    retry = RetryPolicy(
      retries: shared.retries.map { Int(clamping: $0) } ?? 5, maxTime: shared.retryMaxTime?.duration,
      fileTime: shared.maxTime?.duration)
    connection = try ConnectionSettings(shared, sources)
    output = try OutputSettings(own, form.expandsRanges ? [] : lists, sources)
    let style = own.json ? .json : shared.progress ?? .auto
    // Questions are shown below bars, so they need them; JSON lines are data that the user requested.
    progress = shared.quiet && style != .json && !output.asks ? .none : style
    try nameFiles(sources)
    if own.detach {
      if let why = needsTerminal(lists) { throw ValidationError("--detach: \(why)") }
      if progress != .none { progress = .plain }
    }
    guard output.isStandardOutput else { return }
    try requireFreeOutput(style)
    // Bars would be drawn into the file.
    if StandardOutput.terminal != nil { progress = .none }
  }

  /// Each takes memory, and a host or this machine would refuse more long before.
  private static let mostAtOnce = 10_000

  private static func widths(of jobs: Jobs?, _ comparesWidths: Bool) throws -> [Int?] {
    guard let jobs else { return [nil] }
    let widths = jobs.widths.map(\.number)
    if widths.count > 1, !comparesWidths {
      throw ValidationError(
        "--jobs \(jobs) is several numbers, and a download takes one: give one, or compare them with dlm compare."
      )
    }
    try check("jobs", widths)
    return widths
  }

  private static func check(_ option: String, _ numbers: [Int?]) throws {
    guard let number = numbers.lazy.compactMap(\.self).first(where: { $0 > mostAtOnce }) else { return }
    throw ValidationError("--\(option) \(number) is too many: give at most \(mostAtOnce).")
  }

  private static func checkCommands(_ own: GetOptions, _ sources: SettingsSources) throws {
    for (option, command) in [("on-complete", own.onComplete), ("on-done", own.onDone)] {
      _ = try sources.naming(option, command) { command in
        let trouble = UsageMessages.trouble("--\(option)", command, path: sources.environment["PATH"])
        if let trouble { throw ValidationError(trouble) }
      }
    }
  }

  private mutating func nameFiles(_ sources: SettingsSources) throws {
    func file(_ name: String, _ text: String?) throws -> OutputFile? {
      try sources.naming(name, text) { try OutputFile($0, option: "--\(name)") }
    }
    events = try file("events", own.events)
    summaryFile = try file("summary-json", own.summaryJSON)
    report = try sources.naming("report", shared.report, ReportFile.init)
    failedList = try file("failed", own.failed)
    checksumFile = try file("write-checksums", own.writeChecksums)
    listFile = try file("write-list", own.writeList)
  }

  /// Why the run cannot go on without its terminal and its streams; `nil` if it can.
  func needsTerminal(_ lists: [Source]) -> String? {
    if lists.contains(.standardInput) { return "the list comes from standard input: save it in a file first" }
    if output.isStandardOutput { return "-o - writes to this terminal or pipe" }
    if output.asks { return "it cannot ask questions: leave out --ask-names and --on-conflict ask" }
    if own.dryRun || own.json { return "--dry-run and --json are answers for this terminal" }
    let files = [events, failedList, summaryFile, checksumFile, listFile, report?.file].compactMap(\.self)
    let stream = files.first { if case .descriptor = $0.target { true } else { false } }
    return stream.map { "\($0.option) writes to this process's own streams: name a file" }
  }

  private func requireFreeOutput(_ style: ProgressStyle) throws {
    if checksumFile != nil || listFile != nil {
      throw ValidationError(
        "--output - leaves no file that --write-checksums or --write-list could name: leave them out.")
    }
    if style == .json || [events, failedList, summaryFile].contains(where: { $0?.isStandardOutput == true }) {
      throw ValidationError(
        "--output - writes the file to standard output, where JSON progress, --events -, --failed - and --summary-json "
          + "- write too: name a file for them, or fd:3; for progress that is --events FILE.")
    }
  }

  /// The settings of a run that is only measured; its user does not choose where files go.
  init(
    measuring options: RunOptions, _ lists: [Source], _ sources: SettingsSources, reading form: ListOptions? = nil
  ) throws {
    var command = try GetCommand.parse([])
    command.shared = options
    if let form { command.lists = form }
    try self.init(command, lists, sources, comparesWidths: true)
    // All modes must run equally, and none gives way to other runs.
    own.first = []
    own.order = nil
    own.background = false
  }
}
