package import DownloadModel

/// Decides whether a complete file is accepted, by its checksum and the required proof.
package enum Verification {
  /// - Parameters:
  ///   - last: the row of the file that was rejected last.
  ///   - note: called with the row of the wrong bytes that are set aside.
  /// - Returns: `nil` if the bytes, or a copy's, were wrong for the first time: the file must be downloaded past every
  ///   cache.
  /// - Throws: `.digest` if they were wrong again, `.unproven` if the proof is weaker than required.
  package static func judge(
    _ verdict: DigestVerdict, _ proof: Proof, of download: FileDownload, insteadOf last: CacheRow?,
    _ note: (CacheRow) -> Void
  ) throws(DownloadError) -> Proof? {
    switch verdict {
    case .match: return .digest
    case .mismatch(let expected, let found):
      return try reject(download, [], "expected \(expected.algorithm):\(expected.hex), got \(found.hex)", last, note)
    case .wrongPieces(let ranges, let what): return try reject(download, ranges, what, last, note)
    case .none, .unread:
      let required = download.plan.rules.requiredProof
      guard proof >= required else { throw unproven(proof, required) }
      return proof
    }
  }

  private static func reject(
    _ download: FileDownload, _ ranges: [Range<Int64>], _ what: String, _ last: CacheRow?,
    _ note: (CacheRow) -> Void
  ) throws(DownloadError) -> Proof? {
    // If all bytes are from one source, the next source is tried. Of these bytes, only valid pieces are kept.
    let goesOn =
      download.plan.request.atNextSource(download.meter.named) != nil
      && download.look { $0.source == nil && ($0.resumed == 0 || !ranges.isEmpty) }
    if download.plan.shared.mayAsk, goesOn || !download.look({ $0.doubts.contains(.caches) }) {
      try download.access { receiver throws(DownloadError) in try receiver.startAgainAfterWrongBytes(in: ranges) }
      if !goesOn { return nil }
    }
    throw DownloadError(
      .digest, what, "comparing checksums",
      path: download.plan.rules.reader == nil && !goesOn ? try setAside(download, last, note) : nil
    ).at(download.plan.address)
  }

  package static func wrongSize(_ declared: Int64, _ found: String, _ activity: String) -> DownloadError {
    DownloadError(.wrongSize, "expected \(declared) bytes, got \(found)", activity)
  }

  package static func unproven(_ proof: Proof, _ required: Proof) -> DownloadError {
    DownloadError(.unproven, lack(proof, required), "proving")
  }

  package static func lack(_ proof: Proof, _ required: Proof) -> String {
    switch (required, proof) {
    case (.digest, _): "no checksum is known for it"
    case (_, .nothing): "the server gave no length and just hung up"
    default: "the server gave no length"
    }
  }

  /// The key of the file with the wrong bytes.
  package static func rejectedKey(_ download: FileDownload) -> RowKey {
    RowKey(rejected: download.look { $0.finalName } + ".rejected", of: download.plan.rowKey)
  }

  /// Moves wrong bytes to a name of their own, and returns the path.
  /// - Parameter last: the file that was rejected last, which is replaced if it is intact.
  private static func setAside(
    _ download: FileDownload, _ last: CacheRow?, _ note: (CacheRow) -> Void
  ) throws(DownloadError) -> String {
    let directory = download.plan.directory
    let last = last.flatMap { $0.isIntact(in: directory) ? $0 : nil }
    let key = rejectedKey(download)
    let wanted = String(key.requested.dropFirst())
    var number = 0
    while true {
      let name = last?.name ?? (number == 0 ? wanted : "\(wanted).\(number)")
      let changed = try download.access { receiver throws(DownloadError) in
        try receiver.take(name, replacing: last != nil)
      }
      if let changed, download.plan.isIndexed, let file = try directory.standing(name) {
        note(
          CacheRow(
            key: key, name: name, wanted: wanted, identity: file.identity, changed: changed,
            fetchedAt: download.plan.rules.now()))
      }
      if changed != nil { return directory.path(of: name) }
      number += 1
    }
  }
}
