import CurlTransport
import DownloadModel

/// Decodes the bytes of a list to text; gzip, zstd and xz are recognised by their magic numbers. It decodes a piece at
/// a time, so that a few bytes that expand to gigabytes cost nothing before they are needed.
struct ListDecoder {
  /// Compressed bytes, or text.
  private var block: [UInt8] = []
  /// Whether some bytes of the block are not decoded yet.
  private(set) var isPending = false
  /// Whether enough bytes arrived to recognise compression.
  private var isTold = false
  private var decoder: ContentDecoder?
  private var turn: UInt64 = 0
  /// Bytes that are decoded at a time.
  private static let piece = 32 * 1024
  /// Thrown after the text before it was returned.
  private var damage: (any Error)?

  private static let codings: [(magic: [UInt8], coding: ContentCoding, library: String)] = [
    ([0x1F, 0x8B], .gzip, "zlib1g"), ([0x28, 0xB5, 0x2F, 0xFD], .zstd, "libzstd1"),
    ([0xFD, 0x37, 0x7A, 0x58, 0x5A, 0x00], .xz, "liblzma5"),
  ]

  /// Called when nothing is pending; an empty block is the end.
  /// - Throws: if the list ends within compressed data; `Rejection.NoList` if it cannot be decoded.
  mutating func take(_ more: [UInt8]) throws {
    block = isTold ? more : block + more
    let isShort = Self.codings.contains { $0.magic.count > block.count && $0.magic.starts(with: block) }
    if !isTold, isShort, !more.isEmpty { return }
    if !isTold, let (_, coding, library) = Self.codings.first(where: { block.starts(with: $0.magic) }) {
      decoder = try? ContentDecoder(coding)
      if decoder == nil { throw Rejection.NoList.noLibrary(library, for: "compressed with \(coding)") }
    }
    isTold = true
    if more.isEmpty, let decoder, !decoder.isAtEnd { throw ContentDecoder.cut }
    isPending = !block.isEmpty
  }

  /// - Returns: the next bytes; empty if more input is needed.
  /// - Throws: if compressed data is damaged, after returning the text before the damage.
  mutating func next() throws -> [UInt8] {
    guard isTold else { return [] }
    guard let decoder else {
      defer {
        block = []
        isPending = false
      }
      return block
    }
    if let damage { throw damage }
    var text: [UInt8] = []
    turn += 1
    do {
      isPending = try !block.withUnsafeBytes { try decoder.decode($0, in: turn, atMost: Self.piece) { text += $0 } }
    } catch {
      if text.isEmpty { throw error }
      damage = error
    }
    return text
  }
}
