import CurlTransport
import DownloadModel
import Glibc
import TestSupport
import Testing

@Suite("Every way that a transfer can fail has its code, its address, and says whether again may help")
struct TransferFailureTests {
  struct Case: CustomTestStringConvertible, Sendable {
    let testDescription: String
    let answer: OriginAnswer
    let code: DownloadError.Code
    let isPassing: Bool
  }

  private static let body = SplitMix64.bytes(count: 100_000, seed: 3)

  static let cases: [Case] = [
    Case(
      testDescription: "cut short", answer: .file(body, FileOptions(ending: .close(after: 40_000))),
      code: .shortBody, isPassing: true),
    Case(
      testDescription: "chunked, cut before the last chunk",
      answer: .file(body, FileOptions(framing: .chunked(size: 4096), ending: .close(after: 100_000))),
      code: .shortBody, isPassing: true),
    Case(
      testDescription: "reset in the body", answer: .file(body, FileOptions(ending: .reset(after: 40_000))),
      code: .reset, isPassing: true),
    Case(testDescription: "reset before the head", answer: .reset, code: .reset, isPassing: true),
    Case(testDescription: "closed before the head", answer: .close, code: .reset, isPassing: true),
    Case(testDescription: "header flood", answer: .headerFlood, code: .badResponse, isPassing: false),
    Case(
      testDescription: "garbage", answer: .raw(Array("\u{1}\u{2}garbage\r\n\r\n".utf8)), code: .badResponse,
      isPassing: false),
    Case(
      testDescription: "redirect loop", answer: .redirect(302, to: "/f"), code: .redirect, isPassing: false),
    Case(
      testDescription: "redirect to a file", answer: .redirect(302, to: "file:///etc/passwd"),
      code: .redirect, isPassing: false),
    Case(
      testDescription: "redirect to gopher", answer: .redirect(302, to: "gopher://127.0.0.1/"),
      code: .redirect, isPassing: false),
  ]

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
      #expect(error.isPassing == test.isPassing, "\(error)")
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
      #expect(error.isPassing)
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

  /// The limit is the least that libcurl knows, a second; the origin says nothing until the test ends.
  @Test func stall() async throws {
    try await withTransport({ $0.stallTimeout = .seconds(1) }) { transport, origin in
      origin.route("/f", .file(Self.body, FileOptions(ending: .stall(after: 1000))))
      let sink = CollectingSink()
      let error = try await #require(throws: DownloadError.self) {
        _ = try await transport.fetch(try origin.address("/f"), into: sink)
      }
      #expect(error.code == .stalled)
      #expect(error.isPassing)
      #expect(sink.bytes == Array(Self.body.prefix(1000)))
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
