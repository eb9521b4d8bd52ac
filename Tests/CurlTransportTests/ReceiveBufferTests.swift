import DownloadModel
import Testing

@testable import CurlTransport

@Suite("The size of a transfer's receive buffer")
struct ReceiveBufferTests {
  /// libcurl allocates a byte more, which counts where there are many.
  private static func bytes(_ kibibytes: Int) -> Int { kibibytes * 1024 - (kibibytes > 20 ? 0 : 1) }

  @Test(
    "few share much, many have the least each, and thousands less",
    arguments: [
      (1, 512), (4, 512), (5, 256), (8, 256), (9, 128), (16, 128), (17, 64), (33, 32), (64, 32), (65, 16),
      (128, 16), (129, 8), (256, 8), (257, 4), (512, 4), (513, 2), (5000, 2),
    ])
  func byNumber(running: Int, kibibytes: Int) {
    let size = Self.bytes(kibibytes)
    #expect(ReceiveBuffer.size(running: running, lastBody: nil, scheme: .http) == size)
    #expect(ReceiveBuffer.size(running: running, lastBody: 1 << 30, scheme: .http) == size)
  }

  @Test("a handle that brought a small file expects another", arguments: [0, 1, 4096, 32 * 1024 - 1])
  func afterSmallFiles(last: Int64) {
    for (running, kibibytes) in [(1, 32), (64, 32), (500, 4), (5000, 2)] {
      let size = ReceiveBuffer.size(running: running, lastBody: last, scheme: .http)
      #expect(size == Self.bytes(kibibytes))
    }
  }

  /// A read takes a record of at most 16 KiB, and what the buffer does not take costs a read of its own.
  @Test("TLS", arguments: [(1, 512), (64, 32), (65, 20), (128, 20), (129, 10), (257, 5)])
  func recordsOfTLS(running: Int, kibibytes: Int) {
    let size = ReceiveBuffer.size(running: running, lastBody: nil, scheme: .https)
    #expect(size == Self.bytes(kibibytes))
  }

  @Test(
    "streams of one connection never have less than a frame", arguments: [(1, 512), (65, 20), (5000, 20)])
  func streams(running: Int, kibibytes: Int) {
    let size = ReceiveBuffer.size(running: running, lastBody: nil, scheme: .https, isShared: true)
    #expect(size == Self.bytes(kibibytes))
  }

  @Test(
    "the kernel makes room for few transfers that bring much",
    arguments: [(1, 2048), (4, 2048), (16, 512), (17, 0), (5000, 0)])
  func room(running: Int, kibibytes: Int32) {
    let size = ReceiveBuffer.size(running: running, lastBody: nil, scheme: .https)
    #expect(ReceiveBuffer.room(for: size, bodyOf: 16 << 20) ?? 0 == kibibytes * 1024)
    for length: Int64? in [nil, 256 * 1024, (16 << 20) - 1] {
      #expect(ReceiveBuffer.room(for: size, bodyOf: length) == nil)
    }
  }

  @Test func neverOutsideOfWhatLibcurlTakes() {
    for running in 0..<3000 {
      let size = ReceiveBuffer.size(running: running, lastBody: nil, scheme: .http)
      #expect(size >= 1024 && size <= ReceiveBuffer.most)
      #expect(size <= ReceiveBuffer.scant || size * running <= ReceiveBuffer.budget)
    }
  }
}
