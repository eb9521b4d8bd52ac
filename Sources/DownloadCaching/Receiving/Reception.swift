import DownloadModel
import SystemPackage

// Long because: it keeps what the server sends and what reaches the disk in step; split up, that state would have to be
// visible outside.

/// One file between the server's answers and the disk: does the I/O for the pure rules of `FileDownloadState` and
/// `SegmentMap`. Not for two threads at a time: `FileDownload` holds it under a lock.
struct Reception: ~Copyable {
  let plan: DownloadPlan
  private var state = FileDownloadState()
  private var segments = SegmentMap()
  /// Which version the held bytes are of. Their number is in `segments`.
  private var version = HeldPart()
  /// The head of the answer whose body is being written, or that completed the file without one.
  private(set) var head: ResponseHead?
  /// Seconds since 1970 at which the request for the file's start was sent last: its answer's age counts from here (RFC
  /// 9111 §4.2.3).
  private(set) var askedAt: Int64 = 0
  /// Nil until the first request looks at the disk.
  private(set) var staged: StagedFile?
  /// Bytes that arrived for the start of the file and are not in it yet.
  private var buffer = BlockBuffer()
  /// The same for the further segments.
  private var furtherBuffers: [Int: BlockBuffer] = [:]
  private var metadataPace = MetadataPace()
  /// Offset of the body's next byte while it repeats the last bytes of what is held, which are compared.
  private var compared: Int64?
  private var space = SpaceReservation()
  /// The comparison with a checksum, where there is one.
  private var digest: DigestCheck?
  /// The checksum that the bytes are compared with as they come.
  var comparedDigest: ContentDigest? {
    switch digest {
    case .some(let check): check.expected
    case .none: nil
    }
  }
  /// Whether a part that an earlier run left is gone on with.
  private let resumes: Bool
  /// Whether a checksum was looked for when the body began.
  private var hasLookedForDigest = false
  /// Body bytes that this run received for the file.
  private(set) var transferred: Int64 = 0
  /// Bytes of an earlier run that are still in use.
  private(set) var resumed: Int64 = 0
  /// The name that the part's first answer gave. Kept because a later answer (416) may not repeat it.
  private var metadataName: String?
  private(set) var meter: TransferMeter
  /// The file whose bytes these are a copy of; nil where a server sent them.
  private(set) var source: CacheRow?
  /// A file that was copied, and whose bytes did not have the checksum.
  private(set) var doubted: CacheRow?
  /// A transfer that goes on although the task that began it was cancelled.
  private var running: RunningTransfer?
  /// The claim that keeps other processes from the request; dropping it lets them take it.
  private var claim: ProcessClaims.Claim?

  /// A body of at most this length gets no metadata: after a SIGKILL it starts over.
  static let worthMetadata: Int64 = 1 << 20
  /// The same for a body whose length is unknown. Pages made on the fly are mostly shorter.
  private static let worthMetadataUnmeasured: Int64 = 1 << 16
  /// A body with less than this to come is not worth a second connection.
  static let worthSplitting: Int64 = 1 << 20

  init(
    _ plan: DownloadPlan, _ meter: TransferMeter, _ claim: consuming ProcessClaims.Claim?, resumes: Bool
  ) {
    self.plan = plan
    self.meter = meter
    self.resumes = resumes
    self.claim = claim
    if plan.hasUserDigests, plan.userDigest(named: plan.nameByAddress) != nil { meter.expectDigest() }
  }

  // MARK: Read by the cache and the tests

  var isClosed: Bool { state.isClosed }
  var phase: FileDownloadState.Phase { state.phase }
  var doubts: FileDownloadState.Doubts { state.doubts }
  /// Bytes that are in the file, from its start on.
  var length: Int64 { segments.length }
  var openSegments: [OpenSegment] { state.isClosed ? [] : segments.open }

  var held: HeldPart {
    var held = version
    (held.length, held.total) = (segments.length, segments.total)
    return held
  }

