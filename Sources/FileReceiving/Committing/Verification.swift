package import DownloadModel
import SystemPackage

/// The comparison of one file with the checksum that it must have, if there is one.
struct DigestCheck: ~Copyable, Sendable {
  let expected: ContentDigest?
  private var hasher: ContentHasher?
  /// Bytes of the file, from its start, that the hasher has taken.
  private var hashed: Int64 = 0

  init(_ expected: ContentDigest?) {
    self.expected = expected
    if let expected { hasher = ContentHasher(expected.algorithm) }
  }

  /// Hashes bytes only if they follow those hashed so far: what an earlier run left is not hashed here.
  mutating func take(_ bytes: UnsafeRawBufferPointer, at offset: Int64) {
    guard offset == hashed, hasher != nil else { return }
    hasher?.update(bytes)
    hashed += Int64(bytes.count)
  }

  func verdict(of length: Int64) -> DigestVerdict? {
    guard let expected else { return nil }
    switch hasher {
    case .some(let hasher) where hashed == length: return DigestVerdict(expected: expected, found: hasher.finish())
    default: return .unread(expected)
    }
  }
}

package enum DigestVerdict: Sendable, Equatable {
  case none
  case match
  case mismatch(expected: ContentDigest, found: ContentDigest)
  /// Which bytes are wrong, or none to fetch the whole anew; and what is said of it.
  case wrongPieces([Range<Int64>], String)
  /// Some bytes came before this run, so the file must be read.
  case unread(ContentDigest)

  init(expected: ContentDigest, found: ContentDigest) {
    self = expected == found ? .match : .mismatch(expected: expected, found: found)
  }
}

/// Whether a whole file is accepted, by its checksum and the proof that is required.
package enum Verification {
  /// - Returns: nil if its bytes, or a copy's, were wrong for the first time: then it must be fetched past every cache.
  /// - Throws: `.digest` if they were wrong again, `.unproven` if there is less proof than required.
  package static func judge(
    _ verdict: DigestVerdict, _ proof: Proof, of download: FileDownload
  ) throws(DownloadError) -> Proof? {
    switch verdict {
    case .match: return .digest
    case .mismatch(let expected, let found):
      return try reject(download, [], "wanted \(expected.algorithm):\(expected.hex), got \(found.hex)")
    case .wrongPieces(let ranges, let what): return try reject(download, ranges, what)
    case .none, .unread:
      let required = download.plan.rules.requiredProof
      guard proof >= required else { throw unproven(proof, required) }
      return proof
    }
  }

  private static func reject(
    _ download: FileDownload, _ ranges: [Range<Int64>], _ what: String
  ) throws(DownloadError) -> Proof? {
    // Wrong from one address alone: the next is asked, and nothing of these bytes is kept, except good pieces.
    let goesOn =
      download.plan.request.atNextSource != nil
      && download.look { $0.source == nil && ($0.resumed == 0 || !ranges.isEmpty) }
    if download.plan.shared.mayAsk, goesOn || !download.look({ $0.doubts.contains(.caches) }) {
      try download.access { reception throws(DownloadError) in try reception.startAgainAfterWrongBytes(in: ranges) }
      if !goesOn { return nil }
    }
    throw DownloadError(
      .digest, cause: .detail(what), address: download.plan.address.key,
      path: download.plan.rules.reader == nil && !goesOn ? try setAside(download) : nil,
      activity: "comparing checksums")
  }

  package static func unproven(_ proof: Proof, _ required: Proof) -> DownloadError {
    DownloadError(.unproven, cause: .detail(lack(proof, required)), activity: "proving")
  }

  package static func lack(_ proof: Proof, _ required: Proof) -> String {
    switch (required, proof) {
    case (.digest, _): "no checksum is known for it"
    case (_, .nothing): "the server gave no length and just hung up"
    default: "the server gave no length"
    }
  }

  /// Sets wrong bytes aside under a name of their own, and returns the path.
  private static func setAside(_ download: FileDownload) throws(DownloadError) -> String {
    let wanted = download.look { $0.finalName }
    var number = 0
    while true {
      let name = wanted + (number == 0 ? ".rejected" : ".rejected.\(number)")
      let named = try download.access { reception throws(DownloadError) in try reception.take(name, replacing: false) }
      if named != nil { return download.plan.directory.path(of: name) }
      number += 1
    }
  }
}

extension Reception {
  /// The longest list of what is missing that resume metadata takes.
  private static let mostWrong = 256

  /// What its pieces say of a whole file that no checksum has proved. Blocks.
  func verdict(_ verdict: DigestVerdict, by pieces: PieceHashes) throws(DownloadError) -> DigestVerdict {
    let size = length
    guard pieces.cover(size) else {
      return .wrongPieces([], "wanted \(pieces.count) pieces of \(pieces.length) bytes, got \(size) bytes")
    }
    let wrong = try part.withFile("reading") { file throws(Errno) in try file.wrongPieces(pieces, of: size) }
    guard let wrong else { throw .cancelled }
    guard let first = wrong.first else { return verdict == .none ? .match : verdict }
    let ranges = wrong.map { pieces.range(of: $0, in: size) }
    let place = "bytes \(ranges[0].lowerBound) to \(ranges[0].upperBound - 1)"
    let more = wrong.count > 1 ? ", and \(wrong.count - 1) more" : ""
    return .wrongPieces(
      wrong.count < min(pieces.count, Self.mostWrong) ? ranges : [],
      "piece \(first + 1) of \(pieces.count) (\(place)) is wrong by its \(pieces.algorithm)\(more)")
  }
}
