import TestSupport
import Testing

@testable import DemoOrigin

@Suite("The origin over the wire", .timeLimit(.minutes(hangMinutes)))
struct DemoOriginTests {
  private static let file = DemoFile(path: "/archives/a.bin", size: 100_000, seed: 9)
  private static let small = DemoFile(path: "/text/b.txt", size: 10, seed: 8)

  private func origin(latency: Duration = .zero, rate: Int? = nil) -> DemoOrigin {
    DemoOrigin(
      files: [Self.file, Self.small], latency: latency, bytesPerSecondPerConnection: rate)
  }

  @Test func servesTheWholeFileWithItsLength() async throws {
    try await origin().serving { addresses in
      let response = try await CurlCommand.response([addresses[0]])
      #expect(response.status == 200)
      #expect(response.fields["content-length"] == "100000")
      #expect(response.fields["transfer-encoding"] == nil)
      #expect(response.fields["etag"] == Self.file.entityTag)
      #expect(response.fields["date"] != nil)
      #expect(response.body == Self.file.bytes(in: 0..<100_000))
    }
  }

  @Test func servesARange() async throws {
    try await origin().serving { addresses in
      let response = try await CurlCommand.response([
        "--header", "Range: bytes=777-9999", "--header", "If-Range: \(Self.file.entityTag)", addresses[0],
      ])
      #expect(response.status == 206)
      #expect(response.fields["content-range"] == "bytes 777-9999/100000")
      #expect(response.fields["content-length"] == "9223")
      #expect(response.body == Self.file.bytes(in: 777..<10_000))
    }
  }

  struct Refusal: Sendable {
    let arguments: [String]
    let status: Int
    let length: String
  }

  // Answers without a body, whose framing a server gets wrong most easily: the same connection serves on.
  @Test(arguments: [
    Refusal(arguments: ["--header", "If-None-Match: \(file.entityTag)"], status: 304, length: "100000"),
    Refusal(arguments: ["--header", "Range: bytes=100000-"], status: 416, length: "0"),
    Refusal(arguments: ["--head"], status: 200, length: "100000"),
  ])
  func connectionServesOnAfterAnAnswerWithoutBody(row: Refusal) async throws {
    try await origin().serving { addresses in
      let response = try await CurlCommand.response(row.arguments + [addresses[0]])
      #expect(response.status == row.status)
      #expect(response.fields["content-length"] == row.length)
      #expect(response.body.isEmpty)

      let next = [
        "--next", "--output", "/dev/null", "--write-out", "%{http_code} %{num_connects}", addresses[1],
      ]
      let result = try await CurlCommand.result(
        row.arguments + ["--output", "/dev/null", addresses[0]] + next)
      #expect(result.status == 0)
      #expect(result.outputText.hasSuffix("200 0"))
    }
  }

  // The library keeps HTTP/1.1 connections without being asked; curl sends no `Connection: keep-alive`.
  @Test func oneConnectionServesOneRequestAfterTheOther() async throws {
    try await origin().serving { addresses in
      let each = ["--write-out", "%{num_connects}"]
      let bodies = ["--output", "/dev/null", addresses[0], "--output", "/dev/null", addresses[1]]
      let result = try await CurlCommand.result(each + bodies + bodies)
      #expect(result.status == 0)
      #expect(result.outputText == "1000")
    }
  }

  @Test func closesWhenTheClientAsks() async throws {
    try await origin().serving { addresses in
      let response = try await CurlCommand.response(["--header", "Connection: close", addresses[1]])
      #expect(response.fields["connection"] == "close")
      #expect(response.body == Self.small.bytes(in: 0..<10))
    }
  }

  @Test func unknownPathIsNotFoundAndAQueryIsIgnored() async throws {
    try await origin().serving { addresses in
      let unknown = try await CurlCommand.response([addresses[0] + ".old"])
      #expect(unknown.status == 404)
      let queried = try await CurlCommand.response([addresses[1] + "?version=2"])
      #expect(queried.status == 200)
    }
  }

  // Only lower bounds: a busy machine makes everything later, never earlier.
  @Test func latencyAndBandwidthAreNotLessThanSet() async throws {
    try await origin(latency: .milliseconds(60), rate: 1_000_000).serving { addresses in
      let result = try await CurlCommand.result([
        "--output", "/dev/null", "--write-out", "%{time_starttransfer} %{time_total}", addresses[0],
      ])
      let times = result.outputText.split(separator: " ").compactMap { Double($0) }
      #expect(result.status == 0)
      #expect(times.count == 2)
      #expect(times.first ?? 0 >= 0.06)
      #expect(times.last ?? 0 >= 0.16)
    }
  }
}
