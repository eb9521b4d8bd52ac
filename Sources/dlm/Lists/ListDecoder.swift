/// From the bytes of a list to those of its text: as they are, or decoded where they begin with gzip's magic number,
/// whatever the list is called and wherever it comes from.
struct ListDecoder {
  private var form = Form.unknown([])

  private enum Form {
    /// The first bytes, too few to tell.
    case unknown([UInt8])
    case plain([UInt8])
    case gzip(Inflater)
  }

  /// Whether `next` gives something without more bytes.
  var isPending: Bool {
    switch form {
    case .unknown: false
    case .plain(let bytes): !bytes.isEmpty
    case .gzip(let inflater): inflater.isPending
    }
  }

  /// Takes a block, when nothing is pending; an empty one is the end.
  /// - Throws: at an end in the middle of compressed data.
  mutating func take(_ block: [UInt8]) throws(Inflater.Damage) {
    switch form {
    case .unknown(let first):
      let bytes = first + block
      if bytes.count < Inflater.magic.count, !block.isEmpty {
        form = .unknown(bytes)
      } else if bytes.starts(with: Inflater.magic) {
        let inflater = try Inflater()
        inflater.take(bytes)
        form = .gzip(inflater)
      } else {
        form = .plain(bytes)
      }
    case .plain: form = .plain(block)
    case .gzip(let inflater): if block.isEmpty { try inflater.end() } else { inflater.take(block) }
    }
  }

  /// - Returns: the next bytes of the text; empty if there are none without more input.
  /// - Throws: where compressed data is damaged.
  mutating func next() throws(Inflater.Damage) -> [UInt8] {
    switch form {
    case .unknown: return []
    case .plain(let bytes):
      form = .plain([])
      return bytes
    case .gzip(let inflater): return try inflater.decode()
    }
  }
}
