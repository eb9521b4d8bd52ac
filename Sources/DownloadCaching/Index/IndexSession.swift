import DownloadModel
import SystemPackage

/// One cache actor's access to the index: it asks only where the index can know something, and writes rows in
/// batches. Isolated state of that actor.
final class IndexSession {
  private let resources: CacheResources
  private let configuration: CacheConfiguration
  private let fingerprint: RequestFingerprint
  /// The index that the resources opened, kept here so that a file takes no lock for it.
  private var index: CacheIndex?
  private var wasOpened = false
  /// Rows of files that this actor finished and SQLite does not know yet.
  private var batch = RowBatch()
  private var warnings: [CacheWarning] = []

  init(_ resources: CacheResources, _ configuration: CacheConfiguration) {
    self.resources = resources
    self.configuration = configuration
    fingerprint = RequestFingerprint(configuration, resources.secret, runNumber: resources.runNumber)
  }

  /// Opens the index, once.
  func open() {
    guard !wasOpened else { return }
    wasOpened = true
    guard let folder = configuration.cacheFolder else { return }
    index = resources.index(at: folder, now: configuration.now) {
      warn(CacheWarning(.unusable, path: folder, detail: "\($0)"))
    }
  }

  /// Whether rows are made for the files of this run.
  var records: Bool { index != nil && !configuration.fields.forbidsStoring }

  func scope(of address: Address) -> String { fingerprint.scope(of: address) }

  // MARK: Questions

  /// Asks the index a question. A cancelled run does not wait for another process that holds the index.
  private nonisolated(nonsending) static func ask<Answer: Sendable>(
    _ index: CacheIndex, _ question: @Sendable (isolated CacheIndex) -> Answer
  ) async -> Answer {
    await withTaskCancellationHandler {
      await index.answer(question)
    } onCancel: {
      index.stopWaiting()
    }
  }

  /// What is known of a request's files.
  nonisolated(nonsending) func known(_ key: RowKey) async -> KnownFiles {
    guard let index else { return .nothing }
    guard resources.claims?.hasCompany == true else { return await look(key, index) }
    // The row of a living process may be in its journal only. Journals come first, because a row moves from
    // there into the database.
    if batch[key] == nil, let row = await Self.ask(index, { $0.journaledRow(key) }), row.isIntact {
      return KnownFiles(.known(row), own: row, selected: (fingerprint.selects(row), true))
    }
    return await look(key, index, thoughEmpty: true)
  }

  /// - Parameter thoughEmpty: whether to ask an index that was empty at the start.
  private nonisolated(nonsending) func look(
    _ key: RowKey, _ index: CacheIndex, thoughEmpty: Bool = false
  ) async -> KnownFiles {
    let rows: [CacheRow]
    if let pending = batch[key] {
      rows = [pending]
    } else if thoughEmpty || !index.wasEmpty {
      rows = await Self.ask(index) { $0.rows(key) }
    } else {
      return .notAsked
    }
    let own = rows.first { $0.key == key && $0.isIntact }
    let elsewhere = rows.first { $0.key != key && !$0.validator.isEmpty && $0.isIntact }
    return KnownFiles(
      .known(own), own: own, elsewhere: elsewhere,
      selected: (
        own.map { fingerprint.selects($0) } ?? true, elsewhere.map { fingerprint.selects($0) } ?? true
      ))
  }

  /// The row of a request, intact or not.
  nonisolated(nonsending) func row(_ key: RowKey) async -> CacheRow? {
    if let pending = batch[key] { return pending }
    guard let index else { return nil }
    return await Self.ask(index) { $0.rows(key) }.first { $0.key == key }
  }

  /// Which request owns which file of the folder. Read once a run.
  nonisolated(nonsending) func owners(in directory: OutputDirectory) async -> FileOwners {
    guard let index else { return FileOwners() }
    if let owners = resources.owners { return owners }
    let path = directory.canonicalPath
    let owners = await Self.ask(index) { $0.owners(in: path) }
    resources.owners = owners
    return owners
  }

