import Synchronization

extension HostQueue {
  /// A lane that waits for something to change.
  struct Waiter {
    let ticket: Int
    let share: Int
    let continuation: CheckedContinuation<Void, Never>
  }

  /// Changes the state and wakes those who may want to know.
  func change<Value: Sendable>(_ body: (inout sending State) -> Value) -> Value {
    let (value, woken) = state.withLock { state -> (Value, [Waiter]) in
      let value = body(&state)
      state.changes += 1
      return (value, Self.takeFirstOfEachShare(&state))
    }
    for waiter in woken { waiter.continuation.resume() }
    return value
  }

  /// The lanes of a share all want the same, so one of them is woken, and wakes the next when it got something: a
  /// hundred waiting lanes cost a change no more than one.
  static func takeFirstOfEachShare(_ state: inout State) -> [Waiter] {
    if state.waiting.isEmpty { return [] }
    var woken: [Waiter] = []
    for share in state.inFlight.indices {
      guard let index = state.waiting.firstIndex(where: { $0.share == share }) else { continue }
      woken.append(state.waiting.remove(at: index))
    }
    return woken
  }

  nonisolated(nonsending) func wait(_ share: Int, _ changes: Int, _ quietEnds: Duration?) async {
    guard let quietEnds else { return await waitForChange(share, after: changes) }
    let pause = quietEnds - elapsed()
    guard pause > .zero else { return }
    await withTaskGroup { group in
      group.addTask { [clock] in try? await clock.sleep(for: pause) }  // cancelled: the loop looks again
      group.addTask { await self.waitForChange(share, after: changes) }
      await group.next()
      group.cancelAll()
    }
  }

  /// Returns at once if there was a change since the look that led here.
  private nonisolated(nonsending) func waitForChange(_ share: Int, after changes: Int) async {
    let ticket = state.withLock { state in
      state.nextTicket += 1
      return state.nextTicket
    }
    await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        let mustWait = state.withLock { state in
          guard state.changes == changes, !Task.isCancelled else { return false }
          state.waiting.append(Waiter(ticket: ticket, share: share, continuation: continuation))
          return true
        }
        if !mustWait { continuation.resume() }
      }
    } onCancel: {
      state.withLock { state -> Waiter? in
        guard let index = state.waiting.firstIndex(where: { $0.ticket == ticket }) else { return nil }
        return state.waiting.remove(at: index)
      }?.continuation.resume()
    }
  }
}
