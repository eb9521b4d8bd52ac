import DownloadModel
import Synchronization
import TestSupport
import Testing

@testable import CurlTransport

@Suite("A coded body is decoded as it comes, whatever its pieces, and has an end (HTTP rule 35)")
struct ContentDecoderTests {
  private static let samples: [(ContentCoding, [UInt8])] = [
    (.gzip, CodedSample.gzip), (.deflate, CodedSample.zlib), (.deflate, CodedSample.bareDeflate),
    (.brotli, CodedSample.brotli), (.zstd, CodedSample.zstd), (.xz, CodedSample.xz),
  ]

  /// - Returns: what came of it, how much of that in each turn of a loop, and whether it is whole.
  private func decode(
    _ bytes: [UInt8], _ coding: ContentCoding, piece: Int
  ) throws(DownloadError) -> (decoded: [UInt8], turns: [Int], isAtEnd: Bool) {
    let decoder = try ContentDecoder(coding)
    var decoded: [UInt8] = []
    var turns: [Int] = []
    for start in stride(from: 0, to: bytes.count, by: piece) {
      let slice = Array(bytes[start..<min(bytes.count, start + piece)])
      var isDone = false
      while !isDone {
        let before = decoded.count
        isDone = try Self.decode(slice, with: decoder, turn: UInt64(turns.count)) { decoded += $0 }
        turns.append(decoded.count - before)
      }
    }
    return (decoded, turns, decoder.isAtEnd)
  }

  private static func decode(
    _ bytes: [UInt8], with decoder: ContentDecoder, turn: UInt64, _ take: (UnsafeRawBufferPointer) -> Void
  ) throws(DownloadError) -> Bool {
    try bytes.withUnsafeBytes { buffer in
      Result { () throws(DownloadError) in
        try decoder.decode(buffer, in: turn) { piece throws(DownloadError) in take(piece) }
      }
    }.get()
  }

  /// gzip of so many MiB of nothing, in members of 8 MiB.
  private static func zeros(_ mebibytes: Int) async throws -> [UInt8] {
    let made = try await CommandRun.result(of: "sh", ["-c", "head -c 8M /dev/zero | gzip -9"])
    return Array(repeatElement(made.output, count: mebibytes / 8).joined())
  }

  @Test(arguments: [1, 7, 100_000], samples.indices)
  func whole(piece: Int, sample: Int) throws {
    let (coding, bytes) = Self.samples[sample]
    let (decoded, _, isAtEnd) = try decode(bytes, coding, piece: piece)
    #expect(decoded == CodedSample.plain)
    #expect(isAtEnd)
  }

  private static let plain = Array(CodedSample.plain.prefix(2000))

  /// Of texts, of the coding, of what was coded twice, and of what was cut.
  @Test(
    arguments: [
      (.gzip, plain, .absent), (.deflate, plain, .absent), (.brotli, plain, .absent), (.gzip, [1], .absent),
      (.gzip, Array(CodedSample.plain.prefix(9)), .absent), (.deflate, Array("hello".utf8), .absent),
      (.brotli, Array("<html><body>".utf8), .absent), (.gzip, [], .once), (.brotli, [], .once),
      (.gzip, CodedSample.gzip, .once), (.deflate, CodedSample.zlib, .once), (.deflate, CodedSample.bareDeflate, .once),
      (.brotli, CodedSample.brotli, .once), (.gzip, CodedSample.bomb, .twice),
      (.gzip, Array(CodedSample.gzip.prefix(20)), .once),
    ] as [(ContentCoding, [UInt8], ResponseHead.SeenCoding)])
  func firstBytes(coding: ContentCoding, body: [UInt8], expected: ResponseHead.SeenCoding) throws {
    #expect(try ResponseHead.SeenCoding(coding, of: body) == expected)
    #expect(try ResponseHead.SeenCoding(coding, of: Array(body.prefix(ResponseHead.SeenCoding.enough))) == expected)
  }

  @Test(arguments: samples.indices)
  func aCutHasNoEnd(sample: Int) throws {
    let (coding, bytes) = Self.samples[sample]
    for length in [1, 10, bytes.count / 2, bytes.count - 1] {
      #expect(try !decode(Array(bytes.prefix(length)), coding, piece: 64).isAtEnd, "\(length)")
    }
  }