  /// The final name as far as it is known, without the list's number.
  var finalName: String { plan.wantedName(head) ?? metadataName ?? plan.nameByAddress }

  private var known: KnownVersion? { plan.rules.refresh ? nil : plan.known }

  // MARK: Asking

  /// The request for what a segment still lacks; nil if it lacks nothing.
  mutating func nextTransfer(for id: Int) throws(DownloadError) -> TransferRequest? {
    var request = TransferRequest(address: plan.address, provenance: plan.request.provenance)
    if id == Segment.first {
      askedAt = plan.rules.now()
      request.meter = meter
      // Cancelled while it was verified, it was handed on: all of it is there.
      if case .finished(let finished) = state.phase, finished != .partly { return nil }
      try endFirst()
      if staged == nil { try stage() }
      let (held, known) = (held, known)
      let plan = try state.request(held: held, known: known)
      request.headerLines = plan.headerLines
      if case .rest(let from, _) = plan.asked {
        (request.rangeStart, request.rangeEnd) = (from, segments.secondStart)
      }
      segments.ask(id, upTo: request.rangeEnd ?? .max)
    } else {
      try flush(id)
      guard !state.isClosed, let segment = segments[id], let end = segments.end(of: id), segment.written < end,
        let ifRange = version.validator.fitForHeaders.ifRange
      else { return nil }
      request.segmentOf = meter
      request.headerLines = ["If-Range: \(ifRange)"]
      request.rangeStart = segment.written
      request.rangeEnd = segments.requestSize.end(from: segment.written, to: end)
      segments.ask(id, upTo: request.rangeEnd ?? end)
    }
    // The file must be fetched anew: caches on the way shall ask the origin (RFC 9111 §5.2.1.4).
    if state.doubts.contains(.caches) {
      request.headerLines.append("Cache-Control: no-cache")
    } else if let line = plan.cacheControlLine {
      request.headerLines.append(line)
    }
    return request
  }

  /// Looks for a part that an earlier run left.
  private mutating func stage() throws(DownloadError) {
    let opened = try StagedFile(
      in: plan.directory, for: plan.rowKey.address, base: plan.nameByAddress,
      number: plan.request.outputName == nil ? plan.request.nameNumber : 0, resumes: resumes)
    // What may not be continued stays as it is until an answer takes its place.
    if let metadata = opened.found, case let held = metadata.held(length: opened.foundLength),
      held.mayBeContinued(under: plan.trust)
    {
      version = held
      segments =
        metadata.segments(length: opened.foundLength)
        ?? SegmentMap(length: version.length, total: version.total)
      resumed = segments.length + segments.writtenFurther
      if plan.rules.useContentDisposition { metadataName = metadata.name }
    }
    staged = consume opened
  }

  // MARK: Judging

  mutating func accept(_ head: ResponseHead, for id: Int) throws(DownloadError) -> BodyDisposition {
    guard !state.isClosed else { throw .cancelled }
    if id != Segment.first { return try acceptFurther(head, id) }
    let (held, known) = (held, known)
    switch state.answer(head, held: held, known: known, now: plan.rules.now()) {
    case .append(let offset, let end, let total):
      self.head = head
      return try append(head, at: offset, end: end, total: total)
    case .startOver(let total):
      self.head = head
      return try startOver(head, total: total)
    case .drain:
      if state.phase == .answered(.unchanged) { self.head = head }
      return .drain
    case .restart(let error):
      try giveUpHeld()
      throw error.at(plan.address)
    case .end(let error): throw error.at(plan.address)
    }
  }

  /// Judges the answer to a further segment, by the same rules as an answer that continues a part.
  private mutating func acceptFurther(_ head: ResponseHead, _ id: Int) throws(DownloadError)
    -> BodyDisposition
  {
    guard let segment = segments[id] else { return .enough }
    var held = held
    held.length = segment.written
    let decision = ResumeDecision.decide(
      asked: .rest(from: segment.written, proof: .ifRange), held: held, head: head, now: plan.rules.now())
    switch decision {
    case .append: return .write
    case .reject(let error): throw error.at(plan.address)
    default:
      // The answer is from a cache that does not have the whole file yet, or from a server that promised ranges and
      // does not give them. The next such request would fare no better.
      segments.refuseFurther()
      throw DownloadError(
        .range, cause: .detail("it answers requests for a part with something else"), activity: "splitting"
      ).at(plan.address)
    }
  }

