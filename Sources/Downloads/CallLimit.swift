import DownloadModel
import Synchronization

/// How many single downloads of a session go on at a time, of all hosts and of each: a program may ask for thousands of
/// them at once, each in a task of its own. The files of a list have the list's queue for that.
final class CallLimit: Sendable {
  private struct State {
    var free: Int
    /// Downloads under way, by host.
    var hosts: [String: Int] = [:]
    /// In the order of their calls.
    var waiting: [(ticket: Int, host: String, begin: AsyncStream<Never>.Continuation)] = []
    var lastTicket = 0
  }

  private let state: Lock<State>
  private let perHost: Int

  /// - Parameter perHost: nil for as many as of all hosts.
  init(_ count: Int, perHost: Int?) {
    state = Lock(State(free: max(1, count)))
    self.perHost = max(1, perHost ?? count)
  }

  /// Suspends until a download of a host may begin.
  /// - Returns: false for a task that is cancelled meanwhile; else `leave` must be called.
  func enter(_ host: String) async -> Bool {
    let (turn, begin) = AsyncStream<Never>.makeStream()
    let ticket = state.withLock { state -> Int? in
      if self.begin(host, &state) { return nil }
      state.lastTicket += 1
      state.waiting.append((state.lastTicket, host, begin))
      return state.lastTicket
    }
    guard let ticket else { return true }
    for await _ in turn {}
    // Who still waits was cancelled.
    return state.withLock { state in
      guard let index = state.waiting.firstIndex(where: { $0.ticket == ticket }) else { return true }
      state.waiting.remove(at: index)
      return false
    }
  }

  func leave(_ host: String) {
    state.withLock { state in
      state.free += 1
      state.hosts[host] = state.hosts[host].flatMap { $0 > 1 ? $0 - 1 : nil }
      if let index = state.waiting.firstIndex(where: { begin($0.host, &state) }) {
        state.waiting.remove(at: index).begin.finish()
      }
    }
  }

  /// - Returns: whether there was room.
  private func begin(_ host: String, _ state: inout State) -> Bool {
    guard state.free > 0, state.hosts[host, default: 0] < perHost else { return false }
    state.free -= 1
    state.hosts[host, default: 0] += 1
    return true
  }
}
