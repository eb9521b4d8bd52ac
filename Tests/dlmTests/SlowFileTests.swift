import Foundation
import TestSupport
import Testing

@Suite("A file that takes too long fails, and keeps what has come (--min-rate, --max-time)")
struct SlowFileTests {
  private static let body = SplitMix64.bytes(count: 3_000_000, seed: 1)

  /// One transfer, and parts of a file; other files go on.
  @Test(arguments: ["1", "4"]) func maxTime(segments: String) async throws {
    let origin = try FaultyOrigin()
    defer { origin.stop() }
    let gate = try Gate()
    let options = FileOptions(etag: "\"v1\"", ending: .stall(after: 1_000_000, until: gate))
    origin.route("/slow", .file(Self.body, options))
    origin.route("/fast", .file([1, 2, 3]))
    let place = try Workplace()
    let run = try await place.dlm(
      "get", origin.url("/slow"), origin.url("/fast"), "--max-time", "0.5", "-s", segments)
    #expect(run.status == 75, "the next run goes on where it was: \(run.errorText)")
    for words in ["took too long", "incomplete after 0.5 s", origin.url("/slow"), "--max-time"] {
      #expect(run.errorText.contains(words), "\(words): \(run.errorText)")
    }
    #expect(try place.file("fast") == [1, 2, 3])
    let part = try place.file("slow.part")
    #expect(part.prefix(1000) == Self.body.prefix(1000))
    gate.open()
    origin.route("/slow", .file(Self.body, FileOptions(etag: "\"v1\"")))
    let again = try await place.dlm("get", origin.url("/slow"), "--max-time", "600", "--min-rate", "1")
    #expect(again.status == 0 && again.errorText.contains("resumed"), "\(again.errorText)")
    #expect(try place.file("slow") == Self.body)
    #expect(origin.record.requests(to: "/slow").last?.headers["range"] != nil)
  }

  /// A pause that would end behind the file's time is not waited for: it fails as it failed.
  @Test func noAttemptBeginsTooLate() async throws {
    let origin = try FaultyOrigin()
    defer { origin.stop() }
    origin.route("/f", .status(500))
    let place = try Workplace()
    let run = try await place.dlm("get", origin.url("/f"), "--max-time", "0.1")
    #expect(run.status == 75 && run.errorText.contains("500"), "\(run.errorText)")
    #expect(origin.log.count == 1)
  }

  @Test(arguments: [["--min-rate", "slow"], ["--min-rate", "0"], ["--max-time", "0"], ["--max-time", "1x"]])
  func noValues(options: [String]) async throws {
    let place = try Workplace()
    let run = try await place.start(["get", "http://127.0.0.1:9/x"] + options).waitForExit()
    #expect(run.status == 64, "\(run.errorText)")
  }
}
