import DownloadModel
import SystemPackage

/// The transfer of one file between the server's answers and the disk. Not for two threads at a time:
/// `PartialFile` holds it under a lock.
struct PartialTransfer: ~Copyable {
  let order: FileOrder
  /// Nil until the first attempt looked at the disk.
  var slot: PartialSlot?
  var held = HeldPart()
  var answer = Answer.none
  /// Of the answer whose body is being written, or that ended the matter.
  var head: ResponseHead?
  /// Body bytes that this run received for the file.
  var transferred: Int64 = 0
  /// Bytes of an earlier run that are still in use.
  private(set) var resumed: Int64 = 0
  private var asked = TransferPlan.Asked.whole
  private var ifRangeIsRefused = false
  /// Offset in the file of the body's next byte: before `held.length` while a tail is compared, behind it by what
  /// waits in `buffer`.
  var cursor: Int64 = 0
  /// What arrived of the body and is not in the file yet.
  var buffer = BlockBuffer()
  /// What other transfers fetch, or fetched, further on in the file.
  var parts = FileParts()
  var partBuffers: [Int: BlockBuffer] = [:]
  /// How much of a part is asked for at a time.
  var piece = PieceSize(divisor: 1, least: 0)
  /// Whether the server answered a part with something else: it is asked for no more of them.
  var refusesParts = false
  /// Whether the record, and not the file's length, says which bytes are there. From the first part on.
  var isSplit = false
  /// Whether a body is on its way to the start of the file.
  var trunkRuns = false
  /// Bytes that came since the record was written, by span.
  var unrecorded: [Int: Int64] = [:]
  /// Bytes of all parts that have come since the record was last written.
  var arrived: Int64 = 0
  /// Whether the body under way is that of a 206, and the length held when it began.
  private(set) var isSlice = false
  /// Whether the server was asked for bytes behind an end that proved nothing.
  var hasAskedForMore = false
  private(set) var start: Int64 = 0
  /// The name that the part's first answer gave: a later one (416) may not repeat it.
  var recordedName: String?
  var isEnded = false
  /// Space set aside for what is still to come; nil for short files.
  var promise: SpacePromise?
  /// Up to where space was set aside for a file whose length nobody said.
  private var spaceEnd: Int64 = 0
  /// The comparison with a checksum, where there is one.
  var proving: Proving?
  /// What the file was judged to be worth when it was placed.
  var proof: Proof?
  /// Whether the next request is to pass by every cache.
  var asksAfresh = false
  /// Whether nothing is known of a finished file any more.
  var ignoresKnown = false

  /// How the last answer was taken.
  enum Answer {
    case none
    /// A body that ends before this offset, if that is known.
    case body(end: Int64?)
    case complete
    case unchanged
    /// It says nothing of what is here.
    case meaningless
    case skipped
    /// Told at the end, so that the short body of an error page does not cost the connection.
    case rejected(DownloadError)
  }

  /// So much is set aside at a time for a file whose length nobody said.
  private static let spaceStep: Int64 = 8 << 20
  /// A file of this length or less is not worth a record: killed, it starts over.
  static let worthRecording: Int64 = 1 << 20
  /// The same for a body whose length nobody said. Pages made on the fly are mostly shorter.
  static let worthRecordingUnmeasured: Int64 = 1 << 16

  init(_ order: FileOrder) { self.order = order }

  // MARK: Asking

  mutating func next() throws(DownloadError) -> TransferRequest {
    guard !isEnded else { throw .cancelled }
    try endTrunk()
    answer = .none
    if slot == nil {
      let opened = try PartialSlot(
        in: order.directory, for: order.owner, base: order.nameByAddress,
        number: order.requested == nil ? order.number : 0)
      if let record = opened.found {
        held = record.held(length: opened.foundLength)
        if let recorded = record.parts(length: opened.foundLength) { (parts, isSplit) = (recorded, true) }
        resumed = held.length + parts.length
        if order.usesContentDisposition { recordedName = record.name }
      }
      slot = consume opened
    }
    let plan = TransferPlan.make(held: held, ifRangeIsRefused: ifRangeIsRefused, known: known)
    asked = plan.asked
    var (start, end): (Int64?, Int64?)
    if case .rest(let from, _) = plan.asked { (start, end) = (from, parts.trunkEnd(total: nil)) }
    return TransferRequest(
      address: order.address, rangeStart: start, rangeEnd: end, headerLines: passingCaches(plan.headerLines))
  }

  /// What a conditional request may be about; nil for nothing.
  private var known: KnownVersion? { ignoresKnown || order.refreshes ? nil : order.known }

  /// The lines of a request, with the one that has caches on the way ask the origin (RFC 9111 §5.2.1.4) where the file is
  /// to be fetched anew.
  func passingCaches(_ lines: [String]) -> [String] {
    asksAfresh || order.refreshes ? lines + ["Cache-Control: no-cache"] : lines
  }

  // MARK: Judging

  mutating func accept(_ head: ResponseHead) throws(DownloadError) -> BodyDisposition {
    guard !isEnded else { throw .cancelled }
    switch ResumeDecision.decide(asked: asked, held: held, known: known, head: head, now: order.now()) {
    case .append(let offset, let end, let total):
      self.head = head
      return try append(head, at: offset, end: end, total: total)
    case .startOver(let total):
      self.head = head
      return try startOver(head, total: total)
    case .complete:
      answer = .complete
      return .drain
    case .unchanged:
      self.head = head
      answer = .unchanged
      return .drain
    case .askUnconditionally:
      ignoresKnown = true
      answer = .meaningless
      return .drain
    case .restart:
      try giveUpPart()
      throw again("the part cannot be continued")
    case .askWithoutIfRange:
      ifRangeIsRefused = true
      throw again("If-Range was answered with the whole file")
    case .reject(let error):
      let error = error.at(order.address)
      // Passing ones abort at once, so that whoever repeats attempts sees them with their Retry-After.
      if error.isPassing { throw error }
      answer = .rejected(error)
      return .drain
    }
  }

