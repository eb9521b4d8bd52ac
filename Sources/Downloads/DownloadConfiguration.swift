import CurlTransport
import DownloadCaching
public import DownloadModel
import DownloadScheduling
import FileReceiving
import SystemPackage

/// The settings of a session. Environment variables, settings files and command lines are not read.
public struct DownloadConfiguration: Sendable {
  /// When the cache answers, and when servers are asked.
  public enum Caching: Sendable, CaseIterable {
    /// Asks the server about a file only if the file is stale (RFC 9111 §4); downloads it if it has changed.
    case fresh
    /// Asks about every file, and downloads those that have changed.
    case revalidate
    /// Downloads every file.
    case refresh
    /// Answers from the disk, without any request.
    case offline
  }

  /// What happens to an unrelated file with the same name. With a cache folder, a file that this library downloaded
  /// from the same URL, and that has not been edited since, is replaced in every case.
  public enum Conflicts: String, Sendable, CaseIterable {
    /// The new file gets another name: `x.1.tar.gz`.
    case rename
    /// The existing file stays, and the new one is skipped.
    case skip
    case overwrite
  }

  /// The folder for finished files; created if it is missing.
  public var directory: String
  /// The folder for the index of earlier downloads; created if it is missing. Without one (`nil`), a session knows only
  /// its own files, and answers a repeated URL with them without a request.
  public var cacheFolder: String?
  /// When servers are asked about files that an earlier session downloaded.
  public var caching = Caching.fresh
  /// What happens if another file has the name.
  public var conflicts = Conflicts.rename

  /// The most files at a time: of a list whose schedule gives no number, and of all single downloads together.
  public var jobs = 64
  /// The most files of one host at a time: of a list, and of all single downloads together; `nil` for no extra limit. A
  /// host that refuses requests gets fewer.
  public var perHost: Int?
  /// The most connections for segments of one large file; only as many as help are used. 1 disables splitting.
  public var segments = 32
  /// Network loops, each with its own thread; one is enough for a few gigabits a second. With more, equal URLs of two
  /// concurrent calls may be downloaded twice.
  public var loops = 1

  /// Retries after the first attempt, for temporary failures.
  public var retries = 5
  /// No retry starts later than this after the first attempt; `nil` for no limit.
  public var retryMaxTime: Duration?
  /// The timeout for connecting, including TLS.
  public var connectTimeout = Duration.seconds(10)
  /// A transfer has stalled if no byte arrives for this time.
  public var stallTimeout = Duration.seconds(30)
  /// Limit in bytes a second for all transfers together; `nil` for no limit.
  public var rateLimit: Int64?

  /// `Name: value`, sent with every request to the origin of its URL, but not to the target of a redirect. All origins
  /// of a list receive them, secrets included.
  public var headerLines: [String] = []
  /// The value of `User-Agent`.
  public var userAgent = "Downloads"
  /// `[scheme://][user:password@]host[:port]`; `nil` for none. Variables such as `http_proxy` are not read.
  public var proxy: String?
  /// A PEM file of trusted certificates; `nil` for the system's.
  public var certificates: String?
  /// Whether to request HTTP/2 over TLS.
  public var usesHTTP2 = false

  /// Checksums by file name, in the format of `sha256sum` and similar programs.
  public var checksums: String?
  /// The weakest proof with which a file gets its name.
  public var requiredProof = Proof.nothing
  /// In bytes: a longer file fails; `nil` for no limit.
  public var maxFileSize: Int64?
  /// Whether a file and its name must be on the disk itself before it counts as finished.
  public var syncs = false
  /// Whether files get the server's Last-Modified as their time.
  public var usesRemoteTime = false
  /// Whether a server may choose a file's name (RFC 6266).
  public var usesContentDisposition = true

  /// The defaults. Opens and creates nothing.
  public init(directory: String, cacheFolder: String? = nil) {
    self.directory = directory
    self.cacheFolder = cacheFolder
  }

  // MARK: Conversion for the lower layers

  func transport() throws(DownloadError) -> TransportOptions {
    var options = TransportOptions(userAgent: try Self.checked(userAgent, "the user agent"))
    options.trust.headerLines = try Self.checkedLines(headerLines)
    options.connectTimeout = connectTimeout
    options.stallTimeout = stallTimeout
    options.trust.caFile = certificates
    options.usesHTTP2 = usesHTTP2
    options.width = max(1, jobs)
    if let rateLimit { options.limits = RateLimits(bytesPerSecond: rateLimit) }
    if let proxy {
      do {
        let proxy = Proxy(try ProxyAddress(proxy))
        options.proxies = [.http: proxy, .https: proxy]
      } catch { throw Self.refusal("the proxy \(Redaction.withoutLogin(proxy)) cannot be used: \(error)") }
    }
    return options
  }

  func cache(names: NameNumbers) throws(DownloadError) -> CacheConfiguration {
    if directory.isEmpty { throw Self.refusal("the folder for finished files has no name") }
    let list = checksums.map { ChecksumList(Array($0.utf8)) }
    if let line = list?.malformedLines.first { throw Self.refusal("line \(line) of the checksums is no checksum") }
    var configuration = CacheConfiguration(
      directory: FilePath(directory), cacheFolder: cacheFolder.map { FilePath($0) })
    configuration.receiving.conflictPolicy = ConflictPolicy(rawValue: conflicts.rawValue) ?? .rename
    configuration.receiving.refresh = caching == .refresh
    configuration.offline = caching == .offline
    configuration.freshness.revalidates = caching == .revalidate
    configuration.receiving.useContentDisposition = usesContentDisposition
    configuration.receiving.checksums = list
    configuration.receiving.requiredProof = requiredProof
    configuration.receiving.maxSize = maxFileSize
    configuration.syncs = syncs
    configuration.receiving.splits = segments > 1
    configuration.receiving.usesRemoteTime = usesRemoteTime
    configuration.receiving.names = names
    configuration.servesManyRuns = true
    return configuration
  }

  static func checkedLines(_ lines: [String]) throws(DownloadError) -> [String] {
    var checked: [String] = []
    for line in lines { checked.append(try checkedLine(line)) }
    return checked
  }

  /// Errors name only the field, because the value may be a secret.
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

  /// A line end would start another header line (RFC 9110 §5.5).
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
  func plan(_ schedule: Downloads.Schedule, loops: Int) -> RunPlan {
    let width = schedule.width ?? max(1, jobs)
    let concurrency = RunConcurrency(
      schedule.mode, jobs: width, segments: segments, loops: schedule.isWhole ? 1 : loops)
    var plan = RunPlan(
      schedule.strategy, concurrency, ceiling: max(1, perHost ?? max(width, Self.mostPerHost)), retry: retry)
    if schedule.width == nil { plan.adaptive = AdaptiveConcurrency(ceiling: width) }
    // A program's own strategy may take as many requests as its width before it downloads the first.
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
