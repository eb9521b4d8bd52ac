/// The hashes of a file's pieces, all of one length except the last. They may use much memory, so only the request
/// keeps them.
package final class PieceHashes: Sendable, Equatable {
  /// Limit for one file: 64 MB of hashes.
  package static let most = 1_000_000

  package let algorithm: ContentDigest.Algorithm
  /// Of a piece, in bytes.
  package let length: Int64
  /// Concatenated.
  package let hashes: [UInt8]
  package var count: Int { hashes.count / algorithm.length }

  package init(_ algorithm: ContentDigest.Algorithm, length: Int64, _ hashes: [UInt8]) {
    self.algorithm = algorithm
    self.length = length
    self.hashes = hashes
  }

  package static func == (left: PieceHashes, right: PieceHashes) -> Bool { left === right }

  /// Whether a file of that size has this many pieces.
  package func cover(_ size: Int64) -> Bool { size > 0 && (size - 1) / length + 1 == count }

  /// - Parameter size: of the whole file.
  package func range(of piece: Int, in size: Int64) -> Range<Int64> {
    let start = Int64(piece) * length
    return start..<start + min(length, size - start)
  }
}
