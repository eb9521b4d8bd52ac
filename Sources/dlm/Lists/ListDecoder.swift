import CurlTransport
import DownloadModel

/// From the bytes of a list to its text; gzip is recognised by its magic number. Decoded a piece at a time, so that a
/// few bytes that stand for gigabytes cost nothing before they are wanted.
struct ListDecoder {
  /// Compressed bytes, or text.
  private var block: [UInt8] = []
  /// Whether some of them are not decoded yet.
  private(set) var isPending = false
  /// Whether enough came to tell if it is compressed.
  private var isTold = false
  private var gzip: ContentDecoder?
  private var turn: UInt64 = 0
  /// To be thrown after the text before it.
  private var damage: DownloadError?

  /// Called when nothing is pending; an empty block is the end.
  /// - Throws: at an end in the middle of compressed data.
  mutating func take(_ more: [UInt8]) throws(DownloadError) {
    block = isTold ? more : block + more
    if !isTold, block.count < 2, !more.isEmpty { return }
    if !isTold, block.starts(with: [0x1F, 0x8B]) { gzip = try ContentDecoder(.gzip) }
    isTold = true
    if more.isEmpty, let gzip, !gzip.isAtEnd { throw ContentDecoder.cut }
    isPending = !block.isEmpty
  }

  /// - Returns: the next bytes; empty if more input is needed.
  /// - Throws: where compressed data is damaged, after the text before that.
  mutating func next() throws(DownloadError) -> [UInt8] {
    guard isTold else { return [] }
    guard let gzip else {
      defer { (block, isPending) = ([], false) }
      return block
    }
    if let damage { throw damage }
    var text: [UInt8] = []
    turn += 1
    let result = block.withUnsafeBytes { block in
      Result { () throws(DownloadError) in
        try gzip.decode(block, in: turn) { piece throws(DownloadError) in text += piece }
      }
    }
    do throws(DownloadError) { isPending = try !result.get() } catch {
      if text.isEmpty { throw error }
      damage = error
    }
    return text
  }
}
