import DownloadModel
import FileReceiving

struct Question: Sendable {
  enum Kind: Sendable, Equatable {
    /// Another file has its name.
    case conflict
    case name

    /// - Returns: nil for a file about which nothing is asked.
    init?(_ outcome: DownloadOutcome, asksConflicts: Bool, asksNames: Bool) {
      guard outcome.kind == .fetched || outcome.kind == .copied, outcome.remark != .sameAsHere,
        asksNames || asksConflicts && outcome.renamedFrom != nil
      else { return nil }
      self = asksNames ? .name : .conflict
    }
  }

  let request: DownloadRequest
  let outcome: DownloadOutcome
  let kind: Kind

  /// How the file ended once a decision was carried out.
  /// - Parameter path: where it stands then; nil if it was removed.
  func outcome(after decision: NameDecision, at path: String?) -> DownloadOutcome {
    var outcome = outcome
    if path == nil { outcome.kind = .skipped }
    outcome.path = path ?? outcome.renamedFrom ?? outcome.path
    // Of a name that the user gave or took back, nobody asks what it was to be.
    if decision != .keep, decision != .replace { outcome.renamedFrom = nil }
    return outcome
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
  private let keys: TerminalKeys
  private let feed: ProgressFeed
  private let kind: @Sendable (DownloadOutcome) -> Question.Kind?
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
    (self.keys, self.feed) = (keys, feed)
    kind = { Question.Kind($0, asksConflicts: asksConflicts, asksNames: asksNames) }
    feed.leaveOpen { [kind] in kind($0) != nil }
  }

  /// - Returns: whether something is asked about the file.
  func ended(_ request: DownloadRequest, _ result: Result<DownloadOutcome, DownloadError>) -> Bool {
    guard case .success(let outcome) = result, let kind = kind(outcome) else { return false }
    continuation.yield(Question(request: request, outcome: outcome, kind: kind))
    return true
  }

  /// `run` then returns once all questions are answered.
  func finish() { continuation.finish() }

  /// - Parameter carryOut: gives the path of the file after that; nil if it was removed.
  func run(
    carryOut: @Sendable (NameDecision, Question) async throws(DownloadError) -> String?,
    onFailure: @Sendable (DownloadError) -> Void
  ) async {
    defer { end() }
    var forAll: NameDecision?
    for await question in questions {
      var note: String?
      if question.kind == .name { showPicture(question.outcome.path) }
      while !Task.isCancelled {
        guard let decision = await decide(question, &forAll, note) else { return }
        do throws(DownloadError) {
          let path = try await carryOut(decision, question)
          feed.settle(question.request, .success(question.outcome(after: decision, at: path)))
          break
        } catch  where question.kind == .name {
          note = QuestionMessages.refusal(error)
        } catch {
          feed.settle(question.request, .failure(error))
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
    if question.kind == .conflict, let forAll { return forAll }
    var (editor, note) = (LineEditor(question.outcome.name), note)
    keys.ask()
    while true {
      feed.prompt(QuestionMessages.lines(question, editor, note: note))
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
