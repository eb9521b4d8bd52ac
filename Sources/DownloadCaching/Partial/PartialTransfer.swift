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
  private(set) var transferred: Int64 = 0
  /// Bytes of an earlier run that are still in use.
  private(set) var resumed: Int64 = 0
  private var asked = TransferPlan.Asked.whole
  private var ifRangeIsRefused = false
  /// Offset in the file of the body's next byte; behind `held.length` while a tail is compared.
  private var cursor: Int64 = 0
  /// Whether the body under way is that of a 206, and the length held when it began.
  private(set) var isSlice = false
  /// Whether the server was asked for bytes behind an end that proved nothing.
  var hasAskedForMore = false
  private(set) var start: Int64 = 0
  /// The name that the part's first answer gave: a later one (416) may not repeat it.
  var recordedName: String?
  var isEnded = false
  /// Space set aside for what is still to come; nil for short files.
  private var promise: SpacePromise?
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
    case skipped
    /// Told at the end, so that the short body of an error page does not cost the connection.
    case rejected(DownloadError)
  }

  /// A file of this length or less is not worth a record: killed, it starts over.
  static let worthRecording: Int64 = 1 << 20
  /// The same for a body whose length nobody said. Pages made on the fly are mostly shorter.
  static let worthRecordingUnmeasured: Int64 = 1 << 16

  init(_ order: FileOrder) { self.order = order }

  // MARK: Asking

  mutating func next() throws(DownloadError) -> TransferRequest {
    guard !isEnded else { throw .cancelled }
    answer = .none
    if slot == nil {
      let opened = try PartialSlot(in: order.directory, for: order.owner, base: order.nameByAddress)
      if let record = opened.found {
        held = record.held(length: opened.foundLength)
        resumed = held.length
        if order.usesContentDisposition { recordedName = record.name }
      }
      slot = consume opened
    }
    let plan = TransferPlan.make(
      held: held, ifRangeIsRefused: ifRangeIsRefused, known: ignoresKnown ? nil : order.reusable?.validator)
    asked = plan.asked
    var start: Int64?
    if case .rest(let from, _) = plan.asked { start = from }
    let lines = asksAfresh ? plan.headerLines + ["Cache-Control: no-cache"] : plan.headerLines
    return TransferRequest(address: order.address, rangeStart: start, headerLines: lines)
  }

  // MARK: Judging

  mutating func accept(_ head: ResponseHead) throws(DownloadError) -> BodyDisposition {
    guard !isEnded else { throw .cancelled }
    switch ResumeDecision.decide(asked: asked, held: held, head: head, now: order.now()) {
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
    guard expect(head) else { return .drain }
    held.total = total
    try setSpaceAside(from: offset, total: total)
    cursor = offset
    (isSlice, start) = (true, held.length)
    answer = .body(end: end)
    order.meter.begin(at: offset, total: total)
    return .write
  }

  private mutating func startOver(_ head: ResponseHead, total: Int64?) throws(DownloadError)
    -> BodyDisposition
  {
    if try standsAside() { return .drain }
    try giveUpPart()
    guard expect(head) else { return .drain }
    held = HeldPart(
      validator: Validator(head), total: total,
      encoding: head.isIdentityEncoded ? nil : head["content-encoding"],
      answeredBy: head.answeredByWithoutQuery)
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
    return .write
  }

  /// Looks for room before a large file begins, rather than after gigabytes.
  private mutating func setSpaceAside(from offset: Int64, total: Int64?) throws(DownloadError) {
    promise = nil
    guard let total, total - offset > Self.worthRecording else { return }
    let (needed, free) = (total - offset, order.directory.folder.freeBytes())
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
    guard order.policy == .skip, order.own?.name != finalName,
      try order.directory.isTaken(finalName)
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
    resumed = 0
    recordedName = nil
    proving = nil
  }

  private func again(_ why: String) -> DownloadError {
    DownloadError(.range, cause: .detail(why), activity: "resuming", isPassing: true).at(order.address)
  }

  // MARK: Writing

  mutating func write(_ bytes: UnsafeRawBufferPointer) throws(DownloadError) {
    guard case .body(let end) = answer, !isEnded else { throw .cancelled }
    order.meter.add(bytes.count)
    transferred += Int64(bytes.count)
    let isTooLong = end.map { Int64(bytes.count) > $0 - cursor } ?? false
    // The good part is kept, whatever follows it (http.md 6).
    var good = isTooLong ? UnsafeRawBufferPointer(rebasing: bytes.prefix(Int((end ?? 0) - cursor))) : bytes
    if cursor < held.length { good = try compareTail(good) }
    if !good.isEmpty { try append(good) }
    if isTooLong { throw DownloadError(.longBody, activity: "receiving", isPassing: true).at(order.address) }
    if cursor > Self.worthRecordingUnmeasured, held.total == nil, slot?.isNamed == false {
      let record = record
      try slot?.show(record)
    }
  }

  private mutating func append(_ bytes: UnsafeRawBufferPointer) throws(DownloadError) {
    // Also after a failure: what reached the disk is good.
    let start = cursor
    defer {
      held.length = cursor
      promise?.use(cursor - start)
      if proving != nil {
        proving?.take(UnsafeRawBufferPointer(rebasing: bytes.prefix(Int(cursor - start))), at: start)
      }
    }
    do throws(Errno) { try slot?.descriptor.write(bytes, at: &cursor) } catch {
      throw order.directory.failure(
        error, "writing", slot?.names.part ?? order.nameByAddress,
        needed: held.total.map { $0 - cursor } ?? Int64(bytes.count) - (cursor - start)
      ).at(order.address)
    }
  }

  /// Compares bytes with those that the part ends in.
  /// - Returns: what lies behind them.
  private mutating func compareTail(
    _ bytes: UnsafeRawBufferPointer
  ) throws(DownloadError) -> UnsafeRawBufferPointer {
    let count = min(bytes.count, Int(held.length - cursor))
    let there: [UInt8]
    do throws(Errno) { there = try slot?.descriptor.read(count, at: cursor) ?? [] } catch {
      throw order.directory.failure(error, "reading", slot?.names.part ?? order.nameByAddress).at(
        order.address)
    }
    guard bytes.prefix(count).elementsEqual(there) else {
      try giveUpPart()
      throw again("the file has changed since its first part came")
    }
    cursor += Int64(count)
    return UnsafeRawBufferPointer(rebasing: bytes.dropFirst(count))
  }

  // MARK: Names

  /// The final name as far as it is known by now.
  var finalName: String { order.wantedName(head) ?? recordedName ?? order.nameByAddress }

  var record: PartialRecord { PartialRecord(owner: order.owner, held: held, name: finalName) }
}
