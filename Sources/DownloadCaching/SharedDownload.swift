import DownloadModel
import Synchronization

/// One piece of work that several askers wait for. It is cancelled when the last of them was; each of them is
/// answered at once when it is cancelled itself.
///
/// A lock and not an actor, because `onCancel` runs on any thread and may not wait. No continuation is resumed
/// and no task cancelled inside the lock.
final class SharedDownload: Sendable {
  typealias Answer = Result<DownloadOutcome, DownloadError>

  /// One asker's place.
  struct Ticket: Sendable, Hashable { fileprivate let number: Int }

  private struct State {
    var waiting: [Ticket: CheckedContinuation<Answer, Never>?] = [:]
    var issued = 0
    var answer: Answer?
    var work: Task<Void, Never>?
    /// The last asker left before the end: nobody may join any more, the work is on its way out.
    var isAbandoned = false
  }

  private let state = Mutex(State())

  /// A place among those who wait; nil if the work was given up.
  func join() -> Ticket? {
    state.withLock { state in
      guard !state.isAbandoned else { return nil }
      let ticket = Ticket(number: state.issued)
      state.issued += 1
      // In the table before it waits, so that the others' leaving does not end the work under it.
      state.waiting.updateValue(nil, forKey: ticket)
      return ticket
    }
  }

  /// How many wait, or are about to.
  var askers: Int { state.withLock { $0.waiting.count } }

  /// Names the task that does the work.
  func began(_ work: Task<Void, Never>) {
    let isAbandoned = state.withLock { state in
      state.work = work
      return state.isAbandoned
    }
    if isAbandoned { work.cancel() }
  }

  /// Waits for the answer; throws `.cancelled` as soon as the asking task is cancelled.
  func value(_ ticket: Ticket) async throws(DownloadError) -> DownloadOutcome {
    let answer = await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        let early: Answer? = state.withLock { state in
          if let answer = state.answer { return answer }
          // Gone from the table: cancelled between joining and waiting.
          guard state.waiting.keys.contains(ticket) else { return .failure(.cancelled) }
          state.waiting.updateValue(continuation, forKey: ticket)
          return nil
        }
        if let early { continuation.resume(returning: early) }
      }
    } onCancel: {
      leave(ticket)
    }
    return try answer.get()
  }

  private func leave(_ ticket: Ticket) {
    let (continuation, work) = state.withLock {
      state -> (CheckedContinuation<Answer, Never>?, Task<Void, Never>?) in
      // Answered already, or this very moment by `settle`: that answer stands.
      guard state.answer == nil, let place = state.waiting.removeValue(forKey: ticket) else {
        return (nil, nil)
      }
      guard state.waiting.isEmpty else { return (place, nil) }
      state.isAbandoned = true
      return (place, state.work)
    }
    continuation?.resume(returning: .failure(.cancelled))
    work?.cancel()
  }

  /// Ends the work. Called once, by it.
  func settle(_ answer: Answer) {
    let waiting = state.withLock { state in
      state.answer = answer
      defer { state.waiting = [:] }
      return state.waiting.values.compactMap { $0 }
    }
    for continuation in waiting { continuation.resume(returning: answer) }
  }

  /// Returns when the work has ended, cancelled work too, its files put in order.
  func end() async {
    let work = state.withLock { $0.work }
    await work?.value
  }
}
