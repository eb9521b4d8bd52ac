package import DownloadModel

/// The state of one file's download between its requests and answers. Takes events, returns decisions. No disk, no
/// clock.
///
///     idle ──request──► asked ──answer──► receiving ──end──► finished
///       ▲                 │                   │                 │
///       │                 └─answer──► answered ──end──► finished│
///       └───────────── another request is needed ◄──────────────┘          closed: from everywhere, for good
package struct FileDownloadState {
  package enum Finished: Equatable {
    /// The file is complete, as far as this proof goes, and waits for its final name.
    case whole(Proof)
    /// Another request must follow: after a range shorter than requested (RFC 9110 §14.2 allows it), after a 304 that
    /// was not about the known file, or to check an end without a length.
    case partly
    case unchanged
    case skipped
  }

  package enum Phase: Equatable {
    case idle
    case asked(TransferPlan.Asked)
    case receiving(Body)
    /// The answer has no body to write; the end of the transfer completes it.
    case answered(Answer)
    case finished(Finished)
    /// The file is committed or given up: its files must not be touched any more.
    case closed
  }

  package struct Body: Equatable {
    /// Whether it is the body of a 206 (RFC 9110 §15.3.7), which may be shorter than the requested range, and not the
    /// whole file.
    var isRange = false
    /// The number of bytes held before.
    var heldBefore: Int64 = 0
    /// The offset in the file after its last byte; `nil` if unknown.
    var end: Int64?
    /// The offset of the next byte while the body repeats held bytes.
    var repeatedFrom: Int64?
  }

  package enum Answer: Equatable {
    /// The held bytes are the complete file (416 with their length).
    case complete
    /// The server confirmed the file on disk (304).
    case unchanged
    /// A 304 about another version or resource: the next request has no validators.
    case meaningless
    /// The existing file under the final name stays (`--on-conflict skip`).
    case skipped
    /// The error is thrown at the end of the body, so that a short error page is read and the connection is kept.
    case rejected(DownloadError)
  }

  /// Assumptions that an answer disproved. The next requests do not rely on them.
  package struct Doubts: OptionSet {
    package init(rawValue: Int) { self.rawValue = rawValue }
    package let rawValue: Int
    /// The server answers If-Range with the whole file of the same version.
    static let ifRange = Doubts(rawValue: 1)
    /// The stored version of a finished file: the file no longer exists, or a 304 was not about it.
    package static let knownVersion = Doubts(rawValue: 2)
    /// Caches between dlm and the server: the received bytes did not match the checksum.
    static let caches = Doubts(rawValue: 4)
    /// An end marked only by the closing connection: the server is asked once for the bytes after it.
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
  /// - Throws: `.cancelled` if no request is open; a temporary failure, so that a retry sees its Retry-After.
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

  /// Skips the body of an answer that was accepted at first.
  mutating func refuse(_ answer: Answer) { phase = .answered(answer) }

  /// Offset of the body's next byte while it repeats held bytes.
  var repeated: Int64? {
    if case .receiving(let body) = phase { body.repeatedFrom } else { nil }
  }

  mutating func hasRepeated(upTo offset: Int64, of held: Int64) {
    guard case .receiving(var body) = phase else { return }
    body.repeatedFrom = offset < held ? offset : nil
    phase = .receiving(body)
  }

  /// Call it when the transfer that repeated held bytes ends, or when those bytes are dropped.
  mutating func stopRepeating() { hasRepeated(upTo: 0, of: 0) }

  // MARK: The end

  /// Judges the end of the first transfer: lengths first, then the proof that the end itself gives
  /// (HTTP rules 6 and 24).
  /// - Throws: `.cancelled` if closed; `.badResponse` without an answer; `.shortBody`; the error of a rejected answer.
  mutating func end(
    length: Int64, total: Int64?, proof: Proof, isSplit: Bool, mayAskBehind: Bool
  ) throws(DownloadError) -> Finished {
    var finished: Finished
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
  ) throws(DownloadError) -> Finished {
    let hasGrown = length > body.heldBefore
    if isSplit {
      if length == total { return .whole(.length) }
      // An answer that added no byte made no progress.
      guard hasGrown else { throw short(length, of: total) }
      return .partly
    }
    // The range ended before the file did: another request must follow.
    if body.isRange, body.end == length, length != total, hasGrown { return .partly }
    if let expected = total ?? body.end, length != expected { throw short(length, of: expected) }
    return .whole(total == nil ? proof : .length)
  }

  private static func short(_ length: Int64, of expected: Int64?) -> DownloadError {
    DownloadError(.shortBody, "\(length) of \(expected ?? 0) bytes", "receiving", isTransient: true)
  }

  /// The held bytes cannot be continued. Temporary, because another request can succeed.
  static func again(_ why: String) -> DownloadError {
    DownloadError(.range, why, "resuming", isTransient: true)
  }

  // MARK: Starting over and closing

  mutating func startAgain(without doubt: Doubts) throws(DownloadError) {
    guard !isClosed else { throw .cancelled }
    doubts.insert(doubt)
    phase = .idle
  }

  mutating func close() { phase = .closed }
}
