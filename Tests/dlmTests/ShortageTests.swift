import DownloadModel
import Foundation
import TestSupport
import Testing

@testable import dlm

/// EMFILE was once called a broken disk: the whole run stopped, with advice about disks.
@Suite("A machine short of descriptors takes fewer files at a time, and none is lost", .serialized)
struct ShortageTests {
  /// - Parameter limit: descriptors of the process, soft and hard, so that dlm cannot raise it. Those that
  ///   tests beside this one leave to their children by accident are closed before.
  private static func run(_ place: Workplace, limit: Int, _ arguments: [String]) async throws -> CommandResult {
    try await start(place, limit: limit, arguments).waitForExit()
  }

  private static func start(_ place: Workplace, limit: Int, _ arguments: [String]) throws -> CommandRun {
    try place.start(
      "bash",
      [
        "-c",
        "for fd in /proc/$$/fd/*; do n=${fd##*/}; [ $n -gt 2 ] && eval \"exec $n>&-\"; done; ulimit -n \(limit) && exec \"$0\" \"$@\"",
        try DLMExecutable.path(),
      ] + arguments)
  }

  @Test(arguments: [["-j", "64"], []], ["parallel", "async-let"])
  func manyFilesAndFewDescriptors(jobs: [String], mode: String) async throws {
    let origin = try FaultyOrigin()
    defer { origin.stop() }
    let bodies = (0..<120).map { SplitMix64.bytes(count: 3000 + $0, seed: UInt64($0)) }
    for (index, body) in bodies.enumerated() {
      let slow = FileOptions(ending: .trickle(piece: 1500, every: .milliseconds(5)))
      origin.route("/f\(index)", .file(body, slow))
    }
    let place = try Workplace()
    _ = try place.list(bodies.indices.map { origin.url("/f\($0)") })
    let run = try await Self.run(
      place, limit: 40, ["get", "urls.txt", "-d", "out", "-m", mode, "--per-host", "64"] + jobs)
    #expect(run.status == 0, "\(run.errorText)")
    #expect(!run.errorText.contains("disk"), "\(run.errorText)")
    for (index, body) in bodies.enumerated() { #expect(try place.file("out/f\(index)") == body) }
  }

  /// The story: libdispatch opens a file in /proc every second, and ended the process where all descriptors were in use,
  /// once in twenty such runs. So the last eight are for libraries, the index among them: no socket and no part stays
  /// there.
  @Test func theLastDescriptorsAreForLibraries() async throws {
    let origin = try FaultyOrigin()
    defer { origin.stop() }
    let gate = try Gate()
    let paths = (0..<24).map { "/f\($0)" }
    let held = FileOptions(ending: .stall(after: 100, until: gate))
    for path in paths { origin.route(path, .file(SplitMix64.bytes(count: 3000, seed: 1), held)) }
    let place = try Workplace()
    _ = try place.list(paths.map(origin.url))
    let run = try Self.start(
      place, limit: 40, ["get", "urls.txt", "-d", "out", "-j", "24", "--per-host", "24"])
    let last = (32..<40).map { "/proc/\(run.processID)/fd/\($0)" }
    try await poll("several connections") { origin.record.connectionsOpen > 4 }
    // For the others to find that there is no descriptor for them.
    try await Task.sleep(for: .seconds(1))
    // What dlm closes at once may be seen; what a held file has open would be seen for ever.
    try await poll("the last descriptors to be the libraries'") {
      let taken = last.compactMap { try? FileManager.default.destinationOfSymbolicLink(atPath: $0) }
      return taken.allSatisfy { $0.contains("/index.sqlite") }
    }
    gate.open()
    let result = try await run.waitForExit()
    #expect(result.status == 0, "\(result.errorText)")
    #expect(try place.names(in: "out").count == paths.count)
  }

  /// Idle connections of hosts that have given all they had must not take what other hosts' files need.
  @Test func manyHostsAndFewDescriptors() async throws {
    let origins = try (0..<60).map { _ in try FaultyOrigin() }
    defer { for origin in origins { origin.stop() } }
    for origin in origins { origin.route("/f", .file([1, 2, 3])) }
    let place = try Workplace()
    _ = try place.list(origins.map { $0.url("/f") })
    let run = try await Self.run(place, limit: 36, ["get", "urls.txt", "-d", "out", "-m", "sequential"])
    #expect(run.status == 0, "\(run.errorText.suffix(2000))")
    #expect(try place.names(in: "out").count == 60)
  }

  /// Not even one file can be had: a temporary failure, which says what to do.
  @Test func noRoomAtAll() async throws {
    let origin = try FaultyOrigin()
    defer { origin.stop() }
    origin.route("/f", .file([1]))
    let place = try Workplace()
    // With 20, a run once waited for ever, or was ended by libdispatch.
    for limit in [8, 16, 20, 24, 27] {
      let run = try await Self.run(place, limit: limit, ["get", origin.url("/f"), "--retries", "0"])
      #expect(run.status == 75, "\(limit): \(run.errorText)")
      #expect(run.errorText.lowercased().contains("too many open files"), "\(limit): \(run.errorText)")
    }
  }

  /// The story: with 100 MiB a run waited forever for its first thread, and with up to 300 MiB it crashed.
  @Test(arguments: [100, 150, 200, 300]) func tooLittleMemory(mebibytes: Int) async throws {
    let place = try Workplace()
    let run = try await place.start(
      "bash",
      [
        "-c", "ulimit -v \(mebibytes << 10) && exec \"$0\" \"$@\"", try DLMExecutable.path(), "get",
        "http://127.0.0.1:9/f", "--retries", "0",
      ]
    ).waitForExit()
    #expect(run.status == 75, "\(run.errorText)")
    for words in ["too little memory", "\(mebibytes) MiB", "ulimit -v 524288"] {
      #expect(run.errorText.contains(words), "\(run.errorText)")
    }
  }

  @Test func words() {
    let error = DownloadError(
      .resources, cause: .errno(24), path: "out/f", activity: "writing", isTransient: true)
    #expect(!error.stopsWriting)
    #expect(ExitStatus(failures: [error], rejections: []) == .tryAgain)
    #expect(FailureMessages(error).line.contains("ulimit -n"), "\(FailureMessages(error).line)")
    let memory = DownloadError(.resources, cause: .errno(12), isTransient: true)
    #expect(FailureMessages(memory).line.hasPrefix("this machine is short of memory"))
  }
}
