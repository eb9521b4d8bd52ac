import Testing

@testable import CurlTransport

@Suite("The size of a transfer's receive buffer")
struct ReceiveBufferTests {
  private static let kibibyte = 1024

  @Test(
    "few share much, many have the least each",
    arguments: [
      (1, 512), (4, 512), (5, 256), (8, 256), (9, 128), (16, 128), (17, 64), (33, 32), (64, 32), (65, 16),
      (5000, 16),
    ])
  func byNumber(running: Int, kibibytes: Int) {
    #expect(ReceiveBuffer.size(running: running, lastBody: nil) == kibibytes * Self.kibibyte)
    #expect(ReceiveBuffer.size(running: running, lastBody: 1 << 30) == kibibytes * Self.kibibyte)
  }

  @Test("a handle that brought a small file expects another", arguments: [0, 1, 4096, 32 * 1024 - 1])
  func afterSmallFiles(last: Int64) {
    #expect(ReceiveBuffer.size(running: 1, lastBody: last) == 32 * Self.kibibyte)
    #expect(ReceiveBuffer.size(running: 64, lastBody: last) == 32 * Self.kibibyte)
    #expect(ReceiveBuffer.size(running: 5000, lastBody: last) == 16 * Self.kibibyte)
  }

  @Test func neverOutsideOfWhatLibcurlTakes() {
    for running in 0..<200 {
      let size = ReceiveBuffer.size(running: running, lastBody: nil)
      #expect(size >= ReceiveBuffer.least && size <= ReceiveBuffer.most)
      #expect(size == ReceiveBuffer.least || size * running <= ReceiveBuffer.budget)
    }
  }
}
