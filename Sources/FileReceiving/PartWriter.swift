import DownloadModel
import Glibc
import SystemPackage

/// The bytes of a file on their way through buffers into the staged file, and the metadata that describes them.
struct PartWriter: ~Copyable {
  private let plan: DownloadPlan
  /// The version of the bytes. Their number is in `segments`, and `validator` has its validator.
  private var version = HeldPart()
  /// The answer that the bytes are from, if its validator was not read yet: most short files need none.
  private var unread: ResponseHead?
  /// The final name as far as it is known, without the list's number. Kept, because a later answer (416) may not repeat
  /// it.
  var name: String
  var segments = SegmentMap()
  private var staged: StagedFile?
  private var buffer = BlockBuffer()
  private var furtherBuffers: [Int: BlockBuffer] = [:]
  private var metadataPace = MetadataPace()
  private var space: SpaceReservation
  private var digest = DigestCheck(nil)

  /// A body of at most this length gets no metadata before it has taken two seconds: after a SIGKILL it starts over.
  static let worthMetadata: Int64 = 1 << 20
  /// The same for a body of unknown length. Dynamic pages are mostly shorter.
  private static let worthMetadataUnmeasured: Int64 = 1 << 16

  init(_ plan: DownloadPlan) {
    self.plan = plan
    name = plan.nameByAddress
    space = SpaceReservation(plan.directory.space)
  }

  var held: HeldPart {
    var held = version
    held.validator = validator
    held.length = segments.length
    held.total = segments.total
    return held
  }

  var encoding: String? { version.encoding }
  var isDecoded: Bool { version.isDecoded }
  var validator: Validator { unread.map { Validator($0) } ?? version.validator }

  var written: Int64 { segments.length + segments.writtenFurther }
  var isStaged: Bool { staged != nil }
  var isNamed: Bool { look { $0.isNamed } == true }
  var isOpen: Bool { look { $0.descriptor.isOpen } == true }

  /// The finished file that a killed run left under both names.
  var finished: FileIdentity? { look { $0.finished } ?? nil }

  /// Reads the staged file. `?.` does not work on a noncopyable value.
  func look<Value, Failure: Error>(_ body: (borrowing StagedFile) throws(Failure) -> Value) throws(Failure) -> Value? {
    switch staged {
    case .some(let file): try body(file)
    case .none: nil
    }
  }

  // MARK: Version of the bytes

  mutating func stage(resumes: Bool) throws(DownloadError) {
    let opened = try StagedFile(plan, resumes: resumes)
    // A part that may not be continued stays until an answer replaces it.
    if let metadata = opened.found, case let held = metadata.held(length: opened.foundLength),
      case let isProvable = plan.isProvable(named: metadata.name, total: held.total),
      held.mayBeContinued(under: plan.trust, isProvable: isProvable),
      isProvable || !plan.leftTLS(held) && (metadata.done == nil || held.validator.ifRange != nil)
    {
      version = held
      segments = metadata.segments(length: opened.foundLength) ?? SegmentMap(length: held.length, total: held.total)
      // The user's name takes precedence over a server's.
      if plan.rules.useContentDisposition, plan.request.outputName == nil { name = metadata.name }
    } else if opened.found != nil, opened.foundLength > 0 {
      plan.rules.onRestart?(plan.request, .notContinued)
    }
    staged = consume opened
  }

  /// Drops the held bytes. Call it before new metadata is written, which must never describe bytes of another version.
  mutating func giveUp() throws(DownloadError) {
    space.giveBack()
    // The part on disk may be longer than the bytes that are trusted.
    if segments.length > 0 || (staged?.foundLength ?? 0) > 0 { try staged?.empty() }
    segments.startOver()
    version = HeldPart()
    unread = nil
    name = plan.nameByAddress
    buffer = BlockBuffer()
    furtherBuffers = [:]
    digest = DigestCheck(nil)
  }

  /// Marks wrong bytes of a complete file as missing.
  mutating func drop(_ ranges: [Range<Int64>]) throws(DownloadError) {
    segments.drop(ranges)
    digest = DigestCheck(digest.expected)
    try writeMetadata()
  }

