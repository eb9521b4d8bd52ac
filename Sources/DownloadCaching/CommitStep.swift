import DownloadModel
import FileReceiving
import Synchronization
import SystemPackage

/// The steps after a file is complete, confirmed, or to be copied: verify, name and record it.
struct CommitStep {
  let shared: SharedConfiguration
  private var configuration: CacheConfiguration { shared.configuration }
  let resources: CacheResources
  let hits: CacheHits
  let index: IndexSession

  /// Verifies a complete file and gives it its name, if neither needs a wait.
  /// - Returns: `nil` if one does; then `finish` must follow, which does all of it.
  func atOnce(_ download: FileDownload, _ proof: Proof) throws(DownloadError) -> DownloadOutcome? {
    let plan = download.plan
    let verdict = download.verdict
    guard verdict == .none || verdict == .match, plan.request.pieces == nil, !configuration.syncs, !index.isFull,
      !index.mayStore(fileOf: download.length), download.doubted == nil
    else { return nil }
    try check(download)
    guard let proof = try Verification.judge(verdict, proof, of: download, insteadOf: nil, { index.addStored($0) })
    else { return nil }
    if configuration.receiving.usesRemoteTime { try download.stamp() }
    let attempt = try Commit(download, proof: proof).attempt(plan.files.ownership, plan.owners, looksForTwin: true)
    guard case .committed(let committed) = attempt else { return nil }
    remember(committed, of: download)
    return committed.outcome
  }

  private func check(_ download: FileDownload) throws(DownloadError) {
    try download.plan.expectedTypes?.check(download)
    try download.checkDeclaredSize()
  }

  /// For later requests of this run and of others.
  private func remember(_ committed: Commit.Committed, of download: FileDownload) {
    if committed.outcome.kind == .skipped { return }
    let plan = download.plan
    let entry = MemoryCache.Entry(
      name: committed.outcome.name, size: committed.outcome.size, identity: committed.row?.identity,
      changed: committed.row?.changed, trust: plan.trust.own)
    resources.memory.withLock { $0.remember(entry, for: plan.request.key) }
    guard let row = committed.row else { return }
    index.add(row)
    index.keepClaim(of: download)
  }

  /// Verifies a complete file and gives it its name.
  /// - Returns: `nil` if its bytes were wrong and it must be downloaded again.
  nonisolated(nonsending) func finish(
    _ download: FileDownload, _ proof: Proof, copyOf source: CacheRow? = nil
  ) async throws(DownloadError) -> DownloadOutcome? {
    let plan = download.plan
    try check(download)
    var verdict = download.verdict
    if case .unread(let expected) = verdict {
      verdict = try await resources.worker.verdict(on: download, expected)
    }
    if let pieces = plan.request.pieces, verdict != .match {
      verdict = try await resources.worker.verdict(verdict, on: download, by: pieces)
    }
    let last = verdict.isWrong ? await index.row(Verification.rejectedKey(download), named: "") : nil
    guard
      let proof = try Verification.judge(verdict, proof, of: download, insteadOf: last, { index.addStored($0) })
    else { return nil }
    if configuration.receiving.usesRemoteTime { try download.stamp() }
    // The data first: after a power cut, a name must not refer to lost bytes.
    if configuration.syncs { try await resources.syncer.sync(download) }
    let committed = try await commit(Commit(download, proof: proof), plan)
    remember(committed, of: download)
    var fillsStore = false
    if let row = committed.row {
      if let doubted = download.doubted { await discredit(doubted) }
      fillsStore = keep(row, download, source, index.store(for: row))
    }
    if configuration.syncs { try await resources.syncer.syncNames(plan.directory) }
    if index.isFull { await index.flush() }
    if fillsStore { await index.store?.flush(index) }
    return committed.outcome
  }

  /// Asks the index only if the name exists, which is rare.
  /// - Throws: `.disk`, `.folder`, `.conflict`; `.cancelled` while files are compared.
  private nonisolated(nonsending) func commit(
    _ commit: Commit, _ plan: DownloadPlan
  ) async throws(DownloadError) -> Commit.Committed {
    var ownership = plan.files.ownership
    var owners = plan.owners
    var looksForTwin = true
    while true {
      switch try commit.attempt(ownership, owners, looksForTwin: looksForTwin) {
      case .committed(let committed): return committed
      case .again: continue
      case .twinPossible:
        if let owners, let twin = try await resources.worker.adopt(for: commit, owners) { return twin }
        looksForTwin = false
        // Only the answer may have given the name of this URL's own file.
        let named = await index.row(plan.rowKey, named: commit.preferred)
        if let named, named.name == commit.preferred { ownership = .known(named) }
      case .ownershipUnknown:
        if owners == nil { owners = await index.owners(in: plan.directory) }
        // The index was empty at the start, but this run has written rows since.
        if ownership == .unknown { ownership = .known(await index.row(plan.rowKey, named: commit.preferred)) }
      }
    }
  }

