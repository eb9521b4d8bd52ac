import DownloadModel
import FileReceiving
import Synchronization
import SystemPackage

/// One cache actor's access to the index, where the rows of all actors are written in batches. Isolated state of that
/// actor.
final class IndexSession {
  private let resources: CacheResources
  private let configuration: CacheConfiguration
  let fingerprint: RequestFingerprint
  /// The index that the resources opened, kept here so that a file takes no lock for it.
  private var index: CacheIndex?
  /// `nil` until this actor has a file that the store may keep.
  private(set) var store: StoreKeeper?
  lazy var noted = StoreKeeper.Noted()
  /// For lookups on this actor's thread; `nil` until the index has answered once.
  private var reader: IndexReader?
  private var readerWasOpened = false
  /// Whether files that this run finished are requested again, so that an index that was empty is asked, too.
  private var findsOwnRows: Bool
  /// Whether nothing was known of the file that was looked up last, as of most.
  private(set) var findsNothing = true
  private var warnings: [CacheWarning] = []

  init(_ resources: CacheResources, _ configuration: CacheConfiguration) {
    self.resources = resources
    self.configuration = configuration
    findsOwnRows = configuration.servesManyRuns
    fingerprint = RequestFingerprint(configuration, resources.secret, runNumber: resources.runNumber)
  }

  func open() {
    guard let folder = configuration.cacheFolder else { return }
    do { index = try resources.index(at: folder, now: configuration.receiving.now) } catch {
      warn(CacheWarning(path: folder, detail: CacheWarning.words(error)))
    }
  }

  /// In bytes. `StoreKind.auto` keeps no smaller file, because ten thousand small clones took as long as downloading
  /// the files.
  private static let leastByItself: Int64 = 64 << 10

  /// The store, if it may keep a file; created for the first one.
  func store(for row: CacheRow) -> StoreKeeper? {
    guard mayStore(fileOf: row.identity.size) else { return nil }
    if store == nil { store = index.flatMap { resources.keeper(of: $0.folder, configuration) } }
    return store
  }

  /// Whether the store may keep a file of that size.
  func mayStore(fileOf size: Int64) -> Bool {
    index != nil && configuration.store != .none && (configuration.store != .auto || size >= Self.leastByItself)
  }

  var records: Bool {
    index != nil && !configuration.fields.forbidsStoring && configuration.receiving.reader == nil
  }

  // MARK: Questions

  /// The row of a file that a loop finished and SQLite does not have yet.
  private func pending(_ key: RowKey) -> CacheRow? { resources.batch.withLock { $0[key] } }

  /// `nil` without an index. A cancelled run does not wait for another process that holds the index.
  nonisolated(nonsending) func ask<Answer: Sendable>(
    _ question: @Sendable (isolated CacheIndex) -> Answer?
  ) async -> Answer? {
    guard let index else { return nil }
    return await withTaskCancellationHandler {
      await index.answer(question)
    } onCancel: { [resources] in
      resources.stopWaiting()
    }
  }

  /// The known files of a request, if they are known without waiting.
  func knownAtOnce(_ asked: CacheRequest) -> KnownFiles? {
    guard let index else { return .nothing }
    if let pending = pending(asked.key) { return judge([pending], asked) }
    if resources.claims?.hasCompany == true {
      // A transaction that started before this request was claimed may miss the row of the process that had the claim.
      reader?.endTransaction()
    } else if index.wasEmpty, !findsOwnRows {
      return .notAsked
    }
    return reader?.rows(asked.key).map { judge($0, asked) }
  }

  /// The run's files are requested again, and memory may no longer have them.
  func findOwnRows() {
    findsOwnRows = true
    reader?.endTransaction()
  }

  /// The request's own file, intact, if the index alone can decide at once; `nil` also if more must be asked. Saves a
  /// quarter of a lookup. Not for use while other processes are alive.
  func ownAtOnce(_ asked: CacheRequest) -> KnownFiles? {
    guard let reader, pending(asked.key) == nil, let row = reader.own(asked.key), row.isIntact(in: asked.directory)
    else { return nil }
    return KnownFiles(.known(row), own: row, ownReuse: fingerprint.reuse(of: row, under: asked.trust))
  }

  nonisolated(nonsending) func known(_ asked: CacheRequest) async -> KnownFiles {
    if let known = knownAtOnce(asked) { return known }
    if !readerWasOpened {
      let path = await ask { $0.openPath() }
      // Another request's task may have opened it meanwhile.
      if !readerWasOpened, let path {
        readerWasOpened = true
        reader = IndexReader(path: path)
      }
      if let known = knownAtOnce(asked) { return known }
    }
    return judge(await ask { $0.rows(asked.key) } ?? [], asked)
  }

  /// Whether a lookup has started a transaction, so that `pauseReading` is due.
  var isReading: Bool { reader?.isInTransaction == true }

  func pauseReading() { reader?.endTransaction() }

