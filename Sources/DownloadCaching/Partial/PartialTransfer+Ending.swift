import DownloadModel
import Glibc
import SystemPackage

extension PartialTransfer {
  /// Judges the end of the transfer: lengths first, then what the end itself proves (http.md 6, 24).
  mutating func finish(_ receipt: TransferReceipt) throws(DownloadError) -> FinishedTransfer {
    guard !isEnded else { throw .cancelled }
    try flush()
    switch answer {
    case .none:
      throw DownloadError(.badResponse, cause: .detail("no answer"), activity: "receiving").at(order.address)
    case .rejected(let error): throw error
    case .unchanged: return .unchanged
    case .skipped: return .skipped
    case .complete: return .whole(.length)
    case .body where isSplit:
      try endTrunk()
      if held.length == held.total { return .whole(.length) }
      // Nobody got on: then the answer was no good.
      guard held.length > start else { throw short(held.total) }
      return .partly
    case .body(let end)
    where isSlice && held.length == end && held.length != held.total && held.length > start:
      // Nothing says yet that this is the end: not the 206 itself, which may be shorter than what was asked for.
      return .partly
    case .body(let end):
      if let expected = held.total ?? end, held.length != expected { throw short(expected) }
      if held.total != nil { return .whole(.length) }
      switch receipt.framing {
      case .length: return .whole(.length)
      case .marked: return .whole(.framing)
      case .closed: return .whole(.nothing)
      }
    }
  }

  private func short(_ expected: Int64?) -> DownloadError {
    DownloadError(
      .shortBody, cause: .detail("\(held.length) of \(expected ?? 0) bytes"), activity: "receiving",
      isPassing: true
    ).at(order.address)
  }

  /// Whether nothing is left to be asked for.
  ///
  /// A body that only the closing connection ended (or an HTTP/2 stream whose end libcurl 7.88 does not tell from a
  /// reset) may have been cut. A server that knows ranges can say: once the bytes behind the last are asked for, 416
  /// means that there are none.
  mutating func isWhole(after receipt: TransferReceipt) throws(DownloadError) -> Bool {
    let finished = try finish(receipt)
    guard finished == .whole(.nothing), !hasAskedForMore, held.length > 0, held.validator.ifRange != nil,
      head?["accept-ranges"]?.lowercased() == "bytes"
    else { return finished != .partly }
    hasAskedForMore = true
    return false
  }

  /// Gives the whole file its final name: without a pause in the middle, so that the cache can be asked for
  /// the same file before or after, but not in between.
  /// - Parameter beforeNaming: called with the row before each attempt at a name (the journal's line).
  mutating func place(
    _ ownership: Ownership, answeredBy: String?, proof: Proof, looksForTwin: Bool,
    beforeNaming: (CacheRow) -> Void
  ) throws(DownloadError) -> Placement {
    guard !isEnded else { throw .cancelled }
    let wanted = finalName
    self.proof = proof
    let row = order.isIndexed ? try row(wanted, answeredBy, proof) : nil
    if try take(wanted, replacing: false, row, beforeNaming) { return ended(wanted, wanted, row) }
    guard case .known(let own) = ownership else { return .ownershipUnknown }
    // Intact at this moment: between the look and the rename a change would be lost, as with every program.
    let ownName = own.flatMap { $0.wanted == wanted && $0.isIntact ? $0.name : nil }
    if let ownName, order.policy != .overwrite || ownName == wanted {
      if try take(ownName, replacing: true, row, beforeNaming) { return ended(ownName, wanted, row) }
    }
    switch order.policy {
    case .overwrite:
      _ = try take(wanted, replacing: true, row, beforeNaming)
      return ended(wanted, wanted, row)
    case .skip:
      try slotDiscard()
      let size = try order.directory.size(of: wanted)
      return .placed(outcome(.skipped, wanted, size: size), name: wanted, nil)
    case .rename, .ask:
      if looksForTwin, try order.directory.size(of: wanted) == held.length { return .mayBeThere }
      var number = order.directory.firstNumber(beside: wanted)
      while true {
        let name = FileNaming.alternative(wanted, number)
        if try take(name, replacing: false, row, beforeNaming) {
          order.directory.took(number, beside: wanted)
          return ended(name, wanted, row)
        }
        number += 1
      }
    }
  }

