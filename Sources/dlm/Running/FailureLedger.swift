import DownloadModel
import Synchronization

/// The failures of a run, for the summary and the exit status. Memory does not grow with a list of which nothing can be
/// had: beyond some thousands they are counted, and spooled if somebody wants them all (`--failed`).
final class FailureLedger: Sendable {
  /// As many are told one by one; nobody reads more from a terminal.
  static let told = 10_000

  let spool: FailureSpool?
  private let limit: Int
  private let state = Mutex(State())

  private struct State {
    var failures: [DownloadError] = []
    var rejections: [Rejection] = []
    var kinds: Set<Kind> = []
    var more = 0
  }

  /// What the exit status depends on: the first of each kind is kept, however late it comes.
  private struct Kind: Hashable {
    var code: DownloadError.Code
    var isPassing: Bool
  }

  init(spool: FailureSpool? = nil, limit: Int = told) {
    self.spool = spool
    self.limit = limit
  }

  func add(_ error: DownloadError) {
    guard error.code != .cancelled else { return }
    let isKept = state.withLock { state in
      let isNew = state.kinds.insert(Kind(code: error.code, isPassing: error.isPassing)).inserted
      guard state.failures.count < limit || isNew else {
        state.more += 1
        return false
      }
      state.failures.append(error)
      return true
    }
    if !isKept { spool?.add(error) }
  }

  func add(_ rejection: Rejection) {
    state.withLock { state in
      if state.rejections.count < limit { state.rejections.append(rejection) } else { state.more += 1 }
    }
  }

  var failures: [DownloadError] { state.withLock { $0.failures } }
  var rejections: [Rejection] { state.withLock { $0.rejections } }
  /// Whether nothing failed and nothing was refused.
  var isEmpty: Bool { state.withLock { $0.failures.isEmpty && $0.rejections.isEmpty } }
  /// Those that were only counted.
  var more: Int { state.withLock { $0.more } }
}
