import CurlTransport
import DownloadModel
import Glibc
import TestSupport
import Testing

@Suite(
  "Every failure of a transfer has its code, its address, and may pass or not (HTTP rules 11, 25, 26)"
)
struct TransferFailureTests {
  struct Case: CustomTestStringConvertible, Sendable {
    let testDescription: String
    let answer: OriginAnswer
    let code: DownloadError.Code
    let isTransient: Bool
  }

  private static let body = SplitMix64.bytes(count: 100_000, seed: 3)

  static let cases: [Case] = [
    Case(
      testDescription: "cut short", answer: .file(body, FileOptions(ending: .close(after: 40_000))),
      code: .shortBody, isTransient: true),
    Case(
      testDescription: "chunked, cut before the last chunk",
      answer: .file(body, FileOptions(framing: .chunked(size: 4096), ending: .close(after: 100_000))),
      code: .shortBody, isTransient: true),
    Case(
      testDescription: "reset in the body", answer: .file(body, FileOptions(ending: .reset(after: 40_000))),
      code: .reset, isTransient: true),
    Case(testDescription: "reset before the head", answer: .reset, code: .reset, isTransient: true),
    Case(testDescription: "closed before the head", answer: .close, code: .reset, isTransient: true),
    Case(testDescription: "header flood", answer: .headerFlood, code: .badResponse, isTransient: false),
    Case(
      testDescription: "garbage", answer: .raw(Array("\u{1}\u{2}garbage\r\n\r\n".utf8)), code: .badResponse,
      isTransient: false),
    Case(
      testDescription: "redirect loop", answer: .redirect(302, to: "/f"), code: .redirect, isTransient: false),
    Case(
      testDescription: "redirect to a file", answer: .redirect(302, to: "file:///etc/passwd"),
      code: .redirect, isTransient: false),
    Case(
      testDescription: "redirect to gopher", answer: .redirect(302, to: "gopher://127.0.0.1/"),
      code: .redirect, isTransient: false),
  ]

