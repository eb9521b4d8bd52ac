public import DownloadModel
import SystemPackage

/// Where finished files stand: answers a request from memory, from the disk, or through the network.
///
/// Isolated on the transport's executor, so that a download changes no thread on its way. It therefore never
/// blocks on SQLite: the index is an actor of its own, asked only where it can know something, and told in
/// batches. A file gets its final name in one synchronous call: nobody sees a commit half done.
public actor DownloadCache: DownloadStore {
  let configuration: CacheConfiguration
  private nonisolated let executor: any SerialExecutor
  private let taskExecutor: (any TaskExecutor)?
  public nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }

  /// Work under way, by what was asked for.
  private(set) var works: [DownloadKey: SharedDownload] = [:]
  var recent = RecentFiles()
  var batch = RowBatch()
  var warnings: [CacheWarning] = []
  var openedDirectory: OutputDirectory?
  var openedIndex: CacheIndex?
  var indexWasOpened = false
  var scopes: CredentialScope?
  let copier = FileCopier()

  /// Touches nothing on disk yet.
  /// - Parameters:
  ///   - executor: that of the transport, so that neither waits for the other's thread.
  ///   - taskExecutor: what the tasks that ask prefer; those of the work prefer it too.
  public init(
    configuration: CacheConfiguration, executor: any SerialExecutor, taskExecutor: (any TaskExecutor)?
  ) {
    self.configuration = configuration
    self.executor = executor
    self.taskExecutor = taskExecutor
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
    if let outcome = try recall(key, meter) { return outcome }
    // Work that everybody left is still putting its partial file in order; the new one goes on from there.
    let leaving = works[key]
    if let running = leaving, let ticket = running.join() {
      return Self.shared(try await running.value(ticket), meter)
    }
    let work = SharedDownload()
    guard let ticket = work.join() else { throw .cancelled }
    works[key] = work
    // Unstructured, because it belongs to all that wait for it and not to the first of them: it must outlive
    // that one's cancellation. SharedDownload cancels it when the last has left; `close` waits for its end.
    // Immediate, so that it costs no job until it waits for the network.
    let task = Task.immediate(executorPreference: taskExecutor) {
      await leaving?.end()
      await self.work(work, key, request, meter, fetch)
    }
    work.began(task)
    return try await work.value(ticket)
  }

  /// The answer for those who joined: their run transferred nothing of its own.
  private static func shared(_ outcome: DownloadOutcome, _ meter: TransferMeter) -> DownloadOutcome {
    var outcome = outcome
    if outcome.kind != .skipped { outcome.kind = .unchanged }
    outcome.transferred = 0
    outcome.resumed = 0
    meter.begin(at: outcome.size, total: outcome.size)
    return outcome
  }

  private func work(
    _ work: SharedDownload, _ key: DownloadKey, _ request: DownloadRequest, _ meter: TransferMeter,
    _ fetch: DownloadStore.Fetch
  ) async {
    let answer: SharedDownload.Answer
    do throws(DownloadError) { answer = .success(try await produce(request, meter, fetch)) } catch {
      answer = .failure(error)
    }
    // A later asker may already have put its own work in the place of this one, if it was given up.
    if works[key] === work { works[key] = nil }
    work.settle(answer)
  }

  /// A file that this process finished or proved a moment ago, if it still stands there.
  private func recall(_ key: DownloadKey, _ meter: TransferMeter) throws(DownloadError) -> DownloadOutcome? {
    guard let entry = recent[key], let directory = openedDirectory else { return nil }
    let there: FileIdentity?
    do throws(Errno) { there = try directory.folder.identity(of: entry.name) } catch {
      throw directory.failure(error, "looking at", entry.name)
    }
    guard let there, entry.identity.map({ $0 == there }) ?? (entry.size == there.size) else {
      recent.forget(key)
      return nil
    }
    meter.begin(at: entry.size, total: entry.size)
    return DownloadOutcome(kind: .unchanged, path: directory.path(of: entry.name), size: entry.size)
  }

  /// Waits for work under way, which keeps its partial files in order, and writes what the index does not know
  /// yet. To be called once, when no more files are asked for; cancelled work ends here too.
  /// - Returns: what went wrong with the cache since the last call of `takeWarnings`.
  public func close() async -> [CacheWarning] {
    while let work = works.values.first { await work.end() }
    await flush()
    await openedIndex?.close()
    return await takeWarnings()
  }
}
