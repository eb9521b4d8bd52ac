import CCoding
import DownloadModel

/// Removes the content codings of a body (RFC 9110 §8.4) as it comes, in bounded memory: the decoded bytes go
/// to the sink in buffers, and the sink may refuse them (`--max-filesize`).
///
/// libcurl decodes too, but takes a coded body that was cut short for a whole one.
final class ContentDecoder {
  /// In the order of decoding: the coding that was applied last comes first.
  private var stages: [any CodingStage]
  private var hasBegun = false

  /// - Parameter codings: in the order in which they were applied.
  init(_ codings: [ContentCoding]) throws(DownloadError) {
    stages = []
    for coding in codings.reversed() {
      switch coding {
      case .gzip: stages.append(try InflateStage(isGzip: true))
      case .deflate: stages.append(try InflateStage(isGzip: false))
      case .brotli: stages.append(try BrotliStage())
      }
    }
  }

  /// Whether the body is whole: each coding marks its end. A body without a byte is an empty file.
  var isAtEnd: Bool { !hasBegun || stages.allSatisfy(\.isAtEnd) }

  /// - Throws: `.badResponse` if the bytes are not of the coding, or damaged; what `take` throws.
  func decode(
    _ bytes: UnsafeRawBufferPointer, _ take: (UnsafeRawBufferPointer) throws(DownloadError) -> Void
  ) throws(DownloadError) {
    if !bytes.isEmpty { hasBegun = true }
    try decode(bytes, stage: 0, take)
  }

  private func decode(
    _ bytes: UnsafeRawBufferPointer, stage: Int,
    _ take: (UnsafeRawBufferPointer) throws(DownloadError) -> Void
  ) throws(DownloadError) {
    guard stage < stages.count else { return try take(bytes) }
    try stages[stage].decode(bytes) { piece throws(DownloadError) in
      try decode(piece, stage: stage + 1, take)
    }
  }

  /// A body that ended before its coding did.
  static let cut = DownloadError(
    .shortBody, cause: .detail("the server's compressed body has no end"), activity: "decoding",
    isTransient: true)

  /// Temporary, as a short body is: a proxy may have damaged it.
  fileprivate static let damaged = DownloadError(
    .badResponse, cause: .detail("its Content-Encoding is not what came, or the body is damaged"),
    activity: "decoding", isTransient: true)

  fileprivate static let noMemory = DownloadError(
    .resources, cause: .detail("no memory to decode with"), activity: "decoding", isTransient: true)
}

/// Removes one coding.
private protocol CodingStage: AnyObject {
  var isAtEnd: Bool { get }
  func decode(
    _ bytes: UnsafeRawBufferPointer, _ take: (UnsafeRawBufferPointer) throws(DownloadError) -> Void
  ) throws(DownloadError)
}

/// The size of a stage's output buffer, which is passed on when full.
private let outputLength = 1 << 16

/// gzip (RFC 1952) and deflate (RFC 1950, or bare RFC 1951), by zlib, which verifies the checksums.
private final class InflateStage: CodingStage {
  private let isGzip: Bool
  private let stream = UnsafeMutablePointer<z_stream>.allocate(capacity: 1)
  private let output = UnsafeMutablePointer<UInt8>.allocate(capacity: outputLength)
  private var state = State.fresh

  private enum State { case fresh, inside, ended }

  init(isGzip: Bool) throws(DownloadError) {
    self.isGzip = isGzip
    stream.initialize(to: z_stream())
  }

  deinit {
    // For a stream that never began, this only returns an error.
    inflateEnd(stream)
    stream.deallocate()
    output.deallocate()
  }

  var isAtEnd: Bool { state == .ended }

  func decode(
    _ bytes: UnsafeRawBufferPointer, _ take: (UnsafeRawBufferPointer) throws(DownloadError) -> Void
  ) throws(DownloadError) {
    var rest = bytes
    while let first = rest.first {
      switch state {
      case .fresh: try begin(first)
      case .ended:
        // A gzip file may have several members, one after the other (RFC 1952 §2.2).
        guard isGzip, first == 0x1F, inflateReset(stream) == Z_OK else { throw ContentDecoder.damaged }
        state = .inside
      case .inside: rest = try inflate(rest, take)
      }
    }
  }

  private func begin(_ first: UInt8) throws(DownloadError) {
    // The low half of zlib's first byte is 8; a bare block begins like that only if its encoder padded it
    // with ones.
    let windowBits = isGzip ? 15 + 16 : first & 0x0F == 8 ? 15 : -15
    guard dlm_inflate_begin(stream, Int32(windowBits)) == Z_OK else { throw ContentDecoder.noMemory }
    state = .inside
  }

  /// - Returns: the bytes behind the end of the coded data.
  private func inflate(
    _ bytes: UnsafeRawBufferPointer, _ take: (UnsafeRawBufferPointer) throws(DownloadError) -> Void
  ) throws(DownloadError) -> UnsafeRawBufferPointer {
    stream.pointee.next_in = UnsafeMutablePointer(
      mutating: bytes.assumingMemoryBound(to: UInt8.self).baseAddress)
    stream.pointee.avail_in = UInt32(bytes.count)
    repeat {
      stream.pointee.next_out = output
      stream.pointee.avail_out = UInt32(outputLength)
      let result = CCoding.inflate(stream, Z_NO_FLUSH)
      // Z_BUF_ERROR: no progress is possible with the bytes that are there.
      guard result == Z_OK || result == Z_STREAM_END || result == Z_BUF_ERROR else {
        throw result == Z_MEM_ERROR ? ContentDecoder.noMemory : ContentDecoder.damaged
      }
      let count = outputLength - Int(stream.pointee.avail_out)
      if count > 0 { try take(UnsafeRawBufferPointer(start: output, count: count)) }
      if result == Z_STREAM_END {
        state = .ended
        break
      }
    } while stream.pointee.avail_out == 0 || stream.pointee.avail_in > 0
    return UnsafeRawBufferPointer(rebasing: bytes.suffix(Int(stream.pointee.avail_in)))
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

  func decode(
    _ bytes: UnsafeRawBufferPointer, _ take: (UnsafeRawBufferPointer) throws(DownloadError) -> Void
  ) throws(DownloadError) {
    var next = bytes.assumingMemoryBound(to: UInt8.self).baseAddress
    var left = bytes.count
    while true {
      if isAtEnd, left > 0 { throw ContentDecoder.damaged }
      var free = outputLength
      var end: UnsafeMutablePointer<UInt8>? = output
      let result = BrotliDecoderDecompressStream(decoder, &left, &next, &free, &end, nil)
      if free < outputLength { try take(UnsafeRawBufferPointer(start: output, count: outputLength - free)) }
      switch result {
      case BROTLI_DECODER_RESULT_NEEDS_MORE_OUTPUT: continue
      case BROTLI_DECODER_RESULT_NEEDS_MORE_INPUT: return
      case BROTLI_DECODER_RESULT_SUCCESS:
        isAtEnd = true
        if left == 0 { return }
      default: throw ContentDecoder.damaged
      }
    }
  }
}
