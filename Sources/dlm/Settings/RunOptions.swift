public import ArgumentParser
package import DownloadCaching
public import DownloadModel
package import FileReceiving
package import TerminalProgress

// Two groups, although there are more ideas: the parser has the runtime search all conformances five times for each.

/// The options of every command that downloads.
struct RunOptions: ParsableArguments {
  @Option("jobs") var jobs: Jobs?
  @Option("per-host") var perHost: Parallelism?
  @Option("segments") var segments: Parallelism?
  @Option("limit-rate") var limitRate: ByteRate?
  @Option("min-rate") var minRate: ByteRate?
  @Option("max-time") var maxTime: Seconds?
  @Option("retries") var retries: UInt?
  @Option("retry-on") var retryOn: [ThrottlingStatuses] = []
  @Option("retry-max-time") var retryMaxTime: Seconds?
  @Option("connect-timeout") var connectTimeout: Seconds?
  @Option("stall-timeout") var stallTimeout: Seconds?
  @Option("header") var header: [HeaderArgument] = []
  @Option("user-agent") var userAgent: String?
  @Option("cacert") var cacert: String?
  @Option("crlfile") var crlfile: String?
  @Option("cert") var cert: String?
  @Option("cert-type") var certType: CertificateType?
  @Option("key") var key: String?
  @Option("cert-passphrase-file") var certPassphraseFile: String?
  @Option("pinnedpubkey") var pinnedpubkey: String?
  @Flag("tlsv1.2") var tls12 = false
  @Flag("tlsv1.3") var tls13 = false
  @Option("tls-max") var tlsMax: TLSOptions.Version?
  @Flag("insecure") var insecure = false
  @Option("proxy") var proxy: String?
  @Flag("netrc") var netrc = false
  @Option("netrc-file") var netrcFile: String?
  @Option("cookie-jar") var cookieJar: String?
  @Flag("http2") var http2 = false
  @Option("progress") var progress: ProgressStyle?
  @Option("report") var report: String?
  @Flag("quiet") var quiet = false
  @Flag("verbose") var verbose = false
}

/// Those of `dlm get` alone: runs that are only measured have no use for them.
struct GetOptions: ParsableArguments {
  @Option("mode") var mode: DownloadMode?
  @Flag("list") var list = false
  @Option("directory") var directory: String?
  @Option("output") var output: String?
  @Option("on-conflict") var onConflict: ConflictPolicy?
  @Option("max-filesize") var maxFilesize: ByteRate?
  @Flag("ask-names") var askNames = false
  @Flag("no-cache") var noCache = false
  @Option("store") var store: StoreKind?
  @Option("cache-max-size") var cacheMaxSize: ByteRate?
  @Flag("refresh") var refresh = false
  @Flag("offline") var offline = false
  @Flag("revalidate") var revalidate = false
  @Flag("heuristic") var heuristic = false
  @Option("max-age") var maxAge: TimeSpan?
  @Option("max-stale") var maxStale: TimeSpan?
  @Flag("fsync") var fsync = false
  @Flag("remote-time") var remoteTime = false
  @Flag("no-content-disposition") var noContentDisposition = false
  @Option("checksum") var checksum: ContentDigest?
  @Option("checksums") var checksums: String?
  @Option("require-proof") var requireProof: Proof?
  @Option("expect") var expect: ExpectedTypes?
  @Option("first") var first: [String] = []
  @Option("order") var order: RequestOrder?
  @Flag("background") var background = false
  @Option("grace") var grace: Seconds?
  @Option("failed") var failed: String?
  @Option("on-complete") var onComplete: HookCommand?
  @Option("on-done") var onDone: HookCommand?
  @Option("write-checksums") var writeChecksums: String?
  @Option("write-list") var writeList: String?
  @Option("events") var events: String?
  @Option("summary-json") var summaryJSON: String?
  @Flag("no-keys") var noKeys = false
  @Flag("no-compare") var noCompare = false
  @Flag("watch") var watch = false
  @Option("refresh-every") var refreshEvery: TimeSpan?
  @Flag("dry-run") var dryRun = false
  @Flag("json") var json = false
}

extension Option {
  init<Item: ExpressibleByArgument>(_ name: String) where Value == Item? {
    let row = OptionTable.row(name)
    self.init(name: row.names, help: row.help, completion: row.completion)
  }

  init<Item: ExpressibleByArgument>(wrappedValue: [Item], _ name: String) where Value == [Item] {
    let row = OptionTable.row(name)
    self.init(wrappedValue: wrappedValue, name: row.names, help: row.help, completion: row.completion)
  }
}

extension Flag where Value == Bool {
  init(wrappedValue: Bool, _ name: String) {
    let row = OptionTable.row(name)
    self.init(wrappedValue: wrappedValue, name: row.names, help: row.help)
  }
}

// MARK: Their values

extension ArgumentHelp {
  static func value(_ name: String, _ abstract: String) -> Self { Self(abstract, valueName: name) }
}

