import DownloadModel
import SystemPackage

// Long because: the effects of an answer, of its bytes and of its end on one file are here, in that order.

/// One file between the server's answers and the disk. Carries out the decisions of the pure rules in
/// `FileDownloadState` and `SegmentMap`. `FileDownload` holds it under a lock, and adds the URL to its errors.
struct FileReceiver: ~Copyable {
  let plan: DownloadPlan
  private var state = FileDownloadState()
  private(set) var part: PartWriter
  /// The head of the answer whose body is written, or that completed the file without a body.
  private(set) var head: ResponseHead?
  /// Seconds since 1970 at which segment 0 was last requested: the answer's age counts from here (RFC 9111 §4.2.3).
  private(set) var askedAt: Int64 = 0
  private let resumes: Bool
  /// Body bytes that this run received for the file.
  private(set) var transferred: Int64 = 0
  /// Bytes of an earlier run that are still in use.
  private(set) var resumed: Int64 = 0
  private(set) var meter: TransferMeter
  /// The source of this copy; `nil` if a server sent the bytes.
  private(set) var source: CacheRow?
  /// A copied file whose bytes did not match the checksum.
  private(set) var doubted: CacheRow?
  /// A transfer that continues although the task that started it was cancelled.
  private var running: RunningTransfer?
  /// Keeps other processes from downloading the same file.
  private var claim: ProcessClaims.Claim?

  /// A body with fewer bytes left is not worth a second connection.
  static let worthSplitting: Int64 = 1 << 20

  init(_ plan: DownloadPlan, _ meter: TransferMeter, _ claim: consuming ProcessClaims.Claim?, resumes: Bool) {
    self.plan = plan
    part = PartWriter(plan)
    self.meter = meter
    self.resumes = resumes
    self.claim = claim
    if plan.userDigest(named: plan.nameByAddress) != nil { meter.expectDigest() }
  }

  // MARK: Read by the cache and the tests

  var isClosed: Bool { state.isClosed }
  var phase: FileDownloadState.Phase { state.phase }
  var doubts: FileDownloadState.Doubts { state.doubts }
  var length: Int64 { part.segments.length }
  var openSegments: [OpenSegment] { state.isClosed ? [] : part.segments.open }
  var parts: [Range<Int64>] { part.segments.done.map(Range.init) }
  var finalName: String { part.name }

  var remark: DownloadOutcome.Remark? {
    if (source?.status ?? head?.status) == 204 { return .noContent }
    if UnlikelyPage.matches(head, named: part.name), plan.expectedTypes == nil, plan.userDigest(named: part.name) == nil
    {
      return .page
    }
    // Of several codings, only one was removed: the file is still coded.
    if part.isDecoded, ResponseHead.codings(in: part.encoding ?? "").count < 2 { return .decoded }
    if part.encoding == nil { return nil }
    return head?.seenCoding == .absent ? .notCoded : .stillCoded
  }

  private var known: KnownVersion? { plan.rules.refresh ? nil : plan.known }

  // MARK: Asking

  /// The request for the missing bytes of a segment; `nil` if none are missing.
  mutating func nextTransfer(for id: Int) throws(DownloadError) -> TransferRequest? {
    guard var request = id == Segment.first ? try firstTransfer() : try furtherTransfer(id) else { return nil }
    // The file must be downloaded again: caches must ask the origin (RFC 9111 §5.2.1.4).
    if state.doubts.contains(.caches) {
      request.headerLines.append("Cache-Control: no-cache")
    } else if let line = plan.shared.cacheControlLine {
      request.headerLines.append(line)
    }
    return request
  }

  private mutating func firstTransfer() throws(DownloadError) -> TransferRequest? {
    askedAt = plan.rules.now()
    // A download that was cancelled during verification, and handed over, is already complete.
    if case .finished(let finished) = state.phase, finished != .partly { return nil }
    try endFirst()
    if !part.isStaged {
      try part.stage(resumes: resumes)
      resumed = part.written
      // Bytes that an earlier attempt of this run received are not an earlier run's.
      if meter.position > 0, let earlier = meter.earlier {
        transferred = earlier.received
        resumed = min(resumed, earlier.resumed)
      }
    }
    var request = transfer()
    request.meter = meter
    let next = try state.request(held: part.held, known: known, byDigest: isProvedByDigest)
    request.headerLines = next.headerLines
    if case .rest(let from, _) = next.asked {
      request.rangeStart = from
      request.rangeEnd = part.segments.secondStart
    }
    part.segments.ask(Segment.first, upTo: request.rangeEnd ?? .max)
    return request
  }

