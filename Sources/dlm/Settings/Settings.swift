import ArgumentParser
import DownloadModel
import Foundation
import SystemPackage
import TerminalProgress

struct DisplayOptions: ParsableArguments {
  @Option(help: ArgumentHelp("How to show progress.", valueName: "style"))
  var progress: ProgressStyle?

  @Option(
    help: ArgumentHelp("Write what failed, with the causes, as a list to get again.", valueName: "file"),
    completion: .file())
  var failed: String?

  @Flag(name: .shortAndLong, help: "Show failures only.")
  var quiet = false

  @Flag(name: .shortAndLong, help: "Say what is done and why, on standard error.")
  var verbose = false
}

/// Every setting of a run with its value: option, else environment (`DLM_…`), else `./.dlm.yaml`, else
/// `$XDG_CONFIG_HOME/dlm/config.yaml`, else the default here. Config/dlm.yaml explains each.
struct Settings {
  var mode: DownloadMode
  var jobs: Int
  /// Whether `jobs` is only the most, and the run finds out what is good.
  var adaptsJobs: Bool
  var perHost: Int?
  /// Transfers of one large file at a time, at most.
  var segments: Int
  /// Network loops, each with a thread.
  var loops: Int
  /// Attempts after the first.
  var retries: Int
  /// No retry begins later than this after the first attempt; nil is without limit.
  var retryMaxTime: Duration?
  var connection: ConnectionSettings
  var output: OutputSettings
  var progress: ProgressStyle

  /// Connections to one host for `auto`, as long as it refuses none.
  static let mostPerHost = 64
  /// Transfers of one file for `auto`, as long as each brings more.
  static let mostSegments = 32
  /// Files at a time for `auto`, as long as more bring more.
  static let mostJobs = 64

  /// - Throws: `ValidationError`, which names the option or setting and the remedy.
  init(
    _ mode: DownloadMode?, _ connection: ConnectionOptions, _ output: OutputOptions, _ proof: ProofOptions,
    _ display: DisplayOptions, _ sources: SettingsSources
  ) throws {
    self.mode = try mode ?? sources.value("mode") ?? .parallel
    let jobs = Self.number(try connection.jobs ?? sources.value("jobs"))
    self.jobs = jobs ?? Self.mostJobs
    adaptsJobs = jobs == nil
    perHost = Self.number(try connection.perHost ?? sources.value("per-host"))
    segments = Self.number(try connection.segments ?? sources.value("segments")) ?? Self.mostSegments
    loops = Self.number(try sources.value("loops")) ?? Self.usualLoops
    let count: Count? = try connection.retries ?? sources.value("retries")
    retries = count?.number ?? 5
    let maxTime: Seconds? = try connection.retryMaxTime ?? sources.value("retry-max-time")
    retryMaxTime = maxTime?.duration
    self.connection = try ConnectionSettings(connection, sources)
    self.output = try OutputSettings(output, proof, netrcFile: self.connection.netrcFile, sources)
    progress = display.quiet ? .none : try display.progress ?? sources.value("progress") ?? .auto
  }

  /// Those of a run that is only measured: where its files go is not the user's to say.
  /// - Throws: as above.
  init(measuring connection: ConnectionOptions, _ display: DisplayOptions, _ sources: SettingsSources) throws
  {
    try self.init(nil, connection, .parse([]), .parse([]), display, sources)
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

  /// - Throws: `ValidationError` naming a settings file that cannot be understood.
  static func load(environment: [String: String]) async throws -> SettingsSources {
    let config = XDGFolders(environment).config?.appending("config.yaml")
    return SettingsSources(
      environment: environment,
      files: try [
        SettingsFile(at: ".dlm.yaml", .workingFolder, say: StandardError.say),
        config.flatMap { try SettingsFile(at: $0, .ownFolder, say: StandardError.say) },
      ].compactMap(\.self))
  }

  /// The variable of the environment that sets a key.
  static func variable(_ key: String) -> String {
    "DLM_" + String(key.uppercased().map { $0 == "-" || $0 == "." ? "_" : $0 })
  }

  func text(_ key: String) -> String? {
    if let text = environment[Self.variable(key)] { return text }
    for file in files { if let text = file.text(key) { return text } }
    return nil
  }

  func value<Value: ExpressibleByArgument>(_ key: String, as: Value.Type = Value.self) throws -> Value? {
    guard let text = text(key) else { return nil }
    guard let value = Value(argument: text) else {
      throw ValidationError(UsageMessages.noValue(text, for: key, possible: Value.allValueStrings))
    }
    return value
  }

  func isOn(_ key: String) throws -> Bool { try value(key, as: YesOrNo.self)?.isOn ?? false }
}
