import DownloadModel
import Glibc
import Synchronization
import SystemPackage

/// Puts files into the store, for all cache actors of a run, on a thread that may block: a clone of a file that was
/// just written waits until the disk has it.
actor StoreKeeper {
  nonisolated let store: FileStore
  /// Bytes that the store may hold.
  nonisolated let bound: Int64
  private nonisolated let folder: Folder
  private nonisolated let secret: UserSecret
  private nonisolated let kind: StoreKind
  private nonisolated let claims: ProcessClaims?
  private nonisolated let state: Lock<State>
  private let executor = BlockingExecutor(label: "dlm.store")
  nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }

  private struct State {
    /// Nil until the first file has been tried.
    var isUsable: Bool?
    /// What the store holds, as far as this run knows; nil until it was read.
    var total: Int64?
    var hasPut = false
  }

  /// What became of a batch.
  struct Kept: Sendable {
    var rows: [CacheRow] = []
    /// Holds the rows until they are in the index.
    var journal: CommitJournal?
    var warning: CacheWarning?
  }

  init(
    _ folder: Folder, _ secret: UserSecret, _ kind: StoreKind, maxBytes: Int64?, _ claims: ProcessClaims? = nil
  ) {
    self.folder = folder
    self.secret = secret
    self.claims = claims
    self.kind = kind
    let store = FileStore(in: folder, secret)
    self.store = store
    bound = maxBytes ?? StoreBound.usual(disk: store.diskBytes)
    state = Lock(State(isUsable: kind == .auto ? nil : kind != .none))
  }

  /// Whether files can be put in. For `auto` the first file is tried, once a run.
  nonisolated func isUsable(tryingWith row: CacheRow) -> Bool {
    state.withLock { state in
      if let isUsable = state.isUsable { return isUsable }
      state.isUsable = store.canClone(row)
      return state.isUsable ?? true
    }
  }

  /// Puts files in, as long as none fails. A failure fails no download.
  func put(_ batch: [CacheRow]) -> Kept {
    var kept = Kept()
    let journal = CommitJournal(in: folder, secret, claims)
    for row in batch where state.withLock({ $0.isUsable != false }) && !Task.isCancelled {
      do throws(Errno) {
        let entry = try store.put(row, by: kind == .auto ? .clone : kind) { entry in
          journal.append(entry) { failure in
            // Without its line a kill leaves an entry that nobody knows, until `dlm cache prune`.
            kept.warning = CacheWarning(.unusable, path: FilePath(failure.path ?? ""), detail: "\(failure)")
          }
          kept.journal = journal
        }
        if let entry { kept.rows.append(entry) }
      } catch .canceled {
        break
      } catch .noSuchFileOrDirectory {
        // The cache was cleared beside this run.
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

  /// Whether this run has put anything in.
  nonisolated var hasPut: Bool { state.withLock { $0.hasPut } }

  /// Counts new entries. An entry that was replaced counts twice until the next look at the index. What other processes
  /// have put in is seen by such a look alone, so there is one each time while there are any.
  /// - Returns: whether the store may hold more than its bound.
  nonisolated func isFull(with rows: [CacheRow]) -> Bool {
    state.withLock { state in
      guard let total = state.total, claims?.hasCompany != true else { return !rows.isEmpty }
      let sum = rows.reduce(total) { $0 + StoreBound.cost(of: $1.identity.size) }
      state.total = sum
      return sum > bound
    }
  }

  nonisolated func note(total: Int64) { state.withLock { $0.total = total } }
}
