import DownloadModel
import Glibc
import Synchronization
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
    case .meaningless: return .partly
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
    guard finished == .whole(.nothing), !hasAskedForMore, held.length > 0, !held.isDecoded,
      held.validator.ifRange != nil,
      head?["accept-ranges"]?.lowercased() == "bytes"
    else { return finished != .partly }
    hasAskedForMore = true
    return false
  }

  /// Gives the whole file its server's time (`--remote-time`).
  mutating func stamp() throws(DownloadError) {
    guard let time = remoteTime else { return }
    do throws(Errno) { try slot?.descriptor.setModified(time) } catch {
      throw order.directory.failure(error, "setting the time of", slot?.names.part ?? finalName).at(
        order.address)
    }
  }

  /// Seconds since 1970; nil for the time at which it was written.
  private var remoteTime: Int64? {
    order.usesRemoteTime ? RemoteTime.seconds(held.validator.lastModified, now: order.now()) : nil
  }

  /// Gives the whole file its final name: without a pause in the middle, so that the cache can be asked for
  /// the same file before or after, but not in between.
  /// - Parameters:
  ///   - owners: whose the folder's files are; nil as long as nobody has asked.
  ///   - beforeNaming: called with the row before each attempt at a name (the journal's line).
  mutating func place(
    _ ownership: Ownership, _ owners: FileOwners?, proof: Proof, looksForTwin: Bool,
    beforeNaming: (CacheRow) -> Void
  ) throws(DownloadError) -> Placement {
    guard !isEnded else { throw .cancelled }
    let wanted = finalName
    self.proof = proof
    let row = order.isIndexed ? try row(wanted, proof) : nil
    // Before it can be seen: another loop may look at the same name this very moment.
    if order.policy != .rename { try give() }
    // Intact at this moment: between the look and the rename a change would be lost, as with every program.
    if case .known(let own?) = ownership, own.wanted == wanted, own.isIntact,
      order.policy != .overwrite || own.name == order.preferred(wanted),
      try take(own.name, replacing: true, row, beforeNaming)
    {
      return ended(own.name, wanted, row)
    }
    let preferred = order.preferred(wanted)
    if try take(preferred, replacing: false, row, beforeNaming) { return ended(preferred, wanted, row) }
    guard case .known = ownership, let owners else { return .ownershipUnknown }
    guard let standing = try order.directory.standing(preferred) else {
      // It went away this very moment.
      return try place(
        ownership, owners, proof: proof, looksForTwin: looksForTwin,
        beforeNaming: beforeNaming)
    }
    let isAnothers = order.isAnothers(standing, owners)
    switch Conflict.decide(order.policy, isAnothers: isAnothers, looksForTwin: looksForTwin) {
    case .replace:
      let isReplaced = try order.directory.replacing.withLock { _ throws(DownloadError) in
        // Looked at again under the lock: another loop may have put its file there since.
        guard let now = try order.directory.standing(preferred), order.isAnothers(now, owners) else {
          return try take(preferred, replacing: true, row, beforeNaming)
        }
        return false
      }
      if isReplaced { return ended(preferred, wanted, row) }
      return try place(
        ownership, owners, proof: proof, looksForTwin: looksForTwin,
        beforeNaming: beforeNaming)
    case .leave:
      try slotDiscard()
      return .placed(
        outcome(.skipped, preferred, size: max(0, standing.identity.size)), name: preferred, nil)
    case .lookForTwin: return .mayBeThere
    case .number:
      try give()
      var number = order.firstFallback(beside: wanted)
      while true {
        let name = FileNaming.alternative(wanted, number)
        if try take(name, replacing: false, row, beforeNaming) {
          order.directory.numbers.took(number, beside: wanted)
          return ended(name, wanted, row, displacedBy: isAnothers ? nil : preferred)
        }
        number += 1
      }
    }
  }

  /// The very bytes that were fetched stand there already, under whatever number, perhaps since before the cache was
  /// cleared: then a second copy beside them is of no use to anybody. Blocks for as long as the disk needs.
  /// - Returns: nil if they do not, or if what stands there was given to another address (http.md 22).
  mutating func adopt(_ owners: FileOwners) throws(DownloadError) -> Placement? {
    guard !isEnded else { throw .cancelled }
    let wanted = finalName
    let preferred = order.preferred(wanted)
    // Its own number first: so that two runs over the same files give the same names.
    let candidates =
      [preferred]
      + order.directory.numbers.names(of: wanted, length: held.length).filter {
        !$0.utf8.elementsEqual(preferred.utf8)
      }
    for name in candidates {
      guard
        let standing = try twin(
          name, owners, mayBeYoung: order.mayStandAlready && name.utf8.elementsEqual(preferred.utf8))
      else {
        continue
      }
      var row = order.isIndexed ? try row(wanted, proof ?? .nothing) : nil
      row?.identity = standing
      row?.name = name
      order.directory.give(standing)
      try slotDiscard()
      var outcome = outcome(.fetched, name, size: standing.size)
      outcome.remark = .sameAsHere
      return .placed(outcome, name: name, row)
    }
    return nil
  }

  /// What stands under a name, if it has the bytes of this file and belongs to nobody else.
  private mutating func twin(
    _ name: String, _ owners: FileOwners, mayBeYoung: Bool
  ) throws(DownloadError) -> FileIdentity? {
    do throws(Errno) {
      let other = try order.directory.folder.open(name, O_RDONLY | O_NONBLOCK)
      let standing = try other.standing()
      guard standing.identity.isRegularFile, standing.identity.size == held.length,
        mayBeYoung || standing.changed < order.directory.opened,
        !order.directory.isGiven(standing.identity),
        !owners.isOwned(standing.identity, besides: order.rowKey),
        try slot?.descriptor.hasBytes(of: other) == true
      else { return nil }
      guard let time = remoteTime else { return standing.identity }
      try other.setModified(time)
      return try other.identity()
    } catch .canceled {
      throw .cancelled
    } catch {
      // Whatever it is, it cannot be read: then it is another file.
      return nil
    }
  }

  /// Says that this file is an address's, where others must know: see `OutputDirectory.give`.
  private mutating func give() throws(DownloadError) {
    do throws(Errno) {
      if let identity = try slot?.descriptor.identity() { order.directory.give(identity) }
    } catch {
      throw order.directory.failure(error, "looking at", slot?.names.part ?? order.nameByAddress)
    }
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

  /// - Parameter other: the name that a file of nobody's kept this one from.
  private mutating func ended(
    _ name: String, _ wanted: String, _ row: CacheRow?, displacedBy other: String? = nil
  ) -> Placement {
    isEnded = true
    var row = row
    row?.name = name
    var outcome = outcome(.fetched, name, size: held.length)
    if let other {
      outcome.renamedFrom = order.directory.path(of: other)
      outcome.mediaType = head?["content-type"]
    }
    return .placed(outcome, name: name, row)
  }

  private func outcome(_ kind: DownloadOutcome.Kind, _ name: String, size: Int64) -> DownloadOutcome {
    var outcome = DownloadOutcome(
      kind: kind, path: order.directory.path(of: name), size: size, transferred: transferred,
      resumed: resumed, proof: proof)
    if kind == .fetched { outcome.remark = remark }
    return outcome
  }

  private var remark: DownloadOutcome.Remark? {
    if head?.status == 204 { return .noContent }
    if held.isDecoded { return .decoded }
    return held.encoding == nil ? nil : .stillCoded
  }

  private mutating func row(
    _ wanted: String, _ proof: Proof
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
      answeredBy: held.answeredBy,
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