  private mutating func append(
    _ head: ResponseHead, at offset: Int64, end: Int64, total: Int64?
  ) throws(DownloadError) -> BodyDisposition {
    if try standsAside() { return .drain }
    try refuseIfTooLarge(total)
    guard expectDigest(head) else { return .drain }
    segments.total = total
    try setSpaceAside(total.map { $0 - offset - segments.writtenFurther })
    compared = offset < segments.length ? offset : nil
    state.receive(.init(end: end, heldBefore: segments.length, isRange: true))
    meter.begin(at: offset + segments.receivedFurther, total: total)
    // Before a byte of this run's stands among those that were received otherwise.
    let trust = plan.trust[version.effectiveURL]
    if version.trust != trust {
      version.trust = trust
      try writeMetadata()
    }
    return begin(head)
  }

  private mutating func startOver(_ head: ResponseHead, total: Int64?) throws(DownloadError)
    -> BodyDisposition
  {
    if try standsAside() { return .drain }
    let coded = CodedBody.decide(head, name: finalName)
    let isDecoded = coded == .decode
    // The length that the server gave is that of the coded body.
    let total = isDecoded ? nil : total
    try refuseIfTooLarge(total)
    try giveUpHeld()
    version = HeldPart(
      validator: Validator(head), total: total,
      encoding: coded == .plain ? nil : head["content-encoding"], isDecoded: isDecoded,
      effectiveURL: head.effectiveName, trust: plan.trust[head.effectiveURL])
    segments.total = total
    guard expectDigest(head) else { return .drain }
    try setSpaceAside(total)
    if staged?.descriptor.isOpen == false { try staged?.open() }
    let isLong = total.map { $0 > Self.worthMetadata } ?? false
    // A part that is named already has metadata, which must describe the version whose bytes come now.
    if isLong || staged?.isNamed == true { try writeMetadata() }
    state.receive(.init(end: total, heldBefore: 0, isRange: false))
    meter.begin(at: 0, total: total)
    let disposition = begin(head)
    return isDecoded ? .decode : disposition
  }

  /// Notes that a body begins to fill the start of the file.
  private mutating func begin(_ head: ResponseHead) -> BodyDisposition {
    segments.setFirst(taken: true)
    return isSplittable(head) ? .splittable : .write
  }

  /// Whether other transfers may fetch segments of the body that has begun: the server supports ranges and identifies
  /// the version (HTTP rules 5 and 8).
  private func isSplittable(_ head: ResponseHead) -> Bool {
    guard plan.rules.splits, let total = segments.total,
      total - (compared ?? segments.position) >= Self.worthSplitting, version.encoding == nil,
      version.validator.ifRange != nil, !segments.refusesFurther
    else { return false }
    if case .receiving(let body) = state.phase, body.isRange { return true }
    return head["accept-ranges"]?.lowercased() == "bytes"
  }

  /// Throws if the head says that the file is longer than the user allows (`--max-filesize`), before a byte is taken.
  private func refuseIfTooLarge(_ total: Int64?) throws(DownloadError) {
    if let total, let most = plan.rules.maxSize, total > most { throw tooLarge(total, most) }
  }

  private func tooLarge(_ size: Int64, _ most: Int64) -> DownloadError {
    DownloadError(
      .tooLarge, cause: .detail("\(size) bytes, where at most \(most) are allowed"), activity: "receiving"
    ).at(plan.address)
  }

  /// Whether the policy is to leave what stands under the final name (`--on-conflict skip`).
  private mutating func standsAside() throws(DownloadError) -> Bool {
    guard plan.rules.conflictPolicy == .skip, try plan.fileToLeave(plan.preferred(finalName)) != nil else {
      return false
    }
    state.refuse(.skipped)
    return true
  }

