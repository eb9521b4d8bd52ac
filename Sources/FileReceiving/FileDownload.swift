package import DownloadModel
import Synchronization
import SystemPackage

/// One file that is being downloaded, as scheduler and transfers see it: a lock around `Reception`, for which the
/// loop's thread and a worker for slow disk work do not contend.
package final class FileDownload: DownloadTarget, FilledSegment {
  package let plan: DownloadPlan
  private let reception: Lock<Reception>
  /// How many other requests wait for this download. Outside the lock, which a thread that reads gigabytes may hold.
  private let waitingCount = Atomic<Int>(0)

  /// - Parameter resumes: false to leave alone what an earlier run has of the file.
  package init(
    _ plan: DownloadPlan, meter: TransferMeter, claim: consuming ProcessClaims.Claim? = nil, resumes: Bool = true
  ) {
    self.plan = plan
    reception = Lock(Reception(plan, meter, claim, resumes: resumes))
    plan.rules.reader?.begin(self)
  }

  /// Runs steps under the lock; their errors get the address.
  func access<Value: Sendable>(
    _ body: (inout Reception) throws(DownloadError) -> Value
  ) throws(DownloadError) -> Value {
    do {
      return try reception.withLock { reception throws(DownloadError) in try body(&reception) }
    } catch { throw error.at(plan.address) }
  }

  func look<Value: Sendable>(_ body: (inout Reception) -> Value) -> Value { reception.withLock { body(&$0) } }

  func sameBytes(as other: borrowing Descriptor) throws(Errno) -> StandingFile? {
    try reception.withLock { reception throws(Errno) in try reception.sameBytes(as: other) }
  }

  // MARK: For a scheduler that fills several segments at once

  var download: FileDownload { self }
  var id: Int { Segment.first }

  package var openSegments: [OpenSegment] { look { $0.openSegments } }

  package func takeSegment(of id: Int, from offset: Int64) throws(DownloadError) -> (
    id: Int, target: any SegmentTarget
  )? {
    let taken = try access { reception throws(DownloadError) in try reception.takeSegment(of: id, from: offset) }
    if taken != nil { look { $0.meter }.split { [weak self] in self?.parts } }
    return taken.map { ($0, FurtherSegment(download: self, id: $0)) }
  }

  /// Nil while another thread has the lock, because a frame does not wait for the disk.
  private var parts: [Range<Int64>]? { reception.withLockIfAvailable { $0.isClosed ? [] : $0.parts } }

  package func ask(for size: RequestSize) { look { $0.ask(for: size) } }

  package func refuseSegments() { look { $0.refuseSegments() } }

  package func release(_ segment: Int) throws(DownloadError) {
    try access { reception throws(DownloadError) in try reception.release(segment) }
  }

  // MARK: For the cache

  /// How the last transfer ended, where it has ended.
  package var finished: FinishedTransfer? {
    look { if case .finished(let finished) = $0.phase { finished } else { nil } }
  }

  /// The final name as far as it is known, with the list's number.
  package var finalName: String { plan.preferred(look { $0.finalName }) }
  package var verdict: DigestVerdict { look { $0.verdict } }
  /// The head that was received last, and when it was asked for, in seconds since 1970.
  package var answer: (head: ResponseHead?, askedAt: Int64) { look { ($0.head, $0.askedAt) } }
  /// A file that was copied, and whose bytes did not have the checksum.
  package var doubted: CacheRow? { look { $0.doubted } }
  package var meter: TransferMeter { look { $0.meter } }

  package func cleared(_ own: CacheRow) -> CacheRow { look { $0.cleared(own) } }

  package func show(on meter: TransferMeter) { look { $0.show(on: meter) } }

  package func endClaim() { look { $0.endClaim() } }

  /// - Throws: `.wrongSize`, and then keeps nothing, for another length than its list declares.
  package func checkDeclaredSize() throws(DownloadError) {
    if plan.request.declaredSize == nil { return }
    try access { reception throws(DownloadError) in try reception.checkWhole() }
  }

  package func stamp() throws(DownloadError) {
    try access { reception throws(DownloadError) in try reception.stamp() }
  }

  package func startAgain(without doubt: FileDownloadState.Doubts) throws(DownloadError) {
    try access { reception throws(DownloadError) in try reception.startAgain(without: doubt) }
  }

  package func copy(_ source: CacheRow) throws(DownloadError) -> Bool {
    try access { reception throws(DownloadError) in try reception.copy(source) }
  }

  package func abandon() throws(DownloadError) {
    try access { reception throws(DownloadError) in try reception.abandon() }
  }

  // MARK: Handing over to a request that waits

  package var waiting: Int {
    get { waitingCount.load(ordering: .relaxed) }
    set { waitingCount.store(newValue, ordering: .relaxed) }
  }

  package func keep(_ running: RunningTransfer) -> Bool { waiting > 0 && look { $0.keep(running) } }

  package func takeRunning() -> RunningTransfer? { look { $0.takeRunning() } }
}

