package import DownloadModel
import FileReceiving
import Synchronization
import SystemPackage

/// The resources that the cache actors of one run share, and what these know of the run's files. Each network loop has
/// one cache actor.
///
/// Behind locks, because a hop to an actor's thread would cost more than a small file's own work. A lock is held only
/// for a table lookup, except once per run, while the output folder or the index is opened.
package final class CacheResources: Sendable {
  let inFlight = InFlight()
  let memory = Lock(MemoryCache())
  /// Rows of finished files that SQLite does not have yet.
  let batch = Lock(RowBatch())
  let worker = DiskWorker("disk-worker")
  /// Separate, so that a sync does not queue behind gigabytes that are read or copied.
  let syncer = DiskWorker("disk-syncer")
  /// The requests that other processes have in flight; `nil` if the run ignores them.
  let claims: ProcessClaims?
  package var accounts: (any SharedAccounts)? { claims }
  /// Empty unless the disk had no space for the claims.
  let claimsWarnings: [CacheWarning]
  let secret: UserSecret
  let runNumber = UInt64.random(in: .min ... .max)
  private let servesManyRuns: Bool
  private let state = Lock(State())
  let began: RunStart

  package init(_ configuration: CacheConfiguration) {
    servesManyRuns = configuration.servesManyRuns
    secret = UserSecret(in: configuration.keyFolder ?? configuration.cacheFolder)
    began = RunStart(seconds: configuration.receiving.now(), stamp: WallClock.stamp())
    var warnings: [CacheWarning] = []
    claims = configuration.claimsFolder.flatMap { folder in
      ProcessClaims(in: folder) { warnings = [CacheWarning(.unseen, path: folder, detail: CacheWarning.words($0))] }
    }
    claimsWarnings = warnings
  }

  private struct State {
    var folders: OpenFolders?
    /// The result of the first attempt to open it.
    var index: Result<CacheIndex, Errno>?
    /// By canonical path.
    var owners: [ByteText: FileOwners] = [:]
    /// The number of open cache actors.
    var members = 0
    var keeper: StoreKeeper?
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

  /// - Throws: errno of the first attempt to open it.
  func index(at path: FilePath, now: @escaping @Sendable () -> Int64) throws(Errno) -> CacheIndex {
    let opened = state.withLock { state in
      let opened = state.index ?? Result { () throws(Errno) in try CacheIndex(at: path, secret, now: now) }
      state.index = opened
      return opened
    }
    return try opened.get()
  }

  /// Has no call wait for another process that holds the index, from now on. A session waits on, for its other runs.
  func stopWaiting() {
    if servesManyRuns { return }
    if case .success(let index)? = state.withLock({ $0.index }) { index.stopWaiting() }
  }

  var owners: [ByteText: FileOwners] {
    get { state.withLock { $0.owners } }
    set { state.withLock { $0.owners = newValue } }
  }

  /// The run's store; `nil` until a file may be kept.
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

  func enter() { state.withLock { $0.members += 1 } }

  /// - Returns: whether this was the last cache.
  func leave() -> Bool {
    state.withLock { state in
      state.members -= 1
      return state.members == 0
    }
  }
}

extension CacheResources {
  /// Rows of finished files that SQLite does not have yet, and the claims that end when it has them.
  struct RowBatch {
    private(set) var rows: [CacheRow] = []
    /// Claims of the requests for these files, for `ProcessClaims.release`.
    private(set) var claims: [Int] = []
    /// The position of each request's last row.
    private var positions: [RowKey: Int] = [:]

    /// SQLite's cost grows with transactions, memory with rows; at 512 neither matters.
    static let limit = 512

    var isFull: Bool { rows.count >= Self.limit }

    mutating func add(_ row: CacheRow) {
      positions[row.key] = rows.count
      rows.append(row)
    }

    /// Empties the batch.
    mutating func take() -> RowBatch {
      defer { self = RowBatch() }
      return self
    }

    mutating func keep(claim: Int) { claims.append(claim) }

    subscript(key: RowKey) -> CacheRow? {
      guard let row = positions[key].map({ rows[$0] }), row.key == key else { return nil }
      return row
    }
  }
}
