import CCoding
package import DownloadModel

/// Removes a content coding of a body (RFC 9110 §8.4) while it arrives, in bounded memory, and in bounded time a turn.
/// libcurl decodes, too, but accepts a truncated coded body as complete.
package final class ContentDecoder {
  private let stage: CodingStage
  private var decoded: Int64 = 0
  /// Coded bytes of the buffers that are completely decoded.
  private var coded: Int64 = 0
  /// Decoded bytes of the current buffer.
  private var used = 0
  private var hasBegun = false
  private var turn: UInt64?
  private var room = 0

  /// Receives decoded bytes, which are valid only during the call.
  package typealias Take = (UnsafeRawBufferPointer) throws(DownloadError) -> Void

  /// Roughly the bytes that a turn of the loop decodes of one body, so that other work waits a few milliseconds. A body
  /// that cannot be paused (HTTP/2) may take up to `trusted`.
  package static let piece = 1 << 20
  /// A body or list may expand by this factor, which is more than texts and disk images need, or to `trusted` bytes.
  static let mostOfOne: Int64 = 200
  static let trusted = 64 << 20

  package init(_ coding: ContentCoding) throws(DownloadError) {
    stage = try CodingStage(coding)
  }

  /// Whether the body is complete: a coding marks its end. A body without any bytes is an empty file.
  package var isAtEnd: Bool { !hasBegun || stage.isAtEnd }

  /// - Parameter bytes: the next bytes; after a call that left some, the same again, perhaps with more behind them.
  /// - Returns: whether all are decoded; if not, the rest must wait for another turn.
  /// - Throws: `.badResponse` if the bytes are not of this coding, are damaged, or expand too much; or the error of
  ///   `take`.
  package func decode(
    _ bytes: UnsafeRawBufferPointer, in turn: UInt64, atMost piece: Int = ContentDecoder.piece, _ take: Take
  ) throws(DownloadError) -> Bool {
    if turn != self.turn || piece > Self.piece {
      self.turn = turn
      room = piece
    }
    guard room > 0 else { return false }
    if !bytes.isEmpty { hasBegun = true }
    let most = max(Int64(Self.trusted), (coded + Int64(bytes.count)) * Self.mostOfOne)
    let rest = UnsafeRawBufferPointer(rebasing: bytes.dropFirst(used))
    let (count, isDone) = try stage.decode(rest, upTo: &room) { piece throws(DownloadError) in
      decoded += Int64(piece.count)
      guard decoded <= most else { throw Self.bomb }
      try take(piece)
    }
    used += count
    if isDone {
      coded += Int64(bytes.count)
      used = 0
    }
    return isDone
  }

  /// The body ended before its coding did.
  package static let cut = failure(.shortBody, "the compressed data breaks off")
  /// Temporary, like a short body: a proxy may have damaged it.
  fileprivate static let damaged = failure(.badResponse, "the body is damaged or not compressed as its header says")
  fileprivate static let trailing = failure(.badResponse, "there are other bytes after the compressed data")
  fileprivate static let noMemory = failure(.resources, "no memory to decode with")
  static let bomb = failure(
    .badResponse,
    "a compressed body that becomes more than \(mostOfOne) times as long: it may be meant to fill the disk",
    isTransient: false)

  private static func failure(_ code: DownloadError.Code, _ why: String, isTransient: Bool = true) -> DownloadError {
    DownloadError(code, cause: .detail(why), activity: "decoding", isTransient: isTransient)
  }
}

/// One content coding, implemented by its library.
private final class CodingStage {
  private enum State { case fresh, inside, ended, padded, broken }

  private static let outputLength = 1 << 16
  private let unpacker: UnsafeMutablePointer<dlm_unpacker>
  /// Whether another member may follow (RFC 1952 §2.2), and zeros after the last, as gzip(1) accepts them.
  private let joins: Bool
  private let output = UnsafeMutablePointer<UInt8>.allocate(capacity: outputLength)
  private var state = State.fresh