  // MARK: Writing

  /// Writes the journal line that stands for a file until its row is in SQLite. A failure does not fail the
  /// file: it only costs the next run a download, and only after a SIGKILL.
  func journal(_ row: CacheRow) {
    guard let index else { return }
    let row = fingerprint.selected(row)
    let journal = batch.journal ?? CommitJournal(in: index.folder, index.secret)
    batch.journal = journal
    do throws(DownloadError) { try journal.append(row) } catch {
      warn(CacheWarning(.unusable, path: FilePath(error.path ?? ""), detail: "\(error)"))
    }
  }

  /// - Returns: whether the batch is full: then `flush` is due.
  @discardableResult
  func add(_ row: CacheRow) -> Bool {
    batch.add(fingerprint.selected(row))
    return batch.isFull
  }

  var isFull: Bool { batch.isFull }
  var pending: Int { batch.rows.count }

  /// Notes the new name of a file: without it, the next run would fetch the file again.
  /// - Returns: false if the file's row is not in the current batch.
  func note(_ key: RowKey, from old: String, to new: String) -> Bool {
    guard var row = batch[key], row.name == old else { return false }
    row.name = new
    batch.add(row)
    return true
  }

  /// The same for a row that is in the index already.
  nonisolated(nonsending) func noteStored(_ key: RowKey, from old: String, to new: String) async {
    guard var row = await row(key), row.name == old else { return }
    row.name = new
    batch.add(row)
    if batch.isFull { await flush() }
  }

  /// Writes the batch to the index and waits for that, so that batches cannot pile up.
  nonisolated(nonsending) func flush() async {
    guard let index, !batch.isEmpty else { return }
    let full = batch
    batch = RowBatch()
    await Self.ask(index) { $0.write(Array(full.rows.values), retiring: full.journal) }
  }

  nonisolated(nonsending) func close() async { await index?.close() }

  // MARK: Warnings

  func warn(_ warning: CacheWarning) {
    if !warnings.contains(warning) { warnings.append(warning) }
  }

  /// What went wrong with the cache since the last call; each problem is told once.
  nonisolated(nonsending) func takeWarnings() async -> [CacheWarning] {
    if let warning = resources.secret.takeWarning() { warn(warning) }
    let ofIndex = await index?.takeWarnings() ?? []
    defer { warnings = [] }
    return warnings + ofIndex
  }
}

/// Rows of finished files that SQLite does not have yet, with the journal that holds them meanwhile.
struct RowBatch: Sendable {
  private(set) var rows: [RowKey: CacheRow] = [:]
  /// Nil until the first line.
  var journal: CommitJournal?

  /// SQLite's cost grows with transactions, memory with rows; at 512 neither matters.
  static let limit = 512

  var isEmpty: Bool { rows.isEmpty }
  var isFull: Bool { rows.count >= Self.limit }

  mutating func add(_ row: CacheRow) { rows[row.key] = row }

  subscript(key: RowKey) -> CacheRow? { rows[key] }
}

/// Which file of one folder belongs to which request, by the index: a file has one address, in every run.
///
/// Read once a run, and only when something stands under a wanted name. `OutputDirectory.isGiven` knows the
/// files that this run itself commits meanwhile.
struct FileOwners: Sendable {
  private struct Owned: Sendable {
    var identity: FileIdentity
    /// A hash of the row's key, because a table of a million rows should not hold their addresses.
    var key: Int
  }

  private var owned: [Int64: Owned] = [:]

  /// No owners: for a run without an index.
  init() {}

  mutating func add(_ identity: FileIdentity, of key: RowKey) {
    owned[identity.inode] = Owned(identity: identity, key: key.hashValue)
  }

  /// Whether a file is, untouched, what was written for a request other than this.
  func isOwned(_ file: FileIdentity, besides key: RowKey) -> Bool {
    guard let owned = owned[file.inode] else { return false }
    return owned.identity == file && owned.key != key.hashValue
  }
}
