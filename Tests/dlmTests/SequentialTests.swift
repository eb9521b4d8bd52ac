import DownloadModel
import Foundation
import TestSupport
import Testing

/// `sequential` is the line that the other modes are measured against. `--segments` once reached every mode,
/// so that a single file of 6 MB went over eight connections in it, and the distance between the modes was
/// not what it is.
@Suite("Sequential is one file at a time over one connection, never split, in every command")
struct SequentialTests {
  private static let body = SplitMix64.bytes(count: 3_000_000, seed: 3)
  /// Some two megabytes a second on each connection: worth splitting for every mode that may.
  private static let slow = FileOptions(ending: .trickle(piece: 20_000, every: .milliseconds(10)))

  @Test(arguments: [[], ["--segments", "8"], ["--jobs", "8"]])
  func get(options: [String]) async throws {
    let origin = try FaultyOrigin()
    defer { origin.stop() }
    origin.route("/large.bin", .file(Self.body, Self.slow))
    let place = try Workplace()
    let run = try await place.start(["get", "-m", "sequential", origin.url("/large.bin")] + options)
      .waitForExit()
    #expect(run.status == 0, "\(run.errorText)")
    #expect(try place.file("large.bin") == Self.body)
    #expect(origin.log.count == 1, "\(origin.log)")
    #expect(origin.record.connectionsOpened == 1)
  }

  @Test func compare() async throws {
    let origin = try FaultyOrigin()
    defer { origin.stop() }
    origin.route("/large.bin", .file(Self.body, Self.slow))
    let place = try Workplace()
    let run = try await place.dlm(
      "compare", origin.url("/large.bin"), "--runs", "1", "--mode", "sequential", "--segments", "8")
    #expect(run.status == 0, "\(run.errorText)")
    #expect(origin.log.count == 1, "\(origin.log)")
  }

  /// Its server paces each connection, so that one connection cannot be faster than this, on any machine.
  @Test func demo() async throws {
    let place = try Workplace()
    let run = try await place.dlm(
      "demo", "--runs", "1", "--mode", "sequential", "--files", "1x2M", "--connection-rate", "1M")
    #expect(run.status == 0, "\(run.errorText)")
    let table = run.outputText.split(separator: "\n").drop { !$0.hasPrefix("MODE") }
    let row = try #require(table.first { $0.hasPrefix("sequential") })
    let time = row.split(separator: " ").dropFirst().prefix(2)
    let number = try #require(time.first.flatMap { Double($0) })
    #expect(time.last == "s" && number > 1.7, "\(run.outputText)")
  }
}