  /// The very bytes that were fetched stand there already, perhaps since before the cache was cleared: then a second
  /// copy beside them is of no use to anybody. Blocks for as long as the disk needs.
  mutating func adopt(answeredBy: String?) throws(DownloadError) -> Placement? {
    guard !isEnded else { throw .cancelled }
    let wanted = finalName
    let standing: FileIdentity?
    do throws(Errno) {
      let other = try order.directory.folder.open(wanted, O_RDONLY | O_NONBLOCK)
      standing = try slot?.descriptor.hasBytes(of: other) == true ? try other.identity() : nil
    } catch {
      // Whatever it is, it cannot be read: then it is another file.
      standing = nil
    }
    // A file of this run belongs to another address: both are to stand there, equal or not (http.md 22).
    guard let standing, standing.isRegularFile, standing.size == held.length,
      standing.modified < order.directory.opened
    else { return nil }
    var row = order.isIndexed ? try row(wanted, answeredBy, proof ?? .nothing) : nil
    row?.identity = standing
    try slotDiscard()
    return .placed(outcome(.unchanged, wanted, size: standing.size), name: wanted, row)
  }

  private mutating func take(
    _ name: String, replacing: Bool, _ row: CacheRow?, _ beforeNaming: (CacheRow) -> Void
  ) throws(DownloadError) -> Bool {
    if replacing, slot?.isNamed == false {
      let record = record
      try slot?.show(record)
    }
    if var row {
      row.name = name
      beforeNaming(row)
    }
    return try slot?.place(as: name, replacing: replacing) ?? false
  }

  private mutating func ended(_ name: String, _ wanted: String, _ row: CacheRow?) -> Placement {
    isEnded = true
    var row = row
    row?.name = name
    var outcome = outcome(.fetched, name, size: held.length)
    if name != wanted {
      outcome.renamedFrom = order.directory.path(of: wanted)
      outcome.mediaType = head?["content-type"]
    }
    return .placed(outcome, name: name, row)
  }

  private func outcome(_ kind: DownloadOutcome.Kind, _ name: String, size: Int64) -> DownloadOutcome {
    DownloadOutcome(
      kind: kind, path: order.directory.path(of: name), size: size, transferred: transferred,
      resumed: resumed, proof: proof)
  }

  private mutating func row(
    _ wanted: String, _ answeredBy: String?, _ proof: Proof
  ) throws(DownloadError) -> CacheRow? {
    let identity: FileIdentity?
    do throws(Errno) { identity = try slot?.descriptor.identity() } catch {
      throw order.directory.failure(error, "looking at", wanted)
    }
    guard let identity else { return nil }
    let freshness = head.map { FreshnessFields($0) } ?? FreshnessFields()
    // Without a validator the file is known as dlm's own, and fetched anew each time: also one that may have
    // been cut, since a 304 vouches for the server's file and not for ours.
    let mayBeReused = proof > .nothing && !freshness.forbidsStoring
    return CacheRow(
      key: order.rowKey, name: wanted, wanted: wanted, identity: identity,
      validator: mayBeReused ? held.validator : Validator(), fetchedAt: order.now(), freshness: freshness,
      answeredBy: answeredBy.flatMap { try? Address($0.prefix { $0 != "?" }).key },
      digest: proof == .digest ? proving.map { "\($0.expected)" } : nil)
  }

  /// The transfer ended early: what came is kept under a visible name if it can be resumed, and nothing else
  /// stays behind.
  mutating func abandon() throws(DownloadError) {
    guard !isEnded else { return }
    isEnded = true
    defer { slot?.release() }
    try flushAll()
    if case .skipped = answer, resumed == 0 { return try slotDiscard() }
    guard slot?.descriptor.isOpen == true else { return }
    if held.length == 0 { return try slotDiscard() }
    // A part that could not be continued anyway is not worth a name; one that has its name keeps it.
    if isSplit || slot?.isNamed == false && isResumable {
      let record = record
      try slot?.show(record)
    }
  }

  /// A disk that takes no more keeps what it has.
  private mutating func flushAll() throws(DownloadError) {
    guard slot?.descriptor.isOpen == true else { return }
    try endTrunk()
    for id in Array(partBuffers.keys) { try release(part: id) }
  }

  private var isResumable: Bool {
    TransferPlan.make(held: held, ifRangeIsRefused: false, known: nil).asked != .whole
  }

  private mutating func slotDiscard() throws(DownloadError) {
    isEnded = true
    try slot?.discard()
  }
}
