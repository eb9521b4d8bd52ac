// Long because: it holds the three tiers in the order in which they are tried, and the commit.

public import DownloadModel
import SystemPackage

/// The downloaded files: answers a request from memory, from the disk, or through the network.
///
///     open ──► memory ──► in flight ──► disk ──► missing: transfers fill it
///                                                   │
///     answered ◄────────── commit: verified, named, remembered
///
/// An actor on a network loop's thread, so that a download never changes threads. It must therefore not wait for
/// SQLite: it looks up what it can without waiting (`IndexReader`). The index is an actor of its own, which is asked
/// only where that is not enough, and receives new rows in batches. A file gets its final name in one synchronous step,
/// so that no other request sees a commit half done.
///
/// A run over several loops has one cache for each loop, and equal requests go to the same loop. So one actor alone
/// holds what is in flight, what was finished last and which rows the index does not have yet. `CacheResources` holds
/// what all loops share.
public actor DownloadCache: DownloadStore {
  private let configuration: CacheConfiguration
  private let shared: SharedConfiguration
  private let resources: CacheResources
  private nonisolated let executor: any SerialExecutor
  public nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }

  private var memory = MemoryCache()
  private var inFlight: [DownloadRequest.Key: InFlight] = [:]
  private let index: IndexSession
  private let store: StoreSession
  /// Whether the last file that was looked up was the answer to its own request.
  private var ownFilesAnswer = true
  private let freshness = FreshnessReader()
  private var openedDirectory: OutputDirectory?
  /// Counts the requests that ever waited for an equal one; the count identifies each of them.
  private var waited = 0

  /// Opens the table of what other processes have under way, and nothing else yet.
  /// - Parameters:
  ///   - executor: the transport's, so that transport and cache need not wait for each other's threads.
  public init(configuration: CacheConfiguration, executor: any SerialExecutor) {
    self.init(
      configuration,
      CacheResources(
        claimsFolder: configuration.claimsFolder,
        keyFolder: configuration.keyFolder ?? configuration.cacheFolder, now: configuration.now()), executor)
  }

  /// The same cache for another loop. Each must be closed.
  public nonisolated func sibling(executor: any SerialExecutor) -> DownloadCache {
    DownloadCache(configuration, resources, executor)
  }

  private init(
    _ configuration: CacheConfiguration, _ resources: CacheResources, _ executor: any SerialExecutor
  ) {
    self.configuration = configuration
    shared = SharedConfiguration(configuration)
    self.resources = resources
    self.executor = executor
    index = IndexSession(resources, configuration)
    store = StoreSession(resources, configuration, index)
    resources.enter(self)
  }

  /// Opens the output folder, which is made if missing, and the index. Called once before a run, so that an unusable
  /// folder is one failure and not one for each file.
  /// - Throws: `.folder` with errno and path.
  public func prepare() throws(DownloadError) { _ = try outputDirectory() }

  private func outputDirectory() throws(DownloadError) -> OutputDirectory {
    if let openedDirectory { return openedDirectory }
    index.open()
    let directory = try resources.directory(configuration.directory)
    openedDirectory = directory
    return directory
  }

  // MARK: The three tiers

  public func open(
    _ request: DownloadRequest, meter: TransferMeter
  ) async throws(DownloadError) -> OpenedDownload<FileDownload> {
    if let name = request.outputName { try checkName(name, request.address) }
    let trust = index.trust(of: request)
    if let outcome = try fromMemory(request, trust, meter) { return .answered(outcome) }
    if let flight = inFlight[request.key] { return try await join(flight, request, trust, meter) }
    if let outcome = try hitAtOnce(request, trust, meter) {
      if index.isFull { await index.flush() }
      return .answered(outcome)
    }
    return try await begin(request, trust, meter)
  }

  // A task keeps memory for its deepest call for as long as it waits, and thousands wait. What is rare, and what does
  // not wait, is therefore in functions of its own, so that a usual request holds few values.

  /// Waits for the answer to an equal request, or for the end of one with other credentials.
  @inline(never)
  private func join(
    _ flight: InFlight, _ request: DownloadRequest, _ trust: RequestTrust, _ meter: TransferMeter
  ) async throws(DownloadError) -> OpenedDownload<FileDownload> {
    let key = request.key
    var joined: InFlight? = flight
    while let flight = joined {
      switch await turn(at: flight, key, trust) {
      case .answer(let outcome): return .answered(Self.shared(outcome, meter))
      case .failure(let error): throw error
      case .askAnew:
        if let outcome = try fromMemory(request, trust, meter) { return .answered(outcome) }
        joined = inFlight[key]
      case .goOn(let download):
        download.look { $0.show(on: meter) }
        return .missing(download)
      }
    }
    return try await begin(request, trust, meter)
  }

  /// A file that this loop finished or found a moment ago, if it is still there unchanged.
  @inline(never)
  private func fromMemory(
    _ request: DownloadRequest, _ trust: RequestTrust, _ meter: TransferMeter
  ) throws(DownloadError) -> DownloadOutcome? {
    let key = request.key
    guard let entry = memory[key], entry.trust == trust.own else { return nil }
    let directory = try outputDirectory()
    guard let there = try directory.standing(entry.name), entry.isThat(there) else {
      memory.forget(key)
      return nil
    }
    meter.begin(at: entry.size, total: entry.size)
    return DownloadOutcome(kind: .unchanged, path: directory.path(of: entry.name), size: entry.size)
  }

  /// Waits for the task of an equal request that is in flight.
  private func turn(
    at flight: InFlight, _ key: DownloadRequest.Key, _ trust: RequestTrust
  ) async -> InFlight.Turn {
    waited += 1
    let number = waited
    return await withTaskCancellationHandler {
      _ = self  // without naming `self` here, Swift 6.3 infers that the operation runs on no actor
      return await withCheckedContinuation { continuation in
        // Cancelled before it was in the list: the handler below has run already, or will find nothing.
        if Task.isCancelled { return continuation.resume(returning: .failure(.cancelled)) }
        flight.wait(number, trust.own, continuation)
      }
    } onCancel: {
      // Unstructured, because a handler cannot wait for the actor.
      Task { await self.leave(number, key) }
    }
  }

  private func leave(_ number: Int, _ key: DownloadRequest.Key) { inFlight[key]?.leave(number) }

  /// The answer for a coalesced request: its own task transferred nothing. What is fresh for one is fresh for all,
  /// whether they came together or one after the other.
  private static func shared(_ outcome: DownloadOutcome, _ meter: TransferMeter) -> DownloadOutcome {
    var outcome = outcome
    if outcome.kind != .skipped, outcome.kind != .fresh { outcome.kind = .unchanged }
    outcome.transferred = 0
    outcome.resumed = 0
    meter.begin(at: outcome.size, total: outcome.size)
    return outcome
  }

  private func begin(
    _ request: DownloadRequest, _ trust: RequestTrust, _ meter: TransferMeter
  ) async throws(DownloadError) -> OpenedDownload<FileDownload> {
    let flight = InFlight(trust.own)
    inFlight[request.key] = flight
    do throws(DownloadError) {
      let opened = try await fromDisk(request, trust, meter)
      note(opened, of: request, flight)
      return opened
    } catch {
      land(request.key, .failure(error))
      throw error
    }
  }

  @inline(never)
  private func note(
    _ opened: OpenedDownload<FileDownload>, of request: DownloadRequest, _ flight: InFlight
  ) {
    switch opened {
    case .answered(let outcome): land(request.key, .success(outcome))
    case .missing(let download): flight.download = download
    }
  }

  /// Looks for the file on the disk, as far as the index knows of it; else begins a download.
  private func fromDisk(
    _ request: DownloadRequest, _ trust: RequestTrust, _ meter: TransferMeter
  ) async throws(DownloadError) -> OpenedDownload<FileDownload> {
    let directory = try outputDirectory()
    let rowKey = rowKey(request, directory)
    var claim: ProcessClaims.Claim?
    var before: KnownFiles?
    if let claims = resources.claims {
      let hash = rowKey.claim(isIndexed: index.records)
      do throws(ProcessClaims.ClaimedElsewhere) {
        claim = try claims.take(hash)
      } catch {
        before = await index.known(rowKey, trust, in: directory)
        claim = try await wait(for: error.process, request, claims, hash)
      }
    }
    // Asynchronous calls are skipped where there is nothing to wait for: each costs half a per cent of a small file's
    // time.
    let wasReading = index.isReading
    var atOnce = index.knownAtOnce(rowKey, trust, in: directory)
    if !wasReading, index.isReading { pauseReadingSoon() }
    if atOnce == nil {
      atOnce = await index.known(rowKey, trust, in: directory)
      if index.isReading { pauseReadingSoon() }
    }
    let known = atOnce ?? .nothing
    if known.isNothing, isFetchedIfUnknown(request) {
      let plan = plan(request, rowKey, trust, known, directory)
      return .missing(FileDownload(plan, meter: meter, claim: claim))
    }
    return try await look(up: request, rowKey, trust, known, before: before, claim, directory, meter)
  }

  /// Ends the transaction of lookups after those whose turn it is now.
  @inline(never)
  private func pauseReadingSoon() {
    // Unstructured, because it is for all of them: it stands behind their jobs in the loop's queue.
    Task { index.pauseReading() }
  }

  /// Whether a file of which the index knows nothing is fetched without looking at what stands in the folder.
  private func isFetchedIfUnknown(_ request: DownloadRequest) -> Bool {
    shared.mayAsk && configuration.conflictPolicy != .skip && configuration.checksums == nil
      && request.checksum == nil
  }

  @inline(never)
  private func plan(
    _ request: DownloadRequest, _ rowKey: RowKey, _ trust: RequestTrust, _ known: KnownFiles,
    _ directory: OutputDirectory, version: KnownVersion? = nil, owners: FileOwners? = nil
  ) -> DownloadPlan {
    DownloadPlan(
      request, shared, in: directory, rowKey: rowKey, trust: trust, files: known, known: version,
      owners: owners, isIndexed: index.records, mayStandAlready: request.isRepeat || hasCompany)
  }

  private func question(
    hasDigest: Bool? = nil, before: KnownFiles? = nil, hasCompany: Bool
  ) -> CacheLookup.Question {
    CacheLookup.Question(
      now: configuration.now(), hasDigest: hasDigest,
      requiredProof: configuration.requiredProof, maxSize: configuration.maxSize, before: before,
      began: hasCompany ? resources.began : nil, refreshes: configuration.refresh,
      isOffline: configuration.offline, guesses: configuration.freshness.guesses, directives: shared.directives)
  }

  private var hasCompany: Bool { resources.claims?.hasCompany == true }

  /// Answers with the request's own file where that needs no other knowledge: then nobody can wait for the request,
  /// here or in another process, and it is neither in flight nor claimed.
  ///
  /// Whatever else is known of the address, a hit stays one (`CacheLookup.decide`). Where the files of this run are no
  /// answers, the last one shows it, and they are not looked up twice.
  @inline(never)
  private func hitAtOnce(
    _ request: DownloadRequest, _ trust: RequestTrust, _ meter: TransferMeter
  ) throws(DownloadError) -> DownloadOutcome? {
    let directory = try outputDirectory()
    guard ownFilesAnswer, request.checksum == nil, configuration.checksums == nil, !hasCompany else { return nil }
    let wasReading = index.isReading
    let known = index.ownAtOnce(rowKey(request, directory), trust, in: directory)
    if !wasReading, index.isReading { pauseReadingSoon() }
    guard let known, case .hit(let row, let basis) = CacheLookup.decide(known, question(hasCompany: false), freshness)
    else {
      ownFilesAnswer = false
      return nil
    }
    return hit(row, request, trust, directory, meter, basis)
  }

  /// Answers with what is known of the file, or begins a download that relies on it.
  @inline(never)
  private func look(
    up request: DownloadRequest, _ rowKey: RowKey, _ trust: RequestTrust, _ known: KnownFiles,
    before: KnownFiles?, _ claim: consuming ProcessClaims.Claim?, _ directory: OutputDirectory, _ meter: TransferMeter
  ) async throws(DownloadError) -> OpenedDownload<FileDownload> {
    let hasChecksums = request.checksum != nil || configuration.checksums != nil
    let hasDigest =
      known.own == nil || !hasChecksums ? nil : try await hasExpectedDigest(known.own, request)
    let lookup = CacheLookup.decide(
      known, question(hasDigest: hasDigest, before: before, hasCompany: hasCompany), freshness)
    // Before a plan is made, which costs as much as the rest of a hit.
    if case .hit(let row, let basis) = lookup {
      ownFilesAnswer = true
      let outcome = hit(row, request, trust, directory, meter, basis)
      if index.isFull { await index.flush() }
      return .answered(outcome)
    }
    var version: KnownVersion?
    if case .ask(let known) = lookup { version = known }
    let plan = plan(
      request, rowKey, trust, known, directory, version: version,
      owners: configuration.conflictPolicy == .skip ? await index.owners(in: directory) : nil)
    if known.own == nil, plan.hasUserDigests, let outcome = try await fileWithDigest(plan, meter) {
      return .answered(outcome)
    }
    let download = FileDownload(plan, meter: meter, claim: claim)
    switch lookup {
    case .fail(let error): throw error.at(request.address)
    case .copy(let row, let basis):
      if let outcome = try await copyUnasked(row, basis, to: download) { return .answered(outcome) }
    case .ask, .hit: break
    }
    if let outcome = try leftAlone(plan) { return .answered(outcome) }
    return .missing(download)
  }

  /// What stands under a name that is sure before any answer, where the policy is to leave it there.
  private func leftAlone(_ plan: DownloadPlan) throws(DownloadError) -> DownloadOutcome? {
    guard let name = plan.certainName, let standing = try plan.fileToLeave(name) else { return nil }
    return DownloadOutcome(kind: .skipped, path: plan.directory.path(of: name), size: max(0, standing.identity.size))
  }

  /// How long to wait before asking again whether another process still has the file. Random, so that two waiting
  /// processes do not keep asking at the same moments.
  private static let askAgain: Range<Double> = 0.02..<0.1

  private func wait(
    for process: Int?, _ request: DownloadRequest, _ claims: ProcessClaims, _ hash: UInt64
  ) async throws(DownloadError) -> ProcessClaims.Claim {
    configuration.onWait(request, process)
    while true {
      do { try await Task.sleep(for: .seconds(Double.random(in: Self.askAgain))) } catch { throw .cancelled }
      if let claim = try? claims.take(hash) { return claim }
    }
  }

  // MARK: Hits

  /// Answers with a file that is already here. The batch for the index may be full after it.
  @inline(never)
  private func hit(
    _ row: CacheRow, _ request: DownloadRequest, _ trust: RequestTrust, _ directory: OutputDirectory,
    _ meter: TransferMeter, _ basis: CacheLookup.Basis
  ) -> DownloadOutcome {
    var row = row
    if basis == .digest {
      row = stamped(row, nil)
      let digest = expectedDigest(of: row, request).map { "\($0)" }
      if row.digest != digest, index.records {
        row.digest = digest
        index.addStored(row)
      }
    }
    if index.records, row.isUsedAgain(at: configuration.now()) {
      row.usedAt = configuration.now()
      index.addStored(row)
    }
    // What the index answers by itself is not worth a place in memory.
    var outcome = answer(
      row, request, trust, directory, meter, basis == .digest ? .digest : nil, remembers: basis != .fresh)
    if basis == .fresh { outcome.kind = .fresh }
    if basis == .stale { outcome.remark = .stale }
    return outcome
  }

  private func answer(
    _ row: CacheRow, _ request: DownloadRequest, _ trust: RequestTrust, _ directory: OutputDirectory,
    _ meter: TransferMeter, _ proof: Proof?, remembers: Bool = true
  ) -> DownloadOutcome {
    let size = row.identity.size
    if remembers {
      memory.remember(
        MemoryCache.Entry(name: row.name, size: size, identity: row.identity, changed: row.changed, trust: trust.own),
        for: request.key)
    }
    meter.begin(at: size, total: size)
    var outcome = DownloadOutcome(kind: .unchanged, path: directory.path(of: row.name), size: size, proof: proof)
    if row.status == 204 { outcome.remark = .noContent }
    return outcome
  }

  /// The checksum that the user gave for a finished file.
  private func expectedDigest(of row: CacheRow, _ request: DownloadRequest) -> ContentDigest? {
    request.checksum ?? configuration.checksums?.digest(of: row.wanted)
  }

  /// Whether a finished file has the checksum that the user gave; nil where there is no file or no checksum, or where
  /// the file is fetched in any case.
  private func hasExpectedDigest(
    _ row: CacheRow?, _ request: DownloadRequest
  ) async throws(DownloadError) -> Bool? {
    guard let row, !configuration.refresh, let expected = expectedDigest(of: row, request) else { return nil }
    // As long as the file is as it was when it was hashed: else its bytes are read.
    if row.digest == "\(expected)", row.changed.isExact { return true }
    return try await resources.worker.digest(of: row, expected.algorithm) == expected
  }

  /// A file that has the wanted name and the right checksum but no row: it is from before the cache was cleared, or was
  /// copied there by hand. It must belong to no other address (HTTP rule 22).
  /// - Returns: nil if there is none.
  private func fileWithDigest(
    _ plan: DownloadPlan, _ meter: TransferMeter
  ) async throws(DownloadError) -> DownloadOutcome? {
    guard !configuration.refresh else { return nil }
    let name = plan.preferred(plan.nameByAddress)
    guard let expected = plan.userDigest(named: plan.nameByAddress),
      let standing = try plan.directory.standing(name), standing.identity.isRegularFile,
      standing.identity.size <= configuration.maxSize ?? .max
    else { return nil }
    guard !plan.isOfAnotherAddress(standing, await index.owners(in: plan.directory)) else { return nil }
    let row = CacheRow(
      key: plan.rowKey, name: name, wanted: plan.nameByAddress, identity: standing.identity,
      changed: ChangeTime(of: standing), validator: Validator(), fetchedAt: configuration.now(),
      freshness: FreshnessFields(), trust: plan.trust.own, digest: "\(expected)")
    // A file that cannot be read proves nothing, so it is fetched.
    guard let found = try? await resources.worker.digest(of: row, expected.algorithm), found == expected else {
      return nil
    }
    plan.directory.give(standing.identity, to: plan.rowKey)
    if plan.isIndexed, index.add(row) { await index.flush() }
    return answer(row, plan.request, plan.trust, plan.directory, meter, .digest)
  }

  /// Answers with a copy of a file that is elsewhere, without asking its server.
  /// - Returns: nil if the source cannot be read any more, is not what it was, or has the wrong bytes: then the server
  ///   is asked for the file.
  private func copyUnasked(
    _ source: CacheRow, _ basis: CacheLookup.Basis, to download: FileDownload
  ) async throws(DownloadError) -> DownloadOutcome? {
    do throws(DownloadError) {
      // This stages the file in the output folder; the request that it returns is not sent.
      _ = try download.nextTransfer()
      if var outcome = try await copy(source, to: download) {
        if basis == .stale, outcome.kind != .skipped { outcome.remark = .stale }
        return outcome
      }
      guard !shared.mayAsk else {
        try download.access { reception throws(DownloadError) in
          try reception.startAgain(without: .knownVersion)
        }
        return nil
      }
      throw DownloadError(
        .cache, cause: .detail("the file on disk has changed, or cannot be read"),
        activity: CacheLookup.activity(isOffline: configuration.offline)
      ).at(download.plan.address)
    } catch {
      abandon(download)
      throw error
    }
  }

  // MARK: The way back

  public func commit(_ download: FileDownload) async throws(DownloadError) -> DownloadOutcome? {
    guard case .finished(let finished) = download.look({ $0.phase }) else { return nil }
    let outcome: DownloadOutcome?
    switch finished {
    case .whole(let proof): outcome = try await finish(download, proof)
    case .unchanged: outcome = try await confirm(download)
    case .partly: outcome = nil
    case .skipped:
      let name = download.plan.preferred(download.look { $0.finalName })
      abandon(download)
      let directory = download.plan.directory
      let size = max(0, try directory.standing(name)?.identity.size ?? 0)
      outcome = DownloadOutcome(kind: .skipped, path: directory.path(of: name), size: size)
    }
    if let outcome { land(download, .success(outcome)) }
    return outcome
  }

  public func close(_ download: FileDownload, after error: DownloadError) async -> DownloadOutcome? {
    if error.code == .cancelled, inFlight[download.plan.request.key]?.handOn(download) == true { return nil }
    abandon(download)
    let outcome = Freshness.isServerFailure(error) ? await standIn(for: download) : nil
    land(download, outcome.map { .success($0) } ?? .failure(error))
    return outcome
  }

  /// The address's own file, or a copy of one elsewhere, where its server failed and the file may be used all the same
  /// (RFC 9111 §4.2.4).
  @inline(never)
  private func standIn(for download: FileDownload) async -> DownloadOutcome? {
    let plan = download.plan
    guard !configuration.refresh, !plan.hasUserDigests, let row = plan.own ?? plan.elsewhere,
      row.proof >= configuration.requiredProof, index.reuse(of: row, under: plan.trust) == .asOwn,
      row.identity.size <= configuration.maxSize ?? .max, download.look({ $0.doubted }) == nil,
      Freshness(of: row, at: configuration.now(), guesses: false).mayStandIn(for: shared.directives)
    else { return nil }
    let meter = download.look { $0.meter }
    var outcome: DownloadOutcome?
    if plan.own == nil {
      outcome = await copy(row, inPlaceOf: download, meter)
    } else if row.isIntact {
      outcome = answer(row, plan.request, plan.trust, plan.directory, meter, nil)
    }
    if outcome?.kind != .skipped { outcome?.remark = .stale }
    return outcome
  }

  /// Copies a file for a download that was given up, whose part waits for the next run.
  /// - Returns: nil if the source is not what it was, or cannot be copied: the download fails with its own error, and
  ///   the user is told of the other.
  private func copy(
    _ source: CacheRow, inPlaceOf download: FileDownload, _ meter: TransferMeter
  ) async -> DownloadOutcome? {
    let standIn = FileDownload(download.plan, meter: meter, resumes: false)
    defer { abandon(standIn) }
    do throws(DownloadError) {
      // This stages the file in the output folder; the request that it returns is not sent.
      _ = try standIn.nextTransfer()
      return try await copy(source, to: standIn)
    } catch {
      if error.code != .cancelled {
        index.warn(CacheWarning(.noStandIn, path: FilePath(error.path ?? source.path), detail: error.reason))
      }
      return nil
    }
  }

  /// Gives up a download; keeps its part if it can be resumed.
  private func abandon(_ download: FileDownload) {
    do throws(DownloadError) {
      try download.access { reception throws(DownloadError) in try reception.abandon() }
    } catch {
      index.warn(CacheWarning(.partialNotKept, path: FilePath(error.path ?? ""), detail: error.reason))
    }
  }

  /// Frees the claim, so that other processes may go on with the file, and answers the coalesced requests.
  private func land(_ download: FileDownload, _ result: Result<DownloadOutcome, DownloadError>) {
    download.look { $0.endClaim() }
    land(download.plan.request.key, result)
  }

  @inline(never)
  private func land(_ key: DownloadRequest.Key, _ result: Result<DownloadOutcome, DownloadError>) {
    inFlight.removeValue(forKey: key)?.land(result)
  }

  /// Verifies a whole file and gives it its name.
  /// - Returns: nil if its bytes were wrong and it is to be fetched once more.
  private func finish(
    _ download: FileDownload, _ proof: Proof, copyOf source: CacheRow? = nil
  ) async throws(DownloadError) -> DownloadOutcome? {
    let plan = download.plan
    // Not awaited where there is no checksum: each asynchronous call costs half a per cent of a small file's time.
    var verdict = download.look { $0.verdict }
    if case .unread(let expected) = verdict {
      verdict = try await resources.worker.verdict(on: download, expected)
    }
    guard let proof = try Verification.judge(verdict, proof, of: download) else { return nil }
    if configuration.usesRemoteTime {
      try download.access { reception throws(DownloadError) in try reception.stamp() }
    }
    // The data first: after a power cut, a name must not stand for bytes that were lost.
    if configuration.syncs { try await resources.syncer.sync(download) }
    let committed = try await Commit(download, proof: proof).run(index, resources.worker)
    var fillsStore = false
    if committed.outcome.kind != .skipped {
      memory.remember(
        MemoryCache.Entry(
          name: committed.name, size: committed.outcome.size, identity: committed.row?.identity,
          changed: committed.row?.changed, trust: plan.trust.own), for: plan.request.key)
      if let row = committed.row {
        if let doubted = download.look({ $0.doubted }) { await discredit(doubted) }
        index.add(row)
        if store.isOn || source != nil { fillsStore = keep(row, download, source) }
      }
    }
    if configuration.syncs { try await resources.syncer.syncNames(plan.directory) }
    if index.isFull { await index.flush() }
    if fillsStore { await store.flush() }
    return committed.outcome
  }

  /// A copy's bytes did not have the checksum, and its server's have it.
  @inline(never)
  private func discredit(_ source: CacheRow) async {
    // At once: the store may be about to put in another file under the same key.
    await index.write([source.discredited], retiring: nil)
  }

  /// Notes a finished file for the store.
  /// - Parameter source: what it is a copy of; nil where it was fetched.
  /// - Returns: whether the store is to be filled now.
  @inline(never)
  private func keep(_ row: CacheRow, _ download: FileDownload, _ source: CacheRow?) -> Bool {
    let head = download.look { $0.head }
    guard let source, source.key.isStored else { return store.note(row, of: download.plan, head) }
    store.used(source, for: row, head)
    return false
  }

  /// The server said 304 (RFC 9110 §15.4.5).
  /// - Returns: nil if the file that the 304 was about has since changed on this disk, which the server cannot know, or
  ///   has the wrong bytes.
  private func confirm(_ download: FileDownload) async throws(DownloadError) -> DownloadOutcome? {
    let plan = download.plan
    if let own = plan.own.map({ own in download.look { $0.cleared(own) } }) {
      if own.isIntact(in: plan.directory) { return try await confirm(own, download) }
    } else {
      guard let source = plan.elsewhere else {
        throw DownloadError(.badResponse, cause: .http(status: 304), activity: "receiving").at(plan.address)
      }
      let (head, askedAt) = download.look { ($0.head, $0.askedAt) }
      if let outcome = try await copy(source, to: download) {
        if let head { await endStored(plan, head, askedAt) }
        return outcome
      }
    }
    try download.access { reception throws(DownloadError) in
      try reception.startAgain(without: .knownVersion)
    }
    return nil
  }

  private func confirm(
    _ own: CacheRow, _ download: FileDownload
  ) async throws(DownloadError) -> DownloadOutcome {
    let (plan, askedAt) = (download.plan, download.look { $0.askedAt })
    let (head, meter) = (download.look { $0.head }, download.look { $0.meter })
    abandon(download)
    let expected = plan.expectedDigest(named: own.wanted, nil)
    if expected == nil, own.proof < configuration.requiredProof {
      throw Verification.unproven(own.proof, configuration.requiredProof).at(plan.address)
    }
    let row = stamped(own, head)
    if row.changed != plan.own?.changed { index.addStored(row) }
    if let head, plan.trust[own.effectiveURL].mayRenew(own.trust) {
      await endStored(plan, head, askedAt)
      var renewed = row.renewed(by: head, askedAt: askedAt, digest: expected)
      renewed.trust = plan.trust[own.effectiveURL]
      if await renew(row, to: renewed), store.isOn, store.noteConfirmed(renewed, of: plan, head) {
        await store.flush()
      }
    }
    let isProved = expected != nil || configuration.requiredProof == .digest
    return answer(row, plan.request, plan.trust, plan.directory, meter, isProved ? .digest : nil)
  }

  /// A 304 that forbids storing ends all that is stored of the address: in other folders, and in the store (RFC 9111
  /// §4.3.4, §5.2.2.5).
  private func endStored(_ plan: DownloadPlan, _ head: ResponseHead, _ askedAt: Int64) async {
    guard FreshnessFields(head).forbidsStoring else { return }
    await index.flush()
    let address = plan.rowKey.address
    for row in await index.ask({ $0.noted(of: address) }) ?? []
    where plan.trust[row.effectiveURL].mayRenew(row.trust) {
      index.addStored(row.renewed(by: head, askedAt: askedAt, digest: nil))
    }
  }

  /// Stores the header fields that a 304 renews (RFC 9111 §4.3.4), and the checksum that was compared. Writes no row
  /// where it would say nothing new: without a lifetime it does not matter when the server was asked.
  /// - Returns: whether anything may be stored.
  private func renew(_ row: CacheRow, to renewed: CacheRow) async -> Bool {
    if configuration.fields.forbidsStoring { return false }
    if renewed.freshness != row.freshness || renewed.digest != row.digest || renewed.trust != row.trust
      || renewed.mayAnswer != row.mayAnswer || renewed.freshness.namesLifetime
      || configuration.freshness.guesses || row.isUsedAgain(at: renewed.fetchedAt)
    {
      if index.add(renewed) { await index.flush() }
    }
    return true
  }

  /// - Returns: nil if the source of the copy has changed meanwhile, or has the wrong bytes, and a server may be asked
  ///   for better ones.
  private func copy(_ source: CacheRow, to download: FileDownload) async throws(DownloadError)
    -> DownloadOutcome?
  {
    guard try await fill(download, from: source) else { return nil }
    guard var outcome = try await finish(download, source.proof, copyOf: source) else { return nil }
    if outcome.kind == .fetched { outcome.kind = .copied }
    return outcome
  }

  /// A file of at most this length is copied on the loop's thread, which writes what comes from the network as well: to
  /// change threads and back would take longer than the copy.
  private static let shortCopy: Int64 = 1 << 16

  private func fill(_ download: FileDownload, from source: CacheRow) async throws(DownloadError) -> Bool {
    if source.identity.size > Self.shortCopy {
      return try await resources.worker.fill(download, from: source)
    }
    return try download.access { reception throws(DownloadError) in try reception.copy(source) }
  }

  /// Sets the server's time on a file that dlm knows (`--remote-time`), if the file has another one: an earlier run
  /// lacked the option, or the server's time has changed while the bytes have not.
  /// - Parameter head: of the answer that vouched for the file.
  /// - Returns: the file's row as it is now.
  private func stamped(_ row: CacheRow, _ head: ResponseHead?) -> CacheRow {
    guard configuration.usesRemoteTime, !configuration.fields.forbidsStoring,
      let seconds = RemoteTime.seconds(head?["last-modified"] ?? row.validator.lastModified, now: configuration.now())
    else { return row }
    var stamped = row
    stamped.identity.modified = seconds * 1_000_000_000
    guard stamped.identity != row.identity else { return row }
    stamped.changed = .beforeNaming(WallClock.stamp())
    // Before the file changes: else dlm, killed in between, would later take the file for touched by another program.
    index.journalStored(stamped)
    do throws(Errno) {
      guard let file = try Descriptor.stamp(row, seconds) else { return row }
      (stamped.identity, stamped.changed) = (file.identity, ChangeTime(of: file))
    } catch {
      index.warn(CacheWarning(.unusable, path: FilePath(row.path), detail: "its time cannot be set: \(error)"))
      return row
    }
    index.addStored(stamped)
    return stamped
  }

  // MARK: Names that a person decided on

  @inline(never)
  private func checkName(_ name: String, _ address: Address) throws(DownloadError) {
    guard FileNaming.isUsable(name) else {
      throw DownloadError(.conflict, cause: .detail("not a file name"), path: name, activity: "naming")
        .at(address)
    }
  }

  private func rowKey(_ request: DownloadRequest, _ directory: OutputDirectory) -> RowKey {
    RowKey(of: request.address, directory: directory.canonicalPath, requested: request.outputName ?? "")
  }

  /// Carries out the user's decision on the name of a file that this run fetched.
  /// - Returns: the path of the file after that; nil if it was removed.
  /// - Throws: `.conflict` when the new name is taken or is no valid file name; `.disk`, `.folder`.
  public func carryOut(
    _ decision: NameDecision, on outcome: DownloadOutcome, of request: DownloadRequest
  ) async throws(DownloadError) -> String? {
    if case .rename(let name) = decision { try checkName(name, request.address) }
    let directory = try outputDirectory()
    let old = outcome.name
    guard let new = try decision.carryOut(outcome, in: directory, for: request.address) else { return nil }
    guard !FileNaming.areSame(new, old) else { return outcome.path }
    // A new name changes the time by which the file is known.
    guard let standing = try directory.standing(new) else { return directory.path(of: new) }
    let (key, change) = (rowKey(request, directory), (new, ChangeTime(of: standing)))
    for cache in resources.members where await cache.note(key, from: old, to: change) {
      return directory.path(of: new)
    }
    await index.noteStored(key, from: old, to: change)
    return directory.path(of: new)
  }

  private func note(_ key: RowKey, from old: String, to new: (String, ChangeTime)) -> Bool {
    index.note(key, from: old, to: new)
  }

  /// Where an earlier run put the file of a request in this folder, as the user would write the path; nil if the index
  /// does not know. No server is asked and nothing is changed, and the file may have changed since.
  /// - Throws: `.folder` when the output folder cannot be opened.
  public func standingPath(of request: DownloadRequest) async throws(DownloadError) -> String? {
    let directory = try outputDirectory()
    return await index.row(rowKey(request, directory)).map { directory.path(of: $0.name) }
  }

  /// Forgets which files were finished or found last, so that the next request for each of them looks at the disk, and
  /// asks the server if what is there is not fresh.
  public func askAnew() { memory = MemoryCache() }

  // MARK: The end

  /// Writes the rows that the index does not have yet, so that the caches of other loops know these files too. The
  /// cache goes on.
  public func writeRows() async {
    await index.flush()
    await store.flush()
  }

  /// Writes the rows that the index does not have yet. Must be called once, when every request is answered.
  /// - Returns: what went wrong with the cache since the last call of `takeWarnings`.
  public func close() async -> [CacheWarning] {
    await index.flush()
    await store.flush()
    index.endReading()
    if resources.leave(self) {
      await store.keepWithinBounds()
      await index.close()
    }
    return await takeWarnings()
  }

  /// What went wrong with the cache since the last call; each problem is told once.
  public func takeWarnings() async -> [CacheWarning] { await index.takeWarnings() }

  nonisolated var worker: DiskWorker { resources.worker }

  /// How many rows the index does not have yet.
  var pending: Int { index.pending }

  /// Limits a generation of the memory cache from now on, and empties it.
  func remember(atMost limit: Int) { memory = MemoryCache(limit: limit) }

  /// How many requests wait for an equal one.
  func waiting(for key: DownloadRequest.Key) -> Int { inFlight[key]?.count ?? 0 }
}
