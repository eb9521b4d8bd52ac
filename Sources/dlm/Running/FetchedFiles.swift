import DownloadModel
import Synchronization

/// Where a run put the file of each request, told as each ends: names are the store's to give, and may depend on what
/// servers answered.
final class FetchedFiles: Sendable {
  struct File: Sendable {
    let request: DownloadRequest
    let path: String
    /// The path that it was to have: another of the list may have had it first.
    let wanted: String
  }

  private let files = Mutex<[File]>([])

  func add(_ request: DownloadRequest, _ outcome: DownloadOutcome) {
    let file = File(request: request, path: outcome.path, wanted: outcome.renamedFrom ?? outcome.path)
    files.withLock { $0.append(file) }
  }

  /// In the list's order.
  var all: [File] { files.withLock { $0 }.sorted { $0.request.id < $1.request.id } }
}
