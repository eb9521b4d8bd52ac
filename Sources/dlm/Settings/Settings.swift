import Glibc
import ArgumentParser
import DownloadModel
import FoundationEssentials
import SystemPackage
import TerminalProgress

struct DisplayOptions: ParsableArguments {
  @Option(help: .value("style", "How to show progress (default: auto)."))
  var progress: ProgressStyle?

  @Option(
    help: .value("file", "Write a report: .html with drawings, .json, or .md (default: none)."), completion: .file())
  var report: String?

  @Flag(name: .shortAndLong, help: "Leave out what went well.")
  var quiet = false

  @Flag(name: .shortAndLong, help: "Say what is done and why, on standard error.")
  var verbose = false
}

/// What one run leaves for programs, and takes from the keyboard; several runs that are compared do neither.
struct RecordOptions: ParsableArguments {
  @Option(
    help: .value("file|-", "Write what failed, with the causes, as a list to get again (default: none)."),
    completion: .file())
  var failed: String?

  @Option(
    help: .value(
      "file|-|fd:N",
      "Write JSON lines, as --progress json has them, into a file, to standard output (-) or "
        + "to fd:N, beside any display (default: none)."), completion: .file())
  var events: String?

  @Option(
    name: .customLong("summary-json"),
    help: .value(
      "file|-", "Write the run's summary as a JSON object, - for standard output (default: none)."),
    completion: .file())
  var summaryJSON: String?

  @Flag(help: "Take no keys as commands while bars stand; what is typed is for the next program.")
  var noKeys = false
}

struct WatchOptions: ParsableArguments {
  @Flag(help: "Go on with the lists as they change, until Ctrl-C.")
  var watch = false

  @Option(
    help: .value(
      "time",
      "With --watch: ask again about what has come, and about lists at addresses: 30s, 10m, 6h "
        + "(default: never)."))
  var refreshEvery: TimeSpan?
}

/// Every setting of a run with its value: option, else environment (`DLM_…`), else `./.dlm.conf`, else
/// `$XDG_CONFIG_HOME/dlm/dlm.conf`, else the default here. Config/dlm.conf explains each.
struct Settings {
  var mode: DownloadMode
  var jobs: Int
  /// All that `--jobs` names, nil for auto; more than one is for `dlm compare`.
  var widths: [Int?]
  /// Whether `jobs` is only the most, and the run finds out what is good.
  var adaptsJobs: Bool
  var perHost: Int?
  /// Transfers of one large file at a time, at most.
  var segments: Int
  /// Network loops, each with a thread.
  var loops: Int { setLoops ?? Self.usualLoops }
  private var setLoops: Int?
  /// Attempts after the first.
  var retries: Int
  /// No retry begins later than this after the first attempt; nil is without limit.
  var retryMaxTime: Duration?
  var connection: ConnectionSettings
  var output: OutputSettings
  var order: OrderSettings
  var progress: ProgressStyle
  /// Whether keys are commands while bars stand.
  var takesKeys: Bool
  /// Whether what went well is left out (`-q`).
  var isQuiet: Bool
  var isVerbose: Bool
  /// Whether a list that is taken again is never repeated to compare.
  var noCompare: Bool
  /// Whether lists are watched, where there are some.
  var watches: Bool
  /// How often a watched run asks about everything again.
  var refreshEvery: TimeSpan?
  /// `--failed`.
  var failedList: OutputFile?
  /// `--events`.
  var events: OutputFile?
  /// `--report`.
  var report: ReportFile?
  /// `--summary-json`.
  var summaryFile: OutputFile?

  /// Whether nothing is said of what went well.
  var isSilent: Bool { isQuiet || progress == .none }

  /// Connections to one host for `auto`, as long as it refuses none.
  static let mostPerHost = 64
  /// Transfers of one file for `auto`, as long as each brings more.
  static let mostSegments = 32
  /// Files at a time for `auto`, as long as more bring more.
  static let mostJobs = 64

  /// - Parameter lists: what the command downloads.
  /// - Throws: `ValidationError`, which names the option or setting and the remedy.
  init(
    _ typed: GetCommand, _ lists: [Source], _ sources: SettingsSources, comparesWidths: Bool = false
  ) throws {
    var (command, sources) = (typed, sources)
    try sources.complete(&command)
    try NamedFiles.check(command, lists, sources.environment)
    let (connection, display, records) = (command.connection, command.display, command.records)
    order = OrderSettings(command.order)
    mode = command.mode ?? .parallel
    let widths = connection.jobs?.widths ?? [.auto]
    if widths.count > 1, !comparesWidths { throw ValidationError(UsageMessages.severalWidths(widths)) }
    self.widths = widths.map(Self.number)
    let jobs = Self.number(widths.first)
    self.jobs = jobs ?? Self.mostJobs
    adaptsJobs = jobs == nil
    perHost = Self.number(connection.perHost)
    segments = Self.number(connection.segments) ?? Self.mostSegments
    setLoops = Self.number(try sources.value("loops"))
    retries = connection.retries?.number ?? 5
    retryMaxTime = connection.retryMaxTime?.duration
    self.connection = try ConnectionSettings(connection, sources)
    output = try OutputSettings(command.output, command.proof, lists, sources)
    isQuiet = display.quiet
    noCompare = command.noCompare
    takesKeys = !records.noKeys
    watches = command.watching.watch
    refreshEvery = command.watching.refreshEvery
    isVerbose = display.verbose
    func file(_ name: String, _ text: String?) throws -> OutputFile? {
      try sources.naming(name, text) { try OutputFile($0, option: "--\(name)") }
    }
    events = try file("events", records.events)
    summaryFile = try file("summary-json", records.summaryJSON)
    report = try sources.naming("report", display.report, ReportFile.init)
    failedList = try file("failed", records.failed)
    let style = display.progress ?? .auto
    // Questions need the bars that they are asked below; JSON lines are data, which somebody asked for.
    let isNeeded = style == .json || output.asks
    progress = isQuiet && !isNeeded ? .none : style
  }

