import DownloadModel
import SystemPackage

extension PartialTransfer {
  mutating func write(_ bytes: UnsafeRawBufferPointer) throws(DownloadError) {
    guard case .body(let end) = answer, !isEnded else { throw .cancelled }
    order.meter.add(bytes.count)
    transferred += Int64(bytes.count)
    let limit = parts.isEmpty ? end : trunkEnd(total: end, next: cursor + Int64(bytes.count))
    let isTooLong = limit.map { Int64(bytes.count) > $0 - cursor } ?? false
    // The good part is kept, whatever follows it (http.md 6).
    var good = isTooLong ? UnsafeRawBufferPointer(rebasing: bytes.prefix(Int((limit ?? 0) - cursor))) : bytes
    if cursor < held.length { good = try compareTail(good) }
    if !good.isEmpty { try append(good) }
    if let limit, limit != end, cursor >= limit {
      // From here on it is another transfer's, which counts them.
      order.meter.takeBack(bytes.count - good.count)
      throw .enough
    }
    if isTooLong { throw DownloadError(.longBody, activity: "receiving", isPassing: true).at(order.address) }
    if let most = order.maxSize, cursor > most {
      // What has no end has nothing that could be gone on from.
      try giveUpPart()
      throw tooLarge(cursor, most)
    }
    try setMoreSpaceAside()
    if cursor > Self.worthRecordingUnmeasured, held.total == nil, !held.isDecoded, slot?.isNamed == false {
      let record = record
      try slot?.show(record)
    }
  }

  private mutating func append(_ bytes: UnsafeRawBufferPointer) throws(DownloadError) {
    // Short files are written as they come: one piece, one call.
    if buffer.count == 0, cursor - start < Self.worthRecording {
      cursor = try put(bytes, at: cursor)
      return
    }
    var rest = bytes
    while !rest.isEmpty {
      let taken = buffer.take(rest, at: cursor)
      cursor += Int64(taken)
      rest = UnsafeRawBufferPointer(rebasing: rest.dropFirst(taken))
      if BlockBuffer.ends(at: cursor) { try flush() }
    }
  }

  /// Writes what waits.
  mutating func flush() throws(DownloadError) {
    guard buffer.count > 0 else { return }
    // Taken out meanwhile: `put` changes the rest of this value.
    var waiting = BlockBuffer()
    swap(&waiting, &buffer)
    defer { swap(&waiting, &buffer) }
    cursor = held.length  // where it stays if the disk takes nothing
    try waiting.drain { bytes throws(DownloadError) in cursor = try put(bytes, at: held.length) }
  }

  /// Writes the trunk's next bytes.
  /// - Returns: the offset behind them.
  private mutating func put(_ bytes: UnsafeRawBufferPointer, at start: Int64) throws(DownloadError) -> Int64 {
    var offset = start
    // Also after a failure: what reached the disk is good.
    defer {
      held.length = offset
      promise?.use(offset - start)
      if proving != nil {
        proving?.take(UnsafeRawBufferPointer(rebasing: bytes.prefix(Int(offset - start))), at: start)
      }
    }
    do throws(Errno) { try slot?.descriptor.write(bytes, at: &offset) } catch {
      cursor = offset
      throw writingFailed(
        error, needed: held.total.map { $0 - offset } ?? Int64(bytes.count) - (offset - start))
    }
    if isSplit { try note(OpenSpan.trunk, offset - start) }
    return offset
  }

  mutating func writingFailed(_ error: Errno, needed: Int64) -> DownloadError {
    order.directory.failure(error, "writing", slot?.names.part ?? order.nameByAddress, needed: needed).at(
      order.address)
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
}