  /// Discredits a row whose copy had a wrong checksum, after the server sent bytes with the right one.
  @inline(never)
  private nonisolated(nonsending) func discredit(_ source: CacheRow) async {
    // At once, because the store may be about to put in another file under the same key.
    index.addStored(source.discredited)
    await index.flush()
  }

  /// Notes a file that was downloaded, or copied from `source`, for the store. Returns whether the store must be filled
  /// now.
  @inline(never)
  private func keep(
    _ row: CacheRow, _ download: FileDownload, _ source: CacheRow?, _ store: StoreKeeper?
  ) -> Bool {
    guard var entry = source, entry.key.isStored else {
      return store?.note(row, of: download.plan, download.answer.head, index) == true
    }
    // The entry that was used last is evicted last.
    entry.fields.usedAt = row.usedAt
    entry.fields.digest = row.digest ?? entry.digest
    if download.answer.head != nil, row.trust.mayRenew(entry.trust) {
      // The server has confirmed the entry (RFC 9111 §4.3.4).
      let selected = index.fingerprint.selected(row)
      entry.change { entry in
        entry.trust = row.trust
        entry.selection = selected.selection
        entry.fetchedAt = row.fetchedAt
        entry.freshness = row.freshness
        entry.validator = row.validator
      }
    }
    index.addStored(entry)
    return false
  }

  /// Handles a 304 (RFC 9110 §15.4.5).
  /// - Returns: `nil` if that file has since changed on this disk, or has the wrong bytes.
  nonisolated(nonsending) func confirm(_ download: FileDownload) async throws(DownloadError) -> DownloadOutcome? {
    let plan = download.plan
    let answer = download.answer
    if let own = plan.own {
      if own.isIntact(in: plan.directory) {
        let meter = download.meter
        abandon(download)
        let (row, isProved) = try await confirm(own, plan, answer)
        return hits.answer(row, CacheRequest(plan, meter), isProved ? .digest : nil)
      }
    } else {
      guard let source = plan.elsewhere else {
        throw DownloadError(.badResponse, cause: .http(status: 304), activity: "receiving").at(plan.address)
      }
      if let outcome = try await copy(source, to: download) {
        await endStored(plan, answer)
        return outcome
      }
    }
    try download.startAgain(without: .knownVersion)
    return nil
  }

  @inline(never)
  nonisolated(nonsending) func standIn(for download: FileDownload) async -> DownloadOutcome? {
    guard let row = hits.standIn(for: download) else { return nil }
    let plan = download.plan
    let meter = download.meter
    var outcome: DownloadOutcome?
    if plan.own == nil {
      outcome = await copy(row, inPlaceOf: download, meter)
    } else if row.isIntact {
      outcome = hits.answer(row, CacheRequest(plan, meter), nil)
    }
    if outcome?.kind != .skipped { outcome?.remark = .stale }
    return outcome
  }

  func abandon(_ download: FileDownload) {
    do { try download.abandon() } catch {
      index.warn(CacheWarning(.partialNotKept, error))
    }
  }

  // MARK: Copies of other files

  /// Answers with a copy, without a request.
  /// - Returns: `nil` if the source has changed or has the wrong bytes: its server must be asked.
  nonisolated(nonsending) func copyUnasked(
    _ source: CacheRow, _ basis: CacheLookup.Basis, to download: FileDownload
  ) async throws(DownloadError) -> DownloadOutcome? {
    do throws(DownloadError) {
      // This stages the file in the output folder; the returned request is not sent.
      _ = try download.nextTransfer()
      if var outcome = try await copy(source, to: download) {
        if basis == .stale, outcome.kind != .skipped { outcome.remark = .stale }
        return outcome
      }
      guard !shared.receiving.mayAsk else {
        try download.startAgain(without: .knownVersion)
        return nil
      }
      let activity = CacheLookup.activity(isOffline: configuration.offline)
      throw DownloadError(.cache, "the file on disk has changed, or cannot be read", activity).at(download.plan.address)
    } catch {
      abandon(download)
      throw error
    }
  }

