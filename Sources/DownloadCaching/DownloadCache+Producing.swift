import DownloadModel
import SystemPackage

extension DownloadCache {
  /// What the index knows about one request.
  private final class Known: Sendable {
    /// The file that this very request wrote here, intact.
    let own: CacheRow?
    /// The same address's file elsewhere, intact and worth asking the server about.
    let elsewhere: CacheRow?
    /// Whether the requests that brought them were like this one.
    let (ownIsSelected, elsewhereIsSelected): (Bool, Bool)
    let ownership: Ownership

    /// The usual answers of a first run and of a run without an index.
    static let nothing = Known(.unknown)
    static let nobodys = Known(.nobodys)

    var isNothing: Bool { own == nil && elsewhere == nil }

    init(
      _ ownership: Ownership, own: CacheRow? = nil, elsewhere: CacheRow? = nil,
      selected: (own: Bool, elsewhere: Bool) = (true, true)
    ) {
      self.own = own
      self.elsewhere = elsewhere
      (ownIsSelected, elsewhereIsSelected) = selected
      self.ownership = ownership
    }
  }

  /// How long another process is left alone before it is asked again whether it still has the file. A different time
  /// for each, so that two that met once do not meet again.
  private static let askAgain: Range<Double> = 0.02..<0.1

  /// Waits until no other process has the request under way.
  private func waitForAnother(
    _ request: DownloadRequest, _ claims: ProcessClaims, _ hash: UInt64
  ) async throws(DownloadError) -> ProcessClaims.Claim {
    configuration.onWait(request)
    while true {
      do { try await Task.sleep(for: .seconds(Double.random(in: Self.askAgain))) } catch { throw .cancelled }
      if let claim = claims.take(hash) { return claim }
    }
  }

  /// One file, from the disk or through the network, once no other process has it under way.
  func produce(
    _ request: DownloadRequest, _ meter: TransferMeter,
    _ fetch: DownloadStore.Fetch
  ) async throws(DownloadError) -> DownloadOutcome {
    let directory = try outputDirectory()
    let scope = scope(of: request.address)
    let key = RowKey(
      address: request.address.key, scope: scope, directory: directory.canonicalPath,
      requested: request.outputName ?? "")
    // Until the end of this function: others then take over what came of it.
    var claim: ProcessClaims.Claim? = .ofNothing
    var afterAnother = false
    if let claims = commons.claims {
      let hash = key.stableHash
      claim = claims.take(hash)
      if claim == nil {
        claim = try await waitForAnother(request, claims, hash)
        afterAnother = true
      }
    }
    defer { claim = nil }
    let known =
      openedIndex == nil
      ? .nobodys : commons.claims?.hasCompany == true ? await lookAtAnothers(key) : await look(key)
    // No async call where there is nothing to ask: each costs a small file half a per cent.
    let isRight = known.own == nil ? nil : try await isRight(known.own, request)
    if afterAnother, let own = known.own, known.ownIsSelected, !configuration.refresh, isRight == nil {
      return taken(
        own, DownloadKey(address: request.address, requested: request.outputName), directory, meter)
    }
    let policy = configuration.conflictPolicy
    let order = FileOrder(
      address: request.address, requested: request.outputName, meter: meter, directory: directory,
      scope: scope, own: known.own, known: known.isNothing ? nil : version(known, isRight),
      policy: policy,
      usesContentDisposition: configuration.useContentDisposition,
      isIndexed: openedIndex != nil && !configuration.fields.forbidsStoring,
      checksum: request.checksum, checksums: configuration.checksums,
      requiredProof: configuration.requiredProof, refreshes: configuration.refresh,
      number: request.nameNumber,
      mayStandAlready: request.isRepeat || commons.claims?.hasCompany == true, names: configuration.names,
      owners: policy == .skip ? await owners(in: directory) : nil, maxSize: configuration.maxSize,
      usesRemoteTime: configuration.usesRemoteTime, now: configuration.now)
    if isRight == true, let own = known.own { return await proved(own, order) }
    if known.own == nil, order.hasUserDigests, let outcome = try await provedWithoutRow(order) {
      return outcome
    }
    if configuration.offline { return try await answerOffline(order, known, isRight) }
    if order.policy == .skip, let name = order.certainName, known.own?.name != name,
      let standing = try directory.standing(name), !order.isAnothers(standing, order.owners ?? FileOwners())
    {
      return DownloadOutcome(
        kind: .skipped, path: directory.path(of: name), size: max(0, standing.identity.size))
    }
    let file = PartialFile(order)
    do throws(DownloadError) {
      var isLastTry = false
      while true {
        let receipt = try await fetch(file)
        switch try file.finish(receipt) {
        case .whole(let proof):
          // Nor here where there is no checksum.
          var verdict = file.digestVerdict()
          if verdict == .unread { verdict = try await commons.copier.prove(file) }
          guard let proof = try judge(verdict, of: file, order, proof, isLastTry: isLastTry) else {
            isLastTry = true
            continue
          }
          return try await place(
            file, order, known.ownership, proof: proof)
        case .partly: continue
        case .unchanged:
          if let outcome = try await unchanged(file, order, known) { return outcome }
          try file.forgetKnown()
        case .skipped:
          let name = file.finalName
          keep(file)
          return DownloadOutcome(
            kind: .skipped, path: directory.path(of: name), size: try directory.size(of: name))
        }
      }
    } catch {
      keep(file)
      throw error
    }
  }

