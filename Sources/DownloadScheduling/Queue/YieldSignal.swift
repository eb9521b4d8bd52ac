import Synchronization

/// Tells a file under way what it is to give up; raised by whoever changes the queue, awaited by the file's
/// own task.
///
/// A lock and not an actor, because the queue raises it between two lanes and waits for nobody.
final class YieldSignal: Sendable {
  private struct State {
    var demand: YieldRule.Demand?
    var waiter: CheckedContinuation<YieldRule.Demand?, Never>?
    var isOver = false
  }

  private let state = Mutex(State())

  /// A second demand before the first was taken replaces it, unless that was for the whole file.
  func raise(_ demand: YieldRule.Demand) {
    state.withLock { state -> CheckedContinuation<YieldRule.Demand?, Never>? in
      if let waiter = state.waiter {
        state.waiter = nil
        return waiter
      }
      switch (state.demand, demand) {
      case (.file, _): break
      case (.connections(let before), .connections(let more)): state.demand = .connections(before + more)
      default: state.demand = demand
      }
      return nil
    }?.resume(returning: demand)
  }

  /// The next demand; nil if the task is cancelled. For one task.
  func next() async -> YieldRule.Demand? {
    await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        let early = state.withLock { state -> YieldRule.Demand?? in
          if state.isOver { return .some(nil) }
          if let demand = state.demand {
            state.demand = nil
            return .some(demand)
          }
          state.waiter = continuation
          return nil
        }
        if let early { continuation.resume(returning: early) }
      }
    } onCancel: {
      state.withLock { state in
        state.isOver = true
        defer { state.waiter = nil }
        return state.waiter
      }?.resume(returning: nil)
    }
  }
}
