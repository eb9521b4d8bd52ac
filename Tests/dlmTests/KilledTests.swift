import Foundation
import Glibc
import TestSupport
import Testing

@Suite("SIGKILL at random moments (HTTP rule 10)")
struct KilledTests {
  private static let sizes =
    [0, 1, 100, 4096] + (0..<12).map { 5000 * $0 } + [200_000, 900_000, 1 << 20, 3 << 20, 5 << 20]
  private static let bodies = sizes.enumerated().map { SplitMix64.bytes(count: $1, seed: UInt64($0)) }
  /// `DLM_KILLS=25` for two hundred in all.
  private static let killsPerPlace = ProcessInfo.processInfo.environment["DLM_KILLS"].flatMap { Int($0) } ?? 10

  /// Large ones come in pieces with a pause between, so that most moments of a run lie within some file. One
  /// is so slow that it is fetched in parts.
  private static func serve(_ origin: FaultyOrigin) {
    for (index, body) in bodies.enumerated() {
      let piece = body.count == 3 << 20 ? 16 * 1024 : 128 * 1024
      let ending: FileOptions.Ending =
        body.count > 500_000
        ? .trickle(piece: piece, every: .milliseconds(piece > 100_000 ? 4 : 10)) : .whole
      // One without length and one without validator: they cannot always go on, but must always end right.
      let framing: FileOptions.Framing = index == 16 ? .chunked(size: 10_000) : .contentLength
      origin.route(
        "/f\(index)",
        .file(body, FileOptions(etag: index == 17 ? nil : "\"v\(index)\"", framing: framing, ending: ending)))
    }
  }

  /// It once began anew, though it had taken long.
  @Test func aShortFileThatTakesLong() async throws {
    let origin = try FaultyOrigin()
    defer { origin.stop() }
    let gate = try Gate()
    let body = SplitMix64.bytes(count: 900_000, seed: 1)
    origin.route("/f", .file(body, FileOptions(ending: .stall(after: 300_000, until: gate))), .file(body))
    let place = try Workplace()
    let run = try place.start(["get", origin.url("/f")])
    try await place.wait(forSize: 300_000, of: "f.part", toSend: SIGKILL, to: run)
    _ = try await run.waitForExit()
    gate.open()
    let again = try await place.dlm("get", origin.url("/f"))
    #expect(again.status == 0, "\(again.errorText)")
    #expect(origin.log.last?.headers["range"] == "bytes=300000-")
    #expect(try place.file("f") == body && place.names() == ["f"])
  }

  /// The index hears of a finished file at once, not only at the end of the run or of a batch.
  @Test func aFinishedFileIsKnownWhileTheRunGoesOn() async throws {
    let origin = try FaultyOrigin()
    defer { origin.stop() }
    let gate = try Gate()
    origin.route("/first", .file([1, 2, 3]))
    origin.route("/second", .file([1, 2, 3], FileOptions(ending: .stall(after: 1, until: gate))))
    let place = try Workplace()
    let run = try place.start(["get", origin.url("/first"), origin.url("/second"), "-m", "sequential"])
    try await origin.wait(path: "/second", bodyBytesSent: 1)
    for _ in 0..<1200 {
      if try await place.dlm("cache", "list").outputText.contains("/first\n") { break }
      try await Task.sleep(for: .milliseconds(50))
    }
    run.send(SIGKILL)
    _ = try await run.waitForExit()
    gate.open()
    #expect(try await place.dlm("get", origin.url("/first")).status == 0)
    #expect(origin.log.count { $0.path == "/first" && $0.headers["if-none-match"] == nil } == 1)
    #expect(try place.names().contains("first"))
  }

  @Test(arguments: 0..<8)
  func killed(_ seed: Int) async throws {
    let origin = try FaultyOrigin()
    defer { origin.stop() }
    Self.serve(origin)
    var random = SplitMix64(seed: UInt64(seed) &* 7919 &+ 1)
    let place = try Workplace()
    _ = try place.list(Self.bodies.indices.map { origin.url("/f\($0)") })
    let arguments = [
      "get", "urls.txt", "-d", "out", "-m", ["parallel", "async-let", "sequential"][seed % 3],
    ]
    for kill in 0..<Self.killsPerPlace {
      let run = try place.start(arguments)
      try await Task.sleep(for: .milliseconds(Int.random(in: 60..<450, using: &random)))
      run.send(SIGKILL)
      _ = try await run.waitForExit()
      // The origin goes on for a moment with what nobody receives any more.
      try await origin.wait(for: "the killed run's connections to be gone") { $0.connectionsOpen == 0 }
      let missing = try await Self.missing(place, "seed \(seed), kill \(kill)")

      let before = origin.record.bodyBytesSent.values.reduce(0, +)
      // Where a file is split, how much is on its way twice depends on what else the machine does. So the
      // bytes are counted where the rest comes in one piece after the other.
      let counts = kill % 2 == 0
      let again = try await place.start(
        ["get", "urls.txt", "-d", "out"] + (counts ? ["-s", "1"] : [])
      ).waitForExit()
      #expect(again.status == 0, "seed \(seed), kill \(kill): \(again.errorText)")
      for (index, body) in Self.bodies.enumerated() {
        #expect(try place.file("out/f\(index)") == body, "seed \(seed), kill \(kill), f\(index)")
      }
      let names = Self.bodies.indices.map { "f\($0)" }.sorted()
      #expect(try place.names(in: "out") == names, "seed \(seed), kill \(kill): something stray")
      let fetched = origin.record.bodyBytesSent.values.reduce(0, +) - before
      // Where a part begins, the transfer before it has sent some pieces more by the time it is cut; and on a
      // machine that is busy with other tests a request may be asked a second time over a warm connection.
      let surplus = 128 * 16 * 1024
      #expect(
        !counts || fetched <= missing + surplus,
        "seed \(seed), kill \(kill): \(fetched) fetched, \(missing) missing")
      try FileManager.default.removeItem(atPath: "\(place.work)/out")
      #expect(try await place.dlm("clear-cache").status == 0)
    }
  }

  /// What a finishing run may fetch: all that is not there or not yet in the index (the last 250 ms of finished files),
  /// a MiB of each part over again (what the kernel had not been given yet), and the tail that is compared where there
  /// is no validator.
  private static func missing(_ place: Workplace, _ what: String) async throws -> Int {
    guard FileManager.default.fileExists(atPath: "\(place.work)/out") else { return sizes.reduce(0, +) }
    var missing = sizes.reduce(0, +)
    let names = Set(try place.names(in: "out"))
    let known = try await place.dlm("cache", "list").outputText
    for name in names {
      guard let index = Int(name.dropFirst().prefix { $0 != "." }) else { continue }
      if name == "f\(index)" {
        #expect(try place.file("out/\(name)") == bodies[index], "\(what): \(name) stands there and is wrong")
        if known.contains("/out/\(name)\n") { missing -= sizes[index] }
        // Killed between two names, a file has both.
      } else if name == "f\(index).part", !names.contains("f\(index)") {
        missing -= try credit(place, name)
      }
    }
    return missing
  }

  /// What of a part need not come again, a MiB of each transfer left out.
  private static func credit(_ place: Workplace, _ name: String) throws -> Int {
    let length = try place.file("out/\(name)").count
    guard let json = try? place.file("out/\(name).json"),
      let record = try? JSONSerialization.jsonObject(with: Data(json)) as? [String: Any],
      let done = record["done"] as? [[Int]]
    else { return max(0, length - (1 << 20)) }
    return done.reduce(0) { $0 + max(0, $1[1] - $1[0] - (1 << 20)) }
  }
}
