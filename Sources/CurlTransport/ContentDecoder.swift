import CCoding
public import DownloadModel

/// Removes a content coding of a body (RFC 9110 §8.4) as it comes, in bounded memory, and in bounded time a turn.
/// libcurl decodes too, but takes a coded body that was cut short for a whole one.
public final class ContentDecoder {
  private let stage: any CodingStage
  private var decoded: Int64 = 0
  /// Bytes of the buffers that are decoded.
  private var coded: Int64 = 0
  /// Bytes of the buffer under way that are decoded.
  private var used = 0
  private var hasBegun = false
  private var turn: UInt64?
  private var room = 0

  /// Gets decoded bytes, which are valid during the call only.
  public typealias Take = (UnsafeRawBufferPointer) throws(DownloadError) -> Void

  /// How much a turn of the loop decodes of one body, so that everything else waits some milliseconds at most.
  public static let piece = 1 << 20
  /// A body may become this many times as long, which is more than texts and disk images need, or `trusted` bytes.
  static let mostOfOne: Int64 = 200
  static let trusted = 64 << 20

  public init(_ coding: ContentCoding) throws(DownloadError) {
    stage =
      switch coding {
      case .gzip: InflateStage(isGzip: true)
      case .deflate: InflateStage(isGzip: false)
      case .brotli: try BrotliStage()
      }
  }

  /// Whether the body is whole: a coding marks its end. A body without a byte is an empty file.
  public var isAtEnd: Bool { !hasBegun || stage.isAtEnd }

  /// - Parameter bytes: the next ones; where the last call left some, the same again, perhaps with more behind them.
  /// - Returns: whether all are decoded; else the rest must wait for another turn.
  /// - Throws: `.badResponse` if the bytes are not of the coding, damaged, or expand too much; what `take` throws.
  public func decode(
    _ bytes: UnsafeRawBufferPointer, in turn: UInt64, atMost piece: Int = ContentDecoder.piece, _ take: Take
  ) throws(DownloadError) -> Bool {
    if turn != self.turn || piece > Self.piece { (self.turn, room) = (turn, piece) }
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
    if isDone { (coded, used) = (coded + Int64(bytes.count), 0) }
    return isDone
  }

  /// A body that ended before its coding did.
  public static let cut = failure(.shortBody, "the compressed data breaks off")
  /// Temporary, as a short body is: a proxy may have damaged it.
  fileprivate static let damaged = failure(.badResponse, "the compressed data is damaged, or is none")
  fileprivate static let trailing = failure(.badResponse, "something else stands behind the compressed data")
  fileprivate static let noMemory = failure(.resources, "no memory to decode with")
  static let bomb = failure(
    .badResponse,
    "a compressed body that becomes more than \(mostOfOne) times as long: it may be meant to fill the disk",
    isTransient: false)

  private static func failure(_ code: DownloadError.Code, _ why: String, isTransient: Bool = true) -> DownloadError {
    DownloadError(code, cause: .detail(why), activity: "decoding", isTransient: isTransient)
  }
}

private protocol CodingStage: AnyObject {
  var isAtEnd: Bool { get }
  /// - Parameter room: about how many bytes it may give; it shrinks by those that it gave.
  /// - Returns: how many bytes it took, and whether it has nothing more to give without further ones.
  func decode(_ bytes: UnsafeRawBufferPointer, upTo room: inout Int, _ take: ContentDecoder.Take)
    throws(DownloadError) -> (count: Int, isDone: Bool)
}

private let outputLength = 1 << 16

/// gzip (RFC 1952) and deflate (RFC 1950, or bare RFC 1951), by zlib, which verifies the checksums.
private final class InflateStage: CodingStage {
  private let isGzip: Bool
  private let stream = UnsafeMutablePointer<z_stream>.allocate(capacity: 1)
  private let output = UnsafeMutablePointer<UInt8>.allocate(capacity: outputLength)
  private var state = State.fresh

  private enum State { case fresh, inside, ended, padded, broken }

  init(isGzip: Bool) {
    self.isGzip = isGzip
    stream.initialize(to: z_stream())
  }

  deinit {
    // For a stream that never began, this only returns an error.
    inflateEnd(stream)
    stream.deallocate()
    output.deallocate()
  }

  var isAtEnd: Bool { state == .ended || state == .padded }

