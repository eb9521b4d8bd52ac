import CurlTransport
import DownloadModel
import Synchronization
import TestSupport
import Testing

@Suite("Who wants a report is told of each transfer when it did what")
struct TransferTimesTests {
  /// What was told, in order.
  private final class Told: Sendable {
    private let times = Lock<[TransferTimes]>([])
    var all: [TransferTimes] { times.withLock { $0 } }
    func add(_ time: TransferTimes) { times.withLock { $0.append(time) } }
  }

  private func told(
    _ body: (CurlTransport, FaultyOrigin) async throws -> Void
  ) async throws -> [TransferTimes] {
    let told = Told()
    try await withTransport({ $0.onTransfer = { told.add($0) } }, body)
    return told.all
  }

  @Test("in the order in which it happened, a connection only where one was opened")
  func phases() async throws {
    let times = try await told { transport, origin in
      origin.route("/f", .file(SplitMix64.bytes(count: 5000, seed: 1)))
      for _ in 0..<2 { _ = try await transport.fetch(try origin.address("/f")) }
    }
    try #require(times.count == 2)
    let (first, second) = (times[0], times[1])
    for time in times {
      #expect(time.bytes == 5000 && time.status == 200 && time.requests == 1)
      #expect(!time.hasFailed && !time.isSegment && time.address.hasSuffix("/f"))
      let answered = try #require(time.firstByte)
      #expect(answered > .zero && answered <= time.end)
    }
    #expect(first.connections == 1 && second.connections == 0)
    let connected = try #require(first.connected)
    #expect(try connected <= #require(first.firstByte))
    #expect(second.lookedUp == nil && second.connected == nil && second.secured == nil)
    #expect(second.begin >= first.begin + UInt64(first.end / .nanoseconds(1)))
  }

  @Test("a redirect is another request of the same transfer, whose times go on")
  func redirects() async throws {
    let times = try await told { transport, origin in
      origin.route("/a", .redirect(302, to: "/b"))
      origin.route("/b", .file([1, 2, 3]))
      _ = try await transport.fetch(try origin.address("/a"))
    }
    let time = try #require(times.first)
    #expect(times.count == 1 && time.requests == 2 && time.address.hasSuffix("/a"))
    #expect(try #require(time.firstByte) <= time.end)
  }

  /// The report of a clean run said "Retries 48": where the next segment begins, a transfer is broken off.
  @Test("what is broken off since there is enough has not failed")
  func enough() async throws {
    let times = try await told { transport, origin in
      origin.route("/f", .file(SplitMix64.bytes(count: 40_000_000, seed: 5)))
      for disposition in [BodyDisposition.enough, .drain] {
        _ = try await transport.fetch(try origin.address("/f"), into: CollectingSink { _ in disposition })
      }
    }
    #expect(times.map(\.hasFailed) == [false, false])
  }

  @Test("what fails, and what is cancelled, has failed")
  func failures() async throws {
    let times = try await told { transport, origin in
      origin.route("/gone", .status(404))
      origin.route("/cut", .file([1, 2, 3, 4], FileOptions(ending: .close(after: 2))))
      _ = try? await transport.fetch(try origin.address("/gone"))
      _ = try? await transport.fetch(try origin.address("/cut"))
      origin.route("/slow", .file([1], FileOptions(ending: .stall(after: 0))))
      let address = try origin.address("/slow")
      await withTaskGroup { group in
        group.addTask { _ = try? await transport.fetch(address) }
        try? await origin.wait(forRequests: 1, path: "/slow")
        group.cancelAll()
      }
    }
    #expect(times.map(\.hasFailed) == [true, true, true])
    #expect(times[0].status == 404)
  }
}