  /// Looks for the checksum that the file must have.
  /// - Returns: false if one is required and there is none: then the body is not worth receiving.
  private mutating func expectDigest(_ head: ResponseHead) -> Bool {
    hasLookedForDigest = true
    guard let expected = expectedDigest(head) else {
      digest = nil
      guard plan.rules.requiredProof == .digest else { return true }
      state.refuse(.rejected(Verification.unproven(.nothing, .digest).at(plan.address)))
      return false
    }
    // The bytes of a part that this run wrote are hashed already.
    if comparedDigest != expected { digest = DigestCheck(expected) }
    return true
  }

  /// The checksum to meet. A `Repr-Digest` is of the coded bytes (RFC 9530 §3), so it does not count where they were
  /// decoded.
  func expectedDigest(_ head: ResponseHead?) -> ContentDigest? {
    plan.expectedDigest(named: finalName, version.isDecoded ? nil : head)
  }

  // MARK: Writing

  /// Takes the next bytes of a segment.
  mutating func write(_ bytes: UnsafeRawBufferPointer, to id: Int) throws(DownloadError) -> SinkDemand {
    guard !state.isClosed, let segment = segments[id] else { return .enough }
    var bodyEnd: Int64?
    if id == Segment.first {
      guard case .receiving(let body) = state.phase else { throw .cancelled }
      bodyEnd = body.end
    }
    meter.add(bytes.count)
    transferred += Int64(bytes.count)
    let position = (id == Segment.first ? compared : nil) ?? segment.received
    let limit = limit(of: id, bodyEnd, next: position + Int64(bytes.count))
    let room = limit.map { max(0, $0 - position) } ?? .max
    // The good bytes are kept, whatever follows them (HTTP rule 6).
    var good = Int64(bytes.count) > room ? UnsafeRawBufferPointer(rebasing: bytes.prefix(Int(room))) : bytes
    let surplus = bytes.count - good.count
    if compared != nil, id == Segment.first { good = try compareTail(good) }
    if !good.isEmpty { try append(good, to: id) }
    // Bytes behind the limit belong to another segment, whose transfer counts them.
    let isShared = id != Segment.first || segments.secondStart != nil && limit != bodyEnd
    if isShared, surplus > 0 { meter.subtract(surplus) }
    if id == Segment.first {
      if surplus > 0, !isShared {
        throw DownloadError(.longBody, activity: "receiving", isTransient: true).at(plan.address)
      }
      try lookAfterUnmeasured()
    } else if metadataPace.received(Int64(bytes.count), ofFileOf: segments.total ?? 0) {
      for id in segments.further { try flush(id) }
      try writeMetadata()
    }
    guard isShared, let limit, segments[id]?.received == limit else { return surplus > 0 ? .enough : .more }
    // The request asked for more than this, before another transfer took the rest.
    return segments[id].map { $0.asked > limit } == true || surplus > 0 ? .enough : .more
  }

  /// Offset behind the last byte that a segment's transfer may write.
  private mutating func limit(of id: Int, _ bodyEnd: Int64?, next: Int64) -> Int64? {
    guard id == Segment.first else { return segments.end(of: id) }
    guard segments.hasOthers else { return bodyEnd }
    segments.clearWay(to: next)
    return segments.secondStart ?? bodyEnd
  }

  private mutating func append(_ bytes: UnsafeRawBufferPointer, to id: Int) throws(DownloadError) {
    // The first bytes of a body are written as they come: for a short file, one buffer is one write.
    if id == Segment.first, buffer.count == 0, isShort {
      segments.receive(bytes.count, for: id)
      return try put(bytes, to: id)
    }
    var rest = bytes
    while !rest.isEmpty, let position = segments[id]?.received {
      let taken = withBuffer(of: id) { $0.take(rest, at: position) }
      segments.receive(taken, for: id)
      rest = UnsafeRawBufferPointer(rebasing: rest.dropFirst(taken))
      if BlockBuffer.ends(at: position + Int64(taken)) { try flush(id) }
    }
  }

