import Synchronization

/// When the reader must wait for the source: a signal from lanes, which must not wait for it themselves, to
/// the one task that does.
///
/// That task is a child of the run (`RequestQueue.run`), so that the run's cancellation reaches it whatever
/// the lanes are doing. It once was an independent task that waiting lanes cancelled; when all lanes were
/// busy, nothing ended its wait for an open pipe.
final class RequestReader: Sendable {
  private enum Phase {
    /// No lane needs the source.
    case idle
    /// The source must be read, and the reader has not asked yet.
    case wanted
    case waiting(CheckedContinuation<Bool, Never>)
    /// The source gives nothing more, or the run is cancelled.
    case ended
  }

  private let phase = Mutex(Phase.idle)

  /// Tells the reader to wait for the source. Called once for each answer of `isWanted`.
  func want() {
    phase.withLock { phase -> CheckedContinuation<Bool, Never>? in
      switch phase {
      case .idle: phase = .wanted
      case .waiting(let reader):
        phase = .idle
        return reader
      case .wanted, .ended: break
      }
      return nil
    }?.resume(returning: true)
  }

  func end() {
    phase.withLock { phase -> CheckedContinuation<Bool, Never>? in
      defer { phase = .ended }
      if case .waiting(let reader) = phase { return reader }
      return nil
    }?.resume(returning: false)
  }

  /// Suspends until the source must be read. For one task.
  /// - Returns: false once there is nothing more to read, or if the task is cancelled.
  func isWanted() async -> Bool {
    await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        let answer = phase.withLock { phase -> Bool? in
          switch phase {
          case .idle, .waiting: phase = .waiting(continuation)
          case .wanted:
            phase = .idle
            return true
          case .ended: return false
          }
          return nil
        }
        if let answer { continuation.resume(returning: answer) }
      }
    } onCancel: {
      end()
    }
  }
}