  private func transfer() -> TransferRequest {
    var request = TransferRequest(for: plan.request)
    request.mayLeaveTLS =
      plan.request.provenance == .user && plan.isProvable(named: part.name, total: part.segments.total, byUser: true)
    return request
  }

  private var isProvable: Bool { plan.isProvable(named: part.name, total: part.segments.total) }

  /// Whether only a digest will prove that segments belong together: a file server has no strong validators.
  private var isSplitByDigest: Bool {
    part.validator.ifRange == nil && plan.request.source.scheme.startsAnywhere && isProvable
  }

  /// Whether only a digest will prove the continued bytes. No validator can: another source sent the held bytes, or a
  /// node whose tags differ.
  private var isProvedByDigest: Bool {
    guard part.written > 0, isProvable else { return false }
    if part.segments.isSplit, isSplitByDigest { return true }
    let request = plan.request
    if let total = part.segments.total, request.pieces?.cover(total) == true { return true }
    let source = request.isAtMirror ? EffectiveURL.name(request.source.key) : nil
    return !request.mirrors.isEmpty && part.held.effectiveURL != source || state.doubts.contains(.ifRange)
      || !part.held.mayBeContinued(under: plan.trust, isProvable: false)
  }

  private mutating func furtherTransfer(_ id: Int) throws(DownloadError) -> TransferRequest? {
    try part.flush(id)
    let ifRange = part.validator.fitForHeaders.ifRange
    guard !state.isClosed, let segment = part.segments[id], let end = part.segments.end(of: id), segment.written < end,
      ifRange != nil || isSplitByDigest
    else { return nil }
    var request = transfer()
    request.segmentOf = meter
    request.headerLines = ifRange.map { ["If-Range: \($0)"] } ?? []
    // FTP has no end of a range: a request ends where dlm closes its connection, so that small ones cost a login each.
    let size = request.address.scheme.isFTP ? nil : part.segments.requestSize
    let upTo = size?.end(from: segment.written, to: end) ?? end
    request.rangeStart = segment.written
    request.rangeEnd = upTo
    part.segments.ask(id, upTo: upTo)
    return request
  }

  // MARK: Judging

  mutating func accept(_ head: ResponseHead, for id: Int) throws(DownloadError) -> BodyDisposition {
    guard !state.isClosed else { throw .cancelled }
    var head = head
    // A mirror's answer belongs to the mirror, as after a redirect (HTTP rule 9).
    if plan.request.isAtMirror { head.effectiveURL = head.effectiveURL ?? plan.request.source.key }
    if id != Segment.first { return try acceptFurther(head, id) }
    switch try state.answer(head, held: part.held, known: known, isProvable: isProvable, now: plan.rules.now()) {
    case .append(let offset, let end, let total): return try append(head, at: offset, end: end, total: total)
    case .startOver(let total): return try startOver(head, total: total)
    case .answered(let answer):
      if answer == .unchanged { self.head = head }
      return .drain
    case .restart:
      tellRestart(head)
      try giveUpHeld()
      throw FileDownloadState.again("the part cannot be continued")
    case .askWithoutIfRange: throw FileDownloadState.again("If-Range was answered with the whole file")
    }
  }

  /// Judges the answer to a further segment, by the same rules as an answer that continues a part.
  private mutating func acceptFurther(_ head: ResponseHead, _ id: Int) throws(DownloadError) -> BodyDisposition {
    guard let segment = part.segments[id] else { return .enough }
    var held = part.held
    held.length = segment.written
    let decision = ResumeDecision.decide(
      asked: .rest(from: segment.written, proof: .ifRange), held: held, head: head, isProvable: isSplitByDigest,
      now: plan.rules.now())
    switch decision {
    case .append: return .write
    case .answered(.rejected(let error)): throw error
    default:
      // The answer of a cache without the complete file, or of a server without ranges. A further request would fail
      // too.
      part.segments.refusesFurther = true
      throw DownloadError(.range, "it answers requests for a range with something else", "splitting")
    }
  }