  private var isShort: Bool {
    guard case .receiving(let body) = state.phase else { return false }
    return segments.position - body.heldBefore < Self.worthMetadata
  }

  private mutating func withBuffer<Value>(of id: Int, _ body: (inout BlockBuffer) -> Value) -> Value {
    id == Segment.first ? body(&buffer) : body(&furtherBuffers[id, default: BlockBuffer()])
  }

  /// Writes a segment's buffered bytes to the file.
  private mutating func flush(_ id: Int) throws(DownloadError) {
    guard let segment = segments[id], segment.received > segment.written, compared == nil || id != Segment.first
    else { return }
    // Moved out meanwhile, because `put` changes the rest of this value.
    var waiting = BlockBuffer()
    withBuffer(of: id) { swap(&waiting, &$0) }
    defer { withBuffer(of: id) { swap(&waiting, &$0) } }
    try waiting.drain { bytes throws(DownloadError) in try put(bytes, to: id) }
  }

  /// Writes the next bytes of a segment to the file.
  private mutating func put(_ bytes: UnsafeRawBufferPointer, to id: Int) throws(DownloadError) {
    guard let start = segments[id]?.written else { return }
    var offset = start
    var failure: Errno?
    do throws(Errno) { try staged?.descriptor.write(bytes, at: &offset) } catch { failure = error }
    // Also after a failure: bytes that reached the disk are good.
    segments.write(id, to: offset)
    space.use(offset - start)
    if id == Segment.first, digest != nil {
      digest?.take(UnsafeRawBufferPointer(rebasing: bytes.prefix(Int(offset - start))), at: start)
    }
    if let failure {
      segments.dropBuffered(of: id)
      let rest = Int64(bytes.count) - (offset - start)
      // Nothing of it is kept, so there is space for others again.
      if version.isDecoded, failure == .noSpace {
        throw full(SpaceShortage(reason: "it does not fit once decoded", neededBytes: rest))
      }
      let needed = id == Segment.first ? segments.total.map { $0 - offset } ?? rest : rest
      throw plan.directory.failure(failure, "writing", staged?.names.part ?? plan.nameByAddress, needed: needed)
        .at(plan.address)
    }
    if segments.isSplit, metadataPace.wrote(offset - start, of: id) { try writeMetadata() }
  }

  /// Compares bytes with the last bytes of the held part.
  /// - Returns: the bytes that follow those.
  private mutating func compareTail(
    _ bytes: UnsafeRawBufferPointer
  ) throws(DownloadError) -> UnsafeRawBufferPointer {
    guard let position = compared else { return bytes }
    let count = min(bytes.count, Int(segments.length - position))
    let there = try withFile("reading") { file throws(Errno) in try file.read(count, at: position) } ?? []
    guard bytes.prefix(count).elementsEqual(there) else {
      try giveUpHeld()
      throw FileDownloadState.again("the file has changed since its first part came").at(plan.address)
    }
    compared = position + Int64(count) < segments.length ? position + Int64(count) : nil
    return UnsafeRawBufferPointer(rebasing: bytes.dropFirst(count))
  }

  /// What a body of unknown length needs: a limit to its length, space on the disk, and metadata once it is long
  /// enough.
  private mutating func lookAfterUnmeasured() throws(DownloadError) {
    let position = compared ?? segments.position
    if let most = plan.rules.maxSize, position > most {
      // A body without a known length cannot be resumed, so nothing of it is kept.
      try giveUpHeld()
      throw tooLarge(position, most)
    }
    guard segments.total == nil else { return }
    do throws(SpaceShortage) {
      try space.grow(to: position, in: plan.directory, leaving: version.isDecoded ? SpaceReservation.reserve : 0)
    } catch { throw full(error) }
    if position > Self.worthMetadataUnmeasured, !version.isDecoded, staged?.isNamed == false {
      try writeMetadata()
    }
  }

