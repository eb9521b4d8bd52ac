import DownloadModel
import SystemPackage

extension DownloadCache {
  // MARK: Opened when first needed

  func outputDirectory() throws(DownloadError) -> OutputDirectory {
    openIndex()
    if let openedDirectory { return openedDirectory }
    let directory = try commons.directory(configuration.directory)
    openedDirectory = directory
    return directory
  }

  @discardableResult
  func openIndex() -> CacheIndex? {
    guard !indexWasOpened else { return openedIndex }
    indexWasOpened = true
    guard let folder = configuration.cacheFolder else { return nil }
    openedIndex = commons.index(at: folder, now: configuration.now) {
      warn(CacheWarning(.unusable, path: folder, detail: "\($0)"))
    }
    return openedIndex
  }

  /// Asks the index something. A run that is to end does not wait for a process that holds it.
  func asking<Answer: Sendable>(
    _ index: CacheIndex, _ question: @Sendable (isolated CacheIndex) -> Answer
  ) async -> Answer {
    await withTaskCancellationHandler {
      _ = self  // named, or Swift 6.3 takes the operation for nobody's
      return await index.answer(question)
    } onCancel: {
      index.stopWaiting()
    }
  }

  // MARK: Whose answer it is

  /// A name for everything in a request that can select or unlock its answer, beside the address (http.md 18, 30).
  func scope(of address: Address) -> String {
    let login = configuration.logins?.login(for: address.host)
    guard address.hasCredentials || keyedFields != nil || login != nil else { return "" }
    let more = login.map { (keyedFields ?? "") + "\0" + $0 } ?? keyedFields
    return credentialScope().name(of: address, more: more)
  }

  private func credentialScope() -> CredentialScope {
    if let scopes { return scopes }
    let made = CredentialScope(key: commons.secret.key)
    scopes = made
    return made
  }

  /// A name for what an answer depends on beside the scope: the values of the fields that its `Vary` names (http.md 29),
  /// and, where redirects led to it by way of other hosts, the logins that may have been theirs.
  ///
  /// Cookies that servers set are known to the transport only, and are others in each run. What an answer that varies by
  /// them was an answer to is therefore known to no later run: the same is said of it in this run and never again.
  private func selection(vary: String?, answeredBy: String?) -> String? {
    if let vary, configuration.holdsCookies(), RequestFields.isCookies(vary: vary) {
      return credentialScope().digest(Array("cookies of run \(commons.runNumber)".utf8))
    }
    guard let logins = answeredBy == nil ? nil : configuration.logins?.all else {
      guard let vary else { return nil }
      if let known = selections[vary] { return known }
      let made = configuration.fields.values(namedBy: vary).map { credentialScope().digest(Array($0.utf8)) }
      if selections.count < 64 { selections[vary] = .some(made) }
      return made
    }
    let values = vary.flatMap { configuration.fields.values(namedBy: $0) } ?? ""
    return credentialScope().digest(Array((values + "\0" + logins).utf8))
  }

  /// Whether a row's file was the answer to a request like those of this run.
  func isSelected(_ row: CacheRow) -> Bool {
    guard row.freshness.vary.map({ RequestFields.isAny(vary: $0) }) != true else { return false }
    return row.selection == selection(vary: row.freshness.vary, answeredBy: row.answeredBy)
  }

  /// The row of a file that this run's request brought.
  func selected(_ row: CacheRow) -> CacheRow {
    guard row.freshness.vary != nil || row.answeredBy != nil else { return row }
    var row = row
    row.selection = selection(vary: row.freshness.vary, answeredBy: row.answeredBy)
    return row
  }

  // MARK: Rows

  /// The line that stands for a file until its row is in SQLite. A failure costs the next run a download after
  /// a SIGKILL, and nothing otherwise: it is no reason to fail the file.
  func journal(_ row: CacheRow) {
    guard let index = openedIndex else { return }
    let row = selected(row)
    let journal = batch.journal ?? CommitJournal(in: index.folder, index.secret)
    batch.journal = journal
    do throws(DownloadError) { try journal.append(row) } catch {
      warn(CacheWarning(.unusable, path: FilePath(error.path ?? ""), detail: "\(error)"))
    }
  }

  func remember(_ name: String, _ size: Int64, _ row: CacheRow?, _ order: FileOrder) {
    commons.downloads.remember(
      RecentFiles.Entry(name: name, size: size, identity: row?.identity),
      for: DownloadKey(address: order.address, requested: order.requested))
    if let row { batch.add(selected(row)) }
  }

  /// The download that fills a batch carries it to the index and waits there: so batches cannot pile up.
  func flush() async {
    guard let index = openedIndex, !batch.isEmpty else { return }
    let full = batch
    batch = RowBatch()
    await asking(index) { $0.write(Array(full.rows.values), retiring: full.journal) }
  }

  // MARK: Warnings

  func warn(_ warning: CacheWarning) {
    if !warnings.contains(warning) { warnings.append(warning) }
  }

  /// What went wrong with the cache since the last call; each thing once.
  public func takeWarnings() async -> [CacheWarning] {
    if let error = commons.secret.takeFailure() {
      warn(
        CacheWarning(
          .unusable,
          path: (configuration.keyFolder ?? configuration.cacheFolder ?? "").appending(UserSecret.fileName),
          detail: "\(error)"))
    }
    let ofIndex = await openedIndex?.takeWarnings() ?? []
    defer { warnings = [] }
    return warnings + ofIndex
  }
}
