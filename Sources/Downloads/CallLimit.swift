import Synchronization

/// How many single downloads of a session go on at a time, of all hosts and of each: a program may ask for
/// thousands of them at once, each in a task of its own. The files of a list have the list's queue for that.
final class CallLimit: Sendable {
  private struct State {
    var free: Int
    /// Downloads under way, by host.
    var hosts: [String: Int] = [:]
    /// In the order of their calls.
    var waiting: [Waiting] = []
    var lastTicket = 0
  }

  private struct Waiting {
    let ticket: Int
    let host: String
    let continuation: CheckedContinuation<Bool, Never>
  }

  private let state: Mutex<State>
  private let perHost: Int

  /// - Parameters:
  ///   - count: at a time, at least 1.
  ///   - perHost: of one host; nil for as many.
  init(_ count: Int, perHost: Int?) {
    state = Mutex(State(free: max(1, count)))
    self.perHost = max(1, perHost ?? count)
  }

  /// Suspends until a download of a host may begin.
  /// - Returns: false for a task that is cancelled; else `leave` must be called.
  func enter(_ host: String) async -> Bool {
    let ticket = state.withLock { state in
      state.lastTicket += 1
      return state.lastTicket
    }
    return await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        let answer = state.withLock { state -> Bool? in
          if Task.isCancelled { return false }
          if begin(host, &state) { return true }
          state.waiting.append(Waiting(ticket: ticket, host: host, continuation: continuation))
          return nil
        }
        if let answer { continuation.resume(returning: answer) }
      }
    } onCancel: {
      state.withLock { state in
        state.waiting.firstIndex { $0.ticket == ticket }.map { state.waiting.remove(at: $0) }
      }?.continuation.resume(returning: false)
    }
  }

  func leave(_ host: String) {
    let next = state.withLock { state -> Waiting? in
      state.free += 1
      state.hosts[host] = state.hosts[host].flatMap { $0 > 1 ? $0 - 1 : nil }
      guard let index = state.waiting.firstIndex(where: { state.hosts[$0.host, default: 0] < perHost }) else {
        return nil
      }
      let next = state.waiting.remove(at: index)
      _ = begin(next.host, &state)
      return next
    }
    next?.continuation.resume(returning: true)
  }

  /// - Returns: whether there was room.
  private func begin(_ host: String, _ state: inout State) -> Bool {
    guard state.free > 0, state.hosts[host, default: 0] < perHost else { return false }
    state.free -= 1
    state.hosts[host, default: 0] += 1
    return true
  }
}
