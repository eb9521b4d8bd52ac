package import FileReceiving
package import DownloadModel
import Synchronization

/// The downloaded files: answers a request from memory, from the disk, or through the network.
///
///     open ──► memory ──► in flight ──► disk ──► missing: transfers fill it
///                                                   │
///     answered ◄────────── commit: verified, named, remembered
///
/// An actor on a network loop's thread, so that a download never changes threads. It does not wait for SQLite: it looks
/// up what it can at once (`IndexReader`), asks the index's actor for the rest, and writes rows in batches. A file gets
/// its name in one synchronous step, so that no other request sees half a commit.
///
/// A run has one cache per loop. They share the requests in flight, the files that finished last, and the rows that the
/// index does not have yet (`CacheResources`).
package actor DownloadCache: DownloadStore {
  private let shared: SharedConfiguration
  private nonisolated var configuration: CacheConfiguration { shared.configuration }
  nonisolated let resources: CacheResources
  private nonisolated let executor: any SerialExecutor
  package nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }

  private nonisolated var inFlight: InFlight { resources.inFlight }
  let hits: CacheHits
  private let completion: CommitStep
  let index: IndexSession
  private var folders: OpenFolders?

  /// Must be closed.
  /// - Parameters:
  ///   - resources: shared with the run's other loops; `nil` for a run of one loop.
  ///   - executor: the transport's, so that transport and cache need not wait for each other's threads.
  package init(
    configuration: CacheConfiguration, resources: CacheResources? = nil, executor: any SerialExecutor
  ) {
    let resources = resources ?? CacheResources(configuration)
    shared = SharedConfiguration(configuration)
    self.resources = resources
    self.executor = executor
    index = IndexSession(resources, configuration)
    hits = CacheHits(shared, resources, index)
    completion = CommitStep(shared: shared, resources: resources, hits: hits, index: index)
    resources.enter()
  }

  /// Opens the output folder, which is created if missing, and the index. Called once before a run.
  /// - Throws: `.folder` with errno and path.
  package func prepare() throws(DownloadError) { _ = try outputFolders() }

  private func outputFolders() throws(DownloadError) -> OpenFolders {
    if let folders { return folders }
    index.open()
    let opened = try resources.folders(configuration)
    folders = opened
    return opened
  }

  /// `nil` if the run ignores other processes.
  package nonisolated var claims: ProcessClaims? { resources.claims }

  // MARK: The three tiers

  // Thousands of tasks wait, each with memory for its deepest call. So rare steps are in functions of their own.

  package func open(
    _ request: DownloadRequest, meter: TransferMeter
  ) async throws(DownloadError) -> OpenedDownload<FileDownload> {
    if let name = request.outputName { try checkName(name, request.address) }
    let directory = try outputFolders().directory(of: request)
    let asked = CacheRequest(request, index.fingerprint.trust(of: request), in: directory, meter)
    if let outcome = try hits.fromMemory(asked) { return .answered(outcome) }
    if !inFlight.contains(request.key), let outcome = reading({ hits.atOnce(asked) }) {
      if index.isFull { await index.flush() }
      return .answered(outcome)
    }
    return try await begin(asked)
  }

  /// Calls `body`, which may start a transaction of lookups. The transaction ends after the lookups that are queued by
  /// now.
  private func reading<Answer>(_ body: () -> Answer) -> Answer {
    let wasReading = index.isReading
    defer { if !wasReading, index.isReading { pauseReadingSoon() } }
    return body()
  }

  @inline(never)
  private func pauseReadingSoon() {
    // Unstructured, so that it runs after the queued lookups.
    Task { index.pauseReading() }
  }

  /// Waits for the answer to an equal request, or for the end of one with other credentials or declarations.
  /// - Returns: `nil` if this request may begin.
  @inline(never)
  private func join(_ asked: CacheRequest) async throws(DownloadError) -> OpenedDownload<FileDownload>? {
    switch await inFlight.turn(asked.request.key, asked.trust.own, asked.meter) {
    case .answer(let outcome): return .answered(Self.shared(outcome, asked.meter))
    case .failure(let error): throw error
    case .askAnew: return nil
    case .goOn(let download):
      download.show(on: asked.meter)
      return .missing(download)
    }
  }

  private static func shared(_ outcome: DownloadOutcome, _ meter: TransferMeter) -> DownloadOutcome {
    var outcome = outcome
    if outcome.kind != .skipped, outcome.kind != .fresh { outcome.kind = .unchanged }
    outcome.transferred = 0
    outcome.resumed = 0
    outcome.renamedFrom = nil
    meter.begin(at: outcome.size, total: outcome.size)
    return outcome
  }

  private func begin(_ asked: CacheRequest) async throws(DownloadError) -> OpenedDownload<FileDownload> {
    while !inFlight.begin(asked.request.key, asked.trust.own) {
      if let opened = try await join(asked) { return opened }
    }
    do {
      // An equal request may have ended meanwhile.
      let outcome = try hits.fromMemory(asked)
      let opened: OpenedDownload<FileDownload> =
        if let outcome { .answered(outcome) } else { try await fromDisk(asked) }
      inFlight.note(opened, of: asked.request.key)
      return opened
    } catch {
      inFlight.land(asked.request.key, .failure(error))
      throw error
    }
  }

  private func fromDisk(_ asked: CacheRequest) async throws(DownloadError) -> OpenedDownload<FileDownload> {
    var claim: ProcessClaims.Claim?
    var before: KnownFiles?
    if let claims = resources.claims {
      let hash = asked.key.claim(isIndexed: index.records)
      do {
        claim = try claims.take(hash)
      } catch {
        before = await index.known(asked)
        claim = try await wait(for: error.process, asked, claims, hash)
      }
    }
    // An asynchronous call that is not needed costs 0.5 % of a small file's time.
    var atOnce = reading { index.knownAtOnce(asked) }
    if atOnce == nil {
      atOnce = await index.known(asked)
      if index.isReading { pauseReadingSoon() }
    }
    let known = atOnce ?? .nothing
    if known.isNothing, known.written?.checksum == nil, isFetchedIfUnknown(asked.request) {
      return .missing(FileDownload(plan(asked, known), meter: asked.meter, claim: claim))
    }
    return try await look(up: asked, known, before: before, claim)
  }

  private func isFetchedIfUnknown(_ request: DownloadRequest) -> Bool {
    shared.mayAsk && configuration.receiving.conflictPolicy != .skip && configuration.receiving.checksums == nil
      && request.checksum == nil
  }

  @inline(never)
  private func plan(
    _ asked: CacheRequest, _ known: KnownFiles, version: KnownVersion? = nil, owners: FileOwners? = nil
  ) -> DownloadPlan {
    DownloadPlan(
      asked.request, shared.receiving, in: asked.directory, rowKey: asked.key, trust: asked.trust, files: known,
      known: version, owners: owners, isIndexed: index.records,
      mayStandAlready: asked.request.isRepeat || hits.hasCompany)
  }

  /// Seconds between two attempts to take another process's claim. Random, so that two waiting requests do not try in
  /// step.
  private static let askAgain: Range<Double> = 0.02..<0.1

  private func wait(
    for process: Int?, _ asked: CacheRequest, _ claims: ProcessClaims, _ hash: UInt64
  ) async throws(DownloadError) -> ProcessClaims.Claim {
    configuration.onWait(asked.request, process)
    while true {
      do { try await Task.sleep(for: .seconds(Double.random(in: Self.askAgain))) } catch { throw .cancelled }
      if asked.meter.isStopped { throw .cancelled }
      if let claim = try? claims.take(hash) { return claim }
    }
  }

  @inline(never)
  private func look(
    up asked: CacheRequest, _ known: KnownFiles, before: KnownFiles?, _ claim: consuming ProcessClaims.Claim?
  ) async throws(DownloadError) -> OpenedDownload<FileDownload> {
    let known = try await placed(await hits.proven(known, asked), asked)
    let lookup = try await hits.lookup(asked.request, known, before: before)
    // Before a plan is made, which costs as much as the rest of a hit.
    if case .hit(let row, let basis) = lookup {
      let outcome = hits.hit(row, asked, basis)
      if index.isFull { await index.flush() }
      return .answered(outcome)
    }
    let version: KnownVersion? = if case .ask(let known) = lookup { known } else { nil }
    let plan = plan(
      asked, known, version: version,
      owners: configuration.receiving.conflictPolicy == .skip ? await index.owners(in: asked.directory) : nil)
    if known.own == nil, plan.hasUserDigests, let outcome = try await hits.fileWithDigest(asked, plan) {
      return .answered(outcome)
    }
    if let name = plan.certainName, let standing = try plan.fileToLeave(name) {
      return .answered(plan.skipped(name, standing))
    }
    let download = FileDownload(plan, meter: asked.meter, claim: claim)
    switch lookup {
    case .fail(let error): throw error.at(asked.request.address)
    case .copy(let row, let basis):
      if let outcome = try await completion.copyUnasked(row, basis, to: download) { return .answered(outcome) }
    case .ask, .hit: break
    }
    return .missing(download)
  }

  /// If the policy gives no numbers, a file that once got a number is not the answer. Its bytes are, under the wanted
  /// name, unless another URL has that name.
  private func placed(_ known: KnownFiles, _ asked: CacheRequest) async throws(DownloadError) -> KnownFiles {
    guard let written = known.written, !configuration.receiving.conflictPolicy(of: asked.request).numbers else {
      return known
    }
    let wanted = asked.request.outputName ?? written.wanted
    if FileNaming.areSame(written.name, wanted) { return known }
    let plan = plan(asked, known)
    let name = plan.preferred(wanted)
    if FileNaming.areSame(written.name, name) { return known }
    if let standing = try asked.directory.standing(name),
      plan.isOfAnotherAddress(standing, await index.owners(in: asked.directory))
    {
      return known
    }
    let reuse = known.own == nil ? known.elsewhereReuse : known.ownReuse
    return KnownFiles(.known(nil), elsewhere: known.own ?? known.elsewhere, reuse: (.asOwn, reuse))
  }

  // MARK: Commit and close

  package func commit(_ download: FileDownload) async throws(DownloadError) -> DownloadOutcome? {
    let outcome: DownloadOutcome?
    switch download.finished {
    case .whole(let proof): outcome = try await completion.finish(download, proof)
    case .unchanged: outcome = try await completion.confirm(download)
    case nil, .partly: return nil
    case .skipped:
      let name = download.finalName
      completion.abandon(download)
      outcome = download.plan.skipped(name, try download.plan.directory.standing(name))
    }
    if let outcome { land(download, .success(outcome)) }
    return outcome
  }

  package func close(_ download: FileDownload, after error: DownloadError, comesAgain: Bool) async -> DownloadOutcome? {
    if error.code == .cancelled, inFlight.handOn(download, of: download.plan.request.key) { return nil }
    completion.abandon(download)
    let outcome = !comesAgain && Freshness.isServerFailure(error) ? await completion.standIn(for: download) : nil
    land(download, outcome.map { .success($0) } ?? .failure(error))
    return outcome
  }

  /// Frees the claim, so that other processes may continue with the file, and answers the coalesced requests.
  private func land(_ download: FileDownload, _ result: Result<DownloadOutcome, DownloadError>) {
    download.endClaim()
    inFlight.land(download.plan.request.key, result)
  }

  // MARK: Names that the user decided on

  @inline(never)
  private func checkName(_ name: String, _ address: Address) throws(DownloadError) {
    guard FileNaming.isUsable(name) else {
      throw DownloadError(.conflict, "not a file name", "naming", path: name).at(address)
    }
  }

  /// Carries out the user's decision on the name of a file that this run downloaded.
  /// - Returns: the path of the file afterwards; `nil` if it was removed.
  /// - Throws: `.conflict` if the new name is not a valid file name; `.disk` with EEXIST if it is taken; `.disk`,
  ///   `.folder`.
  package func carryOut(
    _ decision: NameDecision, on outcome: DownloadOutcome, of request: DownloadRequest
  ) async throws(DownloadError) -> String? {
    if case .rename(let name) = decision { try checkName(name, request.address) }
    let directory = try outputFolders().directory(of: request)
    let old = outcome.name
    guard let new = try decision.carryOut(outcome, in: directory, for: request.address) else { return nil }
    guard !FileNaming.areSame(new, old) else { return outcome.path }
    // A new name changes the change time by which the file is recognised.
    guard let standing = try directory.standing(new) else { return directory.path(of: new) }
    let key = RowKey(of: request, in: directory)
    await index.note(key, from: old, to: (new, ChangeTime(of: standing)))
    return directory.path(of: new)
  }

  /// Where an earlier run put the file of a request, as the user would write the path; `nil` if the index does not
  /// know.
  /// - Throws: `.folder` if the output folder cannot be opened.
  package func standingPath(of request: DownloadRequest) async throws(DownloadError) -> String? {
    let directory = try outputFolders().directory(of: request)
    let row = await index.row(RowKey(of: request, in: directory), named: FileNaming.name(of: request))
    return row.map { directory.path(of: $0.name) }
  }

  /// Forgets the files that finished or were found last, so that they are looked up and revalidated again.
  package func askAnew() {
    resources.memory.withLock { $0 = MemoryCache() }
    index.findOwnRows()
  }

  // MARK: Writing rows and closing

  /// The longest time that a finished file waits for its row in the index. Until then, other processes that want the
  /// file wait. A kill costs one more download of the file, whose bytes are recognised.
  package static let longestWait = Duration.milliseconds(250)

  /// To be called if the run is cancelled (`CacheResources.stopWaiting`).
  package nonisolated func stopWaiting() { resources.stopWaiting() }

  /// Writes the rows of all loops' files. Must be called every `longestWait` while requests are in flight.
  package func flush() async { await index.flush() }

  /// Writes the rows that the index does not have yet, and those of files for the store.
  package func writeRows() async {
    await flush()
    await index.store?.flush(index)
  }

  /// Must be called once, after every request is answered.
  /// - Returns: the cache's warnings.
  package func close() async -> [CacheWarning] {
    await writeRows()
    index.endReading()
    guard resources.leave() else { return await index.takeWarnings() }
    await resources.keeper?.finish(index)
    await index.finish()
    return await index.takeWarnings() + resources.claimsWarnings
  }
}
