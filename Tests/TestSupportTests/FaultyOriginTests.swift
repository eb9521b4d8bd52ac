import Testing

@testable import TestSupport

@Suite("A faulty origin, seen by curl")
struct FaultyOriginTests {
  let folder: TemporaryFolder
  let origin: FaultyOrigin
  let bytes = SplitMix64.bytes(count: 300_000, seed: 1)

  init() throws {
    folder = try TemporaryFolder()
    origin = try FaultyOrigin()
  }

  private func fetch(_ path: String, _ arguments: [String] = []) async throws -> CommandResult {
    try await CurlCommand.result(
      ["-o", "out", "-w", "%{http_code}"] + arguments + [origin.url(path)], folder: folder.path)
  }

  @Test func `A whole file arrives with its headers and is counted`() async throws {
    origin.route("/f", .file(bytes, .init(headers: ["Content-Disposition: attachment; filename=x"])))
    let result = try await fetch("/f?q=1", ["-D", "head", "-H", "X-Probe: yes"])
    #expect(result.outputText == "200")
    #expect(try folder.read("out").firstDifference(from: bytes) == nil)
    let head = String(decoding: try folder.read("head"), as: UTF8.self)
    for line in [
      "ETag: \"v1\"", "Last-Modified: Tue, 01 Jul 2025 10:00:00 GMT", "Accept-Ranges: bytes",
      "Content-Length: 300000", "Content-Disposition: attachment; filename=x", "Date: ",
    ] { #expect(head.contains(line)) }
    #expect(origin.log.map(\.path) == ["/f?q=1"])
    #expect(origin.log.first?.headers["x-probe"] == "yes")
    #expect(origin.record.bodyBytesSent == ["/f?q=1": bytes.count])
  }

  @Test func `A cut file is resumed from where it stands`() async throws {
    origin.route("/f", .file(bytes, .init(ending: .close(after: 100_000))), .file(bytes))
    #expect(try await fetch("/f").status == 18)
    #expect(try folder.read("out").count == 100_000)
    let resumed = try await fetch("/f", ["-C", "-", "-H", "If-Range: \"v1\""])
    #expect(resumed.outputText == "206")
    #expect(try folder.read("out").firstDifference(from: bytes) == nil)
    #expect(origin.log.last?.headers["range"] == "bytes=100000-")
  }

  struct Fault: CustomTestStringConvertible {
    var name: String
    var answer: OriginAnswer
    /// curl's exit codes (EXIT CODES in CurlCommand.result(1)) that show it.
    var exits: Set<Int32>
    var received: Int
    var testDescription: String { name }
  }

  private static let body = SplitMix64.bytes(count: 5000, seed: 2)

  private static func file(_ options: FileOptions) -> OriginAnswer { .file(body, options) }

  static let faults = [
    Fault(
      name: "reset in the body", answer: file(.init(ending: .reset(after: 1234))), exits: [56], received: 1234
    ),
    Fault(name: "reset before the head", answer: .reset, exits: [56], received: 0),
    Fault(name: "FIN before the head", answer: .close, exits: [52], received: 0),
    Fault(
      name: "chunks whole", answer: file(.init(framing: .chunked(size: 999))), exits: [0], received: 5000),
    Fault(
      name: "last chunk missing",
      answer: file(.init(framing: .chunked(size: 999), ending: .close(after: 5000))),
      exits: [18, 56], received: 5000),
    Fault(
      name: "cut within a chunk",
      answer: file(.init(framing: .chunked(size: 999), ending: .close(after: 1500))),
      exits: [18, 56], received: 1500),
    Fault(name: "until close", answer: file(.init(framing: .closeDelimited)), exits: [0], received: 5000),
    Fault(
      name: "longer than declared", answer: file(.init(framing: .declared("4000"))), exits: [0],
      received: 4000),
    Fault(name: "garbage", answer: .raw(Array("\u{1}\u{2}nonsense\n\n".utf8)), exits: [1], received: 0),
    Fault(name: "header flood", answer: .headerFlood, exits: [27, 56, 100], received: 0),
    Fault(
      name: "trickle", answer: file(.init(ending: .trickle(piece: 1000, every: .milliseconds(1)))),
      exits: [0],
      received: 5000),
  ]

  @Test(arguments: faults)
  func fault(_ row: Fault) async throws {
    origin.route("/f", row.answer)
    let result = try await fetch("/f")
    #expect(row.exits.contains(result.status ?? -1), "\(result.ending) \(result.errorText)")
    let received = row.received == 0 ? 0 : try folder.read("out").count
    #expect(received == row.received)
    try await origin.wait(for: "the answer's end") { $0.inFlight == 0 }
  }

  @Test func `Conditions and statuses are answered`() async throws {
    origin.route("/f", .file(bytes))
    #expect(try await fetch("/f", ["-H", "If-None-Match: \"v1\""]).outputText == "304")
    #expect(try await fetch("/f", ["-r", "300000-"]).outputText == "416")
    #expect(try await fetch("/nowhere").outputText == "404")
    origin.route("/busy", .status(429, body: [65], headers: ["Retry-After: 7"]), .status(204))
    #expect(try await fetch("/busy", ["-D", "head"]).outputText == "429")
    #expect(String(decoding: try folder.read("head"), as: UTF8.self).contains("Retry-After: 7\r\n"))
    #expect(try await fetch("/busy").outputText == "204")
    #expect(try await fetch("/busy").outputText == "204")
  }

  @Test func `HEAD has the head of GET and no body`() async throws {
    origin.route("/f", .file(bytes))
    let result = try await fetch("/f", ["-I"])
    #expect(result.outputText == "200")
    #expect(String(decoding: try folder.read("out"), as: UTF8.self).contains("Content-Length: 300000\r\n"))
    #expect(origin.record.bodyBytesSent.isEmpty)
  }

  @Test(arguments: [301, 302, 303, 307, 308])
  func `Redirects lead on`(_ status: Int) async throws {
    origin.route("/a", .redirect(status, to: "b"))
    origin.route("/b", .redirect(status, to: origin.url("/c")))
    origin.route("/c", .file(bytes))
    #expect(try await fetch("/a", ["-L"]).outputText == "200")
    #expect(origin.log.map(\.path) == ["/a", "/b", "/c"])
    #expect(Set(origin.log.map(\.connection)).count == 1)
  }

  @Test func `Redirects lead in a circle and to a local file`() async throws {
    origin.route("/loop", .redirect(302, to: "/loop"))
    #expect(try await fetch("/loop", ["-L", "--max-redirs", "5"]).status == 47)
    #expect(origin.log.count == 6)
    origin.route("/local", .redirect(302, to: "file:///etc/passwd"))
    #expect(try await fetch("/local", ["-L"]).status == 1)
  }

  @Test func `A refused port refuses`() async throws {
    let refused = try RefusedPort()
    #expect(try await CurlCommand.result([refused.url("/")]).status == 7)
  }
}
