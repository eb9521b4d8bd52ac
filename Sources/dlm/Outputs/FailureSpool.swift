import DownloadModel
import Synchronization
import SystemPackage
import TerminalProgress

/// Failures in an unnamed file, because a list may have millions.
final class FailureSpool: Sendable {
  private let state: Lock<State>

  private let directory: String

  private struct State {
    let file: FileDescriptor
    var heading = ""
    var failure: Errno?
  }

  init(in folder: String, of directory: String) throws(Errno) {
    self.directory = directory
    state = Lock(State(file: try TemporaryFolder.unnamedFile(in: folder, "failed")))
  }

  deinit { state.withLock { try? $0.file.close() } }  // no longer read

  /// Adds the URL, under a comment if the cause differs from the last one.
  func add(_ error: DownloadError) {
    let heading = TerminalText.sanitized(FailureMessages(error).heading)
    let line = FailedList.line(error, in: directory) + "\n"
    state.withLock { state in
      let text = heading == state.heading ? line : "# \(heading)\n\(line)"
      state.heading = heading
      do throws(Errno) { try state.file.writeWhole(text.utf8) } catch { state.failure = error }
    }
  }

  /// - Throws: Errno of either file, also of earlier writes.
  func copy(to target: FileDescriptor) throws {
    try state.withLock { state in
      if let failure = state.failure { throw failure }
      try state.file.seek(offset: 0, from: .start)
      while case let block = try state.file.block(), !block.isEmpty { try target.writeWhole(block) }
      try state.file.seek(offset: 0, from: .end)
    }
  }
}