  private func judge(_ rows: [CacheRow], _ asked: CacheRequest) -> KnownFiles {
    let wanted = rows.filter { $0.isFile(named: asked.name, of: asked.key) }
    let intact = wanted.filter { $0.isIntact(in: asked.directory) }
    // The file with the requested name precedes one that was renamed from it.
    let own =
      intact.first { asked.request.outputName == nil || $0.hasName(asked.name, in: asked.key) } ?? intact.first
    let written = own ?? wanted.first
    var elsewhere: CacheRow?
    var worth = Reuse.asOwn
    // The file of an equal request first, then the youngest.
    for row in rows where row.key != written?.key && row.mayAnswer {
      let found = fingerprint.reuse(of: row, under: asked.trust)
      guard found == .asOwn || found == .byStrongTag && elsewhere == nil, row.isIntact(in: asked.directory)
      else { continue }
      elsewhere = row
      worth = found
      if found == .asOwn { break }
    }
    findsNothing = written == nil && elsewhere == nil
    return KnownFiles(
      .known(written), own: own, elsewhere: elsewhere,
      ownReuse: own.map { fingerprint.reuse(of: $0, under: asked.trust) } ?? .asOwn, elsewhereReuse: worth)
  }

  /// The row of the file with that name, or else of the key, intact or not.
  nonisolated(nonsending) func row(_ key: RowKey, named name: String) async -> CacheRow? {
    if let pending = pending(key) { return pending }
    let rows = await ask { $0.rows(key) } ?? []
    return rows.first { $0.hasName(name, in: key) } ?? rows.first { $0.key == key }
  }

  /// Read once per run and folder.
  nonisolated(nonsending) func owners(in directory: OutputDirectory) async -> FileOwners {
    let path = ByteText(directory.canonicalPath)
    if let owners = resources.owners[path] { return owners }
    guard let owners = await ask({ $0.owners(in: path.text) }) else { return FileOwners() }
    resources.owners[path] = owners
    return owners
  }

  // MARK: Writing

  /// - Returns: whether the batch is full, so that `flush` is due.
  @discardableResult
  func add(_ row: CacheRow) -> Bool {
    addStored(fingerprint.selected(row))
    return isFull
  }

  /// The same for a row whose selection stays as it is: of the store, or of an answer that is not this run's.
  func addStored(_ row: CacheRow) { if index != nil { resources.batch.withLock { $0.add(row) } } }

  /// Keeps the claim of a download whose row was just added until the row is in the index. A process that waits for the
  /// claim then finds the row.
  func keepClaim(of download: FileDownload) {
    guard index != nil, let claim = download.handOverClaim() else { return }
    resources.batch.withLock { $0.keep(claim: claim) }
  }

  var isFull: Bool { resources.batch.withLock { $0.isFull } }

  nonisolated(nonsending) func note(_ key: RowKey, from old: String, to new: (String, ChangeTime)) async {
    guard var row = await row(key, named: old), row.name == old else { return }
    (row.fields.name, row.changed) = new
    addStored(row)
    if isFull { await flush() }
  }

  /// Sets a known file's time to its server's (`--remote-time`), and returns its row as it is afterwards.
  /// - Parameter head: of the answer that confirmed the file.
  func stamped(_ row: CacheRow, _ head: ResponseHead?) -> CacheRow {
    guard configuration.receiving.usesRemoteTime, !configuration.fields.forbidsStoring,
      let seconds = RemoteTime.seconds(
        head?["last-modified"] ?? row.validator.lastModified, now: configuration.receiving.now()),
      row.identity.modified != seconds * 1_000_000_000
    else { return row }
    var stamped = row
    do {
      guard let file = try Descriptor.stamp(row, seconds) else { return row }
      stamped.fields.identity = file.identity
      stamped.changed = ChangeTime(of: file)
    } catch {
      warn(CacheWarning(path: FilePath(row.path), detail: "its time cannot be set: \(error)"))
      return row
    }
    addStored(stamped)
    return stamped
  }

  /// Ends the run, after all caches have written their rows.
  nonisolated(nonsending) func finish() async {
    guard let index else { return }
    _ = await ask { $0.keepWithinBound() }
    await index.close()
  }

  /// Waits until the batch is in the index, so that batches cannot pile up.
  nonisolated(nonsending) func flush() async {
    if resources.batch.withLock({ $0.rows.isEmpty }) { return }
    // Taken on the index's actor, so that of two batches the later one is written later.
    let claims = await ask { [resources] index in
      let full = resources.batch.withLock { $0.take() }
      index.write(full.rows)
      return full.claims
    }
    resources.claims?.release(claims ?? [])
  }

  /// The index's connection must be the last one, which moves the log into the database.
  func endReading() {
    reader = nil
    readerWasOpened = true
  }

  // MARK: Warnings

  func warn(_ warning: CacheWarning) { if !warnings.contains(warning) { warnings.append(warning) } }

  nonisolated(nonsending) func takeWarnings() async -> [CacheWarning] {
    if let failure = resources.secret.takeFailure() { warn(CacheWarning(resources.secret, failure)) }
    let ofIndex = await index?.takeWarnings() ?? []
    defer { warnings = [] }
    return warnings + ofIndex
  }
}
