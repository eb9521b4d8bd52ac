import DownloadModel
import SystemPackage

extension DownloadCache {
  /// What the index knows about one request.
  private final class Known: Sendable {
    /// The file that this very request wrote here, intact.
    let own: CacheRow?
    /// The same address's file elsewhere, intact and worth asking the server about.
    let elsewhere: CacheRow?
    let ownership: Ownership

    /// The usual answers of a first run and of a run without an index.
    static let nothing = Known(.unknown)
    static let nobodys = Known(.nobodys)

    var isNothing: Bool { own == nil && elsewhere == nil }

    init(_ ownership: Ownership, own: CacheRow? = nil, elsewhere: CacheRow? = nil) {
      self.own = own
      self.elsewhere = elsewhere
      self.ownership = ownership
    }
  }

  /// One file, from the disk or through the network.
  func produce(
    _ request: DownloadRequest, _ meter: TransferMeter,
    _ fetch: DownloadStore.Fetch
  ) async throws(DownloadError) -> DownloadOutcome {
    let directory = try outputDirectory()
    let scope = scope(of: request.address)
    let known =
      openedIndex == nil
      ? .nobodys
      : await look(
        RowKey(
          address: request.address.key, scope: scope, directory: directory.canonicalPath,
          requested: request.outputName ?? ""))
    let order = FileOrder(
      address: request.address, requested: request.outputName, meter: meter, directory: directory,
      scope: scope, own: known.own, reusable: known.isNothing ? nil : try await reusable(known, for: request),
      policy: configuration.conflictPolicy,
      usesContentDisposition: configuration.useContentDisposition, isIndexed: openedIndex != nil,
      checksum: request.checksum, checksums: configuration.checksums,
      requiredProof: configuration.requiredProof, now: configuration.now)
    if configuration.offline { return try await answerOffline(order, known) }
    if order.policy == .skip, let name = order.certainName, known.own?.name != name,
      try directory.isTaken(name)
    {
      return DownloadOutcome(
        kind: .skipped, path: directory.path(of: name), size: try directory.size(of: name))
    }
    let file = PartialFile(order)
    do throws(DownloadError) {
      var isLastTry = false
      while true {
        let receipt = try await fetch(file)
        switch try file.finish(receipt) {
        case .whole(let proof):
          // Without a further async call where there is no checksum: each costs a small file half a per cent.
          var verdict = file.digestVerdict()
          if verdict == .unread { verdict = try await commons.copier.prove(file) }
          guard let proof = try judge(verdict, of: file, order, proof, isLastTry: isLastTry) else {
            isLastTry = true
            continue
          }
          return try await place(
            file, order, known.ownership, answeredBy: receipt.redirectedTo, proof: proof)
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
  private func reusable(_ known: Known, for request: DownloadRequest) async throws(DownloadError) -> CacheRow?
  {
    guard !configuration.refresh else { return nil }
    guard let own = known.own else { return known.elsewhere }
    if own.validator.isEmpty { return nil }
    // A server can only vouch for its own file: whether that is the right one, the checksum says.
    return try await hasExpectedDigest(own, request.checksum) == false ? nil : own
  }

  private func look(_ key: RowKey) async -> Known {
    let rows: [CacheRow]
    if let pending = batch[key] {
      rows = [pending]
    } else if let index = openedIndex, !index.wasEmpty {
      rows = await index.rows(key)
    } else {
      return .nothing
    }
    let own = rows.first { $0.key == key && $0.isIntact }
    let elsewhere = rows.first { $0.key != key && !$0.validator.isEmpty && $0.isIntact }
    return Known(.known(own), own: own, elsewhere: elsewhere)
  }

  // MARK: Ends

  private func place(
    _ file: PartialFile, _ order: FileOrder, _ ownership: Ownership, answeredBy: String?, proof: Proof
  ) async throws(DownloadError) -> DownloadOutcome {
    var ownership = ownership
    // The data first: a name that survives a power cut must not stand for bytes that did not.
    if configuration.syncs { try await commons.copier.sync(file) }
    var looksForTwin = true
    while true {
      var placement = try file.place(
        ownership, answeredBy: answeredBy, proof: proof, looksForTwin: looksForTwin
      ) { journal($0) }
      if placement == .mayBeThere, let twin = try await commons.copier.adopt(file, answeredBy: answeredBy) {
        placement = twin
      }
      switch placement {
      case .mayBeThere: looksForTwin = false
      case .placed(let outcome, let name, let row):
        if outcome.kind != .skipped { remember(name, outcome.size, row, order) }
        if configuration.syncs { try await commons.copier.syncNames(order.directory) }
        if batch.isFull { await flush() }
        return outcome
      case .ownershipUnknown:
        // The index was empty at the start, but this run has written rows since.
        let key = order.rowKey
        let pending = batch[key]
        let stored = pending == nil ? await openedIndex?.rows(key).first { $0.key == key } : nil
        ownership = .known(pending ?? stored)
      }
    }
  }

  /// The server said 304 (RFC 9110 §15.4.5).
  /// - Returns: nil if the file that it vouched for no longer stands there as it was: a server does not see that.
  private func unchanged(
    _ file: PartialFile, _ order: FileOrder, _ known: Known
  ) async throws(DownloadError) -> DownloadOutcome? {
    guard let row = known.own else { return try await copy(file, order, known) }
    guard row.isIntact else { return nil }
    keep(file)
    let expected = order.expectedDigest(named: row.wanted, nil)
    if expected == nil, order.requiredProof == .digest {
      throw DownloadError(
        .unproven, cause: .detail("no checksum is known for it"), activity: "proving"
      ).at(order.address)
    }
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
    guard !freshness.isEmpty || digest != row.digest else { return }
    var renewed = row
    renewed.fetchedAt = configuration.now()
    if !freshness.isEmpty { renewed.freshness = freshness }
    renewed.digest = digest
    if freshness.forbidsStoring { renewed.validator = Validator() }
    batch.add(renewed)
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
    var outcome = try await place(file, order, known.ownership, answeredBy: nil, proof: proof)
    if outcome.kind == .fetched { outcome.kind = .copied }
    return outcome
  }

  private func answerOffline(_ order: FileOrder, _ known: Known) async throws(DownloadError)
    -> DownloadOutcome
  {
    if let own = known.own {
      let isRight = try await hasExpectedDigest(own, order.checksum)
      guard isRight != false else {
        throw DownloadError(
          .digest, cause: .detail("the file on disk has another checksum"), path: own.path,
          activity: "answering offline"
        ).at(order.address)
      }
      order.meter.begin(at: own.identity.size, total: own.identity.size)
      return DownloadOutcome(
        kind: .unchanged, path: order.directory.path(of: own.name), size: own.identity.size,
        proof: isRight == true ? .digest : nil)
    }
    guard known.elsewhere != nil else {
      throw DownloadError(.cache, cause: .detail("not on disk"), activity: "answering offline").at(
        order.address)
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