  private mutating func append(
    _ head: ResponseHead, at offset: Int64, end: Int64, total: Int64?
  ) throws(DownloadError) -> BodyDisposition {
    self.head = head
    if let name = plan.wantedName(head) { part.name = name }
    if try standsAside() { return .drain }
    try checkLength(total)
    try plan.refuse(plan.preferred(part.name), length: total)
    guard expectDigest(head) else { return .drain }
    part.segments.total = total
    try part.reserve(total.map { $0 - offset - part.segments.writtenFurther })
    let held = part.segments.length
    state.receive(.init(isRange: true, heldBefore: held, end: end, repeatedFrom: offset < held ? offset : nil))
    meter.begin(at: offset + part.segments.receivedFurther, total: total)
    try part.go(on: plan.trust, from: plan.request.mirrors.isEmpty ? nil : head)
    return begin(head)
  }

  private mutating func startOver(_ head: ResponseHead, total: Int64?) throws(DownloadError) -> BodyDisposition {
    self.head = head
    let name = plan.wantedName(head)
    if let name { part.name = name }
    if try standsAside() { return .drain }
    try plan.expectedTypes?.check(head)
    let coded = CodedBody.decide(head, name: part.name)
    // The server gave the length of the coded body.
    let total = coded == .decode ? nil : total
    try checkLength(total)
    try plan.refuse(plan.preferred(part.name), length: total)
    tellRestart(head)
    try giveUpHeld()
    let version = HeldPart(
      total: total, encoding: coded == .plain ? nil : head["content-encoding"], isDecoded: coded == .decode,
      effectiveURL: head.effectiveName, trust: plan.trust[head.effectiveURL])
    part.begin(version, from: head, name: name)
    guard expectDigest(head) else { return .drain }
    try part.open(needing: total)
    state.receive(.init(end: total))
    meter.begin(at: 0, total: total)
    let disposition = begin(head)
    return coded == .decode ? .decode : disposition
  }

  private mutating func begin(_ head: ResponseHead) -> BodyDisposition {
    part.segments.setFirst(taken: true)
    let hasRanges = head.status == 206 || head["accept-ranges"]?.lowercased() == "bytes"
    meter.note(cannotResume: !hasRanges || part.isDecoded)
    // Other transfers may download segments if the server supports ranges and identifies the version
    // (HTTP rules 5 and 8).
    guard plan.rules.splits, let total = part.segments.total, total - position >= Self.worthSplitting,
      part.encoding == nil, part.validator.ifRange != nil || isSplitByDigest, !part.segments.refusesFurther
    else { return .write }
    if case .receiving(let body) = state.phase, body.isRange { return .splittable }
    return head["accept-ranges"]?.lowercased() == "bytes" ? .splittable : .write
  }

  /// - Parameter isWhole: false for a length that may still grow.
  /// - Throws: `.wrongSize` if the list declares another length, `.tooLarge` above the user's limit.
  private func checkLength(_ size: Int64?, isWhole: Bool = true) throws(DownloadError) {
    guard let size else { return }
    if let declared = plan.request.declaredSize, isWhole ? size != declared : size > declared {
      throw Verification.wrongSize(declared, isWhole ? "\(size)" : "at least \(size)", "receiving")
    }
    if let most = plan.rules.maxSize, size > most {
      throw DownloadError(.tooLarge, "\(size) bytes, at most \(most) are allowed", "receiving")
    }
  }

  /// Checks the length of the complete file, and discards the file before it throws.
  mutating func checkWhole() throws(DownloadError) {
    do { try checkLength(length) } catch {
      try discard()
      throw error
    }
  }

  /// Whether the policy is to leave an existing file under the final name (`--on-conflict skip`). If so, skips the
  /// body.
  private mutating func standsAside() throws(DownloadError) -> Bool {
    guard plan.conflictPolicy == .skip, try plan.fileToLeave(plan.preferred(part.name)) != nil else {
      return false
    }
    state.refuse(.skipped)
    return true
  }