  private mutating func setSpaceAside(_ needed: Int64?) throws(DownloadError) {
    do throws(SpaceShortage) { try space.begin(needed, in: plan.directory) } catch { throw full(error) }
  }

  private func full(_ shortage: SpaceShortage) -> DownloadError {
    DownloadError(
      .diskFull, cause: .detail(shortage.reason), path: plan.directory.path(of: finalName),
      activity: "making room", neededBytes: shortage.neededBytes
    ).at(plan.address)
  }

  // MARK: Segments

  /// Takes the end of a segment for a further transfer; see `DownloadTarget.takeSegment`.
  mutating func takeSegment(of id: Int, from offset: Int64) throws(DownloadError) -> Int? {
    guard !state.isClosed, segments.total != nil, version.validator.ifRange != nil else { return nil }
    try flush(Segment.first)
    // The metadata lists the start of the file first, so there must be one.
    guard segments.length > 0 else { return nil }
    let wasSplit = segments.isSplit
    guard let taken = segments.take(id, from: offset) else { return nil }
    // Before a byte is written behind the start: otherwise the file's length on disk would claim the gap as well.
    if !wasSplit { try writeMetadata() }
    return taken
  }

  mutating func ask(for size: RequestSize) { segments.requestSize = size }

  mutating func refuseSegments() { segments.refuseFurther() }

  mutating func release(_ id: Int) throws(DownloadError) {
    // A transfer that is kept for the next request goes on.
    if id == Segment.first { return running == nil ? try endFirst() : () }
    try flush(id)
    furtherBuffers[id] = nil
    segments.release(id)
  }

  /// The transfer for the start of the file has ended.
  private mutating func endFirst() throws(DownloadError) {
    compared = nil
    segments.setFirst(taken: false)
    try flush(Segment.first)
    segments.release(Segment.first)
  }

  // MARK: The end

  /// - Returns: whether all of the segment, or of the file, is there.
  mutating func finish(_ receipt: TransferReceipt, of id: Int) throws(DownloadError) -> Bool {
    guard id == Segment.first else {
      try flush(id)
      return segments[id].map { segments.end(of: id) == $0.written } ?? true
    }
    guard !state.isClosed else { throw .cancelled }
    try endFirst()
    do throws(DownloadError) {
      let finished = try state.end(
        length: segments.length, total: segments.total, framing: receipt.framing, isSplit: segments.isSplit,
        mayAskBehind: mayAskBehind)
      if finished != .partly { meter.enter(.checking) }
      return finished != .partly
    } catch { throw error.at(plan.address) }
  }

  /// Whether the server could tell that nothing follows the last byte. A body that only the closing connection ended
  /// (or an HTTP/2 stream, whose end libcurl 7.88 does not tell from a reset) may have been cut short. A server that
  /// supports ranges can tell: asked for bytes behind the last one, it answers 416 if there are none.
  private var mayAskBehind: Bool {
    segments.length > 0 && !version.isDecoded && version.validator.ifRange != nil
      && head?["accept-ranges"]?.lowercased() == "bytes"
  }

  /// Makes the next request ask for the whole file, without what the last one relied on.
  mutating func startAgain(without doubt: FileDownloadState.Doubts) throws(DownloadError) {
    try state.startAgain(without: doubt)
    try giveUpHeld()
    // The part is not whole any more, so its metadata must not say that it is.
    if staged?.isNamed == true { try writeMetadata() }
  }

  /// Makes the next request ask its origin for the whole file, because these bytes do not have the checksum.
  mutating func startAgainAfterWrongBytes() throws(DownloadError) {
    doubted = source ?? doubted
    try startAgain(without: [.caches, .knownVersion])
  }