/// A value that is one of a few words. The parser's own rule gives the same names, but has the runtime search all
/// conformances at each start.
public protocol Choice: ExpressibleByArgument, CaseIterable, RawRepresentable where RawValue == String {}

extension Choice {
  public static var allValueStrings: [String] { allCases.map { $0.rawValue } }
  public static var allValueDescriptions: [String: String] { [:] }
}

extension Proof: Choice {}
extension ProgressStyle: Choice {}
extension RequestOrder: Choice {}
extension ConflictPolicy: Choice {}
extension StoreKind: Choice {}
extension TLSOptions.Version: Choice {}

extension DownloadMode: Choice {
  package init?(argument: String) { self.init(rawValue: argument == "task-group" ? "parallel" : argument) }
}

enum CertificateType: String, Choice {
  case pem = "PEM"
  case p12 = "P12"

  init?(argument: String) { self.init(rawValue: argument.uppercased()) }
}

extension ContentDigest: ExpressibleByArgument { public init?(argument: String) { self.init(argument) } }

extension ExpectedTypes: ExpressibleByArgument {}

extension ThrottlingStatuses: ExpressibleByArgument { package init?(argument: String) { self.init(argument) } }

/// `N`, or nil for `auto`. As with the types below, the description is what `init(argument:)` takes.
struct Parallelism: ExpressibleByArgument, Equatable, CustomStringConvertible {
  let number: Int?
  var description: String { number.map { "\($0)" } ?? "auto" }

  init?(argument: String) {
    number = Int(argument)
    guard argument == "auto" || number ?? 0 >= 1 else { return nil }
  }
}

/// `--jobs`: files at a time, or several such numbers to compare: `1,4,16`.
struct Jobs: ExpressibleByArgument, Equatable, CustomStringConvertible {
  /// At least one.
  let widths: [Parallelism]
  var description: String { widths.map(\.description).joined(separator: ",") }

  init?(argument: String) {
    let parts = argument.split(separator: ",", omittingEmptySubsequences: false)
    widths = parts.compactMap { Parallelism(argument: String($0)) }
    if widths.count < parts.count { return nil }
  }
}

/// A `TimeSpan` above zero.
struct Seconds: ExpressibleByArgument, Equatable, CustomStringConvertible {
  let duration: Duration
  let description: String

  init?(argument: String) {
    description = argument
    guard let seconds = TimeSpan.seconds(argument), seconds > 0 else { return nil }
    duration = .seconds(seconds)
  }
}

/// Bytes a second: `500K`, `5M`, `1.5G`, as curl and wget take them (K is 1024).
struct ByteRate: ExpressibleByArgument, Equatable, CustomStringConvertible {
  let bytesPerSecond: Int64
  var description: String { "\(bytesPerSecond)" }

  init?(argument: String) {
    let units: [Character: Double] = ["k": 1024, "m": 1_048_576, "g": 1_073_741_824]
    let unit = argument.last.flatMap { units[Character($0.lowercased())] }
    guard let number = Double(unit == nil ? argument[...] : argument.dropLast()), number.isFinite else { return nil }
    let rate = number * (unit ?? 1)
    guard rate >= 1, rate < 1e15 else { return nil }
    bytesPerSecond = Int64(rate)
  }
}

/// Written as a `ByteRate`, or `0`.
struct ByteCount: ExpressibleByArgument, Equatable {
  let bytes: Int64

  init?(argument: String) {
    guard let bytes = argument == "0" ? 0 : ByteRate(argument: argument)?.bytesPerSecond else { return nil }
    self.bytes = bytes
  }
}

/// A span of time, in seconds or with its unit: `90`, `45s`, `90m`, `12h`, `30d`, `2w`.
struct TimeSpan: ExpressibleByArgument, Equatable, CustomStringConvertible {
  let seconds: Int64
  var description: String { "\(seconds)s" }

  init?(argument: String) {
    guard let seconds = Self.seconds(argument) else { return nil }
    self.seconds = Int64(seconds)
  }

  /// - Returns: nil for what is no time, or one below zero or of centuries.
  static func seconds(_ text: String) -> Double? {
    let units: [Character: Double] = ["s": 1, "m": 60, "h": 3600, "d": 86_400, "w": 604_800]
    let unit = text.last.flatMap { units[$0] }
    guard let number = Double(unit == nil ? text[...] : text.dropLast()) else { return nil }
    let seconds = number * (unit ?? 1)
    return (0..<1e10).contains(seconds) ? seconds : nil
  }
}

/// An address as the cache knows it: without what identifies a user.
struct CachedAddress: ExpressibleByArgument, Equatable {
  let key: String

  init?(argument: String) {
    guard let address = try? Address(argument) else { return nil }
    key = address.resource
  }
}

/// A flag in the environment or a settings file.
struct YesOrNo: ExpressibleByArgument, Equatable {
  let isOn: Bool

  init?(argument: String) {
    switch argument.lowercased() {
    case "1", "true", "yes", "on": isOn = true
    case "0", "false", "no", "off", "": isOn = false
    default: return nil
    }
  }
}
