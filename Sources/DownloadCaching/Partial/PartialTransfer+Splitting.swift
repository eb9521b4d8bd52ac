import DownloadModel
import SystemPackage

/// One file filled by several transfers: the trunk from its start, parts further on.
extension PartialTransfer {
  /// A body with less to come is not worth a second connection.
  static let worthSplitting: Int64 = 1 << 20
  /// Bytes of one span that a record may lack: with what waits in a buffer, a SIGKILL costs a transfer no MiB.
  private static let worthNoting: Int64 = (1 << 20) - 2 * Int64(BlockBuffer.length)

  /// Whether others may fetch parts of the body that has begun: the server knows ranges and names the version
  /// (http.md 5, 8).
  func isSplittable(_ head: ResponseHead) -> Bool {
    guard let total = held.total, total - cursor >= Self.worthSplitting, held.encoding == nil,
      held.validator.ifRange != nil, !refusesParts
    else { return false }
    return isSlice || head["accept-ranges"]?.lowercased() == "bytes"
  }

  var openSpans: [OpenSpan] {
    guard !isEnded, let total = held.total else { return [] }
    return parts.open(trunk: cursor, trunkRuns: trunkRuns, total: total).map { span in
      var span = span
      span.position += partBuffers[span.id].map { Int64($0.count) } ?? 0
      return span
    }
  }

  /// Bytes that the parts have received.
  var partBytes: Int64 { partBuffers.values.reduce(parts.length) { $0 + Int64($1.count) } }

  /// - Returns: the part's number; nil if the span has changed meanwhile.
  mutating func takePart(of span: Int, from offset: Int64) throws(DownloadError) -> Int? {
    guard !isEnded, let total = held.total, held.validator.ifRange != nil, !refusesParts else { return nil }
    try flush()
    // A record vouches for the start of the file first of all.
    guard held.length > 0 else { return nil }
    let received = partBuffers[span].map { Int64($0.count) + (parts[span]?.position ?? 0) } ?? 0
    guard offset >= received,
      let id = parts.take(span, from: offset, trunk: held.length, trunkRuns: trunkRuns, total: total)
    else { return nil }
    if !isSplit {
      isSplit = true
      // Before a byte is written behind the start: else the file's length would vouch for the gap.
      let record = record
      try slot?.show(record)
    }
    return id
  }

  /// The request for what a part still lacks.
  mutating func next(part id: Int) throws(DownloadError) -> TransferRequest {
    try flush(part: id)
    guard !isEnded, let part = parts[id], part.position < part.end,
      let ifRange = held.validator.fitForHeaders.ifRange
    else { throw .enough }
    let end = piece.end(from: part.position, to: part.end)
    parts.ask(id, upTo: end)
    return TransferRequest(
      address: order.address, rangeStart: part.position, rangeEnd: end,
      headerLines: passingCaches(["If-Range: \(ifRange)"]))
  }

  /// The same rules as for the rest of a file, of which this is a piece.
  mutating func accept(_ head: ResponseHead, part id: Int) throws(DownloadError) {
    guard !isEnded, let part = parts[id] else { throw .enough }
    var held = held
    held.length = part.position
    let decision = ResumeDecision.decide(
      asked: .rest(from: part.position, proof: .ifRange), held: held, head: head, now: order.now())
    switch decision {
    case .append: return
    case .reject(let error): throw error.at(order.address)
    default:
      // A cache that has not got all of it yet; or who promised ranges does not know them. The next one would be no better.
      refusesParts = true
      throw DownloadError(
        .range, cause: .detail("it answers requests for a part with something else"), activity: "splitting"
      ).at(order.address)
    }
  }