  private mutating func append(
    _ head: ResponseHead, at offset: Int64, end: Int64, total: Int64?
  ) throws(DownloadError) -> BodyDisposition {
    if try standsAside() { return .drain }
    try refuseIfTooLarge(total)
    guard expect(head) else { return .drain }
    held.total = total
    try setSpaceAside(from: offset, total: total)
    cursor = offset
    (isSlice, start) = (true, held.length)
    answer = .body(end: end)
    order.meter.begin(at: offset + partBytes, total: total)
    trunkRuns = true
    return isSplittable(head) ? .splittable : .write
  }

  private mutating func startOver(_ head: ResponseHead, total: Int64?) throws(DownloadError)
    -> BodyDisposition
  {
    if try standsAside() { return .drain }
    let coded = CodedBody.decide(head, name: finalName)
    let isDecoded = coded == .decode
    // A length that is said is that of the coded body.
    let total = isDecoded ? nil : total
    try refuseIfTooLarge(total)
    try giveUpPart()
    held = HeldPart(
      validator: Validator(head), total: total,
      encoding: coded == .plain ? nil : head["content-encoding"], isDecoded: isDecoded,
      answeredBy: head.effectiveURL)
    guard expect(head) else { return .drain }
    cursor = 0
    (isSlice, start) = (false, 0)
    try setSpaceAside(from: 0, total: total)
    if slot?.descriptor.isOpen == false { try slot?.open() }
    let isLong = total.map { $0 > Self.worthRecording } ?? false
    // A part that has a name has a record, which must name the version whose bytes now come.
    if isLong || slot?.isNamed == true {
      let record = record
      try slot?.show(record)
    }
    answer = .body(end: total)
    order.meter.begin(at: 0, total: total)
    trunkRuns = true
    if isDecoded { return .decode }
    return isSplittable(head) ? .splittable : .write
  }

  /// Ends a transfer whose head says that the file is longer than the user allows (`--max-filesize`): no byte is taken.
  private func refuseIfTooLarge(_ total: Int64?) throws(DownloadError) {
    if let total, let most = order.maxSize, total > most { throw tooLarge(total, most) }
  }

  func tooLarge(_ size: Int64, _ most: Int64) -> DownloadError {
    DownloadError(
      .tooLarge, cause: .detail("\(size) bytes, where at most \(most) are allowed"), activity: "receiving"
    ).at(order.address)
  }

  /// Of a file whose length nobody said, more has come than was set aside: some more is, as far as it is there, so that a
  /// body without end leaves alone what others were promised. The disk itself says when it is full.
  mutating func setMoreSpaceAside() throws(DownloadError) {
    guard held.total == nil, cursor >= spaceEnd else { return }
    promise = nil
    let (free, others) = (order.directory.folder.freeBytes(), order.directory.space.promised)
    let step = min(Self.spaceStep, max(0, (free ?? .max) - others))
    guard step > 0 || others == 0 else {
      throw DownloadError(
        .diskFull, cause: .detail("what is left is for the files that are under way"),
        path: order.directory.path(of: finalName), activity: "making room", neededBytes: Self.spaceStep
      ).at(order.address)
    }
    promise = order.directory.space.promise(step, free: free)
    spaceEnd = cursor + max(step, Self.worthRecording)
  }

  /// Looks for room before a large file begins, rather than after gigabytes.
  private mutating func setSpaceAside(from offset: Int64, total: Int64?) throws(DownloadError) {
    promise = nil
    spaceEnd = Self.worthRecording
    guard let total, total - offset > Self.worthRecording else { return }
    let (needed, free) = (total - offset - parts.length, order.directory.folder.freeBytes())
    guard let promise = order.directory.space.promise(needed, free: free) else {
      let others = order.directory.space.promised
      throw DownloadError(
        .diskFull,
        cause: .detail(
          others == 0 ? "it does not fit" : "it does not fit beside the files that are under way"),
        path: order.directory.path(of: finalName), activity: "making room",
        neededBytes: needed - max(0, (free ?? 0) - others)
      ).at(order.address)
    }
    self.promise = consume promise
  }

  /// Whether the policy is to leave what stands under the final name (`--on-conflict skip`).
  private mutating func standsAside() throws(DownloadError) -> Bool {
    let name = order.preferred(finalName)
    guard order.policy == .skip, order.own?.name != name, let standing = try order.directory.standing(name),
      !order.isAnothers(standing, order.owners ?? FileOwners())
    else { return false }
    answer = .skipped
    return true
  }

  /// The bytes go first and the record after: a record must never vouch for bytes of another version.
  mutating func giveUpPart() throws(DownloadError) {
    promise = nil
    // What was found may be longer than what is trusted of it.
    if held.length > 0 || (slot?.foundLength ?? 0) > 0 { try slot?.empty() }
    held = HeldPart()
    buffer = BlockBuffer()
    (parts, partBuffers, isSplit) = (FileParts(), [:], false)
    resumed = 0
    recordedName = nil
    proving = nil
  }

  func again(_ why: String) -> DownloadError {
    DownloadError(.range, cause: .detail(why), activity: "resuming", isPassing: true).at(order.address)
  }

  // MARK: Names

  /// The final name as far as it is known by now.
  var finalName: String { order.wantedName(head) ?? recordedName ?? order.nameByAddress }

  var record: PartialRecord {
    PartialRecord(
      owner: order.owner, held: held, name: finalName, done: isSplit ? parts.done(trunk: held.length) : nil)
  }
}
