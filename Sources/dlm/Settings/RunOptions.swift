import ArgumentParser
import DownloadCaching
import DownloadModel
import FileReceiving
import TerminalProgress

// Two groups, although there are more ideas: the parser has the runtime search all conformances five times for each.

/// The options of every command that downloads.
struct RunOptions: ParsableArguments {
  @Option("jobs") var jobs: Jobs?
  @Option("per-host") var perHost: Parallelism?
  @Option("segments") var segments: Parallelism?
  @Option("limit-rate") var limitRate: ByteRate?
  @Option("min-rate") var minRate: ByteRate?
  @Option("max-time") var maxTime: Seconds?
  @Option("retries") var retries: Count?
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
  @Option("max-age") var maxAge: Count?
  @Option("max-stale") var maxStale: Count?
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
