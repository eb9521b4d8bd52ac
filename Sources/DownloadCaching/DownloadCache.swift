public import DownloadModel
import SystemPackage

/// Where finished files stand: answers a request from memory, from the disk, or through the network.
///
/// Isolated on a transport's executor, so that a download changes no thread on its way. It therefore never
/// blocks on SQLite: the index is an actor of its own, asked only where it can know something, and told in
/// batches. A file gets its final name in one synchronous call: nobody sees a commit half done.
///
/// A run over several loops has one of these a loop; what they must agree on is in `CacheCommons`.
public actor DownloadCache: DownloadStore {
  let configuration: CacheConfiguration
  let commons: CacheCommons
  private nonisolated let executor: any SerialExecutor
  public nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }

  /// Rows of files that this actor finished and SQLite does not know yet.
  var batch = RowBatch()
  var warnings: [CacheWarning] = []
  // What the commons opened, kept here so that a file takes no lock for it.
  var openedDirectory: OutputDirectory?
  var openedIndex: CacheIndex?
  var indexWasOpened = false
  var scopes: CredentialScope?
  /// What `Vary` texts come to for this run's requests: most servers say the same in each answer.
  var selections: [String: String?] = [:]
  /// `RequestFields.key`, made once.
  let keyedFields: String?

  /// Touches nothing on disk yet.
  /// - Parameters:
  ///   - executor: that of the transport, so that neither waits for the other's thread.
  public init(configuration: CacheConfiguration, executor: any SerialExecutor) {
    self.init(
      configuration,
      CacheCommons(
        claimsFolder: configuration.claimsFolder,
        keyFolder: configuration.keyFolder ?? configuration.cacheFolder),
      executor)
  }

  /// The same cache for another loop. Both are to be closed.
  public nonisolated func sibling(executor: any SerialExecutor) -> DownloadCache {
    DownloadCache(configuration, commons, executor)
  }

  private init(
    _ configuration: CacheConfiguration, _ commons: CacheCommons, _ executor: any SerialExecutor
  ) {
    self.configuration = configuration
    keyedFields = configuration.fields.key
    self.commons = commons
    self.executor = executor
    commons.enter(self)
  }

  /// - Throws: what `fetch` threw; `.folder`, `.disk`, `.diskFull`, `.conflict` of the output folder; `.status`,
  ///   `.badResponse`, `.range`, `.shortBody`, `.longBody` of the answer; `.cache` when offline and not on disk;
  ///   `.cancelled` as soon as the calling task is cancelled.
  public func file(
    for request: DownloadRequest, meter: TransferMeter,
    fetch: @escaping DownloadStore.Fetch
  ) async throws(DownloadError) -> DownloadOutcome {
    if let name = request.outputName, !FileNaming.isUsable(name) {
      throw DownloadError(.conflict, cause: .detail("not a file name"), path: name, activity: "naming")
        .at(request.address)
    }
    let key = DownloadKey(request)
    while true {
      switch commons.downloads.begin(key) {
      case .recent(let entry):
        if let outcome = try recall(entry, meter) { return outcome }
        commons.downloads.forget(key)
      case .another:
        if let outcome = try await commons.downloads.answer(to: key) { return Self.shared(outcome, meter) }
      case .begun: return try await work(on: key, request, meter, fetch)
      }
    }
  }

  /// The answer for those who waited: their run transferred nothing of its own.
  private static func shared(_ outcome: DownloadOutcome, _ meter: TransferMeter) -> DownloadOutcome {
    var outcome = outcome
    if outcome.kind != .skipped { outcome.kind = .unchanged }
    outcome.transferred = 0
    outcome.resumed = 0
    meter.begin(at: outcome.size, total: outcome.size)
    return outcome
  }

  private func work(
    on key: DownloadKey, _ request: DownloadRequest, _ meter: TransferMeter, _ fetch: DownloadStore.Fetch
  ) async throws(DownloadError) -> DownloadOutcome {
    do throws(DownloadError) {
      let outcome = try await produce(request, meter, fetch)
      commons.downloads.ended(key, .success(outcome))
      return outcome
    } catch {
      commons.downloads.ended(key, .failure(error))
      throw error
    }
  }

  /// A file that this process finished or proved a moment ago, if it still stands there.
  private func recall(
    _ entry: RecentFiles.Entry, _ meter: TransferMeter
  ) throws(DownloadError) -> DownloadOutcome? {
    let directory = try outputDirectory()
    let there: FileIdentity?
    do throws(Errno) { there = try directory.folder.identity(of: entry.name) } catch {
      throw directory.failure(error, "looking at", entry.name)
    }
    guard let there, entry.identity.map({ $0 == there }) ?? (entry.size == there.size) else { return nil }
    meter.begin(at: entry.size, total: entry.size)
    return DownloadOutcome(kind: .unchanged, path: directory.path(of: entry.name), size: entry.size)
  }

  /// Writes what the index does not know yet. To be called once, when every file that was asked for is answered.
  /// - Returns: what went wrong with the cache since the last call of `takeWarnings`.
  public func close() async -> [CacheWarning] {
    await flush()
    if commons.leave(self) { await openedIndex?.close() }
    return await takeWarnings()
  }
}
