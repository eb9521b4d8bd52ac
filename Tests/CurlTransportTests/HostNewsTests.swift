import DownloadModel
import Synchronization
import TestSupport
import Testing

@testable import CurlTransport

@Suite("What a transport tells about a host beside a request's error", .timeLimit(.minutes(hangMinutes)))
struct HostNewsTests {
  /// The host answers one connection, whose body stands still, and leaves the other unanswered.
  @Test func aRequestThatIsRequeuedSaysWhyFirst() async throws {
    try await withTransport { transport, origin in
      let gate = try Gate()
      defer { gate.open() }
      let body = SplitMix64.bytes(count: 200_000, seed: 5)
      origin.route("/long", .file(body, FileOptions(ending: .stall(after: 5000, until: gate))))
      origin.route("/silent", .silence())
      let told = Lock<[HostNews]>([])
      var silent = TransferRequest(address: try origin.address("/silent"))
      silent.onNews = { news in told.withLock { $0.append(news) } }
      let long = TransferRequest(address: try origin.address("/long"))
      let lane = Lane(transport)
      let start = task(on: transport) {
        await lane.start(long, into: CollectingSink { _ throws(DownloadError) in .splittable })
      }
      guard case .underWay = try await start.value.get() else {
        Issue.record("the body stands still")
        return
      }
      let waiting = task(on: transport) { [silent] in
        let result = await lane.startAndWait(silent, into: CollectingSink())
        #expect(told.withLock { $0.count } == 1, "before the error")
        return result
      }
      try await origin.wait(for: "both requests") { $0.inFlight == 2 }
      _ = await transport.agent.watchUnanswered(after: 301_000_000_000)
      guard case .failure(let error) = await waiting.value else {
        Issue.record("no answer comes")
        return
      }
      #expect(error.code == .unanswered && error.isRequeued && error.isTransient)
      let news = try #require(told.withLock { $0.first })
      #expect(news.remedy == .limit(to: [1]))
      #expect(try #require(news.waited) >= .seconds(301))
    }
  }
}
