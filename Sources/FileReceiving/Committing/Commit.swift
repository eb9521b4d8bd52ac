package import DownloadModel
import Glibc
import Synchronization
import SystemPackage

/// Gives a complete file its final name. Each attempt is one step without suspension, so that a request for the same
/// file never sees the state in between.
package struct Commit {
  package struct Committed: Equatable {
    package var outcome: DownloadOutcome
    package var row: CacheRow?
  }

  package enum Attempt: Equatable {
    case committed(Committed)
    /// The name exists, and the index was not yet asked whether the file is this URL's own.
    case ownershipUnknown
    /// Another file has the name: its bytes must be compared first.
    case twinPossible
    /// The file under the name was removed meanwhile.
    case again
  }

  let download: FileDownload
  let proof: Proof
  private let wanted: String
  package let preferred: String
  private var plan: DownloadPlan { download.plan }
  private var directory: OutputDirectory { plan.directory }
  /// Whether the list gives the name to this URL alone. If a file appears there during the run, another process with
  /// the same list wrote it, perhaps on another machine.
  private var isOfLine: Bool { plan.rules.names != nil && FileNaming.areSame(wanted, plan.nameByAddress) }

  package init(_ download: FileDownload, proof: Proof) {
    self.download = download
    self.proof = proof
    wanted = download.look { $0.finalName }
    preferred = download.plan.preferred(wanted)
  }

  /// Tries the wanted name, then what the policy says if another file has it.
  package func attempt(
    _ ownership: DownloadPlan.Ownership, _ owners: FileOwners?, looksForTwin: Bool
  ) throws(DownloadError) -> Attempt {
    let policy = plan.conflictPolicy
    let row = plan.isIndexed ? try row() : nil
    // Before the file is visible: another loop may check the same name at this moment.
    if policy != .rename && policy != .fail || plan.rules.names != nil && !isOfLine { try give() }
    // The file was intact at the check. A change between the check and the rename would be lost, as in any program.
    if case .known(let own?) = ownership,
      FileNaming.areSame(own.wanted, wanted) || FileNaming.areSame(own.name, preferred),
      isToReplace(own, looksForTwin: looksForTwin),
      let committed = try take(own.name, replacing: true, row?.keeping(own))
    {
      return .committed(committed)
    }
    if let committed = try take(preferred, replacing: false, row) { return .committed(committed) }
    guard case .known = ownership, let owners else { return .ownershipUnknown }
    return try settle(owners, row, looksForTwin: looksForTwin)
  }

  /// Applies the policy to a file that has the wanted name and is not this URL's own (contract, `--on-conflict`;
  /// HTTP rule 22). The policy applies only to files that dlm did not write: two URLs each get their own file under
  /// every policy.
  private func settle(_ owners: FileOwners, _ row: CacheRow?, looksForTwin: Bool) throws(DownloadError) -> Attempt {
    guard let standing = try directory.standing(preferred) else { return .again }
    let isOfAnotherAddress = plan.isOfAnotherAddress(standing, owners)
    switch plan.conflictPolicy {
    case .overwrite where !isOfAnotherAddress:
      return try replace(owners, row).map { .committed($0) } ?? .again
    case .skip where !isOfAnotherAddress:
      let outcome = outcome(.skipped, preferred, size: max(0, standing.identity.size))
      try discard()
      return .committed(Committed(outcome: outcome))
    default:
      if looksForTwin { return .twinPossible }
      guard plan.mayNumber else {
        // Received bytes are kept for a run that may replace the file; a copy is not.
        if download.look({ $0.source != nil }) { try discard() }
        throw plan.taken(preferred)
      }
      return .committed(try number(row, displacedBy: isOfAnotherAddress ? nil : preferred))
    }
  }

  /// Whether the URL's own file is replaced. If its names or permissions changed, the user may own it now (`chmod +x`):
  /// it stays if its bytes are equal.
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

  /// - Parameter other: the name that this file did not get, because a file of no URL has it.
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

  /// - Returns: `nil` if the name exists.
  private func take(
    _ name: String, replacing: Bool, _ row: CacheRow?
  ) throws(DownloadError) -> Committed? {
    var row = row?.named(name)
    let named = try download.access { receiver throws(DownloadError) in
      try receiver.take(name, replacing: replacing)
    }
    guard let named else { return nil }
    row?.changed = named
    var outcome = outcome(.fetched, name, size: download.length)
    // The URL's own file may have another name: its user's.
    outcome.isNumbered = directory.isNumbered || !replacing && !FileNaming.areSame(name, wanted)
    return Committed(outcome: outcome, row: row)
  }

  /// For the other loops (`OutputDirectory.give`).
  private func give() throws(DownloadError) {
    if let file = try download.access({ receiver throws(DownloadError) in try receiver.standing() }) {
      directory.give(file.identity, to: plan.rowKey)
    }
  }

  private func discard() throws(DownloadError) {
    try download.access { receiver throws(DownloadError) in try receiver.discard() }
  }

  private func row() throws(DownloadError) -> CacheRow? {
    let (file, head, held, digest, askedAt, source) = try download.access {
      receiver throws(DownloadError) in
      (
        try receiver.standing(), receiver.head, receiver.part.held, receiver.part.comparedDigest,
        receiver.askedAt, receiver.source
      )
    }
    guard let file else { return nil }
    if let source { return copied(source, file, head, askedAt, digest) }
    var freshness = head.map(FreshnessFields.init) ?? FreshnessFields()
    // Without a validator, dlm recognises the file as its own but downloads it again each time. The same applies to a
    // file that may have been cut short: a 304 confirms the server's file, not this one.
    let mayBeReused = proof > .nothing && !freshness.forbidsStoring
    if !mayBeReused { freshness = FreshnessFields(vary: freshness.vary) }
    return CacheRow(
      key: plan.rowKey, name: wanted, wanted: wanted, identity: file.identity,
      changed: ChangeTime(of: file), validator: mayBeReused ? held.validator : Validator(),
      fetchedAt: askedAt, usedAt: plan.rules.now(),
      status: head?.status, freshness: freshness, effectiveURL: held.effectiveURL, trust: mark(of: held),
      digest: CacheRow.digest(proof, digest))
  }

  /// Steered bytes count as the owner's only if the user's own digest proved them (HTTP rule 48).
  private func mark(of held: HeldPart) -> TrustMark {
    let usual = plan.trust[held.effectiveURL]
    if proof == .digest, plan.request.provenance == .user,
      plan.isProvable(named: wanted, total: held.total, byUser: true)
    {
      return plan.trust.proved ?? usual
    }
    return held.trust.isSteered ? held.trust : usual
  }

  /// The row of a copy: the fields of its source apply to it too, renewed by a 304 if the server was asked.
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

  // MARK: Existing files with the same bytes

  /// Adopts an existing file with exactly the downloaded bytes, under any number, that belongs to no other URL
  /// (HTTP rule 22). It may be from before the cache was cleared. Blocks for as long as the disk needs.
  func adopt(_ owners: FileOwners) throws(DownloadError) -> Committed? {
    let length = download.length
    // The preferred name first, so that two runs over the same files choose the same names.
    let standing = try twin(preferred, owners, length: length, mayBeYoung: isOfLine || plan.mayStandAlready)
    if let standing { return try adopt(standing, as: preferred) }
    guard plan.mayNumber else { return nil }
    let likeness = try download.access { receiver throws(DownloadError) in
      try receiver.part.withFile("reading") { file throws(Errno) in try file.likeness(length) }
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

  /// The file under a name, if it has the bytes of this file and belongs to no other URL.
  private func twin(
    _ name: String, _ owners: FileOwners, length: Int64, mayBeYoung: Bool
  ) throws(DownloadError) -> StandingFile? {
    do {
      let other = try directory.folder.open(name, O_RDONLY | O_NONBLOCK)
      let standing = try other.standing()
      // Its change time is recent only because its part's name was just removed.
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
    download.look { receiver in
      var outcome = DownloadOutcome(
        kind: kind, path: directory.path(of: name), size: size, transferred: receiver.transferred,
        resumed: receiver.resumed, proof: proof)
      if kind == .fetched { outcome.remark = receiver.remark }
      if proof == .digest {
        outcome.algorithm = receiver.part.comparedDigest?.algorithm ?? plan.request.pieces?.algorithm
      }
      return outcome
    }
  }
}