  /// - Returns: false if a checksum is required but unknown: then the body is not worth receiving.
  private mutating func expectDigest(_ head: ResponseHead) -> Bool {
    let expected = expectedDigest(head)
    part.compare(with: expected)
    guard expected == nil, plan.request.pieces == nil, plan.rules.requiredProof == .digest else { return true }
    state.refuse(.rejected(Verification.unproven(.nothing, .digest)))
    return false
  }

  /// The expected checksum. An answer's digest is of the coded bytes (RFC 9530 §3), so it does not apply to decoded
  /// ones.
  private func expectedDigest(_ head: ResponseHead?) -> ContentDigest? {
    let head = part.isDecoded ? nil : head
    return plan.expectedDigest(
      named: part.name, head, beside: head?.effectiveURL == nil || plan.request.isAtMirror ? nil : meter.named)
  }

  // MARK: Writing

  private var position: Int64 { state.repeated ?? part.segments.position }

  mutating func write(_ bytes: UnsafeRawBufferPointer, to id: Int) throws(DownloadError) -> SinkDemand {
    guard !state.isClosed, let segment = part.segments[id] else { return .enough }
    if id == Segment.first { return try writeFirst(bytes) }
    let limit = part.segments.end(of: id)
    let surplus = count(bytes, from: segment.received, upTo: limit)
    // Another transfer receives and counts these bytes.
    if surplus > 0 { meter.subtract(surplus) }
    let good = UnsafeRawBufferPointer(rebasing: bytes.dropLast(surplus))
    if !good.isEmpty { try part.append(good, to: id, isShort: false) }
    try part.tend(bytes.count)
    return surplus > 0 || part.segments.isCutOff(id, at: limit) ? .enough : .more
  }

  private mutating func writeFirst(_ bytes: UnsafeRawBufferPointer) throws(DownloadError) -> SinkDemand {
    guard case .receiving(let body) = state.phase else { throw .cancelled }
    let start = position
    if part.segments.hasOthers { part.segments.clearWay(to: start + Int64(bytes.count)) }
    let limit = part.segments.secondStart ?? body.end
    let isShared = limit != body.end
    let surplus = count(bytes, from: start, upTo: limit)
    if isShared, surplus > 0 { meter.subtract(surplus) }
    // The valid bytes are kept, even if more follow (HTTP rule 6).
    var good = UnsafeRawBufferPointer(rebasing: bytes.dropLast(surplus))
    if state.repeated != nil { good = try compareTail(good, at: start) }
    if !good.isEmpty {
      let isShort = plan.rules.reader != nil || part.segments.position - body.heldBefore < PartWriter.worthMetadata
      try part.append(good, to: Segment.first, isShort: isShort)
    }
    if surplus > 0, !isShared { throw DownloadError(.longBody, activity: "receiving", isTransient: true) }
    try lookAfterUnmeasured()
    return isShared && (surplus > 0 || part.segments.isCutOff(Segment.first, at: limit)) ? .enough : .more
  }

  /// Counts received bytes. Returns how many of them exceed the range that the transfer may write.
  private mutating func count(_ bytes: UnsafeRawBufferPointer, from position: Int64, upTo end: Int64?) -> Int {
    meter.add(bytes.count)
    transferred += Int64(bytes.count)
    guard let end else { return 0 }
    return max(0, bytes.count - Int(max(0, end - position)))
  }

  /// Compares bytes with the end of the held part, and returns the bytes that follow it.
  private mutating func compareTail(
    _ bytes: UnsafeRawBufferPointer, at position: Int64
  ) throws(DownloadError) -> UnsafeRawBufferPointer {
    let count = min(bytes.count, Int(length - position))
    let there = try part.read(count, at: position)
    guard bytes.prefix(count).elementsEqual(there) else {
      plan.rules.onRestart?(plan.request, .otherBytes)
      try giveUpHeld()
      throw FileDownloadState.again("the file has changed since its first part came")
    }
    state.hasRepeated(upTo: position + Int64(count), of: length)
    return UnsafeRawBufferPointer(rebasing: bytes.dropFirst(count))
  }

