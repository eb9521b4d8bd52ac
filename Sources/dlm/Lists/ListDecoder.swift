import CurlTransport
import DownloadModel

/// From the bytes of a list to its text; gzip is recognised by its magic number. Decoded a piece at a time, so that a
/// few bytes that stand for gigabytes cost nothing before they are wanted.
struct ListDecoder {
  private var form = Form.unknown([])
  /// Compressed bytes.
  private var block: [UInt8] = []
  /// Whether some of them are not decoded yet.
  private var hasMore = false
  private var turn: UInt64 = 0
  /// To be thrown after the text before it.
  private var damage: DownloadError?

  private enum Form {
    /// Too few bytes to tell.
    case unknown([UInt8])
    case plain([UInt8])
    case gzip(ContentDecoder)
  }

  var isPending: Bool {
    switch form {
    case .unknown: false
    case .plain(let bytes): !bytes.isEmpty
    case .gzip: hasMore
    }
  }

  /// Called when nothing is pending; an empty block is the end.
  /// - Throws: at an end in the middle of compressed data.
  mutating func take(_ block: [UInt8]) throws(DownloadError) {
    switch form {
    case .unknown(let first):
      let bytes = first + block
      if bytes.count < 2, !block.isEmpty {
        form = .unknown(bytes)
      } else if bytes.starts(with: [0x1F, 0x8B]) {
        form = .gzip(try ContentDecoder(.gzip))
        (self.block, hasMore) = (bytes, true)
      } else {
        form = .plain(bytes)
      }
    case .plain: form = .plain(block)
    case .gzip(let decoder):
      if block.isEmpty, !decoder.isAtEnd { throw ContentDecoder.cut }
      (self.block, hasMore) = (block, !block.isEmpty)
    }
  }

  /// - Returns: the next bytes; empty if more input is needed.
  /// - Throws: where compressed data is damaged, after the text before that.
  mutating func next() throws(DownloadError) -> [UInt8] {
    switch form {
    case .unknown: return []
    case .plain(let bytes):
      form = .plain([])
      return bytes
    case .gzip(let decoder):
      if let damage { throw damage }
      var text: [UInt8] = []
      turn += 1
      let result = block.withUnsafeBytes { block in
        Result { () throws(DownloadError) in
          try decoder.decode(block, in: turn) { piece throws(DownloadError) in text += piece }
        }
      }
      do throws(DownloadError) { hasMore = try !result.get() } catch {
        if text.isEmpty { throw error }
        damage = error
      }
      return text
    }
  }
}