  init(_ coding: ContentCoding) throws(DownloadError) {
    let kind =
      switch coding {
      case .gzip: DLM_GZIP
      case .deflate: DLM_DEFLATE
      case .brotli: DLM_BROTLI
      case .zstd: DLM_ZSTD
      case .xz: DLM_XZ
      }
    guard let unpacker = dlm_unpacker_new(kind) else {
      output.deallocate()
      throw ContentDecoder.noMemory
    }
    self.unpacker = unpacker
    joins = coding != .deflate && coding != .brotli
  }

  deinit {
    dlm_unpacker_free(unpacker)
    output.deallocate()
  }

  var isAtEnd: Bool { state == .ended || state == .padded }

  /// - Parameter room: roughly the most bytes to produce; reduced by the bytes produced.
  /// - Returns: how many bytes were consumed, and whether more output requires more input.
  func decode(_ bytes: UnsafeRawBufferPointer, upTo room: inout Int, _ take: ContentDecoder.Take)
    throws(DownloadError) -> (count: Int, isDone: Bool)
  {
    var rest = bytes
    while room > 0 {
      switch (state, rest.first) {
      case (.fresh, nil), (.ended, nil), (.padded, nil): return (bytes.count, true)
      case (.ended, 0?) where joins, (.padded, 0?):
        state = .padded
        rest = UnsafeRawBufferPointer(rebasing: rest.drop { $0 == 0 })
      case (.padded, _): throw ContentDecoder.trailing
      case (.ended, _) where !joins, (.broken, _): throw ContentDecoder.damaged
      case (.fresh, let first?), (.ended, let first?):
        guard dlm_unpacker_begin(unpacker, first) != 0 else { throw ContentDecoder.noMemory }
        state = .inside
      case (.inside, _):
        let count = try step(&rest)
        if count > 0 { try take(UnsafeRawBufferPointer(start: output, count: count)) }
        room -= count
        if state == .inside, count < Self.outputLength { return (bytes.count, true) }
      }
    }
    return (bytes.count - rest.count, false)
  }

  /// - Returns: how many bytes it produced. Fewer than the buffer's size mean that it needs more input or has reached
  ///   the end.
  private func step(_ bytes: inout UnsafeRawBufferPointer) throws(DownloadError) -> Int {
    var taken = bytes.count
    var given = Self.outputLength
    switch dlm_unpacker_step(unpacker, bytes.baseAddress, &taken, output, &given) {
    case DLM_GOES_ON: break
    case DLM_ENDED: state = .ended
    case DLM_NO_MEMORY: throw ContentDecoder.noMemory
    default: state = .broken  // the output before the damage is good
    }
    bytes = UnsafeRawBufferPointer(rebasing: bytes.dropFirst(taken))
    return given
  }
}

extension ResponseHead.SeenCoding {
  /// This many first bytes of a body show how it is coded.
  static let enough = 1024

  /// - Parameter start: at least `enough` bytes, or the whole body.
  init(_ coding: ContentCoding, of start: [UInt8]) throws(DownloadError) {
    let trial = try ContentDecoder(coding)
    var decoded: [UInt8] = []
    let isDamaged = start.withUnsafeBytes { bytes in
      do {
        _ = try trial.decode(bytes, in: 0) { piece throws(DownloadError) in decoded += piece.prefix(8) }
        return false
      } catch { return !trial.isAtEnd }
    }
    self =
      if start.isEmpty {
        .once
      } else if Self.begins(start, as: coding) {
        Self.begins(decoded, as: coding) ? .twice : .once
      } else {
        // Brotli and raw DEFLATE data have no signature, but other bytes soon violate their format.
        coding == .gzip || isDamaged ? .absent : .once
      }
  }

  private static func begins(_ bytes: [UInt8], as coding: ContentCoding) -> Bool {
    switch coding {
    // RFC 1952 §2.3.1, RFC 1950 §2.2
    case .gzip: bytes.starts(with: [0x1F, 0x8B, 8])
    case .deflate: bytes.count > 1 && bytes[0] & 0x8F == 8 && (Int(bytes[0]) << 8 + Int(bytes[1])) % 31 == 0
    default: false
    }
  }
}