  /// Checks the length of a growing body, and reserves its space if the length is unknown. Drops a body that is too
  /// long.
  private mutating func lookAfterUnmeasured() throws(DownloadError) {
    do { try checkLength(position, isWhole: false) } catch {
      if plan.rules.reader == nil { try giveUpHeld() }
      throw error
    }
    if part.segments.total == nil { try part.growUnmeasured(to: position) }
  }

  mutating func save() throws(DownloadError) { if case .receiving = state.phase { try part.save() } }

  // MARK: Segments

  mutating func takeSegment(of id: Int, from offset: Int64) throws(DownloadError) -> Int? {
    state.isClosed ? nil : try part.takeSegment(of: id, from: offset)
  }

  mutating func ask(for size: RequestSize) { part.segments.requestSize = size }

  mutating func refuseSegments() { part.segments.refusesFurther = true }

  mutating func release(_ id: Int) throws(DownloadError) {
    // A transfer that is kept for the next request continues.
    if id != Segment.first { try part.release(id) } else if running == nil { try endFirst() }
  }

  private mutating func endFirst() throws(DownloadError) {
    state.stopRepeating()
    part.segments.setFirst(taken: false)
    try part.release(Segment.first)
  }

  // MARK: The end

  /// - Returns: whether the segment is complete; for the first one, whether the file needs no further request.
  mutating func finish(_ receipt: TransferReceipt, of id: Int) throws(DownloadError) -> Bool {
    guard id == Segment.first else {
      try part.flush(id)
      return part.segments[id].map { part.segments.end(of: id) == $0.written } ?? true
    }
    guard !state.isClosed else { throw .cancelled }
    try endFirst()
    let segments = part.segments
    let finished = try state.end(
      length: segments.length, total: segments.total, proof: receipt.proof, isSplit: segments.isSplit,
      mayAskBehind: receipt.proof == .nothing && mayAskBehind)
    if finished != .partly { meter.enter(.checking) }
    return finished != .partly
  }

  /// Whether a further request can check the end of the body. Needed if only the closing connection marked it, or the
  /// end of an HTTP/2 stream, which libcurl 7.88 does not distinguish from a reset. A server that supports ranges then
  /// answers 416.
  private var mayAskBehind: Bool {
    length > 0 && !part.isDecoded && part.validator.ifRange != nil
      && head?["accept-ranges"]?.lowercased() == "bytes"
  }

  /// Drops the held bytes. The next request asks for the whole file, without the assumption that proved wrong.
  mutating func startAgain(without doubt: FileDownloadState.Doubts) throws(DownloadError) {
    try state.startAgain(without: doubt)
    try giveUpHeld()
    // The part is empty now, so its metadata must not list bytes.
    if part.isNamed { try part.writeMetadata() }
  }

  /// - Parameter ranges: the wrong ones; empty if all bytes are wrong.
  mutating func startAgainAfterWrongBytes(in ranges: [Range<Int64>] = []) throws(DownloadError) {
    if !ranges.isEmpty, source == nil {
      try state.startAgain(without: .caches)
      return try part.drop(ranges)
    }
    doubted = source ?? doubted
    try startAgain(without: [.caches, .knownVersion])
  }

  private func tellRestart(_ head: ResponseHead) {
    guard length > 0, let tell = plan.rules.onRestart else { return }
    let held = part.held
    let total = head.contentRange?.completeLength ?? (head.isWhole ? head.contentLength : nil)
    let isLonger = held.total != nil && total != nil && held.total != total
    let isOther = held.validator.contradicts(Validator(head))
    tell(plan.request, isOther ? .otherVersion : isLonger ? .otherLength : .notContinued)
  }

  private mutating func giveUpHeld() throws(DownloadError) {
    if let reader = plan.rules.reader, reader.taken > 0 {
      throw DownloadError(.conflict, "its first bytes were passed on already", "resuming")
    }
    resumed = 0
    source = nil
    state.stopRepeating()
    try part.giveUp()
  }

