import DownloadModel
import Glibc
import Synchronization
import SystemPackage

/// Failures on disk, in a file without a name: what a list of millions may need, and memory should not hold.
final class FailureSpool: Sendable {
  private let state: Mutex<State>

  private struct State {
    let file: FileDescriptor
    var heading = ""
    /// Lines that are not in the file yet.
    var waiting = ""
    var failure: Errno?
  }

  private static let block = 64 * 1024

  /// - Throws: Errno when the temporary folder cannot be written.
  init(in folder: String) throws(Errno) {
    var template = Array("\(folder)/dlm-failed-XXXXXX".utf8CString)
    let raw = mkstemp(&template)  // inherited by nobody: dlm starts no program
    guard raw >= 0 else { throw Errno(rawValue: errno) }
    // It goes with the process, whatever ends that.
    _ = unlink(template)
    state = Mutex(State(file: FileDescriptor(rawValue: raw)))
  }

  deinit { state.withLock { try? $0.file.close() } }  // nobody will read it any more

  /// As a list has it: the address, under a comment where the cause is another than before.
  func add(_ error: DownloadError) {
    let heading = FailedList.oneLine(FailureWords(error).heading)
    let line = error.address ?? "# " + FailedList.oneLine(error.path ?? "")
    state.withLock { state in
      if heading != state.heading {
        state.heading = heading
        state.waiting += "# \(heading)\n"
      }
      state.waiting += line + "\n"
      if state.waiting.utf8.count >= Self.block { Self.flush(&state) }
    }
  }

  /// Copies what was spooled to the end of a file.
  /// - Throws: Errno of either file, also of earlier writes.
  func copy(to target: FileDescriptor) throws {
    try state.withLock { state in
      Self.flush(&state)
      if let failure = state.failure { throw failure }
      try state.file.seek(offset: 0, from: .start)
      while true {
        let block = try [UInt8](unsafeUninitializedCapacity: Self.block) { buffer, count in
          count = try state.file.read(into: UnsafeMutableRawBufferPointer(buffer))
        }
        if block.isEmpty { break }
        try target.writeAll(block)
      }
      try state.file.seek(offset: 0, from: .end)
    }
  }

  private static func flush(_ state: inout State) {
    do { try state.file.writeAll(state.waiting.utf8) } catch { state.failure = error as? Errno ?? .ioError }
    state.waiting = ""
  }
}
