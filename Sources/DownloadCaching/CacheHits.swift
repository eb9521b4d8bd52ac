import DownloadModel
import FileReceiving
import Synchronization

/// Answers requests with existing files, by memory and by the index. Isolated state of one cache actor.
final class CacheHits {
  private let shared: SharedConfiguration
  private var rules: ReceivingRules { shared.configuration.receiving }
  private let resources: CacheResources
  private let index: IndexSession
  private let freshness = FreshnessReader()
  /// Whether the last file that was looked up answered its own request.
  private(set) var ownFilesAnswer = true

  init(_ shared: SharedConfiguration, _ resources: CacheResources, _ index: IndexSession) {
    self.shared = shared
    self.resources = resources
    self.index = index
  }

  // MARK: Finding

  /// A file that this run finished or found recently, if it still exists unchanged.
  @inline(never)
  func fromMemory(_ asked: CacheRequest) throws(DownloadError) -> DownloadOutcome? {
    let request = asked.request
    // A line's own type is judged by the file's bytes.
    guard request.expectedTypes == nil, let entry = resources.memory.withLock({ $0[request.key] }),
      entry.trust == asked.trust.own, request.allows(size: entry.size)
    else { return nil }
    guard let there = try asked.directory.standing(entry.name), entry.isThat(there) else {
      resources.memory.withLock { $0.forget(request.key) }
      return nil
    }
    asked.meter.begin(at: entry.size, total: entry.size)
    return DownloadOutcome(kind: .unchanged, path: asked.directory.path(of: entry.name), size: entry.size)
  }

  /// Answers with the request's own file if the index alone can decide. The request is then neither in flight nor
  /// claimed. Not tried after a file that was not the answer, so that files are not looked up twice.
  @inline(never)
  func atOnce(_ asked: CacheRequest) -> DownloadOutcome? {
    let request = asked.request
    guard ownFilesAnswer, request.checksum == nil, rules.checksums == nil, !hasCompany, expectedTypes(request) == nil
    else { return nil }
    guard let known = index.ownAtOnce(asked),
      rules.conflictPolicy(of: request).numbers
        || known.own.map({ FileNaming.areSame($0.name, $0.wanted) }) == true,
      case .hit(let row, let basis) = CacheLookup.decide(known, question(of: request), freshness)
    else {
      ownFilesAnswer = false
      return nil
    }
    return hit(row, asked, basis)
  }

  nonisolated(nonsending) func lookup(
    _ request: DownloadRequest, _ known: KnownFiles, before: KnownFiles?
  ) async throws(DownloadError) -> CacheLookup {
    var question = question(of: request)
    question.before = before
    question.began = hasCompany ? resources.began : nil
    if let own = known.own, let expected = expectedDigest(of: own, request), !rules.refresh {
      // Reads the bytes only if the index does not have this checksum for the file.
      let isNoted = own.digest == "\(expected)"
      question.hasDigest =
        isNoted ? true : try await resources.worker.digest(of: own, expected.algorithm) == expected
    }
    if let own = known.own, let types = expectedTypes(request) { question.hasType = try types.allows(own) }
    let lookup = CacheLookup.decide(known, question, freshness)
    if case .hit = lookup { ownFilesAnswer = true }
    return lookup
  }

  private func question(of request: DownloadRequest) -> CacheLookup.Question {
    CacheLookup.Question(
      now: rules.now(), requiredProof: rules.requiredProof, maxSize: rules.maxSize,
      declaredSize: request.declaredSize, refreshes: rules.refresh, isOffline: shared.configuration.offline,
      guesses: shared.configuration.freshness.guesses, directives: shared.directives)
  }

  private func expectedTypes(_ request: DownloadRequest) -> ExpectedTypes? {
    request.expectedTypes ?? rules.expectedTypes
  }

  var hasCompany: Bool { resources.claims?.hasCompany == true }

  private func expectedDigest(of row: CacheRow, _ request: DownloadRequest) -> ContentDigest? {
    request.checksum ?? rules.checksums.flatMap { $0.digest(of: row.name) ?? $0.digest(of: row.wanted) }
  }

  /// A file that cannot be read proves nothing, so it is downloaded.
  private nonisolated(nonsending) func has(_ row: CacheRow, _ expected: ContentDigest) async -> Bool {
    (try? await resources.worker.digest(of: row, expected.algorithm)) == expected
  }