  /// - Parameter head: the answer whose validator the version has; `nil` if `version` has its own.
  mutating func begin(_ version: HeldPart, from head: ResponseHead?, name: String?) {
    self.version = version
    unread = head
    if let name { self.name = name }
    segments.total = version.total
  }

  mutating func open(needing space: Int64?) throws(DownloadError) {
    try reserve(space)
    if !isOpen { try staged?.open() }
    // A part with a name has metadata, which must describe the version that is received now.
    if isNamed || space.map({ $0 > Self.worthMetadata }) == true { try writeMetadata() }
  }

  mutating func reserve(_ needed: Int64?) throws(DownloadError) {
    try space.begin(needed, for: name, in: plan.directory)
  }

  /// - Parameter head: of an answer that may come from another source, whose validator the file then takes; `nil`
  ///   without mirrors.
  mutating func go(on trust: RequestTrust, from head: ResponseHead?) throws(DownloadError) {
    let before = version
    if let head, head.effectiveName != version.effectiveURL {
      unread = head
      version.effectiveURL = head.effectiveName
    }
    // Bytes that a list steered stay marked so, whichever source sends the rest.
    if !version.trust.isSteered { version.trust = trust[version.effectiveURL] }
    // Before this run writes a byte beside bytes that were received under other conditions.
    if version != before { try writeMetadata() }
  }

  /// Reserves disk space for a body of unknown length, and writes metadata once it is long enough.
  mutating func growUnmeasured(to position: Int64) throws(DownloadError) {
    let rest = version.isDecoded ? SpaceReservation.reserve : 0
    try space.grow(to: position, for: name, in: plan.directory, leaving: rest)
    if position > Self.worthMetadataUnmeasured, !version.isDecoded, staged?.isNamed == false { try writeMetadata() }
  }

  /// Gives the part its visible name if it has none, and writes the metadata beside it.
  mutating func writeMetadata() throws(DownloadError) {
    metadataPace.metadataWritten(waiting: segments.bufferedFurther)
    let metadata = ResumeMetadata(
      address: plan.rowKey.address, held: held, name: name, done: segments.isSplit ? segments.done : nil)
    try staged?.show(metadata)
  }

  // MARK: Bytes