  func decode(_ bytes: UnsafeRawBufferPointer, upTo room: inout Int, _ take: ContentDecoder.Take)
    throws(DownloadError) -> (count: Int, isDone: Bool)
  {
    var rest = bytes
    while room > 0 {
      switch (state, rest.first) {
      case (.fresh, nil), (.ended, nil), (.padded, nil): return (bytes.count, true)
      case (.fresh, let first?): try begin(first)
      // As gzip(1) has it, zeros behind the last member are padding.
      case (.ended, 0?) where isGzip, (.padded, 0?):
        state = .padded
        rest = UnsafeRawBufferPointer(rebasing: rest.drop { $0 == 0 })
      case (.padded, _): throw ContentDecoder.trailing
      case (.broken, _): throw ContentDecoder.damaged
      case (.ended, let first?):
        // A gzip file may have several members, one after the other (RFC 1952 §2.2).
        guard isGzip, first == 0x1F, inflateReset(stream) == Z_OK else { throw ContentDecoder.damaged }
        state = .inside
      case (.inside, _):
        let count = try inflate(&rest)
        if count > 0 { try take(UnsafeRawBufferPointer(start: output, count: count)) }
        room -= count
        if state == .inside, count < outputLength { return (bytes.count, true) }
      }
    }
    return (bytes.count - rest.count, false)
  }

  private func begin(_ first: UInt8) throws(DownloadError) {
    // The low half of zlib's first byte is 8; a bare block begins like that only if its encoder padded it with ones.
    let windowBits = isGzip ? 15 + 16 : first & 0x0F == 8 ? 15 : -15
    guard dlm_inflate_begin(stream, Int32(windowBits)) == Z_OK else { throw ContentDecoder.noMemory }
    state = .inside
  }

  /// - Returns: how many bytes it gave: less than fit only where it has no more, or has come to its end.
  private func inflate(_ bytes: inout UnsafeRawBufferPointer) throws(DownloadError) -> Int {
    stream.pointee.next_in = UnsafeMutablePointer(mutating: bytes.assumingMemoryBound(to: UInt8.self).baseAddress)
    stream.pointee.avail_in = UInt32(bytes.count)
    stream.pointee.next_out = output
    stream.pointee.avail_out = UInt32(outputLength)
    let result = CCoding.inflate(stream, Z_NO_FLUSH)
    let count = outputLength - Int(stream.pointee.avail_out)
    switch result {
    case Z_OK, Z_BUF_ERROR: break  // the second: no progress is possible with the bytes that are there
    case Z_STREAM_END: state = .ended
    case Z_MEM_ERROR: throw ContentDecoder.noMemory
    default: state = .broken  // what came before the damage is good
    }
    bytes = UnsafeRawBufferPointer(rebasing: bytes.suffix(Int(stream.pointee.avail_in)))
    return count
  }
}

/// br (RFC 7932).
private final class BrotliStage: CodingStage {
  private let decoder: OpaquePointer
  private let output = UnsafeMutablePointer<UInt8>.allocate(capacity: outputLength)
  private(set) var isAtEnd = false

  init() throws(DownloadError) {
    guard let decoder = BrotliDecoderCreateInstance(nil, nil, nil) else {
      output.deallocate()
      throw ContentDecoder.noMemory
    }
    self.decoder = decoder
  }

  deinit {
    BrotliDecoderDestroyInstance(decoder)
    output.deallocate()
  }

  func decode(_ bytes: UnsafeRawBufferPointer, upTo room: inout Int, _ take: ContentDecoder.Take)
    throws(DownloadError) -> (count: Int, isDone: Bool)
  {
    var next = bytes.assumingMemoryBound(to: UInt8.self).baseAddress
    var left = bytes.count
    while room > 0 {
      if isAtEnd, left > 0 { throw ContentDecoder.damaged }
      if isAtEnd { return (bytes.count, true) }
      var free = outputLength
      var end: UnsafeMutablePointer<UInt8>? = output
      let result = BrotliDecoderDecompressStream(decoder, &left, &next, &free, &end, nil)
      if free < outputLength { try take(UnsafeRawBufferPointer(start: output, count: outputLength - free)) }
      room -= outputLength - free
      switch result {
      case BROTLI_DECODER_RESULT_NEEDS_MORE_OUTPUT: continue
      case BROTLI_DECODER_RESULT_NEEDS_MORE_INPUT: return (bytes.count, true)
      case BROTLI_DECODER_RESULT_SUCCESS: isAtEnd = true
      default: throw ContentDecoder.damaged
      }
    }
    return (bytes.count - left, false)
  }
}
