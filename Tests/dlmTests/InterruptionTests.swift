import Foundation
import Glibc
import TestSupport
import Testing

@Suite("Interrupted at any moment, a run goes on where it was", .serialized)
struct InterruptionTests {
  private let large = SplitMix64.bytes(count: 8 << 20, seed: 1)

  @Test(arguments: [(SIGINT, 130), (SIGTERM, 143)] as [(Int32, Int32)])
  func signalsKeepWhatHasCome(signal: Int32, status: Int32) async throws {
    let origin = try FaultyOrigin()
    defer { origin.stop() }
    origin.route("/large", .file(large, FileOptions(ending: .stall(after: 5 << 20))), .file(large))
    origin.route("/small", .file([1, 2, 3]))
    let place = try Workplace()
    _ = try place.list([origin.url("/small"), origin.url("/large")])
    // On a machine that stalls, the file would be split, and more of it be here.
    let run = try place.start(["get", "urls.txt", "-d", "out", "-s", "1"])
    try await origin.wait(path: "/large", bodyBytesSent: 5 << 20)
    run.send(signal)
    let ended = try await run.waitForExit()
    #expect(ended.status == status, "\(ended.errorText)")
    let word = signal == SIGINT ? "Interrupted" : "Stopped"
    // On a busy machine some of what was sent has not arrived yet.
    let standing = try Regex(
      "\(word): 1 of 2 files done, [0-9.]+ MiB of the next saved. Resume with:\n    dlm get urls.txt --directory out")
    #expect(ended.errorText.contains(standing), "\(ended.errorText)")

    let again = try await place.dlm("get", "urls.txt", "-d", "out")
    #expect(again.status == 0, "\(again.errorText)")
    #expect(try place.file("out/large") == large)
    #expect(try place.names(in: "out") == ["large", "small"])
    let resumed = try #require(origin.log.last { $0.path == "/large" })
    #expect(resumed.headers["range"]?.hasPrefix("bytes=") == true, "\(resumed)")
    #expect(resumed.headers["if-range"] == "\"v1\"")
  }