  /// The story: a server, or a proxy, that was killed cut a handshake, which counted as a disagreement of the
  /// two sides: the file was lost.
  @Test func aHandshakeThatIsCutMayPass() async throws {
    let script = """
      import socket
      listener = socket.create_server(("127.0.0.1", 0))
      print(listener.getsockname()[1], flush=True)
      while True:
          client, _ = listener.accept()
          client.recv(65536)
          client.close()
      """
    let server = try CommandRun("/usr/bin/python3", ["-c", script])
    defer { server.send(SIGKILL) }
    try await server.wait(forOutput: "\n")
    let address = try Address("https://127.0.0.1:\(server.outputText.filter(\.isNumber))/f")
    try await withTransport { transport, _ in
      let error = try await #require(throws: DownloadError.self) {
        _ = try await transport.fetch(address, into: CollectingSink())
      }
      #expect(error.code == .tls && error.isTransient && error.wasTurnedAway, "\(error)")
    }
  }

  @Test(arguments: cases)
  func originFails(_ test: Case) async throws {
    try await withTransport { transport, origin in
      origin.route("/f", test.answer)
      let sink = CollectingSink()
      let address = try origin.address("/f")
      let error = try await #require(throws: DownloadError.self) {
        _ = try await transport.fetch(address, into: sink)
      }
      #expect(error.code == test.code, "\(error)")
      #expect(error.isTransient == test.isTransient, "\(error)")
      #expect(error.address == address.key)
      #expect(sink.bytes.elementsEqual(Self.body.prefix(sink.bytes.count)))
    }
  }

  @Test func refusedConnection() async throws {
    let refused = try RefusedPort()
    try await withTransport { transport, _ in
      let error = try await #require(throws: DownloadError.self) {
        _ = try await transport.fetch(try Address(refused.url("/f")))
      }
      #expect(error.code == .connect)
      #expect(error.isTransient)
    }
  }

  @Test func unknownHost() async throws {
    try await withTransport { transport, _ in
      let error = try await #require(throws: DownloadError.self) {
        _ = try await transport.fetch(try Address("http://no-such-host.invalid/f"))
      }
      #expect(error.code == .resolve)
    }
  }

  /// libcurl closes its resolver's sockets without a word. That once left the loop with descriptors that were
  /// gone, or another's by then: every transfer of the run failed, and the loop span.
  @Test func unknownHostBesideARunningTransfer() async throws {
    try await withTransport { transport, origin in
      let gate = try Gate()
      origin.route("/f", .file(Self.body, FileOptions(ending: .stall(after: 1000, until: gate))))
      async let running = transport.fetch(try origin.address("/f"))
      try await origin.wait(path: "/f", bodyBytesSent: 1000)
      for _ in 0..<5 {
        let error = try await #require(throws: DownloadError.self) {
          _ = try await transport.fetch(try Address("http://no-such-host.invalid/f"))
        }
        #expect(error.code == .resolve)
      }
      gate.open()
      #expect(try await running.1.bytes == Self.body)
    }
  }

  /// Content-Length means nothing beside Transfer-Encoding (RFC 9112 §6.3).
  @Test func bothLengthAndChunks() async throws {
    try await withTransport { transport, origin in
      origin.route(
        "/f", .file([1, 2, 3], FileOptions(framing: .chunked(size: 2), headers: ["Content-Length: 10"])))
      let (receipt, sink) = try await transport.fetch(try origin.address("/f"))
      #expect(sink.bytes == [1, 2, 3])
      #expect(receipt.proof == .framing)
    }
  }

  /// RFC 9112 §6.3: to guess may be to take half a file for the whole.
  @Test(arguments: [["10", "5"], ["5", "10"], ["abc"], ["-1"], [""]])
  func uselessLengths(lengths: [String]) async throws {
    try await withTransport { transport, origin in
      let lines = lengths.map { "Content-Length: \($0)\r\n" }.joined()
      origin.route("/f", .raw(Array("HTTP/1.1 200 OK\r\nConnection: close\r\n\(lines)\r\n0123456789".utf8)))
      let sink = CollectingSink()
      let error = try await #require(throws: DownloadError.self) {
        _ = try await transport.fetch(try origin.address("/f"), into: sink)
      }
      #expect(error.code == .badResponse || error.code == .transport, "\(error)")
      #expect(sink.bytes.isEmpty)
    }
  }

  /// HTTP rule 26: behind the body as before it.
  @Test func trailersWithoutEnd() async throws {
    try await withTransport { transport, origin in
      let head = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nx\r\n0\r\n"
      let line = "X-Trailer: \(String(repeating: "y", count: 1000))\r\n"
      origin.route("/f", .raw(Array((head + String(repeating: line, count: 2000) + "\r\n").utf8)))
      let error = try await #require(throws: DownloadError.self) {
        _ = try await transport.fetch(try origin.address("/f"))
      }
      #expect(error.code == .badResponse)
    }
  }

  /// libcurl does not follow it, so it is an answer like any other.
  @Test func redirectToNowhere() async throws {
    try await withTransport { transport, origin in
      origin.route("/f", .redirect(302, to: ""))
      let (receipt, _) = try await transport.fetch(try origin.address("/f"))
      #expect(receipt.status == 302)
    }
  }

  /// The origin says nothing more until the test ends.
  @Test(arguments: [1000, 0])
  func stall(after count: Int) async throws {
    try await withTransport({ $0.stallTimeout = .milliseconds(300) }) { transport, origin in
      origin.route("/f", .file(Self.body, FileOptions(ending: .stall(after: count))))
      let sink = CollectingSink()
      let error = try await #require(throws: DownloadError.self) {
        _ = try await transport.fetch(try origin.address("/f"), into: sink)
      }
      #expect(error.code == .stalled)
      #expect(error.isTransient)
      #expect(sink.bytes == Array(Self.body.prefix(count)))
    }
  }

  @Test func stallBeforeTheHead() async throws {
    try await withTransport({ $0.stallTimeout = .milliseconds(300) }) { transport, origin in
      origin.route("/f", .silence())
      let error = try await #require(throws: DownloadError.self) {
        _ = try await transport.fetch(try origin.address("/f"))
      }
      #expect(error.code == .stalled)
      #expect(error.cause == .detail("no bytes for 300 ms"))
    }
  }

  /// A byte now and then is no stall, however long it takes: here longer than the limit, and each pause a
  /// tenth of it.
  @Test func slowIsNotStalled() async throws {
    try await withTransport({ $0.stallTimeout = .seconds(2) }) { transport, origin in
      let body = Array(Self.body.prefix(12))
      origin.route(
        "/f", .file(body, FileOptions(ending: .trickle(piece: 1, every: .milliseconds(200)))))
      let (_, sink) = try await transport.fetch(try origin.address("/f"))
      #expect(sink.bytes == body)
    }
  }

  /// It was told as "Out of memory".
  @Test func aLineThatIsTooLong() async throws {
    try await withTransport { transport, origin in
      let line = "Link: <" + String(repeating: "a", count: 150_000) + ">\r\n"
      origin.route("/f", .raw(Array("HTTP/1.1 200 OK\r\n\(line)Content-Length: 0\r\n\r\n".utf8)))
      let error = try await #require(throws: DownloadError.self) {
        _ = try await transport.fetch(try origin.address("/f"))
      }
      #expect(error.code == .badResponse && !error.isTransient)
      #expect("\(error)".contains("more than 100 KiB"))
    }
  }

  /// A head is judged only when all of its lines have come.
  @Test func aSlowHeadIsNotStalled() async throws {
    try await withTransport({ $0.stallTimeout = .seconds(2) }) { transport, origin in
      let lines = ["HTTP/1.1 200 OK\r\n"] + (0..<12).map { "X-\($0): y\r\n" } + ["Content-Length: 0\r\n\r\n"]
      origin.route("/f", .pieces(lines, every: .milliseconds(200)))
      let (receipt, _) = try await transport.fetch(try origin.address("/f"))
      #expect(receipt.status == 200)
    }
  }

  /// A server that closed a kept connection is no failure of the next file: libcurl opens another.
  @Test func keptConnectionThatWasClosed() async throws {
    try await withTransport { transport, origin in
      origin.route("/f", .file([1], FileOptions(framing: .closeDelimited)), .file([2, 3]))
      _ = try await transport.fetch(try origin.address("/f"))
      let (_, sink) = try await transport.fetch(try origin.address("/f"))
      #expect(sink.bytes == [2, 3])
    }
  }
}