/// Reads a file while it comes, from its start on. A checksum is compared before anything is read.
package final class FileReader: Sendable {
  private let state = Lock<(download: FileDownload?, taken: Int64)>((nil, 0))

  package init() {}

  var taken: Int64 { state.withLock { $0.taken } }

  /// A file that its host refused comes by another download, which goes on with its part.
  func begin(_ download: FileDownload) { state.withLock { $0.download = download } }

  /// The next bytes; none while none are there. From now on the file cannot start over.
  package func next() throws(DownloadError) -> [UInt8] {
    guard let download = state.withLock({ $0.download }) else { return [] }
    return try download.access { reception throws(DownloadError) in
      let bytes = try reception.bytes(behind: taken)
      return state.withLock { state in
        // Another download may have begun to write over them.
        if state.download !== download { return [] }
        state.taken += Int64(bytes.count)
        return bytes
      }
    }
  }
}

extension Reception {
  fileprivate func bytes(behind count: Int64) throws(DownloadError) -> [UInt8] {
    switch phase {
    // Of which version the held bytes are is not known before they are compared.
    case .receiving(.range(_, _, .some)), .idle, .asked(.whole), .asked(.conditional), .answered: return []
    // Also while it waits: if the rest does not continue these bytes, the file fails.
    case .asked(.rest), .receiving, .finished, .closed: break
    }
    let isProvedByItsEnd =
      part.segments.total == nil && (plan.rules.requiredProof > .nothing || plan.request.declaredSize != nil)
    guard part.comparedDigest == nil, plan.request.pieces == nil, !isProvedByItsEnd,
      let there = part.segments.done.first, there.lowerBound == 0,
      there.upperBound >= count
    else { return [] }
    let size = Int(min(there.upperBound + 1 - count, 1 << 20))
    if case .closed = phase { return try part.readLeft(size, at: count) }
    return try part.withFile("reading") { file throws(Errno) in try file.read(size, at: count) } ?? []
  }
}

/// A segment of a download, as the transfer that fills it sees it.
protocol FilledSegment: SegmentTarget {
  var download: FileDownload { get }
  var id: Int { get }
}

extension FilledSegment {
  package func nextTransfer() throws(DownloadError) -> TransferRequest? {
    try download.access { reception throws(DownloadError) in try reception.nextTransfer(for: id) }
  }

  package func accept(_ head: ResponseHead) throws(DownloadError) -> BodyDisposition {
    try download.access { reception throws(DownloadError) in try reception.accept(head, for: id) }
  }

  package func write(_ bytes: UnsafeRawBufferPointer) throws(DownloadError) -> SinkDemand {
    try download.access { reception throws(DownloadError) in try reception.write(bytes, to: id) }
  }

  package func save() throws(DownloadError) {
    try download.access { reception throws(DownloadError) in try reception.save() }
  }

  package func finish(_ receipt: TransferReceipt) throws(DownloadError) -> Bool {
    try download.access { reception throws(DownloadError) in try reception.finish(receipt, of: id) }
  }
}

private struct FurtherSegment: FilledSegment {
  let download: FileDownload
  let id: Int
}

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

package enum FinishedTransfer: Equatable {
  /// The file is whole, as far as this proves it, and waits for its final name.
  case whole(Proof)
  /// Another request must follow: after a shorter range than was asked for (RFC 9110 §14.2 allows it), after an answer
  /// that says nothing about what is held, or to check an end without a length.
  case partly
  case unchanged
  case skipped
}
