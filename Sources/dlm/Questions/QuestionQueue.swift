import DownloadCaching
import DownloadModel
import FileReceiving
import Glibc
import Synchronization
import SystemPackage

/// Questions about finished files, asked one at a time while other files continue. Each file is complete under a
/// numbered name until its question is answered, so its lane is free at once, and an interrupted queue means "keep
/// both".
final class QuestionQueue: Sendable {
  private enum Asked {
    case file(Question), links([String])
    case hostKey(UnknownHostKey, answer: AsyncStream<Bool>.Continuation)
  }

  private let questions: AsyncStream<Asked>
  private let continuation: AsyncStream<Asked>.Continuation
  private let keys: TerminalKeys
  private let feed: ProgressFeed
  private let asksConflicts, asksNames: Bool
  private let showPicture: @Sendable (_ path: String) -> String?
  private let left: UnnamedFiles

  /// - Parameters:
  ///   - output: `nil` if there are no questions about files.
  ///   - showPicture: shows a file that the user must name, if it is an image, and returns its description.
  init(
    _ output: OutputSettings?, unnamed: FilePath?, keys: TerminalKeys, feed: ProgressFeed,
    showPicture: @escaping @Sendable (_ path: String) -> String?
  ) {
    (questions, continuation) = AsyncStream<Asked>.makeStream()
    self.keys = keys
    self.feed = feed
    self.showPicture = showPicture
    asksConflicts = output?.cache.receiving.conflictPolicy == .ask
    asksNames = output?.asksNames == true
    left = UnnamedFiles(asksNames ? unnamed : nil)
    if output != nil { feed.leaveOpen { [weak self] in self?.kind($0) != nil } }
  }

  private func kind(_ outcome: DownloadOutcome) -> Question.Kind? {
    guard outcome.kind == .fetched || outcome.kind == .copied || left.contains(outcome.path),
      outcome.remark != .sameAsHere, asksNames || asksConflicts && outcome.renamedFrom != nil
    else { return nil }
    return asksNames ? .name : .conflict
  }

  /// - Returns: whether there is a question about the file.
  func ended(_ request: DownloadRequest, _ result: DownloadResult) -> Bool {
    guard case .success(let outcome) = result, let kind = kind(outcome) else { return false }
    if kind == .name { left.note(outcome.path, isLeft: true) }
    continuation.yield(.file(Question(request: request, outcome: outcome, kind: kind)))
    return true
  }

  /// Asks whether to download the pasted links.
  func ask(_ links: [String]) { continuation.yield(.links(links)) }

  /// Asks whether to trust the key of a host. Several transfers may meet it at once: the user is asked once.
  /// - Returns: false without an answer.
  func ask(_ key: UnknownHostKey) async -> Bool {
    let (answers, answer) = AsyncStream<Bool>.makeStream()
    guard case .enqueued = continuation.yield(.hostKey(key, answer: answer)) else { return false }
    for await isTrusted in answers { return isTrusted }
    return false
  }

  /// After this, `run` returns once all questions are answered.
  func finish() { continuation.finish() }

  /// - Parameter carryOut: returns the resulting path of the file; `nil` if it was removed.
  func run(
    carryOut: @Sendable (NameDecision, Question) async throws(DownloadError) -> String?,
    onFailure: @Sendable (DownloadError) -> Void, fetch: @Sendable (_ links: [String]) async -> Void
  ) async {
    defer { end() }
    var forAll: NameDecision?
    var trusted: [String: Bool] = [:]
    for await asked in questions {
      if case .links(let links) = asked {
        // The run waits for this, even if no question can be asked any more.
        let isWanted = await decide { [QuestionMessages.line(links, note: $0)] } ?? false
        end()
        await fetch(isWanted ? links : [])
      }
      if case .hostKey(let key, let answer) = asked {
        let place = "\(key.host):\(key.port) \(key.key)"
        if trusted[place] == nil { trusted[place] = await trusts(key) }
        end()
        answer.yield(trusted[place] == true)
        continue
      }
      guard case .file(var question) = asked else { continue }
      if question.kind == .name { question.picture = showPicture(question.outcome.path) }
      left.keep()
      await settle(question, &forAll, carryOut, onFailure)
      end()
    }
  }

  /// Asks until a decision could be carried out, or failed for good.
  private func settle(
    _ question: Question, _ forAll: inout NameDecision?,
    _ carryOut: @Sendable (NameDecision, Question) async throws(DownloadError) -> String?,
    _ onFailure: @Sendable (DownloadError) -> Void
  ) async {
    var note: String?
    while !Task.isCancelled, let decision = await decide(question, &forAll, note) {
      do {
        let path = try await carryOut(decision, question)
        if decision != .keep { left.note(question.outcome.path, isLeft: false) }
        return feed.settle(question.request, .success(question.outcome(after: decision, at: path)))
      } catch  where question.kind == .name {
        note = error.cause == .errno(EEXIST) ? "that name is taken" : error.reason
      } catch {
        feed.settle(question.request, .failure(error))
        return onFailure(error)
      }
    }
  }

  private func end() {
    left.keep()
    keys.release()
    feed.prompt([])
  }

  /// An accepted key is kept for ssh, too.
  private func trusts(_ key: UnknownHostKey) async -> Bool {
    guard await decide({ QuestionMessages.lines(key, note: $0) }) == true else { return false }
    if let trouble = KnownHostsFile.add(key) { StandardError.say(trouble) }
    return true
  }

  /// - Returns: `nil` if the task is cancelled or the terminal is gone.
  private func decide(_ lines: (_ note: String?) -> [String]) async -> Bool? {
    keys.ask()
    var note: String?
    while true {
      feed.prompt(lines(note))
      switch await keys.next() {
      case nil: return nil
      case .text("y"), .text("Y"): return true
      case .text("n"), .text("N"), .escape: return false
      default: note = QuestionMessages.unknownKey
      }
    }
  }

  private func decide(_ question: Question, _ forAll: inout NameDecision?, _ note: String?) async -> NameDecision? {
    if question.kind == .conflict, let forAll { return forAll }
    var editor = LineEditor(question.outcome.name)
    var note = note
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

  /// Files whose names the user left undecided (`--ask-names`): the next run in the same folder asks about them again.
  final class UnnamedFiles: Sendable {
    private let file: FilePath?
    private let paths: Lock<Set<ByteText>>

    /// - Parameter file: `nil` if nothing is asked or remembered.
    init(_ file: FilePath?) {
      self.file = file
      let bytes = file.map { OwnFiles.bytes(of: $0, upTo: 1 << 20) } ?? []
      paths = Lock(Set(bytes.split(separator: 0).map { ByteText(String(utf8: $0)) }))
    }

    func contains(_ path: String) -> Bool { paths.withLock { $0.contains(ByteText(path)) } }

    func note(_ path: String, isLeft: Bool) {
      paths.withLock { _ = isLeft ? $0.insert(ByteText(path)).memberAfterInsert : $0.remove(ByteText(path)) }
    }

    /// Fails silently: then the next run asks fewer questions.
    func keep() {
      guard let file, (try? Folder(own: file.removingLastComponent())) != nil else { return }
      let text = paths.withLock { $0.sorted() }.map(\.text).joined(separator: "\0")
      _ = OutputFile(file, option: "--ask-names").keep(text)
    }
  }
}
