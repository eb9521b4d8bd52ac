public import DownloadModel
public import FileReceiving
public import SystemPackage

@dynamicMemberLookup
public struct CacheConfiguration: Sendable {
  /// Where finished files go; made if missing, at the first file.
  public var directory: FilePath
  public var kept: Kept
  public var receiving = ReceivingRules()
  /// Answer from the disk or not at all.
  public var offline = false
  public var freshness = FreshnessPolicy()
  /// What an answer depends on beside its address. Only a keyed hash of it is stored.
  public var trust = Trust() { didSet { fields = RequestFields(trust) } }
  private(set) var fields = RequestFields(Trust())
  /// Whether servers have set cookies, or earlier runs had kept some.
  public var holdsCookies: @Sendable () -> Bool = { false }
  /// Called when a request waits for another process that downloads the same file.
  public var onWait: @Sendable (DownloadRequest, _ process: Int?) -> Void = { _, _ in }

  /// What is kept beside the user's files.
  public struct Kept: Sendable {
    /// Where the index is kept; nil for no index (`--no-cache`).
    public var cacheFolder: FilePath?
    /// Where the user's secret is kept (`UserSecret`), also without an index; nil for `cacheFolder`. Without either,
    /// later runs do not recognise the parts of this one.
    public var keyFolder: FilePath?
    /// Where this user's processes announce their requests under way; nil for a run that takes no part.
    public var claimsFolder: FilePath?
    public var store = StoreKind.none
    /// How many bytes the store may take; nil for 10 GiB or a tenth of the disk.
    public var maxStoreBytes: Int64?
    /// Whether a file is on the disk itself, name and all, before it counts as finished (`--fsync`).
    public var syncs = false
    /// Whether more than one run goes over the cache: then what it has written itself is asked for too.
    public var servesManyRuns = false
  }

  public init(directory: FilePath, cacheFolder: FilePath?) {
    self.directory = directory
    kept = Kept(cacheFolder: cacheFolder)
  }

  public subscript<Value>(dynamicMember member: WritableKeyPath<Kept, Value>) -> Value {
    get { kept[keyPath: member] }
    set { kept[keyPath: member] = newValue }
  }

  public subscript<Value>(dynamicMember member: WritableKeyPath<ReceivingRules, Value>) -> Value {
    get { receiving[keyPath: member] }
    set { receiving[keyPath: member] = newValue }
  }
}

/// How long answers count as fresh, by what the user asks for (RFC 9111 §4.2, §5.2.1).
public struct FreshnessPolicy: Sendable, Equatable {
  /// Ask about every file, fresh or not (`--revalidate`).
  public var revalidates: Bool
  /// Guess a lifetime where the server names none (`--heuristic`, RFC 9111 §4.2.2).
  public var guesses: Bool
  /// Seconds; an older answer is asked about (`--max-age`).
  public var maxAge: Int?
  /// Seconds for which an answer may have been stale (`--max-stale`).
  public var maxStale: Int?

  public init(revalidates: Bool = false, guesses: Bool = false, maxAge: Int? = nil, maxStale: Int? = nil) {
    (self.revalidates, self.guesses) = (revalidates, guesses)
    (self.maxAge, self.maxStale) = (maxAge, maxStale)
  }

  /// The `Cache-Control` value that tells this to caches on the way; nil for nothing to say.
  var cacheControl: String? {
    let directives = [
      revalidates ? "no-cache" : nil, maxAge.map { "max-age=\($0)" }, maxStale.map { "max-stale=\($0)" },
    ].compactMap(\.self)
    return directives.isEmpty ? nil : directives.joined(separator: ", ")
  }
}

/// The configuration behind a reference, because it is large and every download holds it.
final class SharedConfiguration: Sendable {
  let configuration: CacheConfiguration
  /// What options and header lines together say about stored answers.
  let directives: RequestDirectives
  let receiving: SharedRules
  var mayAsk: Bool { receiving.mayAsk }

  init(_ configuration: CacheConfiguration) {
    self.configuration = configuration
    directives = configuration.fields.directives.combined(
      RequestDirectives(cacheControl: configuration.freshness.cacheControl))
    receiving = SharedRules(
      configuration.receiving, mayAsk: !configuration.offline && !directives.onlyIfCached,
      cacheControl: configuration.refresh ? "no-cache" : configuration.freshness.cacheControl)
  }
}
