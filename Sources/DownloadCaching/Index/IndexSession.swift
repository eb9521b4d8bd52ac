import DownloadModel
import SystemPackage

/// One cache actor's access to the index: it asks only where the index can know something, and writes rows in batches.
/// Isolated state of that actor.
final class IndexSession {
  private let resources: CacheResources
  private let configuration: CacheConfiguration
  private let fingerprint: RequestFingerprint
  /// The index that the resources opened, kept here so that a file takes no lock for it.
  private var index: CacheIndex?
  private var wasOpened = false
  /// For lookups on this actor's thread; nil until the index has answered once.
  private var reader: IndexReader?
  private var readerWasOpened = false
  /// Rows of files that this actor finished and SQLite does not know yet.
  private var batch: RowBatch?
  /// How many bytes the lines of a batch may come to, by the one before.
  private var roomOfBatch = 0
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
      warn(CacheWarning(.unusable, path: folder, detail: CacheWarning.words($0)))
    }
  }

  /// Whether rows are made for the files of this run.
  var records: Bool { index != nil && !configuration.fields.forbidsStoring }

  /// Where the index is; nil for a run without one.
  var folder: Folder? { index?.folder }

  /// Under which trust this run's request for an address is answered.
  func trust(of request: DownloadRequest) -> RequestTrust { fingerprint.trust(of: request) }

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

  /// The same, where there is an index.
  nonisolated(nonsending) func ask<Answer: Sendable>(
    _ question: @Sendable (isolated CacheIndex) -> Answer?
  ) async -> Answer? {
    guard let index else { return nil }
    return await Self.ask(index, question)
  }

  /// What is known of a request's files, if that can be told without waiting.
  func knownAtOnce(_ key: RowKey, _ trust: RequestTrust, in directory: OutputDirectory) -> KnownFiles? {
    guard let index else { return .nothing }
    if let pending = batch?[key] { return judge([pending], key, trust, directory) }
    guard resources.claims?.hasCompany == true else {
      if isNothingToAsk(index) { return .notAsked }
      return reader?.rows(key).map { judge($0, key, trust, directory) }
    }
    guard let reader else { return nil }
    let journaled = journaled(key, index, directory)
    if let journaled, let known = own(journaled, key, trust) { return known }
    // A transaction from before the journals were read may not know a row that has moved since.
    reader.endTransaction()
    return reader.rows(key).map { join(judge($0, key, trust, directory), journaled, trust) }
  }

  /// The request's own file, intact, if that can be told without waiting and by the index alone. It saves a quarter of
  /// a lookup where that file is the answer. Not to be asked while other processes are alive.
  /// - Returns: nil also where more is to be asked.
  func ownAtOnce(_ key: RowKey, _ trust: RequestTrust, in directory: OutputDirectory) -> KnownFiles? {
    guard let reader, batch?[key] == nil, let own = reader.own(key), own.isIntact(in: directory) else { return nil }
    return KnownFiles(.known(own), own: own, reuse: (fingerprint.reuse(of: own, under: trust), .asOwn))
  }

  /// What is known of a request's files.
  nonisolated(nonsending) func known(
    _ key: RowKey, _ trust: RequestTrust, in directory: OutputDirectory
  ) async -> KnownFiles {
    guard let index else { return .nothing }
    let hasCompany = resources.claims?.hasCompany == true
    if let pending = batch?[key] { return judge([pending], key, trust, directory) }
    let journaled = hasCompany ? journaled(key, index, directory) : nil
    if let journaled, let known = own(journaled, key, trust) { return known }
    guard hasCompany || !isNothingToAsk(index) else { return .notAsked }
    return join(judge(await rows(key, index), key, trust, directory), journaled, trust)
  }

  /// Whether the index had nothing when this run began, so that it has nothing but what this actor knows.
  private func isNothingToAsk(_ index: CacheIndex) -> Bool {
    index.wasEmpty && !configuration.servesManyRuns
  }

  /// The row of a living process may be in its journal only. Journals come first, because a row moves from there into
  /// the database.
  private func journaled(_ key: RowKey, _ index: CacheIndex, _ directory: OutputDirectory) -> CacheRow? {
    guard let row = index.journals.row(key, made: resources.claims?.journalsMade), row.isIntact(in: directory),
      row.key == key || row.mayAnswer
    else { return nil }
    return row
  }

  private func own(_ row: CacheRow, _ key: RowKey, _ trust: RequestTrust) -> KnownFiles? {
    guard row.key == key else { return nil }
    return KnownFiles(.known(row), own: row, reuse: (fingerprint.reuse(of: row, under: trust), .asOwn))
  }

  private func join(_ stored: KnownFiles, _ journaled: CacheRow?, _ trust: RequestTrust) -> KnownFiles {
    guard let journaled else { return stored }
    let reuse = fingerprint.reuse(of: journaled, under: trust)
    if reuse != .asOwn, stored.elsewhere != nil, stored.elsewhereReuse == .asOwn { return stored }
    return KnownFiles(stored.ownership, own: stored.own, elsewhere: journaled, reuse: (stored.ownReuse, reuse))
  }

  private nonisolated(nonsending) func rows(_ key: RowKey, _ index: CacheIndex) async -> [CacheRow] {
    // A transaction from before the journals were read may not know a row that has moved since.
    reader?.endTransaction()
    if !readerWasOpened {
      let path = await Self.ask(index) { $0.openPath() }
      // Another request's task may have opened it meanwhile.
      if !readerWasOpened, let path {
        readerWasOpened = true
        reader = IndexReader(path: path)
      }
    }
    if let rows = reader?.rows(key) { return rows }
    return await Self.ask(index) { $0.rows(key) }
  }

  /// Whether a lookup has begun a transaction, so that `pauseReading` is due, behind the lookups of this turn.
  var isReading: Bool { reader?.isInTransaction == true }

  func pauseReading() { reader?.endTransaction() }

  /// - Parameter rows: of the key's address.
  private func judge(
    _ rows: [CacheRow], _ key: RowKey, _ trust: RequestTrust, _ directory: OutputDirectory
  ) -> KnownFiles {
    let written = rows.first { $0.key == key }
    let own = written.flatMap { $0.isIntact(in: directory) ? $0 : nil }
    var (elsewhere, reuse): (CacheRow?, Reuse) = (nil, .asOwn)
    // That of a request like this one first, then the youngest.
    for row in rows where row.key != key && row.mayAnswer {
      let found = fingerprint.reuse(of: row, under: trust)
      guard found == .asOwn || found == .byStrongTag && elsewhere == nil, row.isIntact(in: directory) else { continue }
      (elsewhere, reuse) = (row, found)
      if found == .asOwn { break }
    }
    return KnownFiles(
      .known(written), own: own, elsewhere: elsewhere,
      reuse: (own.map { fingerprint.reuse(of: $0, under: trust) } ?? .asOwn, reuse))
  }

  /// The row of a request, intact or not.
  nonisolated(nonsending) func row(_ key: RowKey) async -> CacheRow? {
    if let pending = batch?[key] { return pending }
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

  /// Writes the journal line that stands for a file until its row is in SQLite. A failure does not fail the file: it
  /// only costs the next run a download, and only after a SIGKILL.
  func journal(_ row: CacheRow) {
    withBatch { batch, failed in batch.append(row, as: fingerprint.selected(row), failed: failed) }
  }

  /// The same for a row that stays selected as it is.
  func journalStored(_ row: CacheRow) {
    withBatch { batch, failed in batch.append(row, as: row, failed: failed) }
  }

  /// - Returns: whether the batch is full: then `flush` is due.
  @discardableResult
  func add(_ row: CacheRow) -> Bool {
    withBatch { batch, failed in batch.add(row, as: fingerprint.selected(row), failed: failed) }
    return isFull
  }

  /// Changes the batch, and begins one where there is none.
  private func withBatch(_ change: (inout RowBatch, (DownloadError) -> Void) -> Void) {
    guard let index else { return }
    var changed =
      batch
      ?? RowBatch(journal: CommitJournal(in: index.folder, index.secret, resources.claims, room: roomOfBatch))
    // Else the change would copy it.
    batch = nil
    var failure: DownloadError?
    change(&changed) { failure = $0 }
    batch = changed
    if let failure {
      warn(CacheWarning(.unusable, path: FilePath(failure.path ?? ""), detail: "\(failure)"))
    }
  }

  /// The row, with what this run's request had in the fields that its answer varies by.
  func selected(_ row: CacheRow) -> CacheRow { fingerprint.selected(row) }

  /// Adds a row that stays selected as it is: that of one of the store's files, or of one whose answer is not this
  /// run's.
  func addStored(_ row: CacheRow) {
    withBatch { batch, failed in batch.add(row, as: row, failed: failed) }
  }

  /// What a row's file is worth to a request.
  func reuse(of row: CacheRow, under trust: RequestTrust) -> Reuse {
    fingerprint.reuse(of: row, under: trust)
  }

  /// Writes rows at once: those that have a journal of their own, or none.
  nonisolated(nonsending) func write(_ rows: [CacheRow], retiring journal: CommitJournal?) async {
    guard let index, !rows.isEmpty || journal != nil else { return }
    await Self.ask(index) { $0.write(rows, retiring: journal) }
  }

  var isFull: Bool { batch?.isFull == true }
  var pending: Int { batch?.count ?? 0 }

  /// Notes the new name of a file, and when it got that: without it, the next run would fetch the file again.
  /// - Returns: false if the file's row is not in the current batch.
  func note(_ key: RowKey, from old: String, to new: (String, ChangeTime)) -> Bool {
    guard var row = batch?[key], row.name == old else { return false }
    (row.name, row.changed) = new
    addStored(row)
    return true
  }

  /// The same for a row that is in the index already.
  nonisolated(nonsending) func noteStored(_ key: RowKey, from old: String, to new: (String, ChangeTime)) async {
    guard var row = await row(key), row.name == old else { return }
    (row.name, row.changed) = new
    addStored(row)
    if isFull { await flush() }
  }

  /// Writes the batch to the index and waits for that, so that batches cannot pile up.
  nonisolated(nonsending) func flush() async {
    guard let index, let full = batch, full.count > 0 else { return }
    batch = nil
    // The lines of other addresses are a little longer.
    if full.isFull { roomOfBatch = full.journal.length * 9 / 8 }
    await Self.ask(index) { $0.write(full.journal, full.places) }
  }

  /// Closes this actor's own connection: the index's is to be the last, which puts the log into the database.
  func endReading() {
    reader = nil
    readerWasOpened = true
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

/// Rows of finished files that SQLite does not have yet: lines of a journal, and which of them count.
///
/// A row is kept as its line only. Ten thousand rows as values would be a hundred thousand texts here and there in
/// memory, all to be fetched again by the thread that stores them.
struct RowBatch: Sendable {
  let journal: CommitJournal
  /// Where the lines begin that count, in the order in which they came; of a request that was answered twice, both.
  private(set) var places: [Int] = []
  /// Of each request's last line, by the hash of its key.
  private var placeOfKey: [Int: Int] = [:]
  /// The row that was written last.
  private var last: (row: CacheRow, place: Int)?

  /// SQLite's cost grows with transactions, memory with rows; at 512 neither matters.
  static let limit = 512

  init(journal: CommitJournal) {
    self.journal = journal
    placeOfKey.reserveCapacity(Self.limit)
  }

  var count: Int { places.count }
  var isFull: Bool { places.count >= Self.limit }

  /// Writes the line of a row that does not count yet: the file has its name only after that.
  /// - Parameters:
  ///   - row: by which `add` recognises it.
  ///   - stored: what is stored of it.
  mutating func append(_ row: CacheRow, as stored: CacheRow, failed: (DownloadError) -> Void) {
    last = journal.append(stored, failed: failed).map { (row, $0) }
  }

  /// Counts a row. Writes its line, unless that was the last one written: then only when its file was changed last,
  /// which is known once it has its name.
  mutating func add(_ row: CacheRow, as stored: CacheRow, failed: (DownloadError) -> Void) {
    if let last, last.row.isSame(butForChange: row) {
      if last.row.changed != row.changed { journal.note(row.changed, failed: failed) }
    } else {
      append(row, as: stored, failed: failed)
    }
    guard let place = last?.place else { return }
    places.append(place)
    placeOfKey[row.key.hashValue] = place
  }

  subscript(key: RowKey) -> CacheRow? {
    // Where two keys have one hash, the row of one is not found: then its server is asked.
    placeOfKey[key.hashValue].flatMap { journal.row(at: $0) }.flatMap { $0.key == key ? $0 : nil }
  }
}

/// Which file of one folder belongs to which request, by the index: a file has one address, in every run.
///
/// Read once a run, and only when something stands under a wanted name. `OutputDirectory.isGiven` knows the files that
/// this run itself commits meanwhile.
struct FileOwners: Sendable {
  private struct Owned: Sendable {
    var identity: FileIdentity
    /// `RowKey.number` of the row.
    var key: Int
  }

  private var owned: [Int64: Owned] = [:]

  mutating func add(_ identity: FileIdentity, of key: RowKey) {
    owned[identity.inode] = Owned(identity: identity, key: key.number)
  }

  /// Whether a file is, untouched, what was written for a request other than this.
  func isOwned(_ file: FileIdentity, besides key: RowKey) -> Bool {
    guard let owned = owned[file.inode] else { return false }
    return owned.identity == file && owned.key != key.number
  }
}