  /// Kubernetes and Slurm say SIGTERM some time before SIGKILL: what is under way ends and counts, nothing new
  /// begins, and what does not end in time is kept as without the option.
  @Test(arguments: ["ends", "does not end", "is told twice"])
  func graceTime(work: String) async throws {
    let origin = try FaultyOrigin()
    defer { origin.stop() }
    let gate = try Gate()
    origin.route("/large", .file(large, FileOptions(ending: .stall(after: 5 << 20, until: gate))))
    for index in 0..<3 { origin.route("/f\(index)", .file([1])) }
    let place = try Workplace()
    _ = try place.list([origin.url("/large")] + (0..<3).map { origin.url("/f\($0)") })
    let time = work == "does not end" ? "0.1" : "600"
    let run = try place.start(["get", "urls.txt", "-d", "out", "-m", "sequential", "--grace", time])
    try await origin.wait(path: "/large", bodyBytesSent: 5 << 20)
    run.send(SIGTERM)
    try await run.wait(forErrorOutput: "no more files start")
    if work == "ends" { gate.open() }
    if work == "is told twice" { run.send(SIGTERM) }
    let ended = try await run.waitForExit()
    #expect(ended.status == 143, "\(ended.errorText)")
    #expect(origin.log.count == 1)
    if work == "is told twice" { return }
    let done = work == "ends" ? 1 : 0
    #expect(ended.errorText.contains("Stopped: \(done) of"), "\(ended.errorText)")
    #expect(try place.names(in: "out").filter { !$0.hasSuffix(".json") } == [done == 1 ? "large" : "large.part"])
    if done == 1 { #expect(try place.file("out/large") == large) }
    gate.open()
    let again = try await place.dlm("get", "urls.txt", "-d", "out")
    #expect(again.status == 0 && origin.log.count == 5, "\(again.errorText)")
  }

  /// SIGKILL in the middle: the second run ends with the same bytes, having fetched at most what was missing or not yet
  /// in the index, and 1 MiB for each file that was under way.
  @Test func killedInTheMiddle() async throws {
    let origin = try FaultyOrigin()
    defer { origin.stop() }
    let place = try Workplace()
    let sizes = (0..<40).map { $0 % 8 == 0 ? 3 << 20 : 10_000 + $0 }
    let bodies = sizes.enumerated().map { SplitMix64.bytes(count: $1, seed: UInt64($0)) }
    for (index, body) in bodies.enumerated() {
      let stalls = index == 32
      origin.route(
        "/f\(index)", .file(body, stalls ? FileOptions(ending: .stall(after: 2 << 20)) : FileOptions()),
        .file(body))
    }
    _ = try place.list(bodies.indices.map { origin.url("/f\($0)") })
    let run = try place.start(["get", "urls.txt", "-d", "out", "--jobs", "4"])
    try await origin.wait(path: "/f32", bodyBytesSent: 2 << 20)
    // Sent is not yet arrived: a megabyte may still lie in the sockets' buffers.
    try await place.wait(forSize: 2 << 20, of: "out/f32.part", toSend: SIGKILL, to: run)
    #expect(try await run.waitForExit().ending == .signalled(SIGKILL))

    let known = try await place.dlm("cache", "list").outputText
    let whole = try place.names(in: "out").filter { known.contains("/out/\($0)\n") }
    let there = whole.reduce(0) { $0 + sizes[Int($1.dropFirst()) ?? 0] }
    let partial = 2 << 20
    let before = origin.record.bodyBytesSent.values.reduce(0, +)
    let again = try await place.dlm("get", "urls.txt", "-d", "out")
    #expect(again.status == 0, "\(again.errorText)")
    for (index, body) in bodies.enumerated() { #expect(try place.file("out/f\(index)") == body) }
    #expect(try place.names(in: "out") == bodies.indices.map { "f\($0)" }.sorted())
    let fetched = origin.record.bodyBytesSent.values.reduce(0, +) - before
    let missing = sizes.reduce(0, +) - there - partial
    #expect(fetched <= missing + (1 << 20), "\(fetched) fetched, \(missing) missing")
  }

  /// A list that comes through a slow pipe must not hold up Ctrl-C.
  @Test func interruptedWhileTheListIsAwaited() async throws {
    let origin = try FaultyOrigin()
    defer { origin.stop() }
    origin.route("/a", .file([1, 2], FileOptions(ending: .stall(after: 1))))
    let place = try Workplace()
    let run = try place.start(["get", "-"], input: .open)
    run.write(Array("\(origin.url("/a"))\n".utf8))
    try await origin.wait(path: "/a", bodyBytesSent: 1)
    run.send(SIGINT)
    let ended = try await run.waitForExit()
    #expect(ended.status == 130)
    #expect(
      ended.errorText.contains("0 of at least 1 file done")
        && ended.errorText.contains(". Resume with (the pipe"),
      "dlm get alone would take another list: \(ended.errorText)")
    // Half a list must not be taken for the whole by the next run.
    let runs = place.folder.path("home/state/dlm/runs")
    let kept = FileManager.default.enumerator(atPath: runs)?.allObjects ?? []
    #expect(kept.isEmpty, "\(kept)")
  }

  /// All lanes busy, and the list still comes: the task that waited for its next line was nobody's child, and
  /// was cancelled by lanes that waited beside it only. Such a run hung at every signal until its pipe was
  /// closed.
  @Test(
    arguments: [(SIGINT, 130), (SIGTERM, 143)] as [(Int32, Int32)], ["sequential", "async-let", "parallel"])
  func interruptedWithAllLanesBusyWhileTheListIsAwaited(signal: (Int32, Int32), mode: String) async throws {
    let origin = try FaultyOrigin()
    defer { origin.stop() }
    // Refused once, it comes back into the queue: the only lane waits for it and for the list, then is busy
    // with it.
    origin.route("/a", .status(503), .file([1, 2], FileOptions(ending: .stall(after: 1))))
    let place = try Workplace()
    let run = try place.start(["get", "-", "-j", "1", "-m", mode], input: .open)
    run.write(Array("\(origin.url("/a"))\n".utf8))
    try await origin.wait(path: "/a", bodyBytesSent: 1)
    run.send(signal.0)
    #expect(try await run.waitForExit().status == signal.1)
  }

  /// Redirects are followed anew, and validators belong to where they led (HTTP rule 9): another mirror with
  /// the same date has another file.
  @Test func theRedirectLeadsElsewhere() async throws {
    let (first, second) = (try FaultyOrigin(), try FaultyOrigin())
    defer {
      first.stop()
      second.stop()
    }
    let other = SplitMix64.bytes(count: large.count, seed: 2)
    let dated = FileOptions(etag: nil)
    var cut = dated
    cut.ending = .close(after: 5 << 20)
    first.route("/mirror", .file(large, cut))
    second.route("/mirror", .file(other, dated))
    first.route("/f", .redirect(302, to: first.url("/mirror")), .redirect(302, to: second.url("/mirror")))
    let place = try Workplace()
    #expect(try await place.dlm("get", first.url("/f"), "--retries", "0").status == 75)
    let run = try await place.dlm("get", first.url("/f"))
    #expect(run.status == 0, "\(run.errorText)")
    #expect(try place.file("f") == other)
    #expect(try place.names() == ["f"])
  }

  /// The first signal puts away what has come; should that hang, here at a reader of the JSON that reads
  /// nothing, a second one ends the process at once.
  @Test func aSecondSignalEndsAtOnce() async throws {
    let origin = try FaultyOrigin()
    defer { origin.stop() }
    for index in 0..<600 { origin.route("/f\(index)", .file([1])) }
    origin.route("/slow", .file([1, 2], FileOptions(ending: .stall(after: 1))))
    let place = try Workplace()
    _ = try place.list((0..<600).map { origin.url("/f\($0)") } + [origin.url("/slow")])
    let dlm = try DLMExecutable.path()
    // Open for both, so that neither side is missing; nobody ever reads.
    let script = "mkfifo pipe; exec 3<>pipe; exec '\(dlm)' get urls.txt -d out --progress json >&3"
    let run = try place.start("sh", ["-c", script])
    try await origin.wait(path: "/slow", bodyBytesSent: 1)
    try await place.wait(forSize: 1, of: "out/f599")
    run.send(SIGINT)
    try await Task.sleep(for: .seconds(1))
    #expect(!run.hasEnded, "the pipe takes no more, so the end has to wait")
    run.send(SIGINT)
    #expect(try await run.waitForExit().status == 130)
  }
}
