import DownloadCaching
import DownloadModel
import Synchronization

/// What is asked about one finished file, and how keys answer it: a value, no terminal.
struct Question: Sendable {
  enum Kind: Sendable, Equatable {
    /// Another file stands under its name, as `QuestionMessages.standing` describes it.
    case conflict(standing: String)
    /// How it is to be called.
    case name
  }

  let request: DownloadRequest
  let outcome: DownloadOutcome
  let kind: Kind

  /// - Parameter asksNames: `--ask-names`.
  /// - Returns: nil if there is nothing to ask.
  init?(_ request: DownloadRequest, _ outcome: DownloadOutcome, asksConflicts: Bool, asksNames: Bool) {
    guard outcome.kind == .fetched || outcome.kind == .copied, outcome.remark != .sameAsHere else {
      return nil
    }
    self.request = request
    self.outcome = outcome
    if asksNames {
      kind = .name
    } else if asksConflicts, let path = outcome.renamedFrom {
      kind = .conflict(standing: QuestionMessages.standing(path))
    } else {
      return nil
    }
  }

  var savedName: String { outcome.name }

  /// What a key says to a conflict, and whether it says so for all that follow.
  static func decision(for key: UInt8) -> (NameDecision, forAll: Bool)? {
    switch key {
    case UInt8(ascii: "k"), 0x0A, 0x0D: (.keep, false)
    case UInt8(ascii: "K"): (.keep, true)
    case UInt8(ascii: "r"): (.replace, false)
    case UInt8(ascii: "R"): (.replace, true)
    case UInt8(ascii: "s"): (.discard, false)
    case UInt8(ascii: "S"): (.discard, true)
    default: nil
    }
  }
}

/// A line as it is typed: UTF-8 comes a byte at a time, and arrow keys as three.
struct TypedLine: Sendable {
  private var bytes: [UInt8]
  private var escape = 0

  init(_ text: String) { bytes = Array(text.utf8) }

  /// What is complete of it.
  var text: String { String(decoding: bytes, as: UTF8.self) }

  /// - Returns: true when Enter was pressed.
  mutating func take(_ key: UInt8) -> Bool {
    if escape > 0 {
      // CSI: parameters, then a final byte of 0x40 and more.
      escape = escape == 1 && key == UInt8(ascii: "[") ? 2 : (escape == 2 && key < 0x40 ? 2 : 0)
      return false
    }
    switch key {
    case 0x0A, 0x0D: return true
    case 0x1B: escape = 1
    case 0x15: bytes = []  // Ctrl-U
    case 0x08, 0x7F: bytes = Array(text.dropLast().utf8)
    case 0..<0x20: break
    default: bytes.append(key)
    }
    return false
  }
}

/// Questions about finished files, asked one at a time below the bars while other files go on.
///
/// Nothing waits for an answer: each file stands, whole, under a numbered name until its question is
/// answered. So its lane is free at once, nothing is lost if the run is killed, and an interrupted queue
/// means "keep both".
final class QuestionQueue: Sendable {
  private let questions: AsyncStream<Question>
  private let continuation: AsyncStream<Question>.Continuation
  private let waiting = Atomic<Int>(0)
  private let isAsking = Atomic<Bool>(false)
  private let keys: TerminalKeys
  private let feed: ProgressFeed
  private let asksConflicts: Bool
  private let asksNames: Bool

  /// - Returns: nil when nothing is to be asked, or there is no terminal to ask at.
  init?(asksConflicts: Bool, asksNames: Bool, isShown: Bool, feed: ProgressFeed) {
    guard asksConflicts || asksNames, isShown, let keys = TerminalKeys() else { return nil }
    (questions, continuation) = AsyncStream<Question>.makeStream()
    self.keys = keys
    self.feed = feed
    self.asksConflicts = asksConflicts
    self.asksNames = asksNames
  }

  /// Called when a file ended; a question about it waits for its turn.
  func consider(_ request: DownloadRequest, _ outcome: DownloadOutcome) {
    guard
      let question = Question(request, outcome, asksConflicts: asksConflicts, asksNames: asksNames)
    else { return }
    waiting.wrappingAdd(1, ordering: .relaxed)
    continuation.yield(question)
  }

  /// No more files will end: `run` returns once all questions are answered.
  func finish() { continuation.finish() }

  /// Restores the terminal, from any thread.
  func restoreNow() { keys.restore() }

  /// Takes the keys again after the process was stopped, if a question stands there.
  func takeKeys() { if isAsking.load(ordering: .relaxed) { keys.takeKeys() } }

  /// Asks until `finish` was called and all is answered, or the task is cancelled.
  /// - Parameters:
  ///   - carryOut: does what was decided.
  ///   - onFailure: told of what could not be carried out.
  func run(
    carryOut: @Sendable (NameDecision, Question) async throws(DownloadError) -> Void,
    onFailure: @Sendable (DownloadError) -> Void
  ) async {
    defer {
      feed.prompt([])
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
          try await carryOut(decision, question)
          break
        } catch  where question.kind == .name {
          note = QuestionMessages.refusal(error)
        } catch {
          onFailure(error)
          break
        }
      }
      feed.prompt([])
    }
  }

  /// - Returns: nil when the task is cancelled or the terminal has gone.
  private func decide(_ question: Question, _ forAll: inout NameDecision?, _ note: String?) async
    -> NameDecision?
  {
    if case .conflict = question.kind, let forAll { return forAll }
    var typed = TypedLine(question.savedName)
    while true {
      feed.prompt(
        QuestionMessages.lines(
          question, typed: typed.text, note: note, waiting: waiting.load(ordering: .relaxed)))
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
