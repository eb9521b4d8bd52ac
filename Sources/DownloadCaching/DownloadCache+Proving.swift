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

  /// Whether a finished file has the checksum it must have; nil if none is known.
  func hasExpectedDigest(_ row: CacheRow, _ checksum: ContentDigest?) async throws(DownloadError)
    -> Bool?
  {
    guard let expected = checksum ?? configuration.checksums?.digest(of: row.wanted) else { return nil }
    if row.digest == "\(expected)" { return true }
    return try await commons.copier.digest(of: row, expected.algorithm) == expected
  }
}