  /// Drops the held bytes. The bytes go first and the metadata is written after, so that metadata never describes bytes
  /// of another version.
  private mutating func giveUpHeld() throws(DownloadError) {
    space.giveBack()
    // The part on disk may be longer than what is trusted of it.
    if segments.length > 0 || (staged?.foundLength ?? 0) > 0 { try staged?.empty() }
    segments.startOver()
    version = HeldPart()
    (buffer, furtherBuffers, compared) = (BlockBuffer(), [:], nil)
    resumed = 0
    (metadataName, source) = (nil, nil)
    digest = nil
    hasLookedForDigest = false
  }

  /// Gives the part its visible name if it has none, and writes the metadata beside it.
  private mutating func writeMetadata() throws(DownloadError) {
    metadataPace.metadataWritten(waiting: segments.bufferedFurther)
    let metadata = ResumeMetadata(
      address: plan.rowKey.address, held: held, name: finalName, done: segments.isSplit ? segments.done : nil)
    try staged?.show(metadata)
  }

  /// Copies another file's content instead of receiving it. Blocks for as long as the disk needs.
  /// - Returns: false if the source is not, or no longer, the file that the row describes.
  mutating func copy(_ source: CacheRow) throws(DownloadError) -> Bool {
    guard !state.isClosed else { throw .cancelled }
    try giveUpHeld()
    version = HeldPart(
      validator: source.validator, effectiveURL: source.effectiveURL, trust: plan.trust[source.effectiveURL])
    segments.total = source.identity.size
    if plan.rules.useContentDisposition, source.key.requested.isEmpty || source.key.isStored,
      !plan.isOfAddress(source.wanted)
    {
      metadataName = source.wanted
    }
    if staged?.descriptor.isOpen == false { try staged?.open() }
    if staged?.isNamed == true { try writeMetadata() }
    let directory = plan.directory
    let size = try withFile("copying") { file throws(Errno) in
      try file.copy(source, mayClone: directory.mayClone)
    }
    guard size == source.identity.size else {
      // What was copied of it must not stand behind a shorter body of the server's.
      try staged?.empty()
      return false
    }
    segments.write(Segment.first, to: source.identity.size)
    self.source = source
    meter.begin(at: source.identity.size, total: source.identity.size)
    return true
  }

  /// How the whole file compares with its checksum, as far as that can be told without reading the file.
  var verdict: DigestVerdict {
    switch digest {
    case .some(let check): return check.verdict(of: segments.length)
    case .none: return hasLookedForDigest ? .none : expectedDigest(head).map { .unread($0) } ?? .none
    }
  }

  /// The digest of the whole file, read from the disk. Blocks.
  mutating func readDigest(_ expected: ContentDigest) throws(DownloadError) -> ContentDigest {
    let found = try withFile("reading") { file throws(Errno) in try file.digest(expected.algorithm) }
    guard let found = found ?? nil else { throw .cancelled }
    digest = DigestCheck(expected)
    return found
  }

  /// Makes the bytes durable. Blocks.
  mutating func sync() throws(DownloadError) {
    try withFile("syncing") { file throws(Errno) in try file.sync() }
  }

  /// Calls `body` with the file, where there is one.
  @discardableResult
  private mutating func withFile<Value>(
    _ activity: String, _ body: (borrowing Descriptor) throws(Errno) -> Value
  ) throws(DownloadError) -> Value? {
    do throws(Errno) { return try staged?.withFile(body) } catch {
      throw plan.directory.failure(error, activity, staged?.names.part ?? finalName).at(plan.address)
    }
  }

  // MARK: Names on the disk

  /// Gives the whole file its server's time (`--remote-time`).
  mutating func stamp() throws(DownloadError) {
    guard let time = remoteTime else { return }
    try withFile("setting the time of") { file throws(Errno) in try file.setModified(time) }
  }

  /// Seconds since 1970; nil if the file keeps the time at which it was written.
  var remoteTime: Int64? {
    plan.rules.usesRemoteTime
      ? RemoteTime.seconds(version.validator.lastModified, now: plan.rules.now()) : nil
  }

