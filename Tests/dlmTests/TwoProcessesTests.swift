import DownloadModel
import Foundation
import Glibc
import TestSupport
import Testing

/// Two `dlm get` of one list at once fetched everything twice and left `name.1` beside each file.
@Suite("Two processes and one list: each file is fetched once (HTTP rule 19)", .serialized)
struct TwoProcessesTests {
  private static func serve(_ origin: FaultyOrigin, _ count: Int, pause: Duration) -> [String] {
    (0..<count).map { index in
      origin.route(
        "/f\(index)",
        .file(
          SplitMix64.bytes(count: 4000, seed: UInt64(index)),
          FileOptions(ending: .trickle(piece: 1000, every: pause))))
      return origin.url("/f\(index)")
    }
  }

  @Test(arguments: DownloadMode.allCases)
  func eachFileOnce(mode: DownloadMode) async throws {
    let origin = try FaultyOrigin()
    defer { origin.stop() }
    let place = try Workplace()
    let count = mode == .sequential ? 20 : 80
    let addresses = Self.serve(origin, count, pause: .milliseconds(10))
    _ = try place.list(addresses)
    let arguments = ["get", "urls.txt", "-d", "out", "-m", mode.rawValue, "--progress", "json"]
    let (first, second) = (try place.start(arguments), try place.start(arguments))
    let results = [try await first.waitForExit(), try await second.waitForExit()]
    for result in results { #expect(result.status == 0, "\(result.errorText)") }
    #expect(try place.names(in: "out").count == count)
    for index in 0..<count {
      #expect(try place.file("out/f\(index)") == SplitMix64.bytes(count: 4000, seed: UInt64(index)))
    }
    // A body came once; the second process may still have asked whether it changed.
    let said = results.flatMap { $0.outputText.split(separator: "\n") }
    #expect(said.count { $0.contains("\"how\":\"fetched\"") } == count)
    // On a machine that is busy with other tests a request may be asked a second time over a warm connection; the
    // first is taken back, and its body with it.
    let whole = origin.log.count { $0.headers["if-none-match"] == nil }
    #expect(whole <= count + 8)
  }

  /// Without a cache the second cannot know what the first wrote, and fetches it; but it leaves no copies.
  @Test func withoutACache() async throws {
    let origin = try FaultyOrigin()
    defer { origin.stop() }
    let place = try Workplace()
    _ = try place.list(Self.serve(origin, 40, pause: .milliseconds(5)))
    let arguments = ["get", "urls.txt", "-d", "out", "--no-cache"]
    let (first, second) = (try place.start(arguments), try place.start(arguments))
    #expect(try await first.waitForExit().status == 0)
    #expect(try await second.waitForExit().status == 0)
    #expect(try place.names(in: "out").count == 40)
  }

  /// What the first had is free as soon as it is gone, however it went.
  @Test(arguments: [SIGKILL, SIGINT])
  func theFirstIsKilled(signal: Int32) async throws {
    let origin = try FaultyOrigin()
    defer { origin.stop() }
    let gate = try Gate()
    origin.route(
      "/f",
      .file(
        SplitMix64.bytes(count: 3 << 20, seed: 1), FileOptions(ending: .stall(after: 2 << 20, until: gate))),
      .file(SplitMix64.bytes(count: 3 << 20, seed: 1)))
    let place = try Workplace()
    let arguments = ["get", origin.url("/f"), "--progress", "plain", "-s", "1"]
    let first = try place.start(arguments)
    try await origin.wait(path: "/f", bodyBytesSent: 2 << 20)
    let second = try place.start(arguments)
    try await second.wait(forErrorOutput: "another dlm has it")
    #expect(origin.log.count == 1)
    first.send(signal)
    _ = try await first.waitForExit()
    let result = try await second.waitForExit()
    #expect(result.status == 0, "\(result.errorText)")
    #expect(try place.names() == ["f"])
    #expect(try place.file("f") == SplitMix64.bytes(count: 3 << 20, seed: 1))
    // It went on where the first had come to.
    #expect(origin.log.last?.headers["range"] != nil)
  }

  /// One that waits ends at once when it is told to.
  @Test func theSecondIsInterrupted() async throws {
    let origin = try FaultyOrigin()
    defer { origin.stop() }
    let gate = try Gate()
    origin.route("/f", .file([1, 2, 3], FileOptions(ending: .stall(after: 1, until: gate))))
    let place = try Workplace()
    let first = try place.start(["get", origin.url("/f")])
    try await origin.wait(path: "/f", bodyBytesSent: 1)
    let second = try place.start(["get", origin.url("/f"), "--progress", "plain"])
    try await second.wait(forErrorOutput: "another dlm has it")
    second.send(SIGINT)
    #expect(try await second.waitForExit().status == 130)
    gate.open()
    #expect(try await first.waitForExit().status == 0)
    #expect(try place.file("f") == [1, 2, 3])
  }

  /// The index's lock is held by a process that was stopped (Ctrl-Z): that stopped every other run for ever,
  /// and the first Ctrl-C with it.
  @Test(arguments: [false, true])
  func aHeldIndexLock(interrupted: Bool) async throws {
    let origin = try FaultyOrigin()
    defer { origin.stop() }
    origin.route("/f", .file([1, 2, 3]))
    let place = try Workplace()
    // A first run makes the index, so that the next has to ask it.
    #expect(try await place.dlm("get", origin.url("/f"), "-d", "before").status == 0)
    let lock = open(place.folder.path("home/cache/dlm/index.lock"), O_RDWR | O_CLOEXEC)
    try #require(lock >= 0 && flock(lock, LOCK_EX) == 0)
    defer { close(lock) }
    let run = try place.start(["get", origin.url("/f"), "--progress", "plain"])
    if interrupted {
      // It waits for the index before it asks the server anything.
      try await waitUntilOpen("index.lock", by: run)
      run.send(SIGINT)
      #expect(try await run.waitForExit(within: .seconds(5)).status == 130)
    } else {
      let result = try await run.waitForExit()
      #expect(result.status == 0, "\(result.errorText)")
      #expect(try place.file("f") == [1, 2, 3])
      #expect(result.errorText.contains("index.lock"), "\(result.errorText)")
    }
  }

  private func waitUntilOpen(_ name: String, by run: CommandRun) async throws {
    let folder = "/proc/\(run.processID)/fd"
    for _ in 0..<3000 {
      let numbers = (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []
      let paths = numbers.map {
        (try? FileManager.default.destinationOfSymbolicLink(atPath: "\(folder)/\($0)")) ?? ""
      }
      if paths.contains(where: { $0.hasSuffix("/" + name) }) { return }
      try await Task.sleep(for: .milliseconds(10))
    }
    throw SupportFailure("\(name) was not opened")
  }
}
