import CurlTransport
import DownloadModel
import TestSupport
import Testing

@Suite("Cancellation removes a transfer at once and leaves the others alone")
struct CancellationTests {
  private let body = SplitMix64.bytes(count: 100_000, seed: 6)

  @Test func inTheMiddleOfABody() async throws {
    try await withTransport { [body] transport, origin in
      origin.route("/f", .file(body, FileOptions(ending: .stall(after: 5000))))
      let address = try origin.address("/f")
      let task = Task { try await transport.fetch(address) }
      try await origin.wait(path: "/f", bodyBytesSent: 5000)
      task.cancel()
      let error = await #expect(throws: DownloadError.self) { _ = try await task.value }
      #expect(error?.code == .cancelled)
      #expect(error?.address == address.key)
      try await origin.wait(for: "the connection to be closed") { $0.connectionsOpen == 0 }
    }
  }

  @Test func beforeTheAnswer() async throws {
    try await withTransport { transport, origin in
      origin.route("/f", .silence())
      let address = try origin.address("/f")
      let task = Task { try await transport.fetch(address) }
      try await origin.wait(for: "the request") { $0.inFlight == 1 }
      task.cancel()
      #expect(await #expect(throws: DownloadError.self) { _ = try await task.value }?.code == .cancelled)
    }
  }

  /// Cancelled before it reaches the loop: `onCancel` finds no transfer, so the start itself must look.
  @Test func beforeTheStart() async throws {
    try await withTransport { transport, origin in
      origin.route("/f", .silence())
      let address = try origin.address("/f")
      for _ in 0..<200 {
        let task = Task { try await transport.fetch(address) }
        task.cancel()
        #expect(await #expect(throws: DownloadError.self) { _ = try await task.value }?.code == .cancelled)
      }
    }
  }

  @Test func theOthersGoOn() async throws {
    try await withTransport { [body] transport, origin in
      origin.route("/stuck", .silence())
      origin.route("/fine", .file(body))
      let (stuck, fine) = (try origin.address("/stuck"), try origin.address("/fine"))
      let tasks = (0..<30).map { _ in Task { try await transport.fetch(stuck) } }
      try await origin.wait(for: "30 requests") { $0.inFlight == 30 }
      for task in tasks { task.cancel() }
      let (_, sink) = try await transport.fetch(fine)
      #expect(sink.bytes == body)
      for task in tasks {
        #expect(await #expect(throws: DownloadError.self) { _ = try await task.value }?.code == .cancelled)
      }
    }
  }
}
