import DownloadModel
import TestSupport
import Testing

@testable import CurlTransport

@Suite("A coded body is decoded as it comes, whatever its pieces, and has an end (HTTP rule 35)")
struct ContentDecoderTests {
  private static let samples: [([ContentCoding], [UInt8])] = [
    ([.gzip], CodedSample.gzip), ([.deflate], CodedSample.zlib), ([.deflate], CodedSample.bareDeflate),
    ([.brotli], CodedSample.brotli),
  ]

  private func decode(
    _ bytes: [UInt8], _ codings: [ContentCoding], piece: Int
  ) throws(DownloadError) -> (decoded: [UInt8], isAtEnd: Bool) {
    let decoder = try ContentDecoder(codings)
    var decoded: [UInt8] = []
    var start = 0
    while start < bytes.count {
      let slice = Array(bytes[start..<min(bytes.count, start + piece)])
      start += piece
      let result = slice.withUnsafeBytes { buffer in
        Result { () throws(DownloadError) in
          try decoder.decode(buffer) { piece throws(DownloadError) in decoded += piece }
        }
      }
      try result.get()
    }
    return (decoded, decoder.isAtEnd)
  }

  @Test(arguments: [1, 7, 100_000], samples.indices)
  func whole(piece: Int, sample: Int) throws {
    let (codings, bytes) = Self.samples[sample]
    let (decoded, isAtEnd) = try decode(bytes, codings, piece: piece)
    #expect(decoded == CodedSample.plain)
    #expect(isAtEnd)
  }

  @Test(arguments: samples.indices)
  func aCutHasNoEnd(sample: Int) throws {
    let (codings, bytes) = Self.samples[sample]
    for length in [1, 10, bytes.count / 2, bytes.count - 1] {
      #expect(try !decode(Array(bytes.prefix(length)), codings, piece: 64).isAtEnd, "\(length)")
    }
  }

  @Test(arguments: samples.indices)
  func garbageFails(sample: Int) throws {
    let (codings, bytes) = Self.samples[sample]
    var damaged = bytes
    damaged[bytes.count / 2] ^= 0x55
    for wrong in [Array("<html>no such thing</html>".utf8), bytes + [7, 7, 7], damaged] {
      let error = #expect(throws: DownloadError.self) {
        let (_, isAtEnd) = try decode(wrong, codings, piece: 64)
        // Without a checksum of its own a coding may only notice by its end.
        if !isAtEnd { throw ContentDecoder.cut }
      }
      #expect(error?.isTransient == true)
    }
  }

  @Test func severalMembersAndSeveralCodings() throws {
    let twice = try decode(CodedSample.gzip + CodedSample.gzip, [.gzip], piece: 50)
    #expect(twice.decoded == CodedSample.plain + CodedSample.plain)
    #expect(twice.isAtEnd)
    #expect(try !decode(CodedSample.gzip + CodedSample.gzip.dropLast(), [.gzip], piece: 50).isAtEnd)
    let bomb = try decode(CodedSample.bomb, [.gzip, .gzip], piece: 50)
    #expect(bomb.decoded.count == 64 << 20)
    #expect(bomb.isAtEnd)
  }

  @Test func nothingIsAnEmptyFile() throws { #expect(try decode([], [.gzip], piece: 1).isAtEnd) }

  /// A bomb ends at the first piece that the sink refuses.
  @Test func theSinkSetsTheBound() throws {
    let decoder = try ContentDecoder([.gzip, .gzip])
    var taken = 0
    let result = CodedSample.bomb.withUnsafeBytes { buffer in
      Result { () throws(DownloadError) in
        try decoder.decode(buffer) { piece throws(DownloadError) in
          taken += piece.count
          if taken > 1 << 20 { throw DownloadError(.tooLarge) }
        }
      }
    }
    #expect(throws: DownloadError(.tooLarge)) { try result.get() }
    #expect(taken <= (1 << 20) + (1 << 16))
  }
}
