import CurlTransport
import DownloadModel
import Synchronization
import TestSupport
import Testing

@Suite("A transfer delivers the head first, then the body as the origin sent it")
struct TransferTests {
  private let body = SplitMix64.bytes(count: 300_000, seed: 1)

  @Test(arguments: [0, 1, 4096, 16_384, 16_385, 2_000_000])
  func wholeBody(size: Int) async throws {
    let bytes = SplitMix64.bytes(count: size, seed: 2)
    try await withTransport { transport, origin in
      origin.route("/f", .file(bytes))
      let (receipt, sink) = try await transport.fetch(try origin.address("/f"))
      #expect(receipt.status == 200)
      #expect(receipt.bodyBytes == Int64(size))
      #expect(receipt.proof == .length)
      #expect(sink.bytes == bytes)
      #expect(sink.head?["etag"] == "\"v1\"")
      #expect(sink.head?.contentLength == Int64(size))
    }
  }

  @Test(arguments: [
    (FileOptions.Framing.chunked(size: 1000), Proof.framing), (.closeDelimited, .nothing),
  ])
  func framing(_ framing: FileOptions.Framing, _ proves: Proof) async throws {
    try await withTransport { [body] transport, origin in
      origin.route("/f", .file(body, FileOptions(framing: framing)))
      let (receipt, sink) = try await transport.fetch(try origin.address("/f"))
      #expect(receipt.proof == proves)
      #expect(sink.bytes == body)
    }
  }

  @Test func rangeAndHeaderLinesAreSent() async throws {
    try await withTransport({ $0.trust.headerLines = ["X-Mine: 1"] }) { [body] transport, origin in
      origin.route("/f", .file(body))
      let address = try origin.address("/f")
      let (receipt, sink) = try await transport.fetch(address, from: 299_000, headers: ["If-Range: \"v1\""])
      #expect(receipt.status == 206)
      #expect(sink.bytes == Array(body[299_000...]))
      #expect(sink.head?.contentRange?.range == 299_000...299_999)
      let seen = try #require(origin.log.first)
      #expect(seen.headers["if-range"] == "\"v1\"")
      #expect(seen.headers["range"] == "bytes=299000-")
      #expect(seen.headers["x-mine"] == "1")
      #expect(seen.headers["user-agent"] == "dlm-test")
      #expect(seen.headers["accept-encoding"] == "identity")
    }
  }

  /// Each answer of the host itself is reported, whether or not it says how many more requests the host takes.
  @Test func answersAreReported() async throws {
    try await withTransport { transport, origin in
      origin.route("/a", .file([1]))
      origin.route("/b", .file([1], FileOptions(headers: ["RateLimit: \"d\";r=5;t=9"])))
      origin.route("/c", .redirect(302, to: "/b"))
      let left = Lock<[Int?]>([])
      for path in ["/a", "/b", "/c"] {
        var request = TransferRequest(address: try origin.address(path))
        request.onNews = { news in
          if case .answered(let allowance) = news { left.withLock { $0.append(allowance?.left) } }
        }
        _ = try await transport.fetch(request, into: CollectingSink())
      }
      #expect(left.withLock { $0 } == [nil, 5, nil])
    }
  }

  /// An easy handle is used again: what one transfer set must not reach the next.
  @Test func theNextTransferStartsClean() async throws {
    try await withTransport { [body] transport, origin in
      origin.route("/f", .file(body))
      let address = try origin.address("/f")
      _ = try await transport.fetch(address, from: 10, headers: ["If-Range: \"v1\""])
      let (receipt, sink) = try await transport.fetch(address)
      #expect(receipt.status == 200)
      #expect(sink.bytes == body)
      #expect(origin.log.last?.headers["range"] == nil)
      #expect(origin.log.last?.headers["if-range"] == nil)
    }
  }

  @Test func sequentialTransfersShareAConnection() async throws {
    try await withTransport { transport, origin in
      origin.route("/f", .file([1, 2, 3]))
      for _ in 0..<20 { _ = try await transport.fetch(try origin.address("/f")) }
      #expect(origin.record.connectionsOpened == 1)
    }
  }

  /// A connection is opened without a look for an idle one only where there can be none.
  @Test func lanesOpenNoMoreConnectionsThanTheyAre() async throws {
    try await withTransport { transport, origin in
      origin.route("/f", .file([1, 2, 3]))
      let address = try origin.address("/f")
      try await withThrowingTaskGroup { group in
        for _ in 0..<8 {
          group.addTask { for _ in 0..<25 { _ = try await transport.fetch(address) } }
        }
        try await group.waitForAll()
      }
      #expect(origin.log.count == 200)
      #expect(origin.record.connectionsOpened <= 8)
      // One transfer more, and then a redirect, find idle ones.
      _ = try await transport.fetch(address)
      origin.route("/old", .redirect(302, to: "/f"))
      _ = try await transport.fetch(try origin.address("/old"))
      #expect(origin.record.connectionsOpened <= 8)
    }
  }

  @Test(arguments: [301, 302, 303, 307, 308])
  func redirectIsFollowed(status: Int) async throws {
    try await withTransport { [body] transport, origin in
      origin.route("/old", .redirect(status, to: "/new"))
      origin.route("/new", .file(body))
      let (receipt, sink) = try await transport.fetch(try origin.address("/old"))
      #expect(receipt.status == 200)
      #expect(receipt.effectiveURL == origin.url("/new"))
      #expect(sink.bytes == body)
    }
  }

  @Test func notModifiedHasNoBody() async throws {
    try await withTransport { [body] transport, origin in
      origin.route("/f", .file(body))
      let (receipt, sink) = try await transport.fetch(
        try origin.address("/f"), headers: ["If-None-Match: \"v1\""], into: CollectingSink { _ in .drain })
      #expect(receipt.status == 304)
      #expect(sink.bytes.isEmpty)
    }
  }

  @Test func manyAtOnce() async throws {
    try await withTransport { transport, origin in
      for index in 0..<200 {
        origin.route("/\(index)", .file(SplitMix64.bytes(count: 5000 + index, seed: UInt64(index))))
      }
      try await withThrowingTaskGroup(of: Void.self) { group in
        for index in 0..<200 {
          group.addTask {
            let (_, sink) = try await transport.fetch(try origin.address("/\(index)"))
            #expect(sink.bytes == SplitMix64.bytes(count: 5000 + index, seed: UInt64(index)))
          }
        }
        try await group.waitForAll()
      }
    }
  }
}
