package import DownloadModel
import Glibc
import Synchronization
import SystemPackage

/// Gives a whole file its final name. Each attempt is one step without suspension: a request for the same file never
/// sees the state in between.
package struct Commit {
  package struct Committed: Equatable {
    package var outcome: DownloadOutcome
    package var row: CacheRow?
  }

  package enum Attempt: Equatable {
    case committed(Committed)
    /// Something stands under the name, and the index was not yet asked whether it is this address's own.
    case ownershipUnknown
    /// Another file stands under the name: its bytes must be compared first.
    case twinPossible
    /// What stood there went away in the meantime.
    case again
  }

  let download: FileDownload
  let proof: Proof
  private let wanted: String
  package let preferred: String
  private var plan: DownloadPlan { download.plan }
  private var directory: OutputDirectory { plan.directory }
  /// Whether the list gives the name to this address alone. What came to stand there during the run is then of another
  /// process with the same list, on another machine, of which nothing else is known here.
  private var isOfLine: Bool { plan.rules.names != nil && FileNaming.areSame(wanted, plan.nameByAddress) }

  package init(_ download: FileDownload, proof: Proof) {
    self.download = download
    self.proof = proof
    wanted = download.look { $0.finalName }
    preferred = download.plan.preferred(wanted)
  }

  /// What stands under the wanted name and is not this address's own is met as the policy says (contract,
  /// `--on-conflict`; HTTP rule 22). The policy concerns only files that dlm did not write: two addresses each get
  /// their own file under every policy.
  package func attempt(
    _ ownership: DownloadPlan.Ownership, _ owners: FileOwners?, looksForTwin: Bool
  ) throws(DownloadError) -> Attempt {
    let policy = plan.conflictPolicy
    let row = plan.isIndexed ? try row() : nil
    // Before the file is visible: another loop may look at the same name at this moment.
    if policy != .rename && policy != .fail || plan.rules.names != nil && !isOfLine { try give() }
    // The file was intact at the check; a change between the check and the rename would be lost, as in any program.
    if case .known(let own?) = ownership,
      FileNaming.areSame(own.wanted, wanted) || FileNaming.areSame(own.name, preferred),
      isToReplace(own, looksForTwin: looksForTwin),
      let committed = try take(own.name, replacing: true, row?.keeping(own))
    {
      return .committed(committed)
    }
    if let committed = try take(preferred, replacing: false, row) { return .committed(committed) }
    guard case .known = ownership, let owners else { return .ownershipUnknown }
    guard let standing = try directory.standing(preferred) else { return .again }
    let isOfAnotherAddress = plan.isOfAnotherAddress(standing, owners)
    switch policy {
    case .overwrite where !isOfAnotherAddress:
      return try replace(owners, row).map { .committed($0) } ?? .again
    case .skip where !isOfAnotherAddress:
      let outcome = outcome(.skipped, preferred, size: max(0, standing.identity.size))
      try discard()
      return .committed(Committed(outcome: outcome))
    default:
      if looksForTwin { return .twinPossible }
      guard plan.mayNumber else {
        // What was received is kept for a run that may replace the file; a copy is not.
        if download.look({ $0.source != nil }) { try discard() }
        throw plan.taken(preferred)
      }
      return .committed(try number(row, displacedBy: isOfAnotherAddress ? nil : preferred))
    }
  }

  /// Whether the address's own file is replaced. One of which names or permissions have changed may be the user's by
  /// now (`chmod +x`): where it has the same bytes, it stays.
  private func isToReplace(_ own: CacheRow, looksForTwin: Bool) -> Bool {
    guard let standing = StandingFile.of(path: own.path), own.isOwn(standing) else { return false }
    return own.isIntact(standing) || (!looksForTwin && plan.conflictPolicy != .skip)
  }

  private func replace(
    _ owners: FileOwners, _ row: CacheRow?
  ) throws(DownloadError) -> Committed? {
    try directory.replacing.withLock { _ throws(DownloadError) in
      // Checked again under the lock: another loop may have committed its file there since.
      if let now = try directory.standing(preferred), plan.isOfAnotherAddress(now, owners) { return nil }
      return try take(preferred, replacing: true, row)
    }
  }

  /// - Parameter other: the name that this file did not get because of a file that belongs to no address.
  private func number(
    _ row: CacheRow?, displacedBy other: String?
  ) throws(DownloadError) -> Committed {
    try give()
    var number = plan.firstFallback(beside: wanted)
    while true {
      let name = FileNaming.alternative(wanted, number)
      if var committed = try take(name, replacing: false, row) {
        directory.numbers.took(number, beside: wanted)
        if let other {
          committed.outcome.renamedFrom = directory.path(of: other)
          committed.outcome.mediaType = download.look { $0.head }?["content-type"]
        }
        return committed
      }
      number += 1
    }
  }

  // MARK: Steps

  /// - Returns: nil if something stands under the name.
  private func take(
    _ name: String, replacing: Bool, _ row: CacheRow?
  ) throws(DownloadError) -> Committed? {
    var row = row?.named(name)
    let named = try download.access { reception throws(DownloadError) in
      try reception.take(name, replacing: replacing)
    }
    guard let named else { return nil }
    row?.changed = named
    var outcome = outcome(.fetched, name, size: download.look { $0.length })
    outcome.isNumbered = !FileNaming.areSame(name, wanted) || directory.isNumbered
    return Committed(outcome: outcome, row: row)
  }

  /// For the other loops: see `OutputDirectory.give`.
  private func give() throws(DownloadError) {
    if let file = try download.access({ reception throws(DownloadError) in try reception.standing() }) {
      directory.give(file.identity, to: plan.rowKey)
    }
  }

  private func discard() throws(DownloadError) {
    try download.access { reception throws(DownloadError) in try reception.discard() }
  }

  private func row() throws(DownloadError) -> CacheRow? {
    let (file, head, held, digest, askedAt, source) = try download.access {
      reception throws(DownloadError) in
      (
        try reception.standing(), reception.head, reception.part.held, reception.part.comparedDigest,
        reception.askedAt, reception.source
      )
    }
    guard let file else { return nil }
    if let source { return copied(source, file, head, askedAt, digest) }
    var freshness = head.map(FreshnessFields.init) ?? FreshnessFields()
    // Without a validator, dlm knows the file as its own but fetches it anew each time. So it is for a file that may
    // have been cut short, since a 304 is about the server's file and not about ours.
    let mayBeReused = proof > .nothing && !freshness.forbidsStoring
    if !mayBeReused { freshness = FreshnessFields(vary: freshness.vary) }
    return CacheRow(
      key: plan.rowKey, name: wanted, wanted: wanted, identity: file.identity,
      changed: ChangeTime(of: file), validator: mayBeReused ? held.validator : Validator(),
      fetchedAt: askedAt, usedAt: plan.rules.now(),
      status: head?.status, freshness: freshness, effectiveURL: held.effectiveURL, trust: mark(of: held),
      digest: CacheRow.digest(proof, digest))
  }

  /// Bytes that a list steered are the owner's only where the user's own digest proved them (HTTP rule 48).
  private func mark(of held: HeldPart) -> TrustMark {
    let usual = plan.trust[held.effectiveURL]
    if proof == .digest, plan.request.provenance == .user,
      plan.isProvable(named: wanted, total: held.total, byUser: true)
    {
      return plan.trust.proved ?? usual
    }
    return held.trust.isSteered ? held.trust : usual
  }

  /// The row of a copy: what is known of its source holds for it too, renewed by a 304 if its server was asked.
  private func copied(
    _ source: CacheRow, _ file: StandingFile, _ head: ResponseHead?, _ askedAt: Int64, _ digest: ContentDigest?
  ) -> CacheRow {
    let proven = proof == .digest ? digest : nil
    var row = head.map { source.renewed(by: $0, askedAt: askedAt, digest: proven) } ?? source
    row.change { row in
      row.key = plan.rowKey
      row.identity = file.identity
      row.usedAt = plan.rules.now()
      row.name = wanted
      row.wanted = wanted
      row.sum = nil
      row.trust = plan.trust[row.effectiveURL]
      if let proven { row.digest = "\(proven)" }
    }
    return row
  }

  // MARK: The same bytes stand there already

  /// Adopts a file that stands there with exactly the bytes that were fetched, under any number, and is no other
  /// address's (HTTP rule 22), perhaps from before the cache was cleared. Blocks for as long as the disk needs.
  func adopt(_ owners: FileOwners) throws(DownloadError) -> Committed? {
    let length = download.look { $0.length }
    // The preferred name first, so that two runs over the same files give the same names.
    let standing = try twin(preferred, owners, length: length, mayBeYoung: isOfLine || plan.mayStandAlready)
    if let standing { return try adopt(standing, as: preferred) }
    guard plan.mayNumber else { return nil }
    let likeness = try download.access { reception throws(DownloadError) in
      try reception.part.withFile("reading") { file throws(Errno) in try file.likeness(length) }
    }
    guard let likeness else { return nil }
    for number in directory.numbers.numbers(of: wanted, like: likeness) {
      let name = FileNaming.alternative(wanted, number)
      guard !FileNaming.areSame(name, preferred),
        let standing = try twin(name, owners, length: length, mayBeYoung: false)
      else { continue }
      directory.numbers.gave(number, of: wanted, like: likeness)
      return try adopt(standing, as: name)
    }
    return nil
  }

  private func adopt(_ standing: StandingFile, as name: String) throws(DownloadError) -> Committed {
    var row = plan.isIndexed ? try row() : nil
    row?.changed = ChangeTime(of: standing)
    row?.change {
      $0.identity = standing.identity
      $0.name = name
    }
    directory.give(standing.identity, to: plan.rowKey)
    var outcome = outcome(.fetched, name, size: standing.identity.size)
    try discard()
    if outcome.remark != .noContent { outcome.remark = .sameAsHere }
    return Committed(outcome: outcome, row: row)
  }

  /// What stands under a name, if it has the bytes of this file and belongs to no other address.
  private func twin(
    _ name: String, _ owners: FileOwners, length: Int64, mayBeYoung: Bool
  ) throws(DownloadError) -> StandingFile? {
    do {
      let other = try directory.folder.open(name, O_RDONLY | O_NONBLOCK)
      let standing = try other.standing()
      // The name of its part was just removed, which made the file young.
      let isFinished = download.look { $0.part.finished } == standing.identity
      guard standing.identity.isRegularFile, standing.identity.size == length,
        mayBeYoung || isFinished || standing.changed < directory.opened,
        !plan.isOfAnotherAddress(standing, owners)
      else { return nil }
      return try download.sameBytes(as: other)
    } catch .canceled {
      throw .cancelled
    } catch {
      // A file that cannot be read counts as a different file.
      return nil
    }
  }

  private func outcome(_ kind: DownloadOutcome.Kind, _ name: String, size: Int64) -> DownloadOutcome {
    download.look { reception in
      var outcome = DownloadOutcome(
        kind: kind, path: directory.path(of: name), size: size, transferred: reception.transferred,
        resumed: reception.resumed, proof: proof)
      if kind == .fetched { outcome.remark = reception.remark }
      if proof == .digest {
        outcome.algorithm = reception.part.comparedDigest?.algorithm ?? plan.request.pieces?.algorithm
      }
      return outcome
    }
  }
}