  /// Copies another file's content instead of downloading it. Blocks for as long as the disk needs.
  /// - Returns: false if the source is not (or no longer) the file of the row.
  mutating func copy(_ source: CacheRow) throws(DownloadError) -> Bool {
    guard !state.isClosed else { throw .cancelled }
    try giveUpHeld()
    let version = HeldPart(
      validator: source.validator, total: source.identity.size, effectiveURL: source.effectiveURL,
      trust: plan.trust[source.effectiveURL])
    let isServersName =
      plan.rules.useContentDisposition && (source.key.requested.isEmpty || source.key.isStored)
      && !plan.isOfAddress(source.wanted)
    part.begin(version, from: nil, name: plan.wantedName(head) ?? (isServersName ? source.wanted : nil))
    try part.open(needing: nil)
    guard try part.copy(source) else { return false }
    self.source = source
    meter.begin(at: source.identity.size, total: source.identity.size)
    return true
  }

  /// How the file compares with its checksum, as far as known without reading it.
  var verdict: DigestVerdict { part.verdict ?? expectedDigest(head).map { .unread($0) } ?? DigestVerdict.none }

  /// The digest of the file, read from the disk. Blocks.
  mutating func readDigest(_ expected: ContentDigest) throws(DownloadError) -> ContentDigest {
    let found = try part.withFile("reading") { file throws(Errno) in try file.digest(expected.algorithm) }
    guard let found = found ?? nil else { throw .cancelled }
    part.compare(with: expected)
    return found
  }

  // MARK: Names on the disk

  /// Sets the file's time to the server's (`--remote-time`).
  func stamp() throws(DownloadError) {
    guard let time = remoteTime else { return }
    try part.withFile("setting the time of") { file throws(Errno) in try file.setModified(time) }
  }

  private var remoteTime: Int64? {
    plan.rules.usesRemoteTime
      ? RemoteTime.seconds(part.validator.lastModified, now: plan.rules.now()) : nil
  }

  /// Compares the file with another of the same length. If the bytes are equal, the other file gets the server's time.
  /// Blocks.
  /// - Returns: the other file as it is afterwards; `nil` if the bytes differ.
  func sameBytes(as other: borrowing Descriptor) throws(Errno) -> StandingFile? {
    let isSame = try part.look { file throws(Errno) in try file.descriptor.hasBytes(of: other, length: length) }
    guard isSame == true else { return nil }
    if let time = remoteTime { try other.setModified(time) }
    return try other.standing()
  }

  func standing() throws(DownloadError) -> StandingFile? {
    try part.withFile("looking at") { file throws(Errno) in try file.standing() }
  }

  mutating func take(_ name: String, replacing: Bool) throws(DownloadError) -> ChangeTime? {
    guard !state.isClosed else { throw .cancelled }
    guard let named = try part.commit(as: name, replacing: replacing) else { return nil }
    state.close()
    return named
  }

  mutating func discard() throws(DownloadError) {
    state.close()
    try part.discard()
  }

  /// Ends a download that did not finish. A part that can be resumed keeps its visible name; everything else is
  /// removed.
  mutating func abandon() throws(DownloadError) {
    guard !state.isClosed else { return }
    let isSkipped = state.isSkipped
    state.close()
    takeRunning()?.cancel()
    defer { part.release() }
    if part.isOpen {
      // If the disk is full, the part keeps the bytes that it has.
      try endFirst()
      for id in part.segments.further { try release(id) }
    }
    if isSkipped, resumed == 0 { return try part.discard() }
    let kept = try part.leave()
    if kept > 0 { meter.keep(kept) }
    if transferred > 0 { meter.carry(received: transferred, resumed: resumed) }
  }

  // MARK: Hand-over to another request

  mutating func endClaim() { claim = nil }

  mutating func handOverClaim() -> Int? { claim?.handOver() }

  /// Another request's task continues this download, and its meter shows the progress.
  mutating func show(on meter: TransferMeter) {
    self.meter = meter
    meter.begin(at: position + part.segments.receivedFurther, total: part.segments.total)
  }

  mutating func keep(_ running: RunningTransfer) -> Bool {
    guard !state.isClosed else { return false }
    self.running = running
    return true
  }

  mutating func takeRunning() -> RunningTransfer? { running.take() }
}
