import DownloadCaching
import DownloadModel
import Synchronization

/// Questions about finished files, asked one at a time below the bars while other files go on.
///
/// Nothing waits for an answer: each file stands, whole, under a name of its own until its question is answered. So a
/// lane is free at once, nothing is lost when the run is killed, and an interrupted queue means "keep both".
final class QuestionQueue: Sendable {
  private let questions: AsyncStream<Question>
  private let continuation: AsyncStream<Question>.Continuation
  private let waiting = Atomic<Int>(0)
  private let isAsking = Atomic<Bool>(false)
  private let keys: TerminalKeys
  private let board: ProgressBoard
  private let asksConflicts: Bool
  private let asksNames: Bool

  /// - Returns: nil when nothing is to be asked, or nobody can be.
  init?(asksConflicts: Bool, asksNames: Bool, isShown: Bool, board: ProgressBoard) {
    guard asksConflicts || asksNames, isShown, let keys = TerminalKeys() else { return nil }
    (questions, continuation) = AsyncStream<Question>.makeStream()
    self.keys = keys
    self.board = board
    self.asksConflicts = asksConflicts
    self.asksNames = asksNames
  }

  /// A file ended; if there is something to ask, it waits for its turn.
  func consider(_ request: DownloadRequest, _ outcome: DownloadOutcome) {
    guard
      let question = Question(request, outcome, asksConflicts: asksConflicts, asksNames: asksNames)
    else { return }
    waiting.wrappingAdd(1, ordering: .relaxed)
    continuation.yield(question)
  }

  /// No more files will end: `run` returns once all questions are answered.
  func finish() { continuation.finish() }

  /// Gives the terminal back, from any thread.
  func restoreNow() { keys.restore() }

  /// Takes the keys again after the process was stopped, if a question stands there.
  func takeKeys() { if isAsking.load(ordering: .relaxed) { keys.takeKeys() } }

  /// Asks until `finish` was called and all is answered, or the task is cancelled.
  /// - Parameters:
  ///   - settle: carries a decision out.
  ///   - onFailure: told of what could not be carried out.
  func run(
    settle: @Sendable (Question, NameDecision) async throws(DownloadError) -> Void,
    onFailure: @Sendable (DownloadError) -> Void
  ) async {
    defer {
      board.prompt([])
      keys.restore()
    }
    var forAll: NameDecision?
    for await question in questions {
      isAsking.store(true, ordering: .relaxed)
      defer { isAsking.store(false, ordering: .relaxed) }
      waiting.wrappingSubtract(1, ordering: .relaxed)
      var note: String?
      while !Task.isCancelled {
        guard let decision = await decide(question, &forAll, note) else { return }
        do throws(DownloadError) {
          try await settle(question, decision)
          break
        } catch  where question.kind == .name {
          note = error.cause == .errno(17) ? "that name is taken" : error.reason  // EEXIST
        } catch {
          onFailure(error)
          break
        }
      }
      board.prompt([])
    }
  }

  /// - Returns: nil when nobody answers any more.
  private func decide(_ question: Question, _ forAll: inout NameDecision?, _ note: String?) async
    -> NameDecision?
  {
    if case .conflict = question.kind, let forAll { return forAll }
    var typed = TypedLine(question.savedName)
    while true {
      board.prompt(
        question.lines(typed: typed.text, note: note, waiting: waiting.load(ordering: .relaxed)))
      guard let key = await keys.next() else { return nil }
      switch question.kind {
      case .conflict:
        guard let (decision, isForAll) = Question.decision(for: key) else { continue }
        if isForAll { forAll = decision }
        return decision
      case .name:
        if typed.take(key) { return .rename(to: typed.text) }
      }
    }
  }
}
