import CCoding

/// From the bytes of a list to those of its text: as they are, or decoded where they begin with gzip's magic
/// number, whatever the list is called and wherever it comes from.
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

/// Decodes gzip (RFC 1952) as it comes, some bytes at a time, so that a few bytes that stand for gigabytes
/// cost neither memory nor time before they are wanted. Members in a row are one text, as gzip(1) has it;
/// zeros behind the last are padding.
final class Inflater {
  /// What is wrong with the data.
  enum Damage: Error, Equatable {
    case memoryShort
    /// Behind the last member stands something that is neither another nor padding.
    case trailingData
    case brokenOff
    /// As zlib explains it, where it does.
    case corrupt(String?)
  }

  /// Bytes that the magic number of gzip begins with.
  static let magic: [UInt8] = [0x1F, 0x8B]
  private static let outputSize = 64 * 1024

  private let stream: UnsafeMutablePointer<z_stream>
  /// Input that is not decoded yet, from `next` on.
  private var input: [UInt8] = []
  private var next = 0
  private var state = State.inMember
  /// Output was full: more may come without more input.
  private var hasMore = false

  private enum State {
    case inMember
    /// A member has ended: another, padding, or the end.
    case between
    case padding
  }

  /// - Throws: when memory is short.
  init() throws(Damage) {
    // zlib keeps the address.
    stream = .allocate(capacity: 1)
    stream.initialize(to: z_stream())
    guard dlm_inflate_begin(stream, 15 + 16) == Z_OK else { throw .memoryShort }
  }

  deinit {
    inflateEnd(stream)
    stream.deallocate()
  }

  /// Whether `decode` has something to do without more input.
  var isPending: Bool { hasMore || next < input.count }

  /// Takes the next bytes; to be called when nothing is pending.
  func take(_ block: [UInt8]) { (input, next) = (block, 0) }

  /// - Returns: the next bytes of the text, 64 KiB at most; empty if more input is needed.
  /// - Throws: when the data is no gzip from here on.
  func decode() throws(Damage) -> [UInt8] {
    while isPending {
      switch state {
      case .inMember:
        let output = try inflateSome()
        if !output.isEmpty { return output }
      case .between:
        if input[next] == 0 {
          state = .padding
        } else {
          guard inflateReset(stream) == Z_OK else { throw .memoryShort }
          state = .inMember
        }
      case .padding:
        guard input[next...].allSatisfy({ $0 == 0 }) else {
          throw .trailingData
        }
        next = input.count
      }
    }
    return []
  }

  /// The input has ended.
  /// - Throws: when it should not have.
  func end() throws(Damage) {
    if state == .inMember { throw .brokenOff }
  }

  private func inflateSome() throws(Damage) -> [UInt8] {
    var status = Z_OK
    let output = [UInt8](unsafeUninitializedCapacity: Self.outputSize) { output, count in
      input.withUnsafeMutableBufferPointer { input in
        stream.pointee.next_in = input.baseAddress.map { $0 + next }
        stream.pointee.avail_in = UInt32(input.count - next)
        stream.pointee.next_out = output.baseAddress
        stream.pointee.avail_out = UInt32(output.count)
        status = inflate(stream, Z_NO_FLUSH)
        next = input.count - Int(stream.pointee.avail_in)
        count = output.count - Int(stream.pointee.avail_out)
      }
    }
    hasMore = status == Z_OK && stream.pointee.avail_out == 0
    switch status {
    case Z_OK, Z_BUF_ERROR: break  // the second: there was nothing to do
    case Z_STREAM_END: (state, hasMore) = (.between, false)
    default:
      // What was decoded before the damage is good, and told first: the next call meets it again.
      if output.isEmpty {
        throw .corrupt(stream.pointee.msg.map { String(cString: $0) })
      }
    }
    return output
  }
}
