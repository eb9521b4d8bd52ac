import Synchronization

/// A door that a test opens: whoever waits at it goes on then, or at once when cancelled.
final class Gate: Sendable {
  private struct State {
    var isOpen = false
    var waiting: [CheckedContinuation<Void, Never>] = []
  }
  private let state = Mutex(State())

  func open() {
    let waiting = state.withLock { state in
      state.isOpen = true
      defer { state.waiting = [] }
      return state.waiting
    }
    for continuation in waiting { continuation.resume() }
  }

  func close() { state.withLock { $0.isOpen = false } }

  /// Cancelling one that waits opens the gate: tests here have one behind each.
  func wait() async {
    await withTaskCancellationHandler {
      await waitWhateverComes()
    } onCancel: {
      open()
    }
  }

  /// As work does that must finish something although it was cancelled.
  func waitWhateverComes() async {
    await withCheckedContinuation { continuation in
      let isOpen = state.withLock { state in
        if !state.isOpen { state.waiting.append(continuation) }
        return state.isOpen
      }
      if isOpen { continuation.resume() }
    }
  }
}
