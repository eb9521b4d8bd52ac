import CurlTransport
import DownloadModel
import TestSupport
import Testing

@Suite("The sink judges before the first byte, and its failures come out of the transfer")
struct SinkTests {
  private let body = SplitMix64.bytes(count: 200_000, seed: 4)

  @Test func aRefusedHeadDeliversNothing() async throws {
    try await withTransport { [body] transport, origin in
      origin.route("/f", .file(body))
      let sink = CollectingSink { head throws(DownloadError) in
        throw DownloadError(.range, cause: .detail("no"), activity: "judging")
      }
      let error = try await #require(throws: DownloadError.self) {
        _ = try await transport.fetch(try origin.address("/f"), into: sink)
      }
      #expect(error.code == .range)
      #expect(error.address == origin.url("/f"))
      #expect(sink.bytes.isEmpty)
    }
  }

  @Test func aFailingWriteEndsTheTransfer() async throws {
    try await withTransport { [body] transport, origin in
      origin.route("/f", .file(body))
      let sink = CollectingSink(failsAfter: 50_000)
      let error = try await #require(throws: DownloadError.self) {
        _ = try await transport.fetch(try origin.address("/f"), into: sink)
      }
      #expect(error.code == .diskFull)
      #expect(sink.bytes.count < 50_000 + 16_385)
    }
  }

  @Test func aShortBodyIsDrainedAndItsConnectionKept() async throws {
    try await withTransport { transport, origin in
      origin.route("/404", .status(404, body: Array(repeating: 65, count: 10_000)))
      for _ in 0..<3 {
        let (receipt, sink) = try await transport.fetch(
          try origin.address("/404"), into: CollectingSink { _ in .drain })
        #expect(receipt.status == 404)
        #expect(receipt.bodyBytes == 0)
        #expect(sink.bytes.isEmpty)
      }
      #expect(origin.record.connectionsOpened == 1)
    }
  }

  @Test func aLongUnwantedBodyIsCutOff() async throws {
    try await withTransport { transport, origin in
      origin.route("/f", .file(SplitMix64.bytes(count: 40_000_000, seed: 5)))
      let (receipt, sink) = try await transport.fetch(
        try origin.address("/f"), into: CollectingSink { _ in .drain })
      #expect(receipt.status == 200)
      #expect(sink.bytes.isEmpty)
      try await origin.wait(for: "the connection to be closed") { $0.connectionsOpen == 0 }
      #expect(origin.record.bodyBytesSent["/f", default: 0] < 40_000_000)
    }
  }
}