  /// Copies a file for a failed download, whose part stays for the next run.
  /// - Returns: `nil` if it cannot be copied; the user is warned.
  private nonisolated(nonsending) func copy(
    _ source: CacheRow, inPlaceOf download: FileDownload, _ meter: TransferMeter
  ) async -> DownloadOutcome? {
    let standIn = FileDownload(download.plan, meter: meter, resumes: false)
    defer { abandon(standIn) }
    do {
      // This stages the file in the output folder; the returned request is not sent.
      _ = try standIn.nextTransfer()
      return try await copy(source, to: standIn)
    } catch {
      if error.code != .cancelled {
        index.warn(CacheWarning(.noStandIn, path: FilePath(error.path ?? source.path), detail: error.reason))
      }
      return nil
    }
  }

  /// In bytes. Up to this length, changing threads would take longer than the copy.
  private static let shortCopy: Int64 = 1 << 16

  /// - Returns: `nil` if the source has changed, or has the wrong bytes and a server may be asked for better ones.
  private nonisolated(nonsending) func copy(_ source: CacheRow, to download: FileDownload) async throws(DownloadError)
    -> DownloadOutcome?
  {
    let isFilled =
      if source.identity.size > Self.shortCopy {
        try await resources.worker.fill(download, from: source)
      } else {
        try download.copy(source)
      }
    guard isFilled, var outcome = try await finish(download, source.proof, copyOf: source) else { return nil }
    if outcome.kind == .fetched { outcome.kind = .copied }
    return outcome
  }

  // MARK: Confirmed files (304)

  /// A head, and when its request was sent, in seconds since 1970.
  private typealias Answer = (head: ResponseHead?, askedAt: Int64)

  /// - Returns: the row, and whether a checksum proved the file.
  /// - Throws: `.unproven`.
  private nonisolated(nonsending) func confirm(
    _ own: CacheRow, _ plan: DownloadPlan, _ answer: Answer
  ) async throws(DownloadError) -> (row: CacheRow, isProved: Bool) {
    let expected = plan.expectedDigest(named: own.wanted, nil)
    if expected == nil, own.proof < configuration.receiving.requiredProof {
      throw Verification.unproven(own.proof, configuration.receiving.requiredProof).at(plan.address)
    }
    let row = index.stamped(own, answer.head)
    if row.changed != own.changed { index.addStored(row) }
    let trust = plan.trust[own.effectiveURL]
    if let head = answer.head, trust.mayRenew(own.trust) {
      await endStored(plan, answer)
      var renewed = row.renewed(by: head, askedAt: answer.askedAt, digest: expected)
      renewed.fields.trust = trust
      if !configuration.fields.forbidsStoring {
        await renew(row, to: renewed)
        if let store = index.store(for: renewed), store.note(renewed, of: plan, head, isConfirmed: true, index) {
          await store.flush(index)
        }
      }
    }
    return (row, expected != nil || configuration.receiving.requiredProof == .digest)
  }

  /// A 304 that forbids storing ends the reuse of all the URL's stored answers that it may renew (RFC 9111 §4.3.4,
  /// §5.2.2.5).
  private nonisolated(nonsending) func endStored(_ plan: DownloadPlan, _ answer: Answer) async {
    guard let head = answer.head, FreshnessFields(head).forbidsStoring else { return }
    await index.flush()
    let address = plan.rowKey.address
    for row in await index.ask({ $0.noted(of: address) }) ?? []
    where plan.trust[row.effectiveURL].mayRenew(row.trust) {
      index.addStored(row.renewed(by: head, askedAt: answer.askedAt, digest: nil))
    }
  }

  /// Stores the fields that a 304 renews (RFC 9111 §4.3.4) and the compared checksum, unless they are unchanged.
  /// Without a lifetime, the time of the request does not matter.
  private nonisolated(nonsending) func renew(_ row: CacheRow, to renewed: CacheRow) async {
    let saysNew =
      renewed.freshness != row.freshness || renewed.digest != row.digest || renewed.trust != row.trust
      || renewed.mayAnswer != row.mayAnswer || renewed.freshness.namesLifetime
      || configuration.freshness.guesses || row.isUsedAgain(at: renewed.fetchedAt)
    if saysNew, index.add(renewed) { await index.flush() }
  }
}
