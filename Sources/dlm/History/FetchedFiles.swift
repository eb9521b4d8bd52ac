import DownloadModel
import Synchronization

/// The resulting path of each request's file; it may depend on the servers' answers.
final class FetchedFiles: Sendable {
  struct File {
    let request: DownloadRequest
    let outcome: DownloadOutcome

    var path: String { outcome.path }
    /// The intended path; another file of the list may have that.
    var wanted: String { outcome.renamedFrom ?? outcome.path }
  }

  private let files = Lock<[File]>([])

  func ended(_ request: DownloadRequest, _ result: DownloadResult) {
    guard case .success(let outcome) = result else { return }
    var request = request
    request.pieces = nil
    files.withLock { [request] in $0.append(File(request: request, outcome: outcome)) }
  }

  /// In the list's order.
  var all: [File] { files.withLock { $0 }.sorted { $0.request.id < $1.request.id } }
}
