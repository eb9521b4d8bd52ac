import CurlTransport
import DownloadCaching
public import DownloadModel
import DownloadScheduling
import FileReceiving
import SystemPackage

/// The settings of a session. Nothing is read from the environment, a settings file or a command line.
public struct DownloadConfiguration: Sendable {
  /// What the cache answers, and when servers are asked.
  public enum Caching: Sendable, CaseIterable {
    /// Ask about a file only once it is no longer fresh by its server's word (RFC 9111 §4); fetch it if it has changed.
    case fresh
    /// Ask about every file, and fetch what has changed.
    case revalidate
    /// Fetch everything.
    case refresh
    /// Answer from the disk, and ask no server.
    case offline
  }

  /// What becomes of another's file under the wanted name. With a cache folder, what this library wrote for the same
  /// address, and nobody changed, is replaced in every case.
  public enum Conflicts: String, Sendable, CaseIterable {
    /// The new file takes another name: `x.1.tar.gz`.
    case rename
    /// What stands there stays, and nothing is fetched.
    case skip
    case overwrite
  }

  /// The folder for finished files; made if it is missing.
  public var directory: String
  /// The folder for what is known of earlier downloads; made if it is missing. Nil for none: a session then knows only
  /// its own files, and answers a repeated address with them without asking.
  public var cacheFolder: String?
  /// When servers are asked about files that an earlier session downloaded.
  public var caching = Caching.fresh
  /// What happens if another file has the name.
  public var conflicts = Conflicts.rename

  /// Most files at a time, of a list whose schedule gives no number, and of all single downloads together.
  public var jobs = 64
  /// Most files of one host at a time, of a list, and of all single downloads together; nil for no limit of its own. A
  /// host that refuses some gets fewer.
  public var perHost: Int?
  /// Most connections that fetch pieces of one large file, of which as many are used as help; 1 for no pieces.
  public var segments = 32
  /// Network loops, a thread each; one is enough for a few gigabits a second. With more, equal addresses of two calls
  /// at the same time may be fetched twice.
  public var loops = 1

  /// Attempts after the first, for failures that are temporary.
  public var retries = 5
  /// No retry begins later than this after the first attempt; nil for no limit.
  public var retryMaxTime: Duration?
  /// Most time for a connection, with TLS.
  public var connectTimeout = Duration.seconds(10)
  /// A transfer has stalled if no byte comes for this time.
  public var stallTimeout = Duration.seconds(30)
  /// Bytes a second over everything; nil for no limit.
  public var rateLimit: Int64?

  /// `Name: value`, sent with every request to the origin of its address, and not where that redirects. All origins of
  /// a list get them, secrets too.
  public var headerLines: [String] = []
  /// The value of `User-Agent`.
  public var userAgent = "Downloads"
  /// `[scheme://][user:password@]host[:port]`; nil for none. Variables such as `http_proxy` are not read.
  public var proxy: String?
  /// Certificates to trust, a file in PEM; nil for the system's.
  public var certificates: String?
  /// Whether to ask for HTTP/2 over TLS.
  public var usesHTTP2 = false

  /// Checksums by file name, a text as `sha256sum` and its kin write it.
  public var checksums: String?
  /// The least proof that lets a file have its name.
  public var requiredProof = Proof.nothing
  /// A longer file fails, in bytes; nil for any length.
  public var maxFileSize: Int64?
  /// Whether a file is on the disk itself, name and all, before it counts as finished.
  public var syncs = false
  /// Whether files get the server's Last-Modified as their time.
  public var usesRemoteTime = false
  /// Whether a server may choose a file's name (RFC 6266).
  public var usesContentDisposition = true

  /// The defaults; nothing is opened or created yet.
  public init(directory: String, cacheFolder: String? = nil) {
    (self.directory, self.cacheFolder) = (directory, cacheFolder)
  }

  // MARK: In the terms of the rooms below

