public import ArgumentParser
package import DownloadCaching
public import DownloadModel
package import FileReceiving
package import TerminalProgress

// Only two groups, although there are more subjects: the parser makes the runtime search all conformances five times
// for each.

/// The options of every command that downloads.
struct RunOptions: ParsableArguments {
  @Option("jobs") var jobs: Jobs?
  @Option("per-host") var perHost: Parallelism?
  @Option("segments") var segments: Parallelism?
  @Option("limit-rate") var limitRate: [RateLimit] = []
  @Option("limit-rate-file") var limitRateFile: ByteRate?
  @Option("rate") var rate: [RequestRate] = []
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
  @Option("aws-profile") var awsProfile: String?
  @Option("aws-command") var awsCommand: HookCommand?
  @Flag("request-payer") var requestPayer = false
  @Option("identity") var identity: String?
  @Flag("ssl-reqd") var sslReqd = false
  @Flag("insecure") var insecure = false
  @Option("proxy") var proxy: String?
  @Option("user") var user: String?
  @Flag("netrc") var netrc = false
  @Option("netrc-file") var netrcFile: String?
  @Option("cookie-jar") var cookieJar: String?
  @Flag("http2") var http2 = false
  @Flag("ipv4") var ipv4 = false
  @Flag("ipv6") var ipv6 = false
  @Option("interface") var interface: String?
  @Option("resolve") var resolve: [ResolvedHost] = []
  @Option("doh-url") var dohURL: String?
  @Option("unix-socket") var unixSocket: String?
  @Option("max-redirs") var maxRedirs: UInt?
  @Option("referer") var referer: String?
  @Option("progress") var progress: ProgressStyle?
  @Option("report") var report: String?
  @Flag("quiet") var quiet = false
  @Flag("verbose") var verbose = false

  enum CertificateType: String, Choice {
    case pem = "PEM"
    case p12 = "P12"

    init?(argument: String) { self.init(rawValue: argument.uppercased()) }
  }
}

extension Option {
  init<Item: ExpressibleByArgument>(_ name: String) where Value == Item? {
    let row = OptionTable.row(name)
    self.init(name: row.names, help: row.help, completion: row.completion)
    if OptionTable.givesInitialValues { wrappedValue = nil }
  }

  init<Item: ExpressibleByArgument>(wrappedValue: [Item], _ name: String) where Value == [Item] {
    let row = OptionTable.row(name)
    self.init(wrappedValue: wrappedValue, name: row.names, help: row.help, completion: row.completion)
    if OptionTable.givesInitialValues { self.wrappedValue = wrappedValue }
  }
}

extension Flag where Value == Bool {
  init(wrappedValue: Bool, _ name: String) {
    let row = OptionTable.row(name)
    self.init(wrappedValue: wrappedValue, name: row.names, help: row.help)
    if OptionTable.givesInitialValues { self.wrappedValue = wrappedValue }
  }
}

// MARK: Their values

extension ArgumentHelp {
  static func value(_ name: String, _ abstract: String) -> Self { Self(abstract, valueName: name) }
}

/// A value that is one of a few words. The parser's own rule gives the same names, but makes the runtime search all
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

extension ContentDigest: ExpressibleByArgument { public init?(argument: String) { self.init(argument) } }

extension ExpectedTypes: ExpressibleByArgument {}

extension ThrottlingStatuses: ExpressibleByArgument { package init?(argument: String) { self.init(argument) } }