  /// - Parameter isShort: true to write the bytes at once if the buffer is empty. A short file is then one write.
  mutating func append(_ bytes: UnsafeRawBufferPointer, to id: Int, isShort: Bool) throws(DownloadError) {
    if isShort, buffer.count == 0 {
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

  /// Counts received bytes of further segments. Saves all of these often enough that a SIGKILL loses little.
  mutating func tend(_ count: Int) throws(DownloadError) {
    guard metadataPace.received(Int64(count), ofFileOf: segments.total ?? 0) else { return }
    for id in segments.further { try flush(id) }
    try writeMetadata()
  }

  private mutating func withBuffer<Value>(of id: Int, _ body: (inout BlockBuffer) -> Value) -> Value {
    id == Segment.first ? body(&buffer) : body(&furtherBuffers[id, default: BlockBuffer()])
  }

  mutating func flush(_ id: Int) throws(DownloadError) {
    guard let segment = segments[id], segment.received > segment.written else { return }
    // Moved out during the call, because `put` changes the rest of this value.
    var waiting = BlockBuffer()
    withBuffer(of: id) { swap(&waiting, &$0) }
    defer { withBuffer(of: id) { swap(&waiting, &$0) } }
    try waiting.drain { bytes throws(DownloadError) in try put(bytes, to: id) }
  }

  private mutating func put(_ bytes: UnsafeRawBufferPointer, to id: Int) throws(DownloadError) {
    guard let start = segments[id]?.written else { return }
    var offset = start
    var failure: Errno?
    do { try staged?.descriptor.write(bytes, at: &offset) } catch { failure = error }
    // Also after a failure: the bytes that reached the disk are valid.
    segments.write(id, to: offset)
    space.use(offset - start)
    if id == Segment.first {
      digest.take(UnsafeRawBufferPointer(rebasing: bytes.prefix(Int(offset - start))), at: start)
    }
    if let failure {
      segments.dropBuffered(of: id)
      let rest = Int64(bytes.count) - (offset - start)
      // No byte of a decoded body is kept, so the disk will not stay full.
      if version.isDecoded, failure == .noSpace {
        throw plan.directory.full(name, "it does not fit once decoded", needed: rest)
      }
      let needed = id == Segment.first ? segments.total.map { $0 - offset } ?? rest : rest
      throw plan.directory.failure(failure, "writing", staged?.names.part ?? name, needed: needed)
    }
    if segments.isSplit, metadataPace.wrote(offset - start, of: id, ofFileOf: segments.total ?? 0) {
      try writeMetadata()
    }
  }

  mutating func release(_ id: Int) throws(DownloadError) {
    try flush(id)
    if id != Segment.first { furtherBuffers[id] = nil }
    segments.release(id)
  }

  mutating func takeSegment(of id: Int, from offset: Int64) throws(DownloadError) -> Int? {
    guard segments.total != nil else { return nil }
    try flush(Segment.first)
    // The metadata lists the start of the file first, so the start must not be empty.
    guard segments.length > 0 else { return nil }
    let wasSplit = segments.isSplit
    guard let taken = segments.take(id, from: offset) else { return nil }
    // Before a byte is written after a gap: otherwise the file's length on disk would claim the gap too.
    if !wasSplit { try writeMetadata() }
    return taken
  }

  mutating func copy(_ source: CacheRow) throws(DownloadError) -> Bool {
    let copied = try withFile("copying") { file throws(Errno) in
      try file.copy(source, mayClone: plan.directory.mayClone)
    }
    guard copied == source.identity.size else {
      // Copied bytes must not remain after a shorter body from the server.
      try staged?.empty()
      return false
    }
    segments.write(Segment.first, to: source.identity.size)
    return true
  }

  // MARK: Checksum

  mutating func compare(with expected: ContentDigest?) {
    // With the same checksum, the bytes that this run wrote are already hashed.
    if digest.expected != expected { digest = DigestCheck(expected) }
  }

  var comparedDigest: ContentDigest? { digest.expected }

  /// `nil` without an expected checksum.
  var verdict: DigestVerdict? { digest.verdict(of: segments.length) }

  // MARK: The file

  @discardableResult
  func withFile<Value>(
    _ activity: String, _ body: (borrowing Descriptor) throws(Errno) -> Value
  ) throws(DownloadError) -> Value? {
    do { return try look { file throws(Errno) in try body(file.descriptor) } } catch {
      throw plan.directory.failure(error, activity, look { $0.names.part } ?? name)
    }
  }

  func read(_ count: Int, at offset: Int64) throws(DownloadError) -> [UInt8] {
    try withFile("reading") { file throws(Errno) in try file.read(count, at: offset) } ?? []
  }

  mutating func commit(as name: String, replacing: Bool) throws(DownloadError) -> ChangeTime? {
    // Only a rename replaces a file, and a rename needs a named part.
    if replacing, !isNamed { try writeMetadata() }
    return try staged?.commit(as: name, replacing: replacing)
  }

  mutating func discard() throws(DownloadError) { try staged?.discard() }

  /// Keeps the part under its visible name if it can be resumed, otherwise nothing. Returns the number of kept bytes.
  mutating func leave() throws(DownloadError) -> Int64 {
    guard isOpen else { return 0 }
    if written == 0 {
      if staged?.foundLength == 0 { try discard() }
      return 0
    }
    if segments.isSplit { try writeMetadata() }
    try save()
    return isNamed ? written : 0
  }

  /// Names the part if it can be resumed. A part that has its name keeps it.
  mutating func save() throws(DownloadError) {
    guard written > 0, !isNamed, TransferPlan.make(held: held, ifRangeIsRefused: false, known: nil).asked != .whole
    else { return }
    try writeMetadata()
  }

  mutating func release() { staged?.release() }

  /// Reads what a closed download left for the next attempt.
  func readLeft(_ size: Int, at offset: Int64) throws(DownloadError) -> [UInt8] {
    let name = look { $0.names.part } ?? name
    do { return try plan.directory.folder.open(name, O_RDONLY).read(size, at: offset) } catch {
      if error == .noSuchFileOrDirectory { return [] }
      throw plan.directory.failure(error, "reading", name)
    }
  }
}

extension PartWriter {
  /// Buffers received bytes, because a long write costs half as much per byte. libcurl delivers at most 16 KiB at a
  /// time.
  struct BlockBuffer {
    /// Blocks end at multiples of this in the file. A SIGKILL loses at most one block of a segment.
    static let length = 256 * 1024

    private var bytes: [UInt8] = []

    var count: Int { bytes.count }

    /// Buffers as many bytes as fit before the block's end, and returns their number.
    /// - Parameter offset: of the first of these bytes in the file, directly after the buffered ones.
    mutating func take(_ piece: UnsafeRawBufferPointer, at offset: Int64) -> Int {
      let taken = min(Self.length - Int(offset % Int64(Self.length)), piece.count)
      if bytes.isEmpty { bytes.reserveCapacity(Self.length) }
      bytes.append(contentsOf: piece.prefix(taken))
      return taken
    }

    static func ends(at offset: Int64) -> Bool { offset % Int64(length) == 0 }

    /// Passes the buffered bytes to `body` without a copy. The buffer is empty afterwards, also if `body` throws.
    mutating func drain<Failure: Error>(_ body: (UnsafeRawBufferPointer) throws(Failure) -> Void) throws(Failure) {
      defer { bytes.removeAll(keepingCapacity: true) }
      try bytes.span.bytes.withUnsafeBytes(body)
    }
  }

  /// Decides when the metadata of a split file must be written again, so that a SIGKILL loses little. Pure.
  struct MetadataPace {
    // Since the last write of the metadata: bytes written to the file, by segment; bytes received for further segments.
    private var written: [Int: Int64] = [:]
    private var arrived: Int64 = 0

    /// Bytes of one segment that the metadata may lack, beside a buffered block.
    private static let buffered = 2 * Int64(BlockBuffer.length)

    /// A SIGKILL loses less than 1 MiB; of a large file 0.4 %, but at most 8 MiB: there each write of the metadata is a
    /// larger part of the time.
    private static func most(of total: Int64) -> Int64 { max(1 << 20, min(8 << 20, total / 256)) }

    /// - Returns: whether the metadata is due.
    mutating func wrote(_ bytes: Int64, of id: Int, ofFileOf total: Int64) -> Bool {
      written[id, default: 0] += bytes
      return written[id, default: 0] >= Self.most(of: total) - Self.buffered
    }

    /// Counts received bytes of further segments: many slow ones fill no block for a long time.
    /// - Returns: whether to flush every segment's buffer and write the metadata.
    mutating func received(_ bytes: Int64, ofFileOf total: Int64) -> Bool {
      arrived += bytes
      return arrived >= Self.most(of: total)
    }

    /// - Parameter waiting: bytes of further segments that are still in buffers.
    mutating func metadataWritten(waiting: Int64) {
      written = [:]
      arrived = waiting
    }
  }

  /// The comparison of one file with its expected checksum, if it has one.
  struct DigestCheck: ~Copyable, Sendable {
    let expected: ContentDigest?
    private var hasher: ContentHasher?
    /// The number of bytes hashed so far, from the start of the file.
    private var hashed: Int64 = 0

    init(_ expected: ContentDigest?) {
      self.expected = expected
      if let expected { hasher = ContentHasher(expected.algorithm) }
    }

    /// Hashes bytes only if they follow those hashed so far. Bytes that an earlier run left are not hashed here.
    mutating func take(_ bytes: UnsafeRawBufferPointer, at offset: Int64) {
      guard offset == hashed, hasher != nil else { return }
      hasher?.update(bytes)
      hashed += Int64(bytes.count)
    }

    func verdict(of length: Int64) -> DigestVerdict? {
      guard let expected else { return nil }
      switch hasher {
      case .some(let hasher) where hashed == length: return DigestVerdict(expected: expected, found: hasher.finish())
      default: return .unread(expected)
      }
    }
  }
}
