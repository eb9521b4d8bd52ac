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

  /// The story: with `--per-host 4`, idle connections of one loop came on top of those that a file had on another. Each
  /// loop is told how many it may keep from then on, and these are four, until the file has given its places back.
  @Test(arguments: [0, 1])
  func idleOnesOfOtherLoopsCount(_ share: Int) throws {
    var state = RequestQueueState(ceiling: 4, widths: [4, 4], retry: RetryPolicy(retries: 5))
    let request = DownloadRequest(id: 0, address: try Address("http://h/large"))
    _ = state.step(for: share, at: .zero) { request }
    var told: [[Int]] = []
    func look() { told += state.hosts.takeQuotaChanges().compactMap(\.quotas) }
    for _ in 0..<4 {
      _ = state.acquirePermit(at: "h", share: share, at: .zero)
      look()
    }
    let all = share == 0 ? [4, 0] : [0, 4]
    #expect(told.last == all && told.allSatisfy { $0.reduce(0, +) == 4 })
    #expect(state.run.further == 3 && state.run.mostConnections == 4 && state.run.peak == 1)
    for _ in 0..<3 {
      state.releasePermit(at: "h", share: share, after: nil, at: .zero, random: 0)
      look()
    }
    #expect(told.last == [2, 2] && state.run.further == 0)
  }

  /// As many as dlm takes where the user says nothing: there a few idle ones do not count, and no loop is told.
  @Test func withoutANumberNoLoopIsTold() throws {
    var state = RequestQueueState(ceiling: 64, widths: [4, 4], retry: RetryPolicy(retries: 5))
    let request = DownloadRequest(id: 0, address: try Address("http://h/large"))
    _ = state.step(for: 0, at: .zero) { request }
    for _ in 0..<63 {
      let hasPermit = state.acquirePermit(at: "h", share: 0, at: .zero)
      #expect(hasPermit)
    }
    #expect(state.hosts.takeQuotaChanges().isEmpty)
  }
}
