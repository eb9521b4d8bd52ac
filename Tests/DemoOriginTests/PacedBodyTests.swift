import FlyingSocks
import Testing

@testable import DemoOrigin

@Suite("A body made as it is sent")
struct PacedBodyTests {
  private func body(_ range: Range<Int>, rate: Int? = nil) -> PacedBody {
    PacedBody(content: DemoContent(seed: 5), range: range, schedule: PacingSchedule(bytesPerSecond: rate))
  }

  @Test(arguments: [1, 7, 40, 41, 100])
  func chunksJoinToTheRange(chunk: Int) async throws {
    var iterator = body(3..<44).makeAsyncIterator()
    var bytes: [UInt8] = []
    while let next = try await iterator.nextBuffer(suggested: chunk) {
      #expect(!next.isEmpty && next.count <= chunk)
      bytes += next
    }
    #expect(bytes == DemoContent(seed: 5).bytes(in: 3..<44))
  }

  @Test func emptyBodyEndsAtOnce() async throws {
    var iterator = body(4..<4).makeAsyncIterator()
    #expect(try await iterator.next() == nil)
  }

  @Test func noChunkComesBeforeItIsDue() async throws {
    var iterator = body(0..<30, rate: 1000).makeAsyncIterator()
    let start = ContinuousClock.now
    for count in 1...3 {
      #expect(try await iterator.nextBuffer(suggested: 10)?.count == 10)
      #expect(ContinuousClock.now - start >= .milliseconds(10 * count))
    }
  }

  // One chunk is an hour away: the test ends only if cancelling ends the wait.
  @Test(.timeLimit(.minutes(5))) func cancellingEndsTheWait() async {
    let body = body(0..<3600, rate: 1)
    let reading = Task {
      var iterator = body.makeAsyncIterator()
      return try await iterator.nextBuffer(suggested: 3600)
    }
    reading.cancel()
    await #expect(throws: CancellationError.self) { try await reading.value }
  }
}
