import DownloadModel
import Synchronization

/// Equal requests at one time are one piece of work: which files are under way, who waits for them, and which were
/// finished a moment ago.
///
/// The work is done in the task of whoever asked first, whose life it shares. The others wait; one that is cancelled
/// is answered at once. If the one who does the work is, it puts its files in order first; then those who wait ask anew,
/// and the first of them goes on with what is on disk by then. A task of its own, which could outlive all of them, would cost each small file a twentieth of
/// its processor time, for a case that hardly occurs.
///
/// A lock and not an actor, because `onCancel` runs on any thread and may not wait. No continuation is resumed inside
/// the lock.
final class SharedDownloads: Sendable {
  typealias Answer = Result<DownloadOutcome, DownloadError>

  /// Unsafe in name: what is resumed has been taken out of the table under the lock, in the same step.
  private typealias Continuation = UnsafeContinuation<Answer?, Never>

  private struct Waiter {
    let number: Int
    let continuation: Continuation
  }

  private struct State {
    /// What is under way, and who waits for it: mostly nobody.
    var works: [DownloadKey: [Waiter]] = [:]
    var recent = RecentFiles()
    /// Of those that ever waited; names them.
    var waited = 0
  }

  private let state = Mutex(State())

  /// What there is already for a request.
  enum Standing {
    /// This process finished or proved it a moment ago.
    case recent(RecentFiles.Entry)
    /// Someone else is at it.
    case another
    /// Nothing: the work is the caller's, who is to say how it ended.
    case begun
  }

  func begin(_ key: DownloadKey) -> Standing {
    state.withLock { state in
      if let entry = state.recent[key] { return .recent(entry) }
      if state.works[key] != nil { return .another }
      state.works[key] = []
      return .begun
    }
  }

  /// Waits for what another does; throws `.cancelled` as soon as the calling task is cancelled, and what the other met as
  /// the other's.
  /// - Parameter isolation: the caller's, never left: leaving it and coming back would be two jobs.
  /// - Returns: nil if there is no answer, because the other has ended before or was cancelled: ask anew.
  func answer(
    to key: DownloadKey, isolation: isolated (any Actor)? = #isolation
  ) async throws(DownloadError) -> DownloadOutcome? {
    let number = state.withLock { state in
      state.waited += 1
      return state.waited
    }
    let answer = await withTaskCancellationHandler {
      _ = isolation  // named, or Swift 6.3 takes the operation for nobody's
      return await withUnsafeContinuation(isolation: isolation) { (continuation: Continuation) in
        let early: Answer?? = state.withLock { state in
          // Cancelled before it could be found in the table; `onCancel` has run or will find it.
          if Task.isCancelled { return .some(.failure(.cancelled)) }
          guard state.works[key] != nil else { return .some(nil) }
          state.works[key]?.append(Waiter(number: number, continuation: continuation))
          return nil
        }
        if let early { continuation.resume(returning: early) }
      }
    } onCancel: {
      leave(key, number)
    }
    return try answer?.get()
  }

  private func leave(_ key: DownloadKey, _ number: Int) {
    let waiter = state.withLock { state -> Waiter? in
      // Answered already, or this very moment by `ended`: that answer stands.
      guard let index = state.works[key]?.firstIndex(where: { $0.number == number }) else { return nil }
      return state.works[key]?.remove(at: index)
    }
    waiter?.continuation.resume(returning: .failure(.cancelled))
  }

  /// Called once for each `begun`, by whoever did the work, its files put in order.
  func ended(_ key: DownloadKey, _ answer: Answer) {
    let waiters = state.withLock { $0.works.removeValue(forKey: key) ?? [] }
    if waiters.isEmpty { return }
    var theirs: Answer? = answer
    if case .failure(let error) = answer {
      // Cancelled was who did the work, not they. Any other failure the host, or the disk, told once and not to each.
      theirs = error.code == .cancelled ? nil : .failure(error.metByAnother)
    }
    for waiter in waiters { waiter.continuation.resume(returning: theirs) }
  }

  func remember(_ entry: RecentFiles.Entry, for key: DownloadKey) {
    state.withLock { $0.recent.remember(entry, for: key) }
  }

  /// What was finished a moment ago no longer stands there.
  func forget(_ key: DownloadKey) { state.withLock { $0.recent.forget(key) } }

  /// - Parameter files: what is remembered instead.
  func forgetAll(_ files: RecentFiles = RecentFiles()) { state.withLock { $0.recent = files } }

  /// How many wait for what another does.
  func waiting(for key: DownloadKey) -> Int { state.withLock { $0.works[key]?.count ?? 0 } }
}
