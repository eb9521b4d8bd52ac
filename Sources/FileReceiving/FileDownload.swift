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

  package func show(on meter: TransferMeter) { look { $0.show(on: meter) } }

  package func endClaim() { look { $0.endClaim() } }

  /// Keeps the claim beyond this download (`ProcessClaims.release`); nil if there is none.
  package func handOverClaim() -> Int? { look { $0.handOverClaim() } }

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

extension Reception {
  func bytes(behind count: Int64) throws(DownloadError) -> [UInt8] {
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

private struct FurtherSegment: FilledSegment {
  let download: FileDownload
  let id: Int
}
