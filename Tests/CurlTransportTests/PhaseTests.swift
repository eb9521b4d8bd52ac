import CurlTransport
import DownloadModel
import TestSupport
import Testing

@Suite("A transfer says what it waits for")
struct PhaseTests {
  @Test func untilTheAnswer() async throws {
    try await withTransport { transport, origin in
      origin.route("/f", .silence())
      let meter = TransferMeter()
      #expect(meter.phase == .idle)
      let request = TransferRequest(address: try origin.address("/f"), meter: meter)
      let task = Task { try await transport.fetch(request, into: CollectingSink()) }
      try await origin.wait(for: "the request") { $0.inFlight == 1 }
      #expect(meter.phase == .waiting)
      task.cancel()
      _ = await task.result
    }
  }

  @Test func whileThereIsNoConnection() async throws {
    try await withTransport { transport, _ in
      let meter = TransferMeter()
      // A name that is looked up for as long as it takes to fail: no connection was begun.
      let request = TransferRequest(address: try Address("http://no-such-host.invalid/"), meter: meter)
      await #expect(throws: DownloadError.self) {
        _ = try await transport.fetch(request, into: CollectingSink())
      }
      #expect(meter.phase == .lookingUp)
      // One that nobody listens at: it ends while it connects.
      let closed = TransferRequest(address: try Address("http://127.0.0.1:1/"), meter: meter)
      await #expect(throws: DownloadError.self) {
        _ = try await transport.fetch(closed, into: CollectingSink())
      }
      #expect(meter.phase == .connecting)
    }
  }
}
