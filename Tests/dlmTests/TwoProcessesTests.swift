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

  /// As above, eight of them, in one folder or each in its own: what one fetches the others copy.
  @Test(.timeLimit(.minutes(hangMinutes)), arguments: [true, false])
  func eight(share: Bool) async throws {
    let origin = try FaultyOrigin()
    defer { origin.stop() }
    let place = try Workplace()
    let count = 60
    let addresses = Self.serve(origin, count, pause: .milliseconds(10))
    // All come upon the first file while one has it, on a slow machine as well: asked for again, it stalls again.
    let gate = try Gate()
    let first = SplitMix64.bytes(count: 4000, seed: 0)
    origin.route("/f0", .file(first, FileOptions(ending: .stall(after: 1000, until: gate))))
    _ = try place.list(addresses)
    let runs = try (0..<8).map {
      try place.start(["get", "urls.txt", "-d", share ? "out" : "out\($0)", "--progress", "json"])
    }
    try await origin.wait(path: "/f0", bodyBytesSent: 1000)
    let waits = { (run: CommandRun) in run.outputText.contains("\"for\":\"another-process\"") }
    try await poll("seven to wait for the eighth") { runs.count(where: waits) >= 7 }
    gate.open()
    var said: [Substring] = []
    for run in runs {
      let result = try await run.waitForExit()
      #expect(result.status == 0, "\(result.errorText)")
      said += result.outputText.split(separator: "\n")
    }
    for number in 0..<(share ? 1 : 8) {
      let folder = share ? "out" : "out\(number)"
      #expect(Set(try place.names(in: folder)) == Set((0..<count).map { "f\($0)" }))
      for index in 0..<count {
        #expect(try place.file("\(folder)/f\(index)") == SplitMix64.bytes(count: 4000, seed: UInt64(index)))
      }
    }
    #expect(said.count { $0.contains("\"how\":\"fetched\"") } == count)
    #expect(!said.contains { $0.contains("\"process\":null") })
  }

  /// Of two machines neither sees what the other has under way; in a folder that both write, the slower one finds each
  /// file there. Each had written its own beside it.
  @Test(arguments: ["rename", "skip", "overwrite"])
  func onTwoMachines(policy: String) async throws {
    let origin = try FaultyOrigin()
    defer { origin.stop() }
    let gate = try Gate()
    let (one, other) = (try Workplace(), try Workplace())
    // Two addresses may have the same bytes, and the same name: each has its own file all the same.
    let paths = ["/a/x", "/b/x", "/c", "/d"]
    let bodies = [5, 5, 5, 6].map { SplitMix64.bytes(count: 3000, seed: $0) }
    for (path, body) in zip(paths, bodies) {
      origin.route(path, .file(body, FileOptions(ending: .stall(after: 1000, until: gate))))
    }
    let list = try one.list(paths.map { origin.url($0) })
    let runs = try [one, other].map {
      try $0.start(["get", list, "-d", "\(one.work)/out", "--on-conflict", policy, "-j", "4", "-s", "1"])
    }
    for path in paths { try await origin.wait(path: path, bodyBytesSent: 2000) }
    gate.open()
    for run in runs {
      let result = try await run.waitForExit()
      #expect(result.status == 0, "\(result.errorText)")
    }
    #expect(try one.names(in: "out") == ["c", "d", "x", "x.1"])
    for (name, body) in zip(["x", "x.1", "c", "d"], bodies) { #expect(try one.file("out/\(name)") == body) }
    // Each knows them as its own by now.
    for place in [one, other] {
      #expect(try await place.dlm("get", list, "-d", "\(one.work)/out", "--no-compare").status == 0)
    }
    #expect(try one.names(in: "out") == ["c", "d", "x", "x.1"])
  }

  /// What one has fetched since the other began is not asked about: else, of eight with the same list, seven
  /// would ask about each file. What one had fetched before is.
  @Test(arguments: [true, false])
  func fetchedSinceTheOtherBegan(share: Bool) async throws {
    let origin = try FaultyOrigin()
    defer { origin.stop() }
    let gate = try Gate()
    let body = SplitMix64.bytes(count: 3000, seed: 1)
    for path in ["/before", "/since"] { origin.route(path, .file(body)) }
    origin.route("/slow", .file(body, FileOptions(ending: .stall(after: 1000, until: gate))))
    let place = try Workplace()
    let other = share ? "out" : "other"
    #expect(try await place.dlm("get", origin.url("/before"), "-d", other).status == 0)
    let run = try place.start(
      ["get", origin.url("/slow"), origin.url("/before"), origin.url("/since"), "-d", "out", "-j", "1"])
    try await origin.wait(path: "/slow", bodyBytesSent: 1000)
    #expect(try await place.dlm("get", origin.url("/since"), "-d", other).status == 0)
    gate.open()
    let result = try await run.waitForExit()
    #expect(result.status == 0, "\(result.errorText)")
    #expect(try place.names(in: "out") == ["before", "since", "slow"])
    #expect(try place.file("out/since") == body)
    #expect(origin.log.count { $0.path == "/since" } == 1)
    #expect(origin.log.count { $0.path == "/before" } == 2)
  }

  /// While another process was alive, the cache folder was read for each file.
  @Test(.enabled(if: FileManager.default.isExecutableFile(atPath: "/usr/bin/strace"), "needs strace"))
  func theCacheFolderIsNotReadForEachFile() async throws {
    let origin = try FaultyOrigin()
    defer { origin.stop() }
    let gate = try Gate()
    origin.route("/slow", .file([1, 2, 3], FileOptions(ending: .stall(after: 1, until: gate))))
    let place = try Workplace()
    let addresses = (0..<200).map { number in
      origin.route("/\(number)", .file(SplitMix64.bytes(count: 100, seed: UInt64(number))))
      return origin.url("/\(number)")
    }
    _ = try place.list(addresses)
    let other = try place.start(["get", origin.url("/slow")])
    try await origin.wait(path: "/slow", bodyBytesSent: 1)
    let run = try await place.start(
      "strace",
      ["-f", "-e", "trace=getdents64,openat", try DLMExecutable.path(), "get", "urls.txt", "-d", "out"]
    ).waitForExit()
    gate.open()
    #expect(try await other.waitForExit().status == 0)
    #expect(run.status == 0)
    let calls = run.errorText.split(separator: "\n")
    #expect(calls.count { $0.contains("getdents64") } < 50)
    #expect(try place.names(in: "out").count == 200)
  }

  /// The process for which another one waited could not fetch the file: what is here from before is then
  /// asked about, and not taken for new.
  @Test func theFirstFails() async throws {
    let origin = try FaultyOrigin()
    defer { origin.stop() }
    let gate = try Gate()
    let (old, new) = (SplitMix64.bytes(count: 3000, seed: 1), SplitMix64.bytes(count: 3000, seed: 2))
    origin.route(
      "/f", .file(old, FileOptions(etag: "\"1\"")),
      .file(new, FileOptions(etag: "\"2\"", ending: .stall(after: 1000, until: gate))),
      .file(new, FileOptions(etag: "\"2\"")))
    let place = try Workplace()
    #expect(try await place.dlm("get", origin.url("/f")).status == 0)
    let first = try place.start(["get", origin.url("/f")])
    try await origin.wait(path: "/f", bodyBytesSent: 4000)
    let second = try place.start(["get", origin.url("/f"), "--progress", "plain"])
    try await second.wait(forErrorOutput: "waiting for process \(first.processID)")
    first.send(SIGKILL)
    _ = try await first.waitForExit()
    #expect(try await second.waitForExit().status == 0)
    #expect(try place.file("f") == new)
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
    try await second.wait(forErrorOutput: "another dlm downloads it")
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

  /// A host's places are one budget (HTTP rule 37), idle connections included.
  @Test func fourConnectionsTogether() async throws {
    let origin = try FaultyOrigin()
    defer { origin.stop() }
    let place = try Workplace()
    let addresses = Self.serve(origin, 48, pause: .milliseconds(5))
    let runs = try [0, 1].map { part in
      try place.start(["get", "-d", "out", "--per-host", "4"] + addresses[(part * 24)..<(part * 24 + 24)])
    }
    for run in runs { #expect(try await run.waitForExit().status == 0) }
    #expect(try place.names(in: "out").count == 48)
    #expect(origin.record.greatestInFlight <= 4)
  }

  /// The story: a process that had no more requests for a host kept its connections, and the host refused those of
  /// the other process, for which there were places.
  @Test func idleConnectionsGiveWay() async throws {
    let (origin, slow) = (try FaultyOrigin(), try FaultyOrigin())
    defer { origin.stop() }
    defer { slow.stop() }
    let (begun, ends) = (try Gate(), try Gate())
    func serve(_ name: String, until gate: Gate) -> [String] {
      (0..<4).map { number in
        let path = "/\(name)\(number)"
        origin.route(path, .file([1, 2, 3], FileOptions(ending: .stall(after: 1, until: gate))))
        return origin.url(path)
      }
    }
    slow.route("/f", .file([1, 2, 3], FileOptions(ending: .stall(after: 1, until: ends))))
    let place = try Workplace()
    let arguments = ["get", "-d", "out", "--per-host", "4"]
    let first = try place.start(arguments + serve("a", until: begun) + [slow.url("/f")])
    try await origin.wait(for: "the first process") { $0.inFlight == 4 }
    begun.open()
    try await origin.wait(for: "its end") { $0.inFlight == 0 }
    let second = try place.start(arguments + serve("b", until: ends))
    try await origin.wait(for: "the second process's four alone") { $0.inFlight == 4 && $0.connectionsOpen == 4 }
    ends.open()
    for run in [first, second] { #expect(try await run.waitForExit().status == 0) }
  }

  /// A run in the background leaves a host to one that is not.
  @Test func theBackgroundGivesWay() async throws {
    let origin = try FaultyOrigin()
    defer { origin.stop() }
    let gate = try Gate()
    origin.route("/f", .file([1, 2, 3], FileOptions(ending: .stall(after: 1, until: gate))))
    origin.route("/g", .file([1, 2, 3]))
    let place = try Workplace()
    let first = try place.start(["get", origin.url("/f")])
    try await origin.wait(path: "/f", bodyBytesSent: 1)
    let second = try place.start(["get", origin.url("/g"), "--background"])
    second.leaveIdleClass()
    try await Task.sleep(for: .milliseconds(200))  // in which it would ask
    #expect(origin.log.map(\.path) == ["/f"])
    gate.open()
    #expect(try await first.waitForExit().status == 0)
    #expect(try await second.waitForExit().status == 0)
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
    try await second.wait(forErrorOutput: "another dlm downloads it")
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
      #expect(try await run.waitForExit().status == 130)
    } else {
      let result = try await run.waitForExit()
      #expect(result.status == 0, "\(result.errorText)")
      #expect(try place.file("f") == [1, 2, 3])
      #expect(result.errorText.contains("index.lock"), "\(result.errorText)")
    }
  }

  /// Rows are written while the run goes on, and another process may hold the index at that moment. The end of the last
  /// download, which ends that task, gave up the wait: the rows were lost, with a warning.
  @Test(arguments: [false, true])
  func rowsThatWaitForTheIndexSurviveTheEndOfTheRun(interrupted: Bool) async throws {
    let origin = try FaultyOrigin()
    defer { origin.stop() }
    let gate = try Gate()
    origin.route("/first", .file([1, 2, 3]))
    origin.route("/second", .file([1, 2, 3], FileOptions(ending: .stall(after: 1, until: gate))))
    let place = try Workplace()
    let cache = place.folder.path("home/cache/dlm")
    try FileManager.default.createDirectory(
      atPath: cache, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
    let lock = open(cache + "/index.lock", O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
    try #require(lock >= 0 && flock(lock, LOCK_EX) == 0)
    defer { close(lock) }
    let run = try place.start(["get", origin.url("/first"), origin.url("/second"), "-m", "sequential"])
    try await waitUntilOpen("index.lock", by: run)
    if interrupted {
      run.send(SIGINT)
      #expect(try await run.waitForExit().status == 130)
      return
    }
    gate.open()
    try await poll("the last file") { try place.names().contains("second") }
    // Longer than a try to lock takes. A run that has given up ends meanwhile.
    try await Task.sleep(for: .milliseconds(500))
    flock(lock, LOCK_UN)
    let result = try await run.waitForExit()
    #expect(result.status == 0 && !result.errorText.contains("index"), "\(result.errorText)")
    let known = try await place.dlm("cache", "list").outputText
    #expect(known.contains("/first\n") && known.contains("/second\n"), "\(known)")
  }

  private func waitUntilOpen(_ name: String, by run: CommandRun) async throws {
    let folder = "/proc/\(run.processID)/fd"
    try await poll("\(name) to be open") {
      let numbers = (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []
      let paths = numbers.map {
        (try? FileManager.default.destinationOfSymbolicLink(atPath: "\(folder)/\($0)")) ?? ""
      }
      return paths.contains { $0.hasSuffix("/" + name) }
    }
  }
}