  mutating func write(_ bytes: UnsafeRawBufferPointer, part id: Int) throws(DownloadError) {
    guard !isEnded, let part = parts[id] else { throw .enough }
    var waiting = partBuffers.removeValue(forKey: id) ?? BlockBuffer()
    var cursor = part.position + Int64(waiting.count)
    var rest = UnsafeRawBufferPointer(rebasing: bytes.prefix(Int(max(0, part.end - cursor))))
    let hasSurplus = rest.count < bytes.count
    order.meter.add(rest.count)
    transferred += Int64(bytes.count)
    while !rest.isEmpty {
      let taken = waiting.take(rest, at: cursor)
      cursor += Int64(taken)
      rest = UnsafeRawBufferPointer(rebasing: rest.dropFirst(taken))
      if BlockBuffer.ends(at: cursor) { try flush(&waiting, part: id) }
    }
    partBuffers[id] = waiting
    arrived += Int64(bytes.count)
    if arrived >= worthKeeping { try keepAll() }
    // Its end was given to another since it was asked for.
    if hasSurplus { throw .enough }
  }

  /// What a SIGKILL may cost of all parts together; more of a large file, whose record would else be written all the time.
  private var worthKeeping: Int64 { max(1 << 20, min(8 << 20, (held.total ?? 0) / 256)) }

  /// Writes what waits of every part, and the record. Of many slow parts none has a block full for a long time: of 8 MiB
  /// once more than half was lost.
  private mutating func keepAll() throws(DownloadError) {
    for id in Array(partBuffers.keys) { try flush(part: id) }
    try show()
  }

  private mutating func show() throws(DownloadError) {
    unrecorded = [:]
    arrived = partBuffers.values.reduce(0) { $0 + Int64($1.count) }
    let record = record
    try slot?.show(record)
  }

  /// Where the trunk must stop, which first overtakes the parts of which nothing has come.
  /// - Parameter next: behind the bytes that have arrived.
  mutating func trunkEnd(total: Int64?, next: Int64) -> Int64? {
    while let first = parts.parts.first, next >= first.start, first.isTaken, first.position == first.start,
      (partBuffers[first.id]?.count ?? 0) == 0
    {
      partBuffers[first.id] = nil
      parts.overtake(first.id)
    }
    return parts.trunkEnd(total: total)
  }

  /// - Returns: whether all of the part is there.
  mutating func isWhole(part id: Int) throws(DownloadError) -> Bool {
    try flush(part: id)
    guard let part = parts[id] else { return true }
    return part.position == part.end
  }

  /// Nobody fetches the part any more.
  mutating func release(part id: Int) throws(DownloadError) {
    try flush(part: id)
    partBuffers[id] = nil
    parts.release(id)
    absorb()
  }

  /// The trunk's transfer is over.
  mutating func endTrunk() throws(DownloadError) {
    trunkRuns = false
    try flush()
    absorb()
  }

  private mutating func absorb() {
    guard buffer.count == 0, !parts.isEmpty else { return }
    let length = parts.absorb(trunk: held.length)
    if length > held.length {
      held.length = length
      cursor = length
    }
  }

  private mutating func flush(part id: Int) throws(DownloadError) {
    guard var waiting = partBuffers.removeValue(forKey: id) else { return }
    try flush(&waiting, part: id)
    partBuffers[id] = waiting
  }

  private mutating func flush(_ waiting: inout BlockBuffer, part id: Int) throws(DownloadError) {
    guard waiting.count > 0, let start = parts[id]?.position else { return }
    let count = waiting.count
    var offset = start
    defer {
      parts.advance(id, to: offset)
      promise?.use(offset - start)
    }
    do throws(Errno) {
      try waiting.drain { bytes throws(Errno) in try slot?.descriptor.write(bytes, at: &offset) }
    } catch {
      throw writingFailed(error, needed: Int64(count) - (offset - start))
    }
    parts.advance(id, to: offset)
    try note(id, offset - start)
  }

  /// Writes the record anew when too much would be lost without.
  mutating func note(_ span: Int, _ bytes: Int64) throws(DownloadError) {
    unrecorded[span, default: 0] += bytes
    if unrecorded[span, default: 0] >= Self.worthNoting { try show() }
  }
}
