import Foundation
import Glibc
import TestSupport
import Testing

/// Each step of a run on the disk is a system call. strace makes one of them fail, or ends the process with it;
/// which one, is counted up until a run has no more of them.
@Suite("A fault, and SIGKILL, at each call of a commit")
struct CommitFaultTests {
  private static let bodies: [String: [UInt8]] = [
    "small": SplitMix64.bytes(count: 5000, seed: 1), "empty": [],
    "large": SplitMix64.bytes(count: 3 << 20, seed: 2), "other": SplitMix64.bytes(count: 70_000, seed: 3),
  ]

  /// The first calls each, then ever fewer: a run has hundreds of some.
  private static let places = [1, 2, 3, 5, 9, 20, 80]

  private static func serve(_ origin: FaultyOrigin, _ place: Workplace) throws {
    for (name, body) in bodies { origin.route("/\(name)", .file(body, FileOptions(etag: "\"\(name)\""))) }
    _ = try place.list(bodies.keys.sorted().map { origin.url("/\($0)") })
  }

  /// - Parameters:
  ///   - paths: in dlm's folder; none for all calls.
  private static func run(
    _ place: Workplace, _ call: String, _ fault: String, at number: Int, paths: [String] = []
  ) async throws -> CommandResult {
    let only = paths.flatMap { ["-P", place.folder.path("home/cache/dlm/\($0)")] }
    return try await place.start(
      "strace",
      ["-f", "-qq", "-o", place.folder.path("trace"), "-e", "trace=\(call)"] + only + [
        "-e", "inject=\(call):\(fault):when=\(number)", try DLMExecutable.path(), "get", "urls.txt", "-d",
        "out",
        "-s", "1", "--progress", "none", "--retries", "0",
      ]
    ).waitForExit()
  }

  /// Whether the fault came.
  private static func wasHit(_ place: Workplace) throws -> Bool {
    let trace = String(decoding: try place.folder.read("trace"), as: UTF8.self)
    return trace.contains("(INJECTED)") || trace.contains("killed by SIGKILL")
  }

  /// No final name with other bytes than the server's; the next run makes all of it right, and the one after
  /// that finds nothing to do.
  /// - Parameter keepsSecret: whether the user's secret stays for what comes after. Where it could not be kept,
  ///   no later run knows the parts of that one, which `UserSecret` says.
  private static func look(_ place: Workplace, _ what: String, keepsSecret: Bool = false) async throws {
    for name in (try? place.names(in: "out")) ?? [] {
      guard let body = bodies[name] else { continue }
      #expect(try place.file("out/\(name)") == body, "\(what): \(name)")
    }
    let again = try await place.dlm("get", "urls.txt", "-d", "out")
    #expect(again.status == 0, "\(what): \(again.errorText)")
    #expect(try place.names(in: "out") == bodies.keys.sorted(), "\(what): something stray")
    for (name, body) in bodies { #expect(try place.file("out/\(name)") == body, "\(what): \(name)") }
    let third = try await place.dlm("get", "urls.txt", "-d", "out")
    #expect(third.errorText.contains("up to date: 4 files"), "\(what): \(third.errorText)")
    try FileManager.default.removeItem(atPath: "\(place.work)/out")
    for name in try place.folder.names(in: "home/cache/dlm") where !keepsSecret || name != "scope-key" {
      try place.folder.remove("home/cache/dlm/\(name)")
    }
  }

  @Test(arguments: ["pwrite64", "write", "linkat", "unlinkat", "unlink", "renameat", "ftruncate", "flock"])
  func killed(call: String) async throws {
    let origin = try FaultyOrigin()
    defer { origin.stop() }
    let place = try Workplace()
    try Self.serve(origin, place)
    for number in Self.places {
      let run = try await Self.run(place, call, "signal=SIGKILL", at: number)
      let isHit = try Self.wasHit(place)
      #expect(isHit ? run.ending == .signalled(SIGKILL) : run.status == 0, "\(call) \(number)")
      try await Self.look(place, "killed at \(call) \(number)")
      if !isHit { break }
    }
  }

  @Test(
    arguments: [
      ("pwrite64", "ENOSPC"), ("pwrite64", "EIO"), ("linkat", "EIO"), ("unlinkat", "EIO"),
      ("unlink", "EACCES"),
      ("renameat", "EIO"), ("ftruncate", "EIO"), ("fdatasync", "EIO"), ("flock", "ENOLCK"),
    ])
  func failed(call: String, error: String) async throws {
    let origin = try FaultyOrigin()
    defer { origin.stop() }
    let place = try Workplace()
    try Self.serve(origin, place)
    #expect(try await place.dlm("get", "urls.txt", "-d", "out").status == 0)
    try await Self.look(place, "before", keepsSecret: true)
    for number in Self.places {
      let run = try await Self.run(place, call, "error=\(error)", at: number)
      let what = "\(call) \(number) \(error)"
      #expect([0, 1, 73, 74, 75].contains(run.status), "\(what): \(run.ending) \(run.errorText)")
      if run.status != 0 { #expect(!run.errorText.isEmpty, "\(what)") }
      let isHit = try Self.wasHit(place)
      try await Self.look(place, what, keepsSecret: true)
      if !isHit { break }
    }
  }

  /// The database alone: a fault of its own fails no download.
  @Test(
    arguments: [
      ("pread64", "EIO"), ("pwrite64", "ENOSPC"), ("pwrite64", "EIO"), ("openat", "EMFILE"),
      ("openat", "EIO"),
      ("fdatasync", "EIO"), ("ftruncate", "EIO"), ("unlink", "EIO"),
    ])
  func databaseFailed(call: String, error: String) async throws {
    let origin = try FaultyOrigin()
    defer { origin.stop() }
    let place = try Workplace()
    try Self.serve(origin, place)
    for number in Self.places {
      // The index is there already: so it is read too.
      #expect(try await place.dlm("get", origin.url("/small"), "-d", "out").status == 0)
      let run = try await Self.run(
        place, call, "error=\(error)", at: number,
        paths: ["index.sqlite", "index.sqlite-wal", "index.sqlite-shm"])
      let what = "\(call) \(number) \(error)"
      #expect(run.status == 0, "\(what): \(run.errorText)")
      for (name, body) in Self.bodies { #expect(try place.file("out/\(name)") == body, "\(what): \(name)") }
      let isHit = try Self.wasHit(place)
      try await Self.look(place, what)
      if !isHit { break }
    }
  }
}
