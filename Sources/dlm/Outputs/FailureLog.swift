import DownloadModel
import Synchronization

/// The failures of a run, for the summary and the exit status. Beyond `told` they are only counted, and spooled for
/// `--failed`, so that memory does not grow with the list.
final class FailureLog: Sendable {
  /// The most that are kept: no user reads more in a terminal.
  static let told = 10_000

  let spool: FailureSpool?
  private let limit: Int
  private let state = Lock(State())

  private struct State {
    var failures: [DownloadError] = []
    var rejections: [Rejection] = []
    /// The first failure of each kind is always kept, for the exit status.
    var kinds: Set<String> = []
    var more = 0
  }

  init(spool: FailureSpool? = nil, limit: Int = told) {
    self.spool = spool
    self.limit = limit
  }

  func add(_ error: DownloadError) {
    guard error.code != .cancelled else { return }
    let isKept = state.withLock { state in
      let isNew = state.kinds.insert("\(error.code.rawValue) \(error.mayPass)").inserted
      guard state.failures.count < limit || isNew else {
        state.more += 1
        return false
      }
      state.failures.append(error)
      return true
    }
    if !isKept { spool?.add(error) }
  }

  /// Files that are tried again have not failed.
  func forget(_ requests: [DownloadRequest]) {
    let addresses = Set(requests.map(\.address.key))
    state.withLock { $0.failures.removeAll { error in error.address.map(addresses.contains) == true } }
  }

  func add(_ rejection: Rejection) {
    state.withLock { state in
      if state.rejections.count < limit { state.rejections.append(rejection) } else { state.more += 1 }
    }
  }

  var failures: [DownloadError] { state.withLock { $0.failures } }
  var rejections: [Rejection] { state.withLock { $0.rejections } }
  var more: Int { state.withLock { $0.more } }

  /// Prints the lines that are no requests.
  /// - Returns: their exit status.
  func sayRejections() -> ExitStatus {
    StandardError.say(rejections.map { RejectionMessages($0).said })
    return ExitStatus(failures: [], rejections: rejections)
  }
}