  @Test(arguments: samples.indices)
  func garbageFails(sample: Int) throws {
    let (coding, bytes) = Self.samples[sample]
    var damaged = bytes
    damaged[bytes.count / 2] ^= 0x55
    for wrong in [Array("<html>no such thing</html>".utf8), bytes + [7, 7, 7], damaged] {
      let error = #expect(throws: DownloadError.self) {
        let (_, _, isAtEnd) = try decode(wrong, coding, piece: 64)
        // Without a checksum of its own a coding may only notice by its end.
        if !isAtEnd { throw ContentDecoder.cut }
      }
      #expect(error?.isTransient == true)
    }
  }

  @Test(
    arguments: [(.gzip, CodedSample.gzip), (.zstd, CodedSample.zstd), (.xz, CodedSample.xz)]
      as [(ContentCoding, [UInt8])])
  func severalMembers(coding: ContentCoding, sample: [UInt8]) throws {
    let twice = try decode(sample + sample, coding, piece: 50)
    #expect(twice.decoded == CodedSample.plain + CodedSample.plain)
    #expect(twice.isAtEnd)
    #expect(try !decode(sample + sample.dropLast(), coding, piece: 50).isAtEnd)
  }

  @Test func nothingIsAnEmptyFile() throws { #expect(try decode([], .gzip, piece: 1).isAtEnd) }

  /// However much a buffer becomes, a turn of the loop gives a piece of it, and the next one goes on there.
  @Test(arguments: [7, 16 * 1024, .max / 2]) func aPieceATurn(piece: Int) async throws {
    let bytes = try await Self.zeros(48)
    let (decoded, turns, isAtEnd) = try decode(bytes, .gzip, piece: piece)
    #expect(decoded == [UInt8](repeating: 0, count: 48 << 20) && isAtEnd)
    #expect(try #require(turns.max()) <= ContentDecoder.piece + 65_536)
    // The same turn gives no second piece.
    let decoder = try ContentDecoder(.gzip)
    var count = 0
    for _ in 0..<3 { #expect(try !Self.decode(bytes, with: decoder, turn: 1) { count += $0.count }) }
    #expect(count <= ContentDecoder.piece + 65_536)
  }

  /// What comes again after a pause may have grown behind what was there.
  @Test(arguments: samples.indices) func aBufferThatGrew(sample: Int) throws {
    let (coding, bytes) = Self.samples[sample]
    let body = Array(repeatElement(bytes, count: coding == .gzip ? 40 : 1).joined())
    let decoder = try ContentDecoder(coding)
    var decoded: [UInt8] = []
    var (start, end, turn) = (0, body.count / 3, UInt64(0))
    while start < body.count {
      if try Self.decode(Array(body[start..<end]), with: decoder, turn: turn, { decoded += $0 }) {
        start = end
      }
      (end, turn) = (min(body.count, end + 100), turn + 1)
    }
    #expect(decoded.count == CodedSample.plain.count * (coding == .gzip ? 40 : 1) && decoder.isAtEnd)
  }

  /// Texts and images of disks expand less; a short body may expand as it likes.
  @Test func aBombEnds() async throws {
    let bytes = try await Self.zeros(128)
    let error = try #require(throws: DownloadError.self) { _ = try decode(bytes, .gzip, piece: 16 * 1024) }
    #expect(error.code == .badResponse && !error.isTransient)
    #expect(error.reason.contains("200 times"))
    // At a stretch, where what is left cannot come again.
    let decoder = try ContentDecoder(.gzip)
    var count = 0
    let result = bytes.withUnsafeBytes { buffer in
      Result { () throws(DownloadError) in
        try decoder.decode(buffer, in: 1, atMost: ContentDecoder.trusted) { piece throws(DownloadError) in
          count += piece.count
        }
      }
    }
    #expect(try !result.get())
    #expect(count <= ContentDecoder.trusted + 65_536)
  }

  /// A window that its writer chose, and that only zstd and xz let them choose.
  @Test(
    arguments: [("zstd --ultra -1 --long=28", .zstd), ("xz -0 --lzma2=dict=192MiB", .xz)] as [(String, ContentCoding)])
  func memoryIsBounded(command: String, coding: ContentCoding) async throws {
    let made = try await CommandRun.result(of: "sh", ["-c", "echo | \(command) -c"])
    let error = #expect(throws: DownloadError.self) { _ = try decode(made.output, coding, piece: 1024) }
    #expect(error?.code == .resources)
  }

  /// Neither other tasks of the loop nor a cancellation wait for more than a piece.
  @Test func theLoopGoesOnMeanwhile() async throws {
    let bytes = try await Self.zeros(48)
    try await withTransport { transport, origin in
      origin.route("/f", .file(bytes, FileOptions(headers: ["Content-Encoding: gzip"])))
      let request = TransferRequest(address: try origin.address("/f"))
      let sink = CountingSink()
      let turning = Task(executorPreference: transport.taskExecutor) {
        while !Task.isCancelled {
          sink.turn()
          await Task.yield()
        }
      }
      let receipt = try await transport.fetch(request, into: sink)
      turning.cancel()
      await turning.value
      #expect(receipt.bodyBytes == bytes.count)
      #expect(sink.count == 48 << 20)
      #expect(sink.mostInATurn <= 2 * (ContentDecoder.piece + 65_536))

      let cancelled = CountingSink()
      let (go, start) = AsyncStream<Void>.makeStream()
      let fetching = Task {
        for await _ in go { break }
        return try await transport.fetch(request, into: cancelled)
      }
      cancelled.onFirst { fetching.cancel() }
      start.yield()
      let result = await fetching.result
      #expect(throws: DownloadError.self) { try result.get() }
      #expect(cancelled.count <= 4 * ContentDecoder.piece, "\(cancelled.count)")
    }
  }
}

/// Counts what is decoded between two turns of the loop.
private final class CountingSink: ByteSink {
  private struct State {
    var (count, inTurn, most) = (0, 0, 0)
    var onFirst: (@Sendable () -> Void)?
  }

  private let state = Lock(State())

  var count: Int { state.withLock { $0.count } }
  var mostInATurn: Int { state.withLock { $0.most } }

  func turn() { state.withLock { $0.inTurn = 0 } }

  func onFirst(_ act: @escaping @Sendable () -> Void) {
    state.withLock { $0.onFirst = act }
  }

  func accept(_ head: ResponseHead) -> BodyDisposition { .decode }

  func write(_ bytes: UnsafeRawBufferPointer) -> SinkDemand {
    let act = state.withLock { state in
      state.count += bytes.count
      state.inTurn += bytes.count
      state.most = max(state.most, state.inTurn)
      defer { state.onFirst = nil }
      return state.onFirst
    }
    act?()
    return .more
  }
}
