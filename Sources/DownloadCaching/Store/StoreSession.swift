import DownloadModel
import SystemPackage

/// One cache actor's dealings with the store: it notes the files that are worth keeping, and has them put in by the
/// dozen, since a clone makes the file system write the file to the disk first. Isolated state of that actor.
final class StoreSession {
  private let resources: CacheResources
  private let configuration: CacheConfiguration
  private let index: IndexSession
  /// Rows of files that were finished and are not in the store yet.
  private var pending: [CacheRow] = []
  /// The same of files that were here already: which of them are not in the store, the index is asked when a batch of
  /// them is full.
  private var confirmed: [CacheRow] = []
  private var pendingBytes: Int64 = 0
  /// Whether files may be noted.
  private(set) var isOn: Bool

  /// So many files, or bytes, wait at most: the file that fills a batch waits for it.
  private static let limit = 256
  private static let byteLimit: Int64 = 64 << 20

  init(_ resources: CacheResources, _ configuration: CacheConfiguration, _ index: IndexSession) {
    self.resources = resources
    self.configuration = configuration
    self.index = index
    isOn = configuration.store != .none && configuration.cacheFolder != nil
  }

  /// A smaller file is not kept by itself (`auto`). To clone it makes the file system write it to the disk at once,
  /// which for ten thousand small ones took as long as fetching them; and they are soon fetched again.
  static let leastByItself: Int64 = 64 << 10

  /// Notes a finished file.
  /// - Returns: whether the batch is full: then `flush` is due.
  func note(_ row: CacheRow, of plan: DownloadPlan, _ head: ResponseHead?) -> Bool {
    guard let row = candidate(row, of: plan, head) else { return false }
    pending.append(row)
    pendingBytes += row.identity.size
    return isFull
  }

  /// Notes a file that was here already and that its server has confirmed: an earlier run may have had no store, or
  /// have ended before it had filled that.
  /// - Returns: whether the batch is full: then `flush` is due.
  func noteConfirmed(_ row: CacheRow, of plan: DownloadPlan, _ head: ResponseHead?) -> Bool {
    // Usually the lookup has met the entry.
    if let entry = plan.elsewhere, entry.key.isStored, entry.isEntry(of: row) { return false }
    guard let row = candidate(row, of: plan, head) else { return false }
    confirmed.append(row)
    pendingBytes += row.identity.size
    return isFull
  }

  /// The row by which a file may be put in; nil for one that is not to be.
  private func candidate(_ row: CacheRow, of plan: DownloadPlan, _ head: ResponseHead?) -> CacheRow? {
    guard isOn, let folder = index.folder, configuration.store != .auto || row.identity.size >= Self.leastByItself
    else { return nil }
    guard let keeper = resources.keeper(of: folder, configuration), keeper.isUsable(tryingWith: row) else {
      isOn = false
      return nil
    }
    guard Self.isWorthKeeping(row), StoreBound.cost(of: row.identity.size) <= keeper.bound else { return nil }
    var row = index.selected(row)
    // A name that the user chose for this request is not that of the next.
    if !row.key.requested.isEmpty {
      row.wanted =
        head?["content-disposition"].flatMap { FileNaming.name(contentDisposition: $0) }
        ?? FileNaming.name(of: plan.address, from: plan.request.provenance)
    }
    return row
  }

  private var isFull: Bool {
    pending.count >= Self.limit || pendingBytes >= Self.byteLimit || confirmed.count >= Self.limit
  }

  /// Whether the bytes can answer a request again: by a validator, or for a time that the server gave.
  static func isWorthKeeping(_ row: CacheRow) -> Bool {
    row.identity.size > 0 && row.mayAnswer
      && row.freshness.vary.map { RequestFields.isAny(vary: $0) } != true
  }

  /// Notes that an entry has answered a request: it goes last of all.
  /// - Parameter row: that of the file which was copied from it.
  func used(_ entry: CacheRow, for row: CacheRow, _ head: ResponseHead?) {
    var entry = entry
    entry.usedAt = row.usedAt
    entry.digest = row.digest ?? entry.digest
    if head != nil, row.trust.mayRenew(entry.trust) {
      // The server has vouched for it anew (RFC 9111 §4.3.4).
      entry.trust = row.trust
      entry.selection = index.selected(row).selection
      entry.fetchedAt = row.fetchedAt
      entry.freshness = row.freshness
      entry.validator = row.validator
    }
    index.addStored(entry)
  }

  /// Has the noted files put in, writes their rows, and evicts what is too much.
  nonisolated(nonsending) func flush() async {
    guard !pending.isEmpty || !confirmed.isEmpty, let folder = index.folder,
      let keeper = resources.keeper(of: folder, configuration)
    else { return }
    var batch = pending
    let asked = confirmed
    (pending, pendingBytes, confirmed) = ([], 0, [])
    if !asked.isEmpty { batch += await index.ask { $0.missing(asked) } ?? [] }
    guard !batch.isEmpty else { return }
    let isLinked = configuration.store == .link
    // The rows of the files themselves, which a further name changes.
    if isLinked { await index.flush() }
    let kept = await keeper.put(batch)
    if let warning = kept.warning { index.warn(warning) }
    await index.write(kept.rows, retiring: kept.journal)
    if isLinked { await index.ask { $0.noteChange(kept.rows) } }
    if keeper.isFull(with: kept.rows) { await keepWithinBound(keeper) }
  }

  /// The end of the run, when every cache actor has had its files put in: keeps store and index within their bounds.
  nonisolated(nonsending) func keepWithinBounds() async {
    guard let folder = index.folder else { return }
    if let keeper = resources.keeper(of: folder, configuration), keeper.hasPut {
      _ = await index.ask { $0.sweep(keeper.store) }
      await keepWithinBound(keeper)
    }
    await index.ask { $0.keepWithinBound(FileStore(in: folder, $0.secret)) }
  }

  private nonisolated(nonsending) func keepWithinBound(_ keeper: StoreKeeper) async {
    var isDone = false
    while !isDone {
      let evicted = await index.ask { $0.evict(from: keeper.store, to: keeper.bound) }
      isDone = evicted?.isDone ?? true
      if let rest = evicted?.rest { keeper.note(total: rest) }
    }
  }
}
