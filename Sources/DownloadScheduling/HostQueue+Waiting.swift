import Synchronization

extension HostQueue {
  func change<Value: Sendable>(_ body: (inout sending State) -> Value) -> Value {
    let (value, woken) = state.withLock { state -> (Value, [CheckedContinuation<Void, Never>]?) in
      let value = body(&state)
      state.changes += 1
      if state.waiting.isEmpty { return (value, nil) }
      defer { state.waiting = [:] }
      return (value, Array(state.waiting.values))
    }
    for continuation in woken ?? [] { continuation.resume() }
    return value
  }

  func wait(_ changes: Int, _ quietEnds: Duration?) async {
    guard let quietEnds else { return await waitForChange(after: changes) }
    let pause = quietEnds - elapsed()
    guard pause > .zero else { return }
    await withTaskGroup { group in
      group.addTask { [clock] in try? await clock.sleep(for: pause) }  // cancelled: the loop looks again
      group.addTask { await self.waitForChange(after: changes) }
      await group.next()
      group.cancelAll()
    }
  }

  /// Returns at once if there was a change since the look that led here.
  private func waitForChange(after changes: Int) async {
    let ticket = state.withLock { state in
      state.nextTicket += 1
      return state.nextTicket
    }
    await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        let mustWait = state.withLock { state in
          guard state.changes == changes, !Task.isCancelled else { return false }
          state.waiting[ticket] = continuation
          return true
        }
        if !mustWait { continuation.resume() }
      }
    } onCancel: {
      state.withLock { $0.waiting.removeValue(forKey: ticket) }?.resume()
    }
  }
}