  func transport() throws(DownloadError) -> TransportOptions {
    var options = TransportOptions(userAgent: try Self.checked(userAgent, "the user agent"))
    options.headerLines = try Self.checkedLines(headerLines)
    options.connectTimeout = connectTimeout
    options.stallTimeout = stallTimeout
    options.caFile = certificates
    options.usesHTTP2 = usesHTTP2
    options.width = max(1, jobs)
    options.rateLimit = rateLimit.map { RateLimiter(bytesPerSecond: $0) }
    if let proxy {
      do {
        let proxy = Proxy(try ProxyAddress(proxy))
        options.proxies = [.http: proxy, .https: proxy]
      } catch { throw Self.refusal("the proxy \(Redaction.withoutLogin(proxy)) is none: \(error)") }
    }
    return options
  }

  func cache(names: NameNumbers) throws(DownloadError) -> CacheConfiguration {
    if directory.isEmpty { throw Self.refusal("the folder for finished files has no name") }
    let list = checksums.map { ChecksumList(Array($0.utf8)) }
    if let line = list?.malformedLines.first { throw Self.refusal("line \(line) of the checksums is no checksum") }
    var configuration = CacheConfiguration(
      directory: FilePath(directory), cacheFolder: cacheFolder.map { FilePath($0) })
    configuration.conflictPolicy = ConflictPolicy(rawValue: conflicts.rawValue) ?? .rename
    (configuration.refresh, configuration.offline) = (caching == .refresh, caching == .offline)
    configuration.freshness.revalidates = caching == .revalidate
    configuration.useContentDisposition = usesContentDisposition
    (configuration.checksums, configuration.requiredProof) = (list, requiredProof)
    (configuration.maxSize, configuration.syncs) = (maxFileSize, syncs)
    (configuration.splits, configuration.usesRemoteTime) = (segments > 1, usesRemoteTime)
    configuration.names = names
    configuration.servesManyRuns = true
    return configuration
  }

  static func checkedLines(_ lines: [String]) throws(DownloadError) -> [String] {
    var checked: [String] = []
    for line in lines { checked.append(try checkedLine(line)) }
    return checked
  }

  /// Names only the field, because the value may be a secret.
  private static func checkedLine(_ line: String) throws(DownloadError) -> String {
    // By scalars, because a combining mark after the colon forms one `Character` with it.
    let name = line.unicodeScalars.prefix { $0 != ":" }
    guard name.endIndex < line.endIndex, !name.isEmpty else { throw refusal("a header line is no \"Name: value\"") }
    let field = String(name.filter { $0.value > 0x20 })
    if ReservedMatter(field: field.lowercased()) != nil {
      throw refusal("\(field) is sent by the library itself; a header line may not say it")
    }
    return try checked(line, "the header line \(field)")
  }

  /// A line end in it would start another header line (RFC 9110 §5.5).
  private static func checked(_ text: String, _ what: String) throws(DownloadError) -> String {
    guard text.utf8.allSatisfy({ $0 >= 0x20 && $0 != 0x7f || $0 == 0x09 }) else {
      throw refusal("\(what) has a control character")
    }
    return text
  }

  static func refusal(_ why: String) -> DownloadError {
    DownloadError(.configuration, cause: .detail(why), activity: "checking the configuration")
  }
}

extension DownloadConfiguration {
  func plan(_ schedule: DownloadSchedule, loops: Int) -> RunPlan {
    let width = schedule.width ?? max(1, jobs)
    let concurrency = RunConcurrency(
      schedule.mode, jobs: width, segments: segments, loops: schedule.isWhole ? 1 : loops)
    var plan = RunPlan(
      schedule.strategy, concurrency, ceiling: max(1, perHost ?? max(width, Self.mostPerHost)), retry: retry)
    if schedule.width == nil { plan.adaptive = AdaptiveConcurrency(ceiling: width) }
    // A strategy of the program's own may draw as many requests as its width says before it downloads the first.
    if schedule.isWhole { plan.opening = .max }
    if let perHost { plan.opening = perHost }
    return plan
  }

  func planOfOne(on loop: Int) -> RunPlan {
    var plan = plan(.own(SequentialStrategy(), width: 1), loops: 1)
    plan.firstLoop = loop
    plan.opening = perHost ?? RunPlan.fewAtFirst
    return plan
  }

  private var retry: RetryPolicy { RetryPolicy(retries: max(0, retries), maxTime: retryMaxTime) }

  /// Connections to one host, as long as it refuses none.
  private static let mostPerHost = 64
}
