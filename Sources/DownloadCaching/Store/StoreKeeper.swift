import DownloadModel
import FileReceiving
import Synchronization
import SystemPackage

/// Puts files into the store in batches, for all cache actors of a run, on a thread that may block: a clone of a new
/// file waits until the file is on the disk.
actor StoreKeeper {
  nonisolated let store: FileStore
  private nonisolated let bound: Int64
  private nonisolated let kind: StoreKind
  private nonisolated let claims: ProcessClaims?
  private nonisolated let state: Lock<State>
  private let executor = BlockingExecutor(label: "dlm.store")
  nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }

  private struct State {
    /// `nil` until the first file has been tried.
    var isUsable: Bool?
    /// Counted bytes of the store, as far as this run knows; `nil` until they are read.
    var total: Int64?
    var hasPut = false
  }

  /// The files that one cache actor has noted. They stay with the actor, because its rows of these files must be in the
  /// index first.
  struct Noted {
    /// Finished files that are not in the store yet.
    fileprivate var fetched: [CacheRow] = []
    /// Files that existed before. The index knows which of them are not in the store.
    fileprivate var confirmed: [CacheRow] = []
    fileprivate var bytes: Int64 = 0

    /// The request that fills a batch waits until the batch is in the store.
    fileprivate var isFull: Bool { max(fetched.count, confirmed.count) >= 256 || bytes >= 64 << 20 }
  }

  init(_ folder: Folder, _ secret: UserSecret, _ kind: StoreKind, maxBytes: Int64?, _ claims: ProcessClaims? = nil) {
    self.claims = claims
    self.kind = kind
    store = FileStore(in: folder, secret)
    bound = maxBytes ?? Bound.usual(disk: folder.diskBytes())
    state = Lock(State(isUsable: kind == .auto ? nil : true))
  }

  // MARK: Noting

  /// Notes a finished file, or one that existed and was confirmed. Returns whether `flush` is due.
  nonisolated func note(
    _ row: CacheRow, of plan: DownloadPlan, _ head: ResponseHead?, isConfirmed: Bool = false, _ index: IndexSession
  ) -> Bool {
    // The entry that the lookup found.
    if isConfirmed, let entry = plan.elsewhere, entry.key.isStored, entry.isEntry(of: row) { return false }
    guard isUsable(tryingWith: row), Self.isWorthKeeping(row), Bound.cost(of: row.identity.size) <= bound
    else { return false }
    var row = index.fingerprint.selected(row)
    // A name that the user chose for this request does not apply to the next one.
    if !row.key.requested.isEmpty {
      row.fields.wanted =
        head?["content-disposition"].flatMap { FileNaming.name(contentDisposition: $0) }
        ?? FileNaming.name(of: plan.address, from: plan.request.provenance)
    }
    if isConfirmed { index.noted.confirmed.append(row) } else { index.noted.fetched.append(row) }
    index.noted.bytes += row.identity.size
    return index.noted.isFull
  }

  /// For `auto`, the first file is tried, once per run.
  private nonisolated func isUsable(tryingWith row: CacheRow) -> Bool {
    state.withLock { state in
      if let isUsable = state.isUsable { return isUsable }
      state.isUsable = store.canClone(row)
      return state.isUsable ?? true
    }
  }

  /// Whether the bytes can answer a later request: by a validator, or within a lifetime that the server gave.
  static func isWorthKeeping(_ row: CacheRow) -> Bool {
    row.identity.size > 0 && row.mayAnswer && row.freshness.vary.map { RequestFields.names("*", vary: $0) } != true
  }

  // MARK: Putting in

  /// Puts the noted files in, writes their rows, and evicts entries above the bound.
  nonisolated(nonsending) func flush(_ index: IndexSession) async {
    var batch = index.noted.fetched
    let confirmed = index.noted.confirmed
    index.noted = Noted()
    if !confirmed.isEmpty { batch += await index.ask { $0.missing(confirmed) } ?? [] }
    guard !batch.isEmpty else { return }
    // The rows of the files themselves, which an additional name changes.
    if kind == .link { await index.flush() }
    let kept = await put(batch)
    if let warning = kept.warning { index.warn(warning) }
    if !kept.rows.isEmpty { await index.ask { $0.write(kept.rows) } }
    if kind == .link { await index.ask { $0.noteChange(kept.rows) } }
    if isFull(with: kept.rows) { await keepWithinBound(index) }
  }

  /// Ends the run, after every cache actor has put its files in.
  nonisolated(nonsending) func finish(_ index: IndexSession) async {
    guard state.withLock({ $0.hasPut }) else { return }
    await index.ask { $0.sweep(self.store) }
    await keepWithinBound(index)
  }

  private struct Kept {
    var rows: [CacheRow] = []
    var warning: CacheWarning?
  }

  /// Puts files in until one fails. Such a failure fails no download.
  private func put(_ batch: [CacheRow]) -> Kept {
    var kept = Kept()
    for row in batch where state.withLock({ $0.isUsable != false }) && !Task.isCancelled {
      do {
        let entry = try store.put(row, by: kind == .auto ? .clone : kind)
        if let entry { kept.rows.append(entry) }
      } catch .canceled {
        break
      } catch .noSuchFileOrDirectory {
        // Another process cleared the cache during this run.
        continue
      } catch {
        state.withLock { $0.isUsable = false }
        if kind != .auto || error == .noSpace || error == .diskQuotaExceeded {
          kept.warning = CacheWarning(.storeUnusable, path: store.path, detail: explain(error))
        }
      }
    }
    if !kept.rows.isEmpty { state.withLock { $0.hasPut = true } }
    return kept
  }

  private nonisolated func explain(_ error: Errno) -> String {
    switch (kind, error) {
    case (.clone, .notSupported), (.clone, .improperLink), (.clone, .inappropriateIOCTLForDevice),
      (.clone, .invalidArgument), (.link, .improperLink):
      "\(error): files cannot be shared between the output folder and the cache; use store: copy or none"
    default: "\(error)"
    }
  }

  // MARK: The bound

  /// Counts new entries; a replaced one counts twice until the index is read again. Only the index shows the entries of
  /// other processes, so it is read each time while others are alive. Returns whether the store may exceed its bound.
  private nonisolated func isFull(with rows: [CacheRow]) -> Bool {
    state.withLock { state in
      guard let total = state.total, claims?.hasCompany != true else { return !rows.isEmpty }
      let sum = rows.reduce(total) { $0 + Bound.cost(of: $1.identity.size) }
      state.total = sum
      return sum > bound
    }
  }

  private nonisolated(nonsending) func keepWithinBound(_ index: IndexSession) async {
    while let evicted = await index.ask({ $0.evict(from: self.store, to: self.bound) }) {
      state.withLock { $0.total = evicted.rest }
      if evicted.isDone { return }
    }
  }
}

extension StoreKeeper {
  /// How much of the disk the store may take, and which entries it evicts.
  enum Bound {
    /// 10 GiB, or a tenth of the disk if that is less.
    /// - Parameter disk: size of the file system in bytes; `nil` if unknown.
    static func usual(disk: Int64?) -> Int64 { min(10 << 30, disk.map { $0 / 10 } ?? .max) }

    /// The counted bytes of an entry: blocks of 4 KiB, as in `du` and `CacheSchema.storedTotal`. A clone counts too,
    /// because the user's file may be removed at any time.
    static func cost(of length: Int64) -> Int64 { (max(0, length) + 4095) / 4096 * 4096 }

    /// A tenth below the bound, so that entries are evicted in batches.
    static func rest(of bound: Int64) -> Int64 { bound - bound / 10 }

    /// The number of entries to evict, the least recently used first.
    /// - Parameter lengths: of the entries, the least recently used first.
    static func evicted(_ lengths: some Sequence<Int64>, total: Int64, bound: Int64) -> Int {
      guard total > bound else { return 0 }
      var count = 0
      var left = total
      for length in lengths where left > rest(of: bound) {
        left -= cost(of: length)
        count += 1
      }
      return count
    }
  }
}
