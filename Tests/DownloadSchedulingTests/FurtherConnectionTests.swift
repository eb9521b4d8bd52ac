import DownloadModel
import Testing

@testable import DownloadScheduling

@Suite("A file that is split may have all connections of its host that nobody else wants")
struct FurtherConnectionTests {
  /// Of three connections one share had two and the other one: there a file was not split at all. Which share
  /// that was hung on the host's name and port.
  @Test(arguments: [0, 1])
  func onEitherShare(_ share: Int) throws {
    var state = RequestQueueState(ceiling: 3, widths: [4, 4], retry: RetryPolicy(retries: 5))
    let request = DownloadRequest(id: 0, address: try Address("http://h/large"))
    _ = state.step(for: share, at: .zero) { request }
    let further = (0..<3).map { _ in state.acquirePermit(at: "h", share: share, at: .zero) }
    #expect(further == [true, true, false])
  }
}