  /// What the server may be asked about, so that it need not be fetched.
  private func version(_ known: Known, _ isRight: Bool?) -> KnownVersion? {
    guard !configuration.refresh else { return nil }
    guard let own = known.own else {
      return known.elsewhere.map { KnownVersion($0, isSelected: known.elsewhereIsSelected) }
    }
    // A server can only vouch for its own file: whether that is the right one, the checksum says.
    guard !own.validator.isEmpty, isRight != false else { return nil }
    return KnownVersion(own, isSelected: known.ownIsSelected)
  }

  /// - Parameter thoughEmpty: whether to ask an index that was empty at the start.
  private func look(_ key: RowKey, thoughEmpty: Bool = false) async -> Known {
    let rows: [CacheRow]
    if let pending = batch[key] {
      rows = [pending]
    } else if let index = openedIndex, thoughEmpty || !index.wasEmpty {
      rows = await asking(index) { $0.rows(key) }
    } else {
      return .nothing
    }
    let own = rows.first { $0.key == key && $0.isIntact }
    let elsewhere = rows.first { $0.key != key && !$0.validator.isEmpty && $0.isIntact }
    return Known(
      .known(own), own: own, elsewhere: elsewhere,
      selected: (own.map { isSelected($0) } ?? true, elsewhere.map { isSelected($0) } ?? true))
  }

  /// The same where other processes are at work: the row may be in one's journal only. Journals first, since a row goes
  /// from there into the database.
  private func lookAtAnothers(_ key: RowKey) async -> Known {
    guard let index = openedIndex else { return .nobodys }
    if batch[key] == nil, let row = await asking(index, { $0.journaledRow(key) }), row.isIntact {
      return Known(.known(row), own: row, selected: (isSelected(row), true))
    }
    return await look(key, thoughEmpty: true)
  }

  /// What stands here needs no request: another process fetched it while this one waited, or its checksum proves it.
  func taken(
    _ row: CacheRow, _ key: DownloadKey, _ directory: OutputDirectory, _ meter: TransferMeter,
    proof: Proof? = nil
  ) -> DownloadOutcome {
    let entry = RecentFiles.Entry(name: row.name, size: row.identity.size, identity: row.identity)
    commons.downloads.remember(entry, for: key)
    meter.begin(at: row.identity.size, total: row.identity.size)
    return DownloadOutcome(
      kind: .unchanged, path: directory.path(of: row.name), size: row.identity.size, proof: proof)
  }

  // MARK: Ends

  private func place(
    _ file: PartialFile, _ order: FileOrder, _ ownership: Ownership, proof: Proof
  ) async throws(DownloadError) -> DownloadOutcome {
    var ownership = ownership
    if configuration.usesRemoteTime { try file.stamp() }
    // The data first: a name that survives a power cut must not stand for bytes that did not.
    if configuration.syncs { try await commons.syncer.sync(file) }
    // Not asked before something stands in the way, which in most runs nothing does.
    var owners = order.owners
    var looksForTwin = true
    while true {
      var placement = try file.place(
        ownership, owners, proof: proof, looksForTwin: looksForTwin
      ) { journal($0) }
      if placement == .mayBeThere, let owners,
        let twin = try await commons.copier.adopt(file, owners)
      {
        placement = twin
      }
      switch placement {
      case .mayBeThere: looksForTwin = false
      case .placed(let outcome, let name, let row):
        if outcome.kind != .skipped { remember(name, outcome.size, row, order) }
        if configuration.syncs { try await commons.syncer.syncNames(order.directory) }
        if batch.isFull { await flush() }
        return outcome
      case .ownershipUnknown:
        if owners == nil { owners = await self.owners(in: order.directory) }
        guard ownership == .unknown else { continue }
        // The index was empty at the start, but this run has written rows since.
        let key = order.rowKey
        let pending = batch[key]
        let stored = pending == nil ? await stored(key) : nil
        ownership = .known(pending ?? stored)
      }
    }
  }

  private func stored(_ key: RowKey) async -> CacheRow? {
    guard let index = openedIndex else { return nil }
    return await asking(index) { $0.rows(key) }.first { $0.key == key }
  }

