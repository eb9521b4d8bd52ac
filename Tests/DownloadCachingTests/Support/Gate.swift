import Synchronization

/// A door that a test opens: whoever waits at it goes on then, or at once when cancelled.
final class Gate: Sendable {
  private struct State {
    var isOpen = false
    var waiting: [Int: CheckedContinuation<Void, Never>] = [:]
    var issued = 0
  }
  private let state = Mutex(State())

  func open() {
    let waiting = state.withLock { state in
      state.isOpen = true
      defer { state.waiting = [:] }
      return state.waiting
    }
    for continuation in waiting.values { continuation.resume() }
  }

  func close() { state.withLock { $0.isOpen = false } }

  func wait() async {
    let number = nextNumber()
    await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        let mayGo = state.withLock { state in
          if state.isOpen || Task.isCancelled { return true }
          state.waiting[number] = continuation
          return false
        }
        if mayGo { continuation.resume() }
      }
    } onCancel: {
      state.withLock { $0.waiting.removeValue(forKey: number) }?.resume()
    }
  }

  /// As work does that must finish something although it was cancelled.
  func waitWhateverComes() async {
    let number = nextNumber()
    await withCheckedContinuation { continuation in
      let isOpen = state.withLock { state in
        if !state.isOpen { state.waiting[number] = continuation }
        return state.isOpen
      }
      if isOpen { continuation.resume() }
    }
  }

  private func nextNumber() -> Int {
    state.withLock { state in
      state.issued += 1
      return state.issued
    }
  }
}
