import Foundation
import TestSupport
import Testing

@Suite("Each temporary failure says what is done about it, wherever it is told")
struct RetryMessagesTests {
  /// A cut file, a refused one, a busy host and one that nobody listens at, in each kind of output.
  @Test(arguments: ["plain", "json", "none"])
  func everyKindOfFailure(progress: String) async throws {
    let origin = try FaultyOrigin()
    defer { origin.stop() }
    let refused = try RefusedPort()
    let body = SplitMix64.bytes(count: 50_000, seed: 1)
    origin.route("/cut", .file(body, FileOptions(ending: .close(after: 10_000))), .file(body))
    origin.route("/500", .status(500), .file([1]))
    origin.route("/429", .status(429, headers: ["Retry-After: 1"]), .file([1]))
    let place = try Workplace()
    let run = try await place.start(
      ["get", refused.url("/x"), "--retries", "1", "--progress", progress, "--verbose"]
        + ["/cut", "/500", "/429"].map { origin.url($0) }
    ).waitForExit()
    #expect(run.status == 75, "\(run.errorText)")
    let marker = ["plain": "retry: ", "json": "\"type\":\"retry\""][progress] ?? "tried again"
    let told = (run.outputText + run.errorText).split(separator: "\n").filter { $0.contains(marker) }
    #expect(told.count == 4, "\(told)")
    for line in told {
      #expect(line.contains("; again in "), "\(line)")
      // One count. A refusal of a host that serves other files is no retry, if those still are under way.
      #expect(line.contains(", 1 of 1") || line.contains("/429"), "\(line)")
      // Advice would contradict it.
      #expect(!line.contains("try again later") && !line.contains("check that"), "\(line)")
      if progress == "json" { #expect(line.contains("\"retry\":1") && line.contains("\"retries\":")) }
    }
    #expect(run.errorText.contains("\n  check that the server is up, and the port\n"), "\(run.errorText)")
  }

  /// The address that it leads to is what the user needs to decide.
  @Test func aRefusedRedirectSaysWhereItLeads() async throws {
    let place = "http://user:s3cret@mirror.example.org/a/long/path/f.tar.gz?part=2&sig=s3cret"
    let origin = try await NginxServer(serverLines: ["location /f { return 302 \"\(place)\"; }"])
    defer { origin.stop() }
    let run = try await Workplace().dlm("get", origin.tlsURL("/f"), "--cacert", origin.caCertificatePath)
    #expect(run.status == 1)
    #expect(
      run.errorText.contains("from https to http://mirror.example.org/a/long/path/f.tar.gz?part=2&sig=…"),
      "\(run.errorText)")
    #expect(!run.errorText.contains("s3cret"), "\(run.errorText)")
  }
}
