import DownloadModel
import Synchronization

/// A download function in place of a real one: it writes down the order and the greatest number at once, and
/// holds each call until the test lets it go.
final class Recorder: Sendable {
  private let state = Lock(State())

  private struct State {
    var started: [Int] = []
    var running = 0
    var greatest = 0
    var isOpen: Bool = false
    var held: [CheckedContinuation<Void, Never>] = []
    var waiters: [(count: Int, continuation: CheckedContinuation<Void, Never>)] = []
  }

  /// - Parameter holds: calls wait for `release`.
  init(holds: Bool = false) { state.withLock { $0.isOpen = !holds } }

  var started: [Int] { state.withLock { $0.started } }
  var greatestAtOnce: Int { state.withLock { $0.greatest } }
  var running: Int { state.withLock { $0.running } }

  func download(_ request: DownloadRequest) async {
    await begin(request)
    await Task.yield()
    state.withLock { $0.running -= 1 }
  }

  /// A call counts as begun when it is held, not before: a test that let a call go which had begun, but was not
  /// held yet, let nothing go, and waited for ever.
  private func begin(_ request: DownloadRequest) async {
    await withCheckedContinuation { continuation in
      let due = state.withLock { state in
        state.started.append(request.id)
        state.running += 1
        state.greatest = max(state.greatest, state.running)
        var due = state.waiters.filter { $0.count <= state.started.count }.map(\.continuation)
        state.waiters.removeAll { $0.count <= state.started.count }
        if state.isOpen { due.append(continuation) } else { state.held.append(continuation) }
        return due
      }
      for continuation in due { continuation.resume() }
    }
  }

  /// Suspends until so many calls have begun.
  func wait(forStarted count: Int) async {
    await withCheckedContinuation { continuation in
      let isMet = state.withLock { state in
        if state.started.count < count { state.waiters.append((count, continuation)) }
        return state.started.count >= count
      }
      if isMet { continuation.resume() }
    }
  }

  /// Lets everything go, now and later.
  func open() {
    let held = state.withLock { state in
      state.isOpen = true
      defer { state.held = [] }
      return state.held
    }
    for continuation in held { continuation.resume() }
  }

  /// Lets one held call go: the earliest, or the one at that place.
  func release(at index: Int = 0) { state.withLock { $0.held.remove(at: index) }.resume() }
}
