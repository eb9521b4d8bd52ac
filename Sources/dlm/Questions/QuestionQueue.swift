import DownloadModel
import FileReceiving
import Synchronization

struct Question: Sendable {
  enum Kind: Sendable, Equatable {
    /// Another file has its name; `QuestionMessages.standing` describes it.
    case conflict(standing: String)
    case name
  }

  let request: DownloadRequest
  let outcome: DownloadOutcome
  let kind: Kind

  init?(_ request: DownloadRequest, _ outcome: DownloadOutcome, asksConflicts: Bool, asksNames: Bool) {
    guard outcome.kind == .fetched || outcome.kind == .copied, outcome.remark != .sameAsHere else { return nil }
    (self.request, self.outcome) = (request, outcome)
    if asksNames {
      kind = .name
    } else if asksConflicts, let path = outcome.renamedFrom {
      kind = .conflict(standing: QuestionMessages.standing(path))
    } else {
      return nil
    }
  }

  /// - Returns: the decision on a conflict, and whether on all that follow; nil for other keys.
  static func decision(for key: TerminalKey) -> (NameDecision, forAll: Bool)? {
    switch key {
    case .text("k"), .enter: (.keep, false)
    case .text("K"): (.keep, true)
    case .text("r"): (.replace, false)
    case .text("R"): (.replace, true)
    case .text("s"): (.discard, false)
    case .text("S"): (.discard, true)
    default: nil
    }
  }
}

/// Questions about finished files, asked one at a time while other files go on. Each file stands whole under a numbered
/// name until its question is answered, so its lane is free at once, and an interrupted queue means "keep both".
final class QuestionQueue: Sendable {
  private let questions: AsyncStream<Question>
  private let continuation: AsyncStream<Question>.Continuation
  private let waiting = Atomic<Int>(0)
  private let keys: TerminalKeys
  private let feed: ProgressFeed
  private let asksConflicts: Bool
  private let asksNames: Bool
  private let showPicture: @Sendable (_ path: String) -> Void

  /// - Parameter showPicture: shows a file that is to be named, if it is an image.
  /// - Returns: nil when nothing is to be asked, or cannot be.
  init?(
    asksConflicts: Bool, asksNames: Bool, keys: TerminalKeys?, feed: ProgressFeed,
    showPicture: @escaping @Sendable (_ path: String) -> Void
  ) {
    self.showPicture = showPicture
    guard asksConflicts || asksNames, let keys else { return nil }
    (questions, continuation) = AsyncStream<Question>.makeStream()
    (self.keys, self.feed, self.asksConflicts, self.asksNames) = (keys, feed, asksConflicts, asksNames)
  }

  func ended(_ request: DownloadRequest, _ result: Result<DownloadOutcome, DownloadError>) {
    guard case .success(let outcome) = result,
      let question = Question(request, outcome, asksConflicts: asksConflicts, asksNames: asksNames)
    else { return }
    waiting.wrappingAdd(1, ordering: .relaxed)
    continuation.yield(question)
  }

  /// `run` then returns once all questions are answered.
  func finish() { continuation.finish() }

  func run(
    carryOut: @Sendable (NameDecision, Question) async throws(DownloadError) -> Void,
    onFailure: @Sendable (DownloadError) -> Void
  ) async {
    defer { end() }
    var forAll: NameDecision?
    for await question in questions {
      waiting.wrappingSubtract(1, ordering: .relaxed)
      var note: String?
      if question.kind == .name { showPicture(question.outcome.path) }
      while !Task.isCancelled {
        guard let decision = await decide(question, &forAll, note) else { return }
        do throws(DownloadError) {
          try await carryOut(decision, question)
          break
        } catch  where question.kind == .name {
          note = QuestionMessages.refusal(error)
        } catch {
          onFailure(error)
          break
        }
      }
      end()
    }
  }

  private func end() {
    keys.release()
    feed.prompt([])
  }

  /// - Returns: nil when the task is cancelled or the terminal is gone.
  private func decide(_ question: Question, _ forAll: inout NameDecision?, _ note: String?) async -> NameDecision? {
    if case .conflict = question.kind, let forAll { return forAll }
    var (editor, note) = (LineEditor(question.outcome.name), note)
    keys.ask()
    while true {
      feed.prompt(QuestionMessages.lines(question, editor, note: note, waiting: waiting.load(ordering: .relaxed)))
      guard let key = await keys.next() else { return nil }
      switch question.kind {
      case .conflict:
        guard let (decision, isForAll) = Question.decision(for: key) else {
          note = QuestionMessages.unknownKey
          continue
        }
        if isForAll { forAll = decision }
        return decision
      case .name:
        note = nil
        switch editor.take(key) {
        case .editing: break
        case .taken: return .rename(to: editor.text)
        case .left: return .keep
        }
      }
    }
  }
}
