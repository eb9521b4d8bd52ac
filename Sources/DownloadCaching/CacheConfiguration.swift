package import DownloadModel
package import FileReceiving
import Synchronization
package import SystemPackage

@dynamicMemberLookup
package struct CacheConfiguration: Sendable {
  /// Where finished files go; made if missing, at the first file.
  package var directory: FilePath
  /// The path by which it is opened, where other users may put something else under its own; nil for the same.
  package var heldDirectory: FilePath?
  /// Where the index is kept; nil for no index (`--no-cache`).
  package var cacheFolder: FilePath?
  /// Where the user's secret is kept (`UserSecret`), also without an index; nil for `cacheFolder`. Without either,
  /// later runs do not recognise the parts of this one.
  package var keyFolder: FilePath?
  /// Where this user's processes announce their requests under way; nil for a run that takes no part.
  package var claimsFolder: FilePath?
  package var store = StoreKind.none
  /// How many bytes the store may take; nil for 10 GiB or a tenth of the disk.
  package var maxStoreBytes: Int64?
  /// Whether a file is on the disk itself, name and all, before it counts as finished (`--fsync`).
  package var syncs = false
  /// Whether more than one run goes over the cache: then what it has written itself is asked for too.
  package var servesManyRuns = false
  package var receiving = ReceivingRules()
  /// Answer from the disk or not at all.
  package var offline = false
  package var freshness = FreshnessPolicy()
  /// What an answer depends on beside its address. Only a keyed hash of it is stored.
  package var trust = Trust() { didSet { fields = RequestFields(trust) } }
  private(set) var fields = RequestFields(Trust())
  /// Whether servers have set cookies, or earlier runs had kept some.
  package var holdsCookies: @Sendable () -> Bool = { false }
  /// Called when a request waits for another process that downloads the same file.
  package var onWait: @Sendable (DownloadRequest, _ process: Int?) -> Void = { _, _ in }

  package init(directory: FilePath, cacheFolder: FilePath?) {
    self.directory = directory
    self.cacheFolder = cacheFolder
  }

  package subscript<Value>(dynamicMember member: WritableKeyPath<ReceivingRules, Value>) -> Value {
    get { receiving[keyPath: member] }
    set { receiving[keyPath: member] = newValue }
  }
}

/// How long answers count as fresh, by what the user asks for (RFC 9111 §4.2, §5.2.1).
package struct FreshnessPolicy: Sendable, Equatable {
  /// Ask about every file, fresh or not (`--revalidate`).
  package var revalidates = false
  /// Guess a lifetime where the server names none (`--heuristic`, RFC 9111 §4.2.2).
  package var guesses = false
  /// Seconds; an older answer is asked about (`--max-age`).
  package var maxAge: Int?
  /// Seconds for which an answer may have been stale (`--max-stale`).
  package var maxStale: Int?

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

/// What the cache actors of one run share, one for each network loop.
///
/// Behind a lock, since a hop to an actor's thread would cost more than a small file's own work. It is held only for a
/// table lookup, except once a run, while the output folder or the index is opened.
final class CacheResources: Sendable {
  let worker = DiskWorker("disk-worker")
  /// Of its own, so that a sync does not queue behind gigabytes that are read or copied.
  let syncer = DiskWorker("disk-syncer")
  /// Which requests other processes have under way; nil if the run does not look.
  let claims: ProcessClaims?
  /// Empty unless the disk had no room for them.
  let claimsWarnings: [CacheWarning]
  let secret: UserSecret
  let runNumber = UInt64.random(in: .min ... .max)
  private let state = Lock(State())
  let began: RunStart

  init(_ configuration: CacheConfiguration) {
    secret = UserSecret(in: configuration.keyFolder ?? configuration.cacheFolder)
    began = RunStart(seconds: configuration.now(), stamp: WallClock.stamp())
    var warnings: [CacheWarning] = []
    claims = configuration.claimsFolder.flatMap { folder in
      ProcessClaims(in: folder) { warnings = [CacheWarning(.unseen, path: folder, detail: CacheWarning.words($0))] }
    }
    claimsWarnings = warnings
  }

  private struct State {
    var folders: OpenFolders?
    /// What the first try to open it came to.
    var index: Result<CacheIndex, Errno>?
    /// By canonical path.
    var owners: [ByteText: FileOwners] = [:]
    var members: [Member] = []
    var keeper: StoreKeeper?
  }

  /// Weak, because each of these caches holds the resources.
  private struct Member {
    weak var cache: DownloadCache?
  }

  // MARK: Opened when first needed

  func folders(_ configuration: CacheConfiguration) throws(DownloadError) -> OpenFolders {
    try state.withLock { state throws(DownloadError) in
      if let folders = state.folders { return folders }
      let folders = OpenFolders(
        try OutputDirectory(configuration.directory, openedAt: configuration.heldDirectory, secret: secret))
      state.folders = folders
      return folders
    }
  }

  /// - Throws: errno of the first try to open it.
  func index(at path: FilePath, now: @escaping @Sendable () -> Int64) throws(Errno) -> CacheIndex {
    let opened = state.withLock { state in
      let opened = state.index ?? Result { () throws(Errno) in try CacheIndex(at: path, secret, now: now) }
      state.index = opened
      return opened
    }
    return try opened.get()
  }

  var owners: [ByteText: FileOwners] {
    get { state.withLock { $0.owners } }
    set { state.withLock { $0.owners = newValue } }
  }

  /// Of the run, where any of its files may be kept.
  var keeper: StoreKeeper? { state.withLock { $0.keeper } }

  func keeper(of folder: Folder, _ configuration: CacheConfiguration) -> StoreKeeper? {
    guard configuration.store != .none else { return nil }
    return state.withLock { state in
      let keeper =
        state.keeper
        ?? StoreKeeper(folder, secret, configuration.store, maxBytes: configuration.maxStoreBytes, claims)
      state.keeper = keeper
      return keeper
    }
  }

  // MARK: The actors

  func enter(_ cache: DownloadCache) { state.withLock { $0.members.append(Member(cache: cache)) } }

  var members: [DownloadCache] { state.withLock { $0.members.compactMap(\.cache) } }

  /// - Returns: whether this was the last cache.
  func leave(_ cache: DownloadCache) -> Bool {
    state.withLock { state in
      let count = state.members.count
      state.members.removeAll { $0.cache === cache || $0.cache == nil }
      return count > 0 && state.members.isEmpty
    }
  }
}
