package import DownloadModel
import Synchronization
import SystemPackage

/// How one file's download stands between its requests and their answers: events in, decisions out. No disk, no clock.
///
///     idle ──request──► asked ──answer──► receiving ──end──► finished
///       ▲                 │                   │                 │
///       │                 └─answer──► answered ──end──► finished│
///       └───────────── another request is needed ◄──────────────┘          closed: from everywhere, for good
package struct FileDownloadState: Equatable {
  package enum Phase: Equatable {
    case idle
    case asked(TransferPlan.Asked)
    case receiving(Body)
    /// The answer has no body to write; the end of the transfer completes it.
    case answered(Answer)
    case finished(FinishedTransfer)
    /// The file is committed or given up: its files must not be touched any more.
    case closed
  }

  package enum Body: Equatable {
    /// The whole file, up to this offset if the answer said so.
    case whole(end: Int64?)
    /// The body of a 206 (RFC 9110 §15.3.7), which may be shorter than the range that was asked for, behind so many
    /// held bytes. `repeatedFrom` is the offset of its next byte while it repeats held bytes.
    case range(after: Int64, end: Int64, repeatedFrom: Int64?)

    var end: Int64? {
      switch self {
      case .whole(let end): end
      case .range(_, let end, _): end
      }
    }

    var heldBefore: Int64 { if case .range(let held, _, _) = self { held } else { 0 } }
  }

  package enum Answer: Equatable {
    /// The held bytes are the whole file (416 with their length).
    case complete
    /// The server vouched for the file on disk (304).
    case unchanged
    /// The answer says nothing about what is held: the next request goes without validators.
    case meaningless
    /// What stands under the final name stays (`--on-conflict skip`).
    case skipped
    /// The error is thrown at the end, so that the short body of an error page is read and the connection kept.
    case rejected(DownloadError)
  }

  /// What the next requests must not rely on, because an answer has shown it to be wrong.
  package struct Doubts: OptionSet {
    package init(rawValue: Int) { self.rawValue = rawValue }
    package let rawValue: Int
    /// The server answers If-Range with the whole file of the same version.
    static let ifRange = Doubts(rawValue: 1)
    /// What is known of a finished file: it is gone, or a 304 was not about it.
    package static let knownVersion = Doubts(rawValue: 2)
    /// Caches on the way: the bytes that came did not have the checksum.
    static let caches = Doubts(rawValue: 4)
    /// An end marked only by the closing connection: the server is asked once for bytes after it.
    static let end = Doubts(rawValue: 8)
  }

  private(set) var phase = Phase.idle
  private(set) var doubts: Doubts = []

  var isClosed: Bool { if case .closed = phase { true } else { false } }
  var isSkipped: Bool { phase == .answered(.skipped) || phase == .finished(.skipped) }

  // MARK: Asking

  /// - Throws: `.cancelled` once it is closed.
  mutating func request(
    held: HeldPart, known: KnownVersion?, byDigest: Bool = false
  ) throws(DownloadError) -> TransferPlan {
    guard !isClosed else { throw .cancelled }
    let plan = TransferPlan.make(
      held: held, ifRangeIsRefused: doubts.contains(.ifRange), known: doubts.contains(.knownVersion) ? nil : known,
      byDigest: byDigest)
    phase = .asked(plan.asked)
    return plan
  }

  // MARK: The answer

  /// - Parameter now: seconds since 1970.
  /// - Throws: `.cancelled` where none was asked for; a temporary failure, so that a retry sees its Retry-After.
  mutating func answer(
    _ head: ResponseHead, held: HeldPart, known: KnownVersion?, isProvable: Bool = false, now: Int64
  ) throws(DownloadError) -> ResumeDecision {
    guard case .asked(let asked) = phase else { throw .cancelled }
    let decision = ResumeDecision.decide(
      asked: asked, held: held, known: doubts.contains(.knownVersion) ? nil : known, head: head,
      isProvable: isProvable, now: now)
    switch decision {
    case .append, .startOver, .restart: break
    case .askWithoutIfRange: doubts.insert(.ifRange)
    case .answered(.rejected(let error)) where error.isTransient: throw error
    case .answered(let answer):
      if answer == .meaningless { doubts.insert(.knownVersion) }
      phase = .answered(answer)
    }
    return decision
  }

  mutating func receive(_ body: Body) { phase = .receiving(body) }

  /// The body will not be written, for a reason of dlm's own.
  mutating func refuse(_ answer: Answer) { phase = .answered(answer) }

  /// Offset of the body's next byte while it repeats held bytes.
  var repeated: Int64? {
    if case .receiving(.range(_, _, let repeated)) = phase { repeated } else { nil }
  }

  mutating func hasRepeated(upTo offset: Int64, of held: Int64) {
    guard case .receiving(.range(let before, let end, _)) = phase else { return }
    phase = .receiving(.range(after: before, end: end, repeatedFrom: offset < held ? offset : nil))
  }

  /// The transfer that repeated held bytes is over, or they are given up.
  mutating func stopRepeating() { hasRepeated(upTo: 0, of: 0) }

  // MARK: The end

  /// Judges the end of the first transfer: lengths first, then what the end itself proves (HTTP rules 6 and 24).
  /// - Throws: `.badResponse` without an answer; `.shortBody`; the error for which the answer was rejected.
  mutating func end(
    length: Int64, total: Int64?, proof: Proof, isSplit: Bool, mayAskBehind: Bool
  ) throws(DownloadError) -> FinishedTransfer {
    var finished: FinishedTransfer
    switch phase {
    case .closed: throw .cancelled
    case .finished(let finished): return finished
    case .idle, .asked: throw DownloadError(.badResponse, "no answer", "receiving")
    case .answered(.rejected(let error)): throw error
    case .answered(.complete): finished = .whole(.length)
    case .answered(.unchanged): finished = .unchanged
    case .answered(.meaningless): finished = .partly
    case .answered(.skipped): finished = .skipped
    case .receiving(let body):
      finished = try Self.end(of: body, length: length, total: total, proof: proof, isSplit: isSplit)
    }
    if finished == .whole(.nothing), mayAskBehind, !doubts.contains(.end) {
      doubts.insert(.end)
      finished = .partly
    }
    phase = .finished(finished)
    return finished
  }

  private static func end(
    of body: Body, length: Int64, total: Int64?, proof: Proof, isSplit: Bool
  ) throws(DownloadError) -> FinishedTransfer {
    let hasGrown = length > body.heldBefore
    if isSplit {
      if length == total { return .whole(.length) }
      // Without one more byte, the answer was of no use.
      guard hasGrown else { throw short(length, of: total) }
      return .partly
    }
    // A range that ends before the file does: nothing says yet that the file is complete.
    if case .range(_, length, _) = body, length != total, hasGrown { return .partly }
    if let expected = total ?? body.end, length != expected { throw short(length, of: expected) }
    return .whole(total == nil ? proof : .length)
  }

  private static func short(_ length: Int64, of expected: Int64?) -> DownloadError {
    DownloadError(.shortBody, "\(length) of \(expected ?? 0) bytes", "receiving", isTransient: true)
  }

  /// The held bytes cannot be continued. Temporary: another request will do, without a message.
  static func again(_ why: String) -> DownloadError {
    DownloadError(.range, why, "resuming", isTransient: true)
  }

  // MARK: Another request, or none

  mutating func startAgain(without doubt: Doubts) throws(DownloadError) {
    guard !isClosed else { throw .cancelled }
    doubts.insert(doubt)
    phase = .idle
  }

  mutating func close() { phase = .closed }
}
