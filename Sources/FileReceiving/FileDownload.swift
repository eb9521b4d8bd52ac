package import DownloadModel
import Synchronization
import SystemPackage

/// One file that is being downloaded, as the scheduler and its transfers see it: a lock around `FileReceiver`. The
/// loop's thread and the disk worker use it in turn, so they seldom contend for the lock.
package final class FileDownload: DownloadTarget, FilledSegment {
  package let plan: DownloadPlan
  private let receiver: Lock<FileReceiver>
  /// The number of requests that wait for this download. Outside the lock, which a thread that reads gigabytes may
  /// hold.
  private let waitingCount = Atomic<Int>(0)

  /// - Parameter resumes: false to ignore a part that an earlier run left.
  package init(
    _ plan: DownloadPlan, meter: TransferMeter, claim: consuming ProcessClaims.Claim? = nil, resumes: Bool = true
  ) {
    self.plan = plan
    receiver = Lock(FileReceiver(plan, meter, claim, resumes: resumes))
    plan.rules.reader?.begin(self)
  }

  /// Runs `body` under the lock, and adds the URL to its errors.
  func access<Value: Sendable>(
    _ body: (inout FileReceiver) throws(DownloadError) -> Value
  ) throws(DownloadError) -> Value {
    do {
      return try receiver.withLock { receiver throws(DownloadError) in try body(&receiver) }
    } catch { throw error.at(plan.address) }
  }

  func look<Value: Sendable>(_ body: (inout FileReceiver) -> Value) -> Value { receiver.withLock { body(&$0) } }

  func sameBytes(as other: borrowing Descriptor) throws(Errno) -> StandingFile? {
    try receiver.withLock { receiver throws(Errno) in try receiver.sameBytes(as: other) }
  }

  // MARK: For a scheduler that fills several segments in parallel

  var download: FileDownload { self }
  var id: Int { Segment.first }

  package var openSegments: [OpenSegment] { look { $0.openSegments } }

  package func takeSegment(of id: Int, from offset: Int64) throws(DownloadError) -> (
    id: Int, target: any SegmentTarget
  )? {
    let taken = try access { receiver throws(DownloadError) in try receiver.takeSegment(of: id, from: offset) }
    if taken != nil { look { $0.meter }.split { [weak self] in self?.parts } }
    return taken.map { ($0, FurtherSegment(download: self, id: $0)) }
  }

  /// `nil` while another thread holds the lock: drawing a frame does not wait for the disk.
  private var parts: [Range<Int64>]? { receiver.withLockIfAvailable { $0.isClosed ? [] : $0.parts } }

  package func ask(for size: RequestSize) { look { $0.ask(for: size) } }

  package func refuseSegments() { look { $0.refuseSegments() } }

  package func release(_ segment: Int) throws(DownloadError) {
    try access { receiver throws(DownloadError) in try receiver.release(segment) }
  }

  // MARK: For the cache

  /// How the last transfer ended; `nil` unless it has ended.
  package var finished: FileDownloadState.Finished? {
    look { if case .finished(let finished) = $0.phase { finished } else { nil } }
  }

  /// The final name as far as it is known, including the list's number.
  package var finalName: String { plan.preferred(look { $0.finalName }) }
  /// The number of its bytes on the disk.
  package var length: Int64 { look { $0.length } }
  package var verdict: DigestVerdict { look { $0.verdict } }
  /// `head` is that of the last answer with content, or of the 304 that confirmed the file. `askedAt` is when segment 0
  /// was last requested, in seconds since 1970.
  package var answer: (head: ResponseHead?, askedAt: Int64) { look { ($0.head, $0.askedAt) } }
  /// A copied file whose bytes did not match the checksum.
  package var doubted: CacheRow? { look { $0.doubted } }
  package var meter: TransferMeter { look { $0.meter } }

  package func show(on meter: TransferMeter) { look { $0.show(on: meter) } }

  package func endClaim() { look { $0.endClaim() } }

  /// Keeps the claim beyond this download (`ProcessClaims.release`); `nil` without a claim.
  package func handOverClaim() -> Int? { look { $0.handOverClaim() } }

  /// - Throws: `.wrongSize` if the list declares another length, `.tooLarge` above the user's limit. Both discard the
  ///   file.
  package func checkDeclaredSize() throws(DownloadError) {
    if plan.request.declaredSize == nil { return }
    try access { receiver throws(DownloadError) in try receiver.checkWhole() }
  }

  package func stamp() throws(DownloadError) {
    try access { receiver throws(DownloadError) in try receiver.stamp() }
  }

  package func startAgain(without doubt: FileDownloadState.Doubts) throws(DownloadError) {
    try access { receiver throws(DownloadError) in try receiver.startAgain(without: doubt) }
  }

  package func copy(_ source: CacheRow) throws(DownloadError) -> Bool {
    try access { receiver throws(DownloadError) in try receiver.copy(source) }
  }

  package func abandon() throws(DownloadError) {
    try access { receiver throws(DownloadError) in try receiver.abandon() }
  }

  // MARK: Hand-over to a waiting request

  package var waiting: Int {
    get { waitingCount.load(ordering: .relaxed) }
    set { waitingCount.store(newValue, ordering: .relaxed) }
  }

  package func keep(_ running: RunningTransfer) -> Bool { waiting > 0 && look { $0.keep(running) } }

  package func takeRunning() -> RunningTransfer? { look { $0.takeRunning() } }
}

extension FileReceiver {
  func bytes(behind count: Int64) throws(DownloadError) -> [UInt8] {
    switch phase {
    // The version of the held bytes is unknown until they are compared.
    case .receiving(let body) where body.repeatedFrom != nil: return []
    case .idle, .asked(.whole), .asked(.conditional), .answered: return []
    // Also while a request for the rest waits: if its answer does not continue these bytes, the file fails.
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
    return try part.read(size, at: count)
  }
}

private struct FurtherSegment: FilledSegment {
  let download: FileDownload
  let id: Int
}