  /// Compares the file with another, which gets this one's time if they are the same (`--remote-time`). Blocks.
  /// - Parameter other: a file of the same length.
  /// - Returns: the other as it is then; nil if their bytes differ.
  /// - Throws: errno of reading; ECANCELED when the task was cancelled.
  mutating func sameBytes(as other: borrowing Descriptor) throws(Errno) -> StandingFile? {
    guard try staged?.descriptor.hasBytes(of: other, length: length) == true else { return nil }
    if let time = remoteTime { try other.setModified(time) }
    return try other.standing()
  }

  /// What a file with the same bytes looks like.
  mutating func likeness() throws(DownloadError) -> Likeness? {
    let length = length
    return try withFile("reading") { file throws(Errno) in try file.likeness(length) }
  }

  /// What the user should know about the finished file.
  var remark: DownloadOutcome.Remark? {
    if (source?.status ?? head?.status) == 204 { return .noContent }
    // One layer of several was taken off.
    if version.isDecoded, version.encoding?.contains(",") != true { return .decoded }
    return version.encoding == nil ? nil : .stillCoded
  }

  /// The file, by which a later run recognises it.
  mutating func standing() throws(DownloadError) -> StandingFile? {
    try withFile("looking at") { file throws(Errno) in try file.standing() }
  }

  /// The address's own file, as it is after a part's name of it was removed.
  mutating func cleared(_ own: CacheRow) -> CacheRow {
    guard let cleared = staged?.cleared, own.isIntact(cleared.before) else { return own }
    var own = own
    own.changed = ChangeTime(of: cleared.after)
    return own
  }

  /// Commits the whole file under a name.
  /// - Returns: when it got it; nil if something stands under it.
  mutating func take(_ name: String, replacing: Bool) throws(DownloadError) -> ChangeTime? {
    guard !state.isClosed else { throw .cancelled }
    if replacing, staged?.isNamed == false { try writeMetadata() }
    guard let named = try staged?.commit(as: name, replacing: replacing) else { return nil }
    state.close()
    return named
  }

  /// Removes the file.
  mutating func discard() throws(DownloadError) {
    state.close()
    try staged?.discard()
  }

  /// Ends a download that did not finish: the part is kept under its visible name if it can be resumed, and nothing
  /// else stays behind.
  mutating func abandon() throws(DownloadError) {
    guard !state.isClosed else { return }
    let isSkipped = state.phase == .answered(.skipped) || state.phase == .finished(.skipped)
    state.close()
    running?.cancel()
    running = nil
    defer { staged?.release() }
    // If the disk takes no more bytes, the part keeps what it has.
    if staged?.descriptor.isOpen == true {
      try endFirst()
      for id in segments.further { try release(id) }
    }
    if isSkipped, resumed == 0 { return try discard() }
    guard staged?.descriptor.isOpen == true else { return }
    if segments.length == 0 {
      if staged?.foundLength == 0 { try discard() }
      return
    }
    // A part that could not be resumed is not worth a name; one that has its name keeps it.
    if segments.isSplit || staged?.isNamed == false && isResumable { try writeMetadata() }
    if staged?.isNamed == true { meter.keep(segments.length + segments.writtenFurther) }
  }

  /// The bytes that are there, of a file that comes in several parts.
  var parts: [Range<Int64>] { segments.done.map { $0.lowerBound..<$0.upperBound + 1 } }

  private var isResumable: Bool {
    TransferPlan.make(held: held, ifRangeIsRefused: false, known: nil).asked != .whole
  }

  // MARK: Hand-over to another request

  mutating func endClaim() { claim = nil }

  /// The task of another request goes on with this download, and its meter shows it.
  mutating func show(on meter: TransferMeter) {
    self.meter = meter
    meter.begin(at: (compared ?? segments.position) + segments.receivedFurther, total: segments.total)
  }

  mutating func keep(_ running: RunningTransfer) -> Bool {
    guard !state.isClosed else { return false }
    self.running = running
    return true
  }

  mutating func takeRunning() -> RunningTransfer? {
    defer { running = nil }
    return running
  }
}
