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

  /// Unsafe in name: what is resumed has been taken out of `waiting` under the lock, in the same step. The checked
  /// kind would cost an allocation a file.
  private typealias Continuation = UnsafeContinuation<Answer, Never>

  private struct Place {
    let ticket: Ticket
    /// Nil between joining and waiting.
    var continuation: Continuation?
  }

  private struct State {
    /// Mostly one.
    var waiting: [Place] = []
    var issued = 0
    var answer: Answer?
    var work: Task<Void, Never>?
    /// The last asker left before the end: nobody may join any more, the work is on its way out.
    var isAbandoned = false
  }

  private let state = Mutex(State())

  /// Work that is about to begin, and the place of whoever begins it.
  static func begun() -> (SharedDownload, Ticket) {
    let work = SharedDownload()
    let ticket = Ticket(number: 0)
    work.state.withLock { state in
      state.issued = 1
      state.waiting.append(Place(ticket: ticket))
    }
    return (work, ticket)
  }

  /// A place among those who wait; nil if the work was given up.
  func join() -> Ticket? {
    state.withLock { state in
      guard !state.isAbandoned else { return nil }
      let ticket = Ticket(number: state.issued)
      state.issued += 1
      // In the table before it waits, so that the others' leaving does not end the work under it.
      state.waiting.append(Place(ticket: ticket))
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
  /// - Parameter isolation: the asker's, never left: leaving it and coming back would be two jobs a file.
  func value(
    _ ticket: Ticket, isolation: isolated (any Actor)? = #isolation
  ) async throws(DownloadError) -> DownloadOutcome {
    let answer = await withTaskCancellationHandler {
      _ = isolation  // named, or Swift 6.3 takes the operation for nobody's
      return await withUnsafeContinuation(isolation: isolation) { (continuation: Continuation) in
        let early: Answer? = state.withLock { state in
          if let answer = state.answer { return answer }
          // Gone from the table: cancelled between joining and waiting.
          guard let place = state.waiting.firstIndex(where: { $0.ticket == ticket }) else {
            return .failure(.cancelled)
          }
          state.waiting[place].continuation = continuation
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
      state -> (Continuation?, Task<Void, Never>?) in
      // Answered already, or this very moment by `settle`: that answer stands.
      guard state.answer == nil, let index = state.waiting.firstIndex(where: { $0.ticket == ticket }) else {
        return (nil, nil)
      }
      let continuation = state.waiting.remove(at: index).continuation
      guard state.waiting.isEmpty else { return (continuation, nil) }
      state.isAbandoned = true
      return (continuation, state.work)
    }
    continuation?.resume(returning: .failure(.cancelled))
    work?.cancel()
  }

  /// Ends the work. Called once, by it.
  func settle(_ answer: Answer) {
    let waiting = state.withLock { state in
      state.answer = answer
      defer { state.waiting = [] }
      return state.waiting
    }
    for place in waiting { place.continuation?.resume(returning: answer) }
  }

  /// Returns when the work has ended, cancelled work too, its files put in order.
  func end() async {
    let work = state.withLock { $0.work }
    await work?.value
  }
}
