import DownloadModel
import Synchronization

/// The failures of a run, for the summary and the exit status.
final class FailureLedger: Sendable {
  private let state = Mutex<(failures: [DownloadError], rejections: [Rejection])>(([], []))

  func add(_ error: DownloadError) {
    if error.code != .cancelled { state.withLock { $0.failures.append(error) } }
  }

  func add(_ rejection: Rejection) { state.withLock { $0.rejections.append(rejection) } }

  var failures: [DownloadError] { state.withLock { $0.failures } }
  var rejections: [Rejection] { state.withLock { $0.rejections } }
}
