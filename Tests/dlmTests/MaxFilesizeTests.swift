import Foundation
import Glibc
import TestSupport
import Testing

@Suite(
  "No file is longer than the user allows, and no disk space is taken before its bytes come (HTTP rule 43)")
struct MaxFilesizeTests {
  /// The length is known from the head: no byte of the body is waited for.
  @Test(arguments: [["--max-filesize", "1M"], ["--max-filesize=1048576"]])
  func tooLongByItsHead(options: [String]) async throws {
    let origin = try FaultyOrigin()
    defer { origin.stop() }
    origin.route(
      "/long", .file(SplitMix64.bytes(count: (1 << 20) + 1, seed: 1), FileOptions(ending: .stall(after: 10))))
    origin.route("/fits", .file(SplitMix64.bytes(count: 1 << 20, seed: 2)))
    let place = try Workplace()
    let run = try await place.start(["get", origin.url("/long"), origin.url("/fits")] + options).waitForExit()
    #expect(run.status == 1, "\(run.errorText)")
    #expect(run.errorText.contains("--max-filesize"), "\(run.errorText)")
    #expect(run.errorText.contains(origin.url("/long")), "\(run.errorText)")
    #expect(origin.record.requests(to: "/long").count == 1)
    #expect(try place.names() == ["fits"])
  }

  /// A body without end filled the disk.
  @Test func tooLongAsItComes() async throws {
    let origin = try FaultyOrigin()
    defer { origin.stop() }
    let body = SplitMix64.bytes(count: 6 << 20, seed: 1)
    origin.route(
      "/endless", .file(body, FileOptions(framing: .chunked(size: 60_000), ending: .stall(after: 4 << 20))))
    let place = try Workplace(["DLM_MAX_FILESIZE": "2M"])
    let run = try await place.dlm("get", origin.url("/endless"))
    #expect(run.status == 1, "\(run.errorText)")
    #expect(run.errorText.contains("--max-filesize"), "\(run.errorText)")
    #expect(origin.log.count == 1)
    #expect(try place.names().isEmpty)
  }

  /// A server claimed 30 GB, the file was fetched in parts, and all of it was taken from the disk at once and
  /// kept after a SIGKILL.
  @Test func aClaimTakesNoSpace() async throws {
    let origin = try FaultyOrigin()
    defer { origin.stop() }
    let options = FileOptions(
      framing: .declared("\(1 << 30)"), ending: .trickle(piece: 16 * 1024, every: .milliseconds(10)))
    origin.route("/claimed", .file([UInt8](repeating: 7, count: 64 << 20), options))
    let place = try Workplace()
    let run = try place.start(["get", origin.url("/claimed")])
    // Further requests are those for parts.
    try await origin.wait(forRequests: 2)
    run.send(SIGKILL)
    _ = try await run.waitForExit()
    var status = stat()
    #expect(lstat("\(place.work)/claimed.part", &status) == 0)
    #expect(status.st_blocks * 512 < 64 << 20)
  }

  @Test func notASize() async throws {
    let place = try Workplace()
    let run = try await place.dlm("get", "http://127.0.0.1:1/x", "--max-filesize", "much")
    #expect(run.status == 64)
  }
}
