package import DownloadModel
import Synchronization

/// The output folder, and the folders below it that requests name, for all loops of a run.
package final class OpenFolders: Sendable {
  package let root: OutputDirectory
  private let state = Lock(State())

  private struct State {
    // By bytes, because Swift treats two normal forms of one text as equal, and the disk does not. Weak, because ten
    // thousand folders would hold as many descriptors.
    var all: [[UInt8]: Weak] = [:]
    /// Opened last, and kept open, since the next lines of a list mostly name the same folders.
    var recent: [OutputDirectory] = []
    var forgetsAt = 1024
  }

  private struct Weak { weak var directory: OutputDirectory? }

  private static let mostRecent = 16

  package init(_ root: OutputDirectory) { self.root = root }

  /// Opens the folder where it is not open, and makes it where missing.
  /// - Throws: `.folder` with its path, `.resources`.
  package func directory(of request: DownloadRequest) throws(DownloadError) -> OutputDirectory {
    guard let path = request.folder else { return root }
    return try open(path)
  }

  @inline(never)
  private func open(_ path: String) throws(DownloadError) -> OutputDirectory {
    let key = Array(path.utf8)
    return try state.withLock { state throws(DownloadError) in
      if let directory = state.all[key]?.directory { return directory }
      let directory = try OutputDirectory(path, below: root)
      if state.all.count >= state.forgetsAt {
        state.all = state.all.filter { $0.value.directory != nil }
        state.forgetsAt = max(1024, 2 * state.all.count)
      }
      state.all[key] = Weak(directory: directory)
      if state.recent.count >= Self.mostRecent { state.recent.removeFirst() }
      state.recent.append(directory)
      return directory
    }
  }
}