  /// Those of a run that is only measured: where its files go is not the user's to say.
  /// - Throws: as above.
  init(
    measuring connection: ConnectionOptions, _ display: DisplayOptions, _ lists: [Source], _ sources: SettingsSources
  ) throws {
    var command = try GetCommand.parse([])
    (command.connection, command.display) = (connection, display)
    try self.init(command, lists, sources, comparesWidths: true)
    // All modes are to run alike, and a measured one not in the way that others leave it.
    order = OrderSettings(try .parse([]))
  }

  /// More than the cores would only take turns; eight feed any link that one machine has.
  private static var usualLoops: Int { max(1, min(8, ProcessInfo.processInfo.activeProcessorCount)) }

  private static func number(_ value: Parallelism?) -> Int? {
    if case .exactly(let number) = value { number } else { nil }
  }
}

/// The environment and the settings files, strongest first.
struct SettingsSources {
  let environment: [String: String]
  private let files: [SettingsFile]
  /// Names of the options that a command has, which are stronger.
  private var given: Set<String> = []

  private init(_ environment: [String: String], _ files: [SettingsFile]) {
    (self.environment, self.files) = (environment, files)
  }

  /// - Throws: `ValidationError` naming a settings file that cannot be understood.
  static func load(environment: [String: String]) async throws -> SettingsSources {
    StandardError.say(unknownVariables(environment.keys).map { UsageMessages.unknownVariable($0) })
    let folders = XDGFolders(environment)
    StandardError.say([folders.configWarning].compactMap(\.self))
    sayOldNames(environment)
    let own = try ownPath(environment).flatMap {
      try SettingsFile(at: $0, .ownFolder, say: StandardError.say)
    }
    let here = try SettingsFile(at: folderPath, .workingFolder, besides: own, say: StandardError.say)
    return SettingsSources(environment, [here, own].compactMap(\.self))
  }

  /// The settings were YAML once.
  private static func sayOldNames(_ environment: [String: String]) {
    for (path, isOwn) in [(".dlm.yaml" as FilePath?, false), (ownPath(environment), true)] {
      guard let path else { continue }
      let old = isOwn ? path.removingLastComponent().appending("config.yaml") : path
      if access(old.string, F_OK) == 0 {
        StandardError.say([UsageMessages.oldSettings(old, now: isOwn ? path : folderPath)])
      }
    }
  }

  static let folderPath: FilePath = ".dlm.conf"
  static func ownPath(_ environment: [String: String]) -> FilePath? {
    XDGFolders(environment).config?.appending("dlm.conf")
  }

  /// The variable of the environment that sets a key.
  static func variable(_ key: String) -> String {
    "DLM_" + String(key.uppercased().map { $0 == "-" || $0 == "." ? "_" : $0 })
  }

  /// Variables that set no key of a settings file: a secret, and what the tests of dlm itself read.
  static let otherVariables: Set = ["DLM_CERT_PASSPHRASE", "DLM_BINARY", "DLM_TEST_LIMIT"]

  /// Those that look like dlm's and are not: likely typing errors, which would otherwise go unnoticed.
  static func unknownVariables(_ names: some Sequence<String>) -> [String] {
    let own = names.filter { $0.utf8.starts(with: "DLM_".utf8) && !otherVariables.contains($0) }
    if own.isEmpty { return [] }
    let known = Set(OptionTable.settingKeys.map(variable))
    return own.filter { !known.contains($0) }.sorted()
  }

  /// Gives a command what is set of the options that it has not; only those are found from then on.
  /// - Throws: `ValidationError` that says what is no value, and where it is from.
  mutating func complete(_ command: inout GetCommand) throws {
    given = Set(OptionTable.rows.filter { !$0.texts(command).isEmpty }.map(\.name))
    // Who asks for TLS 1.2 does not get what a setting asks for.
    if given.contains("tlsv1.2") { given.insert("tlsv1.3") }
    for row in OptionTable.rows where row.setting != .nowhere { try row.set(&command, self) }
  }

  /// The value of a key as written, and where; nil where nothing sets it, or an option does.
  func found(_ key: String) -> (text: String, origin: SettingOrigin)? {
    if given.contains(key) { return nil }
    let variable = Self.variable(key)
    if let text = environment[variable] { return (text, .variable(variable)) }
    for file in files {
      if let text = file.text(key) { return (text, .file(file.path, line: file.line(of: key))) }
    }
    return nil
  }

  func value<Value: ExpressibleByArgument>(_ key: String) throws -> Value? {
    guard let (text, origin) = found(key) else { return nil }
    guard let value = Value(argument: text) else {
      throw ValidationError(UsageMessages.noValue(text, for: key, from: origin, Value.self))
    }
    return value
  }

  /// What is made of a value. A mistake names the variable, or the file and its line, that it is from; an option names
  /// itself.
  func naming<Given, Value>(
    _ key: String, _ given: Given?, _ body: (Given) throws -> Value
  ) throws -> Value? {
    do {
      return try given.map(body)
    } catch let mistake as ValidationError {
      guard let origin = found(key)?.origin else { throw mistake }
      throw ValidationError(UsageMessages.from(origin, mistake.message))
    }
  }

  /// The mistake of settings that do not go together, with where those are from that are no options.
  func conflict(_ message: String, _ keys: String...) -> ValidationError {
    ValidationError(UsageMessages.conflict(message, keys.compactMap { key in found(key).map { (key, $0.origin) } }))
  }
}
