import Glibc

/// Opens once and for good: holds a stalled answer or a fake transfer until the test says so.
package final class Gate: Sendable {
  /// Readable (hung up) from the moment the gate opens, so that a thread can poll it beside a socket.
  let readEnd: Int32
  /// The pipe's write end; nil once the gate is open.
  private let writeEnd: Monitor<Int32?>

  /// - Throws: when there is no descriptor left.
  package init() throws(SupportFailure) {
    let pipe = try CommandPipes.pipe()
    readEnd = pipe.read
    writeEnd = Monitor(pipe.write)
  }

  deinit {
    open()
    close(readEnd)
  }

  package func open() {
    writeEnd.withState { end in
      if let descriptor = end { close(descriptor) }
      end = nil
    }
  }

  package var isOpen: Bool { writeEnd.withState { $0 == nil } }

  /// Suspends until the gate is open.
  /// - Throws: when the task is cancelled, or after a long safety limit.
  package func wait() async throws(SupportFailure) {
    try await writeEnd.wait(for: "a gate to open") { $0 == nil }
  }

  /// As work does that must finish something although it was cancelled.
  /// - Throws: after a long safety limit.
  package func waitThroughCancellation() async throws(SupportFailure) {
    // A task of its own, which the caller's cancellation does not reach.
    let waiting = Task { () async -> Result<Void, SupportFailure> in
      do throws(SupportFailure) { return .success(try await self.wait()) } catch { return .failure(error) }
    }
    try await waiting.value.get()
  }
}
