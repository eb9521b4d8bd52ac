import DownloadModel
import FileReceiving

/// The steps before a transfer: look for the answer in memory, in flight and on disk, and plan the download of what is
/// missing.
///
/// Thousands of tasks wait here, each with memory for its deepest call. So rare steps are in functions of their own.
struct OpenStep {
  let shared: SharedConfiguration
  private var configuration: CacheConfiguration { shared.configuration }
  let resources: CacheResources
  private var inFlight: InFlight { resources.inFlight }
  let hits: CacheHits
  let index: IndexSession
  let completion: CommitStep

  /// - Parameter cache: the caller.
  func atOnce(
    _ asked: CacheRequest, for cache: DownloadCache
  ) throws(DownloadError) -> OpenedDownload<FileDownload>? {
    if let outcome = try hits.fromMemory(asked) { return .answered(outcome) }
    if index.isFull { return nil }
    let key = asked.request.key
    if !inFlight.contains(key), let outcome = reading(for: cache, { hits.atOnce(asked) }) { return .answered(outcome) }
    guard index.findsNothing, isFetchedIfUnknown(asked.request), inFlight.begin(key, asked.trust.own)
    else { return nil }
    do {
      // An equal request may have ended meanwhile.
      let outcome = try hits.fromMemory(asked)
      let opened = outcome.map { .answered($0) } ?? missing(asked, for: cache)
      // Without an answer, equal requests that wait for this one since then ask anew.
      if let opened { inFlight.note(opened, of: key) } else { inFlight.land(key, .failure(.cancelled)) }
      return opened
    } catch {
      inFlight.land(key, .failure(error))
      throw error
    }
  }

  /// - Returns: `nil` if another process has the request, or if files of it are known or the index must be asked.
  private func missing(_ asked: CacheRequest, for cache: DownloadCache) -> OpenedDownload<FileDownload>? {
    var claim: ProcessClaims.Claim?
    if let claims = resources.claims {
      claim = try? claims.take(asked.key.claim(isIndexed: index.records))
      if claim == nil { return nil }
    }
    guard let known = reading(for: cache, { index.knownAtOnce(asked) }), known.isNothing,
      known.written?.checksum == nil
    else { return nil }
    return .missing(FileDownload(plan(asked, known), meter: asked.meter, claim: claim))
  }

  /// - Parameter cache: the caller.
  nonisolated(nonsending) func open(
    _ asked: CacheRequest, for cache: DownloadCache
  ) async throws(DownloadError) -> OpenedDownload<FileDownload> {
    if index.isFull { await index.flush() }
    while !inFlight.begin(asked.request.key, asked.trust.own) {
      if let opened = try await join(asked) { return opened }
    }
    do {
      // An equal request may have ended meanwhile.
      let outcome = try hits.fromMemory(asked)
      let opened: OpenedDownload<FileDownload> =
        if let outcome { .answered(outcome) } else { try await fromDisk(asked, for: cache) }
      inFlight.note(opened, of: asked.request.key)
      return opened
    } catch {
      inFlight.land(asked.request.key, .failure(error))
      throw error
    }
  }

  /// Calls `body`, which may start a transaction of lookups.
  private func reading<Answer>(for cache: DownloadCache, _ body: () -> Answer) -> Answer {
    let wasReading = index.isReading
    defer { if !wasReading, index.isReading { cache.pauseReadingSoon() } }
    return body()
  }

  /// Waits for the answer to an equal request, or for the end of one with other credentials or declarations.
  /// - Returns: `nil` if this request may begin.
  @inline(never)
  private nonisolated(nonsending) func join(_ asked: CacheRequest) async throws(DownloadError) -> OpenedDownload<
    FileDownload
  >? {
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

  private nonisolated(nonsending) func fromDisk(
    _ asked: CacheRequest, for cache: DownloadCache
  ) async throws(DownloadError) -> OpenedDownload<FileDownload> {
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
    let known = await index.known(asked)
    if index.isReading { cache.pauseReadingSoon() }
    return try await look(up: asked, known, before: before, claim)
  }

  private func isFetchedIfUnknown(_ request: DownloadRequest) -> Bool {
    shared.receiving.mayAsk && configuration.receiving.conflictPolicy != .skip
      && configuration.receiving.checksums == nil && request.checksum == nil
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

  private nonisolated(nonsending) func wait(
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
  private nonisolated(nonsending) func look(
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
  private nonisolated(nonsending) func placed(_ known: KnownFiles, _ asked: CacheRequest) async throws(DownloadError)
    -> KnownFiles
  {
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
    return KnownFiles(.known(nil), elsewhere: known.own ?? known.elsewhere, elsewhereReuse: reuse)
  }
}
