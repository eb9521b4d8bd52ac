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

  let hits: CacheHits
  private let opening: OpenStep
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
    opening = OpenStep(shared: shared, resources: resources, hits: hits, index: index, completion: completion)
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

  package func open(
    _ request: DownloadRequest, meter: TransferMeter
  ) async throws(DownloadError) -> OpenedDownload<FileDownload> {
    try await opening.open(asked(request, meter), for: self)
  }

  package nonisolated func openAtOnce(
    _ request: DownloadRequest, meter: TransferMeter
  ) throws(DownloadError) -> OpenedDownload<FileDownload>? {
    guard isOnLoop else { return nil }
    return try assumeIsolated { cache in
      Result { () throws(DownloadError) in
        // After a file that needed a wait, the next usually does, too.
        if !cache.index.findsNothing, !cache.hits.ownFilesAnswer { return nil }
        return try cache.opening.atOnce(cache.asked(request, meter), for: cache)
      }
    }.get()
  }

  private func asked(_ request: DownloadRequest, _ meter: TransferMeter) throws(DownloadError) -> CacheRequest {
    if let name = request.outputName { try checkName(name, request.address) }
    let directory = try outputFolders().directory(of: request)
    return CacheRequest(request, index.fingerprint.trust(of: request), in: directory, meter)
  }

  private nonisolated var isOnLoop: Bool { executor.isIsolatingCurrentContext() == true }

  /// Ends the transaction of lookups after those that are queued by now. Must be called on the loop.
  nonisolated func pauseReadingSoon() {
    // Unstructured, so that it runs after the queued lookups.
    assumeIsolated { cache in _ = Task { cache.index.pauseReading() } }
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

  package nonisolated func commitAtOnce(_ download: FileDownload) throws(DownloadError) -> DownloadOutcome? {
    guard isOnLoop, case .whole(let proof) = download.finished else { return nil }
    return try assumeIsolated { cache in
      Result { () throws(DownloadError) in
        let outcome = try cache.completion.atOnce(download, proof)
        if let outcome { cache.land(download, .success(outcome)) }
        return outcome
      }
    }.get()
  }

  package func close(_ download: FileDownload, after error: DownloadError, comesAgain: Bool) async -> DownloadOutcome? {
    if error.code == .cancelled, resources.inFlight.handOn(download, of: download.plan.request.key) { return nil }
    completion.abandon(download)
    let outcome = !comesAgain && Freshness.isServerFailure(error) ? await completion.standIn(for: download) : nil
    land(download, outcome.map { .success($0) } ?? .failure(error))
    return outcome
  }

  /// Frees the claim, so that other processes may continue with the file, and answers the coalesced requests.
  private func land(_ download: FileDownload, _ result: Result<DownloadOutcome, DownloadError>) {
    download.endClaim()
    resources.inFlight.land(download.plan.request.key, result)
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
