import DownloadModel
import FileReceiving
import Glibc
import SystemPackage

/// Writes a file to standard output while it arrives (`-o -`). It goes to a scratch folder like any other, with the
/// usual retries, segments and checks, and is copied in order and once; with a checksum, only after the whole file was
/// verified.
actor OutputStream {
  nonisolated var unownedExecutor: UnownedSerialExecutor { thread.asUnownedSerialExecutor() }

  nonisolated let reader = FileReader()
  private let thread = BlockingExecutor(label: "dlm.output")
  private(set) var written: Int64 = 0
  private(set) var failure: DownloadError?

  /// Polling interval for downloaded bytes.
  private static let pause = Duration.milliseconds(20)

  var isReaderGone: Bool { failure?.cause == .errno(EPIPE) }

  /// Copies arriving bytes until the task is cancelled; calls `stop` if writing fails.
  func follow(orElse stop: @Sendable () -> Void) async {
    do {
      while !Task.isCancelled {
        let bytes = try reader.next()
        try write(bytes)
        // A sleep ends early only for a cancelled task.
        if bytes.isEmpty { try? await Task.sleep(for: Self.pause) }
      }
    } catch {
      if error.code == .cancelled { return }
      failure = error
      stop()
    }
  }

  /// Copies the rest of the finished file.
  /// - Parameter path: its real place, even if other users replace its name (`ScratchFolder.held`).
  func finish(_ outcome: DownloadOutcome, at path: String) -> DownloadResult {
    do {
      if let failure { throw failure }
      let file = try FileDescriptor.open(FilePath(path), .readOnly, options: [.closeOnExec])
      try file.closeAfter {
        try file.seek(offset: written, from: .start)
        while case let block = try file.block(), !block.isEmpty { try write(block) }
      }
    } catch {
      let error = DownloadError(ofFile: error, path: outcome.path, activity: "reading")
      if error.code != .cancelled { failure = error }
      // A reader that went away is not reported.
      return .failure(isReaderGone ? .cancelled : error)
    }
    var outcome = outcome
    outcome.path = OutputFile.path("-")
    return .success(outcome)
  }

  /// - Throws: `.cancelled` in a cancelled task, as soon as no byte is accepted.
  private func write(_ bytes: [UInt8]) throws(DownloadError) {
    let output = FileDescriptor.standardOutput
    var rest = bytes[...]
    while !rest.isEmpty {
      var wanted = pollfd(fd: output.rawValue, events: Int16(POLLOUT), revents: 0)
      if poll(&wanted, 1, 100) == 0 {
        if Task.isCancelled { throw .cancelled }
        continue
      }
      // A ready pipe accepts this many bytes without blocking (pipe(7), PIPE_BUF).
      let piece = rest.prefix(4096)
      do { try output.writeWhole(piece) } catch {
        throw DownloadError(.disk, cause: .errno(error.rawValue), path: OutputFile.path("-"), activity: "writing")
      }
      rest = rest.dropFirst(piece.count)
      written += Int64(piece.count)
    }
  }
}
