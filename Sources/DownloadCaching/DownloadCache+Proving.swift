import DownloadModel

extension DownloadCache {
  /// What a whole file is worth, by its checksum and by the proof that is required.
  /// - Returns: nil if its bytes were wrong and it is to be fetched once more.
  /// - Throws: `.digest` if they were wrong again, `.unproven` if there is less proof than required.
  func judge(
    _ verdict: DigestVerdict, of file: PartialFile, _ order: FileOrder, _ proof: Proof, isLastTry: Bool
  ) throws(DownloadError) -> Proof? {
    switch verdict {
    case .match: return .digest
    case .mismatch(let expected, let found):
      guard isLastTry else {
        try file.startAfresh()
        return nil
      }
      throw DownloadError(
        .digest, cause: .detail("\(expected.algorithm) is \(found.hex), not \(expected.hex)"),
        address: order.address.key, path: try file.setAside(), activity: "comparing checksums")
    case .none, .unread:
      guard proof >= order.requiredProof else {
        throw DownloadError(
          .unproven, cause: .detail(Self.lack(proof, order.requiredProof)), activity: "proving"
        ).at(order.address)
      }
      return proof
    }
  }

  private static func lack(_ proof: Proof, _ required: Proof) -> String {
    switch (required, proof) {
    case (.digest, _): "no checksum is known for it"
    case (_, .nothing): "the server gave no length, and only the closing connection ended the file"
    default: "the server gave no length"
    }
  }

  // MARK: What stands here and is proved by its checksum need not be asked for

  /// Whether this request's own file has the checksum that the user gave; nil where there is no such file or checksum, or
  /// where the file is to be fetched in any case.
  func isRight(_ own: CacheRow?, _ request: DownloadRequest) async throws(DownloadError) -> Bool? {
    guard let own, !configuration.refresh else { return nil }
    return try await hasExpectedDigest(own, request.checksum)
  }

  /// The outcome of a request whose own file has its checksum.
  func proved(_ own: CacheRow, _ order: FileOrder) async -> DownloadOutcome {
    let own = stamped(own, nil)
    let digest = order.userDigest(named: own.wanted).map { "\($0)" }
    if own.digest != digest, order.isIndexed {
      var row = own
      row.digest = digest
      batch.add(row)
      if batch.isFull { await flush() }
    }
    return taken(own, order)
  }

  /// The same for a file that stands under the name and is in no row: from before the cache was cleared, or put there by
  /// hand. It must belong to no other address (http.md 22).
  /// - Returns: nil if there is none.
  func provedWithoutRow(_ order: FileOrder) async throws(DownloadError) -> DownloadOutcome? {
    guard !configuration.refresh else { return nil }
    let name = order.preferred(order.nameByAddress)
    guard let expected = order.userDigest(named: order.nameByAddress),
      let standing = try order.directory.standing(name), standing.identity.isRegularFile
    else { return nil }
    let owners = await owners(in: order.directory)
    guard !order.isAnothers(standing, owners) else { return nil }
    let row = CacheRow(
      key: order.rowKey, name: name, wanted: order.nameByAddress, identity: standing.identity,
      validator: Validator(),
      fetchedAt: configuration.now(), freshness: FreshnessFields(), digest: "\(expected)")
    // What cannot be read proves nothing; then it is fetched.
    guard let found = try? await commons.copier.digest(of: row, expected.algorithm), found == expected else {
      return nil
    }
    order.directory.give(standing.identity)
    if order.isIndexed {
      batch.add(row)
      if batch.isFull { await flush() }
    }
    return taken(row, order)
  }

  private func taken(_ row: CacheRow, _ order: FileOrder) -> DownloadOutcome {
    taken(
      row, DownloadKey(address: order.address, requested: order.requested), order.directory, order.meter,
      proof: .digest)
  }

  /// Whether a finished file has the checksum it must have; nil if none is known.
  func hasExpectedDigest(_ row: CacheRow, _ checksum: ContentDigest?) async throws(DownloadError)
    -> Bool?
  {
    guard let expected = checksum ?? configuration.checksums?.digest(of: row.wanted) else { return nil }
    if row.digest == "\(expected)" { return true }
    return try await commons.copier.digest(of: row, expected.algorithm) == expected
  }
}