  /// Reads a file whose names or permissions changed, if its checksum is known. Equal bytes make it intact again.
  nonisolated(nonsending) func proven(_ known: KnownFiles, _ asked: CacheRequest) async -> KnownFiles {
    guard known.own == nil, !rules.refresh, var row = known.written,
      let expected = expectedDigest(of: row, asked.request) ?? row.checksum.flatMap({ ContentDigest($0) }),
      let file = StandingFile.of(path: row.path), row.isOwn(file)
    else { return known }
    row.changed = ChangeTime(of: file)
    guard await has(row, expected) else { return known }
    row.fields.digest = "\(expected)"
    if index.records { index.addStored(row) }
    return KnownFiles(
      .known(row), own: row, elsewhere: known.elsewhere,
      ownReuse: index.fingerprint.reuse(of: row, under: asked.trust), elsewhereReuse: known.elsewhereReuse)
  }

  /// A file with the wanted name and the right checksum but without a row: from before the cache was cleared, or copied
  /// there by hand. It must belong to no other URL (HTTP rule 22).
  nonisolated(nonsending) func fileWithDigest(
    _ asked: CacheRequest, _ plan: DownloadPlan
  ) async throws(DownloadError) -> DownloadOutcome? {
    guard !rules.refresh else { return nil }
    let name = plan.preferred(plan.nameByAddress)
    guard let expected = plan.userDigest(named: plan.nameByAddress),
      let standing = try plan.directory.standing(name), standing.identity.isRegularFile
    else { return nil }
    let row = CacheRow(
      key: plan.rowKey, name: name, wanted: plan.nameByAddress, identity: standing.identity,
      changed: ChangeTime(of: standing), fetchedAt: rules.now(), trust: plan.trust.own, digest: "\(expected)")
    guard question(of: plan.request).allows(row),
      !plan.isOfAnotherAddress(standing, await index.owners(in: plan.directory)), await has(row, expected)
    else { return nil }
    plan.directory.give(standing.identity, to: plan.rowKey)
    if plan.isIndexed, index.add(row) { await index.flush() }
    return answer(row, asked, .digest)
  }

  /// The file that may be used because its server failed (RFC 9111 §4.2.4).
  func standIn(for download: FileDownload) -> CacheRow? {
    let plan = download.plan
    let question = question(of: plan.request)
    guard !rules.refresh, !plan.hasUserDigests, let row = plan.own ?? plan.elsewhere,
      question.isProved(row), question.allows(row), download.doubted == nil,
      index.fingerprint.reuse(of: row, under: plan.trust) == .asOwn,
      plan.expectedTypes.map({ (try? $0.allows(row)) == true }) ?? true,
      Freshness(of: row, at: question.now, guesses: false).mayStandIn(for: question.directives)
    else { return nil }
    return row
  }

  // MARK: Answering

  /// Answers with an existing file. The batch for the index may be full afterwards.
  @inline(never)
  func hit(_ row: CacheRow, _ asked: CacheRequest, _ basis: CacheLookup.Basis) -> DownloadOutcome {
    var row = row
    if basis == .digest {
      row = index.stamped(row, nil)
      let digest = expectedDigest(of: row, asked.request).map { "\($0)" }
      if row.digest != digest, index.records {
        row.fields.digest = digest
        index.addStored(row)
      }
    }
    if index.records, row.isUsedAgain(at: rules.now()) {
      row.fields.usedAt = rules.now()
      index.addStored(row)
    }
    // A fresh file is found by the index alone, and is not worth memory.
    var outcome = answer(row, asked, basis == .digest ? .digest : nil, remembers: basis != .fresh)
    if basis == .fresh { outcome.kind = .fresh }
    if basis == .stale { outcome.remark = .stale }
    return outcome
  }

  func answer(_ row: CacheRow, _ asked: CacheRequest, _ proof: Proof?, remembers: Bool = true) -> DownloadOutcome {
    let size = row.identity.size
    if remembers {
      let entry = MemoryCache.Entry(
        name: row.name, size: size, identity: row.identity, changed: row.changed, trust: asked.trust.own)
      resources.memory.withLock { $0.remember(entry, for: asked.request.key) }
    }
    asked.meter.begin(at: size, total: size)
    var outcome = DownloadOutcome(
      kind: .unchanged, path: asked.directory.path(of: row.name), size: size, proof: proof)
    if row.status == 204 { outcome.remark = .noContent }
    if proof == .digest { outcome.algorithm = expectedDigest(of: row, asked.request)?.algorithm }
    return outcome
  }
}
