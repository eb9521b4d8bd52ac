import DownloadModel
import FileReceiving
import Synchronization
import SystemPackage

/// What the cache actors of one run share, one for each network loop.
///
/// Behind a lock, since a hop to an actor's thread would cost more than a small file's own work. It is held only for a
/// table lookup, except once a run, while the output folder or the index is opened.
final class CacheResources: Sendable {
  let worker = OnFirstUse { DiskWorker("disk-worker") }
  /// Of its own, so that a sync does not queue behind gigabytes that are read or copied.
  let syncer = OnFirstUse { DiskWorker("disk-syncer") }
  /// Which requests other processes have under way; nil if the run does not look.
  let claims: ProcessClaims?
  let secret: UserSecret
  let runNumber = UInt64.random(in: .min ... .max)
  private let state = Lock(State())
  let began: RunStart
  /// Nil for a run without an index; else errno of the first try to open its folder.
  let index: OnFirstUse<Result<IndexFolder, Errno>>?

  init(_ configuration: CacheConfiguration) {
    let (secret, now) = (UserSecret(in: configuration.keyFolder ?? configuration.cacheFolder), configuration.now)
    (self.secret, began) = (secret, RunStart(seconds: now(), stamp: WallClock.stamp()))
    claims = configuration.claimsFolder.flatMap { ProcessClaims(in: $0) }
    index = configuration.cacheFolder.map { folder in
      OnFirstUse { Result { () throws(Errno) in try IndexFolder(at: folder, secret, now: now) } }
    }
  }

  private struct State {
    var folders: OpenFolders?
    /// By canonical path.
    var owners: [String: FileOwners] = [:]
    var members: [Member] = []
    var keeper: StoreKeeper?
  }

  /// Weak, because each of these caches holds the resources.
  private struct Member {
    weak var cache: DownloadCache?
  }

  // MARK: Opened when first needed

  func folders(_ path: FilePath) throws(DownloadError) -> OpenFolders {
    try state.withLock { state throws(DownloadError) in
      if let folders = state.folders { return folders }
      let folders = OpenFolders(try OutputDirectory(path, secret: secret))
      state.folders = folders
      return folders
    }
  }

  var owners: [String: FileOwners] {
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

/// Where the index is kept. The index itself is made for the first question.
final class IndexFolder: Sendable {
  let folder: Folder
  /// Whether the index was empty when this process began: then it need not be asked, and is not even opened before the
  /// first batch is full.
  let wasEmpty: Bool
  let index: OnFirstUse<CacheIndex>

  /// - Throws: errno of opening or making the folder.
  init(at path: FilePath, _ secret: UserSecret, now: @escaping @Sendable () -> Int64) throws(Errno) {
    let folder = try Folder(own: path)
    let names = try folder.names()
    let wasEmpty = !names.contains { $0 == IndexDatabase.fileName || CommitJournal.isName($0, secret) }
    (self.folder, self.wasEmpty) = (folder, wasEmpty)
    index = OnFirstUse { CacheIndex(in: folder, secret, wasEmpty: wasEmpty, now: now) }
  }
}