  /// Whose the files of the folder are. Read once a run.
  func owners(in directory: OutputDirectory) async -> FileOwners {
    guard let index = openedIndex else { return FileOwners() }
    if let owners = commons.owners { return owners }
    let owners = await asking(index) { $0.owners(in: directory.canonicalPath) }
    commons.owners = owners
    return owners
  }

  /// The server said 304 (RFC 9110 §15.4.5).
  /// - Returns: nil if the file that it vouched for no longer stands there as it was: a server does not see that.
  private func unchanged(
    _ file: PartialFile, _ order: FileOrder, _ known: Known
  ) async throws(DownloadError) -> DownloadOutcome? {
    guard var row = known.own else { return try await copy(file, order, known) }
    guard row.isIntact else { return nil }
    keep(file)
    let expected = order.expectedDigest(named: row.wanted, nil)
    if expected == nil, order.requiredProof == .digest {
      throw DownloadError(
        .unproven, cause: .detail("no checksum is known for it"), activity: "proving"
      ).at(order.address)
    }
    row = stamped(row, file.head)
    if let head = file.head { await renew(row, head, expected) }
    let entry = RecentFiles.Entry(name: row.name, size: row.identity.size, identity: row.identity)
    commons.downloads.remember(entry, for: DownloadKey(address: order.address, requested: order.requested))
    order.meter.begin(at: row.identity.size, total: row.identity.size)
    return DownloadOutcome(
      kind: .unchanged, path: order.directory.path(of: row.name), size: row.identity.size,
      proof: expected == nil ? nil : .digest)
  }

  /// Takes over what a 304 says anew (RFC 9111 §4.3.4), and the checksum that was compared. Not worth a row where
  /// there is nothing of the sort.
  private func renew(_ row: CacheRow, _ head: ResponseHead, _ proven: ContentDigest?) async {
    let freshness = FreshnessFields(head)
    let digest = proven.map { "\($0)" } ?? row.digest
    guard !configuration.fields.forbidsStoring, !freshness.isEmpty || digest != row.digest else { return }
    var renewed = row
    renewed.fetchedAt = configuration.now()
    renewed.freshness.update(freshness)
    renewed.digest = digest
    if freshness.forbidsStoring { renewed.validator = Validator() }
    batch.add(selected(renewed))
    if batch.isFull { await flush() }
  }

  /// - Returns: nil if the file that was to be copied has changed meanwhile.
  private func copy(
    _ file: PartialFile, _ order: FileOrder, _ known: Known
  ) async throws(DownloadError) -> DownloadOutcome? {
    guard let source = known.elsewhere else {
      throw DownloadError(.badResponse, cause: .http(status: 304), activity: "receiving").at(order.address)
    }
    guard try await commons.copier.fill(file, from: source) else { return nil }
    let verdict = try await commons.copier.prove(file)
    guard let proof = try judge(verdict, of: file, order, .length, isLastTry: true) else { throw .cancelled }
    var outcome = try await place(file, order, known.ownership, proof: proof)
    if outcome.kind == .fetched { outcome.kind = .copied }
    return outcome
  }

  private func answerOffline(
    _ order: FileOrder, _ known: Known, _ isRight: Bool?
  ) async throws(DownloadError) -> DownloadOutcome {
    if let own = known.own, known.ownIsSelected {
      guard isRight != false else {
        throw DownloadError(
          .digest, cause: .detail("the file on disk has another checksum"), path: own.path,
          activity: "answering offline"
        ).at(order.address)
      }
      order.meter.begin(at: own.identity.size, total: own.identity.size)
      return DownloadOutcome(
        kind: .unchanged, path: order.directory.path(of: own.name), size: own.identity.size)
    }
    guard known.elsewhere != nil, known.elsewhereIsSelected else {
      let detail =
        known.isNothing
        ? "not on disk" : "what is on disk was the answer to a request with other header lines"
      throw DownloadError(.cache, cause: .detail(detail), activity: "answering offline").at(order.address)
    }
    let file = PartialFile(order)
    do throws(DownloadError) {
      // Takes the file's place in the output folder; the request itself is not sent.
      _ = try file.nextTransfer()
      if let outcome = try await copy(file, order, known) { return outcome }
      throw DownloadError(
        .cache, cause: .detail("the file on disk has changed"), activity: "answering offline"
      ).at(order.address)
    } catch {
      keep(file)
      throw error
    }
  }

  /// Keeps what came of a file that did not end.
  private func keep(_ file: PartialFile) {
    do throws(DownloadError) { try file.abandon() } catch {
      warn(CacheWarning(.partialNotKept, path: FilePath(error.path ?? ""), detail: error.reason))
    }
  }
}
