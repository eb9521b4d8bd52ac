import Foundation
import Glibc
import TestSupport
import Testing

/// Files that dlm did not write, in every folder that a run touches: as they stood, inode, time and all,
/// after any command line (HTTP rule 44).
///
/// Each of these was once read, emptied, removed or renamed away: any `*.log` in the cache folder by every
/// run, an `index.sqlite.damaged-…` by `clear-cache`, an `x.part.json.new` by a download that wrote its
/// record anew.
@Suite("Bystanders stay as they are")
struct SentinelTests {
  private static let body = SplitMix64.bytes(count: 3 << 20, seed: 44)

  private static let folders = [
    "work", "work/out", "tmp", "home", "home/cache/dlm", "home/state/dlm", "home/state/dlm/runs",
    "home/state/dlm/records", "home/config/dlm",
  ]

  private static let names = [
    "x.part", "x.part.json", "x.part.json.new", "x.1.part.json.new", "x.2.part", "a.part", "a.part.json.new",
    "b.part.json", "b.rejected", "foo.log", "1-a.log", "urls.txt.part", "urls.txt.new", "failed.txt.part",
    "index.sqlite.damaged-1", "index.sqlite.damaged-99-0", "scope-key.1", "index.lock.new",
    "dlm.conf.part", ".bashrc",
    "x.1", "list.new", "dlm-failed-AAAAAA", "1.json", "1.json.new",
  ]

  /// What stands at a path: all but the time of the last look.
  private struct Mark: Equatable {
    let inode: UInt64
    let mode: UInt32
    let owner: UInt32
    let links: UInt64
    let seconds: Int
    let nanoseconds: Int
    let content: [UInt8]

    init(_ path: String) throws {
      var status = stat()
      guard lstat(path, &status) == 0 else { throw SupportFailure("\(path) is gone: \(errno)") }
      inode = UInt64(status.st_ino)
      mode = status.st_mode
      owner = status.st_uid
      links = UInt64(status.st_nlink)
      (seconds, nanoseconds) = (status.st_mtim.tv_sec, status.st_mtim.tv_nsec)
      switch status.st_mode & S_IFMT {
      case S_IFREG: content = [UInt8](try Data(contentsOf: URL(filePath: path)))
      case S_IFLNK: content = Array(try FileManager.default.destinationOfSymbolicLink(atPath: path).utf8)
      default: content = []
      }
    }
  }

  private static func plant(_ place: Workplace) throws -> [String: Mark] {
    var marks: [String: Mark] = [:]
    for (number, folder) in folders.enumerated() {
      for (index, name) in names.enumerated() {
        let path = try place.folder.write(
          SplitMix64.bytes(count: 100 + index, seed: UInt64(number * 1000 + index)), to: "\(folder)/\(name)")
        // Every third is open to all, as in a shared folder; some are another user's, where tests run as
        // root.
        if index % 3 == 0 { #expect(chmod(path, 0o666) == 0) }
        if index % 4 == 0, geteuid() == 0 { #expect(chown(path, 65_534, 65_534) == 0) }
        marks[path] = try Mark(path)
      }
      let (victim, soft, hard, pipe) = (
        place.folder.path("\(folder)/x.part"), place.folder.path("\(folder)/x.1.part"),
        place.folder.path("\(folder)/x.1.part.json"), place.folder.path("\(folder)/pipe.log")
      )
      #expect(symlink(victim, soft) == 0 && link(victim, hard) == 0 && mkfifo(pipe, 0o600) == 0)
      for path in [soft, hard, pipe] { marks[path] = try Mark(path) }
      marks[victim] = try Mark(victim)
    }
    return marks
  }

  private static func expectUntouched(_ marks: [String: Mark], after what: String) {
    for (path, mark) in marks.sorted(by: { $0.key < $1.key }) {
      let now = try? Mark(path)
      let isUntouched = now == mark
      #expect(isUntouched, "after \(what): \(path) \(now == nil ? "is gone" : "is another")")
    }
  }

  /// - Parameter body: runs command lines; after each, the bystanders are looked at.
  private static func among(
    _ body: (Workplace, FaultyOrigin, (_ what: String) -> Void) async throws -> Void
  ) async throws {
    let origin = try FaultyOrigin()
    defer { origin.stop() }
    for name in ["a", "b"] { origin.route("/\(name)", .file(SplitMix64.bytes(count: 5000, seed: 1))) }
    origin.route("/x", .file(Self.body))
    let parent = try TemporaryFolder()
    let scratch = parent.path("tmp")
    try FileManager.default.createDirectory(atPath: scratch, withIntermediateDirectories: true)
    let place = try Workplace(["TMPDIR": scratch])
    _ = try place.list(["a", "b", "x"].map { origin.url("/\($0)") })
    var marks = try plant(place)
    for name in ["dlm-failed-BBBBBB", "dlm-compare-CCCCCC", "x.part"] {
      let path = try parent.write(SplitMix64.bytes(count: 50, seed: 9), to: "tmp/\(name)")
      marks[path] = try Mark(path)
    }
    try await body(place, origin) { expectUntouched(marks, after: $0) }
    #expect(
      try FileManager.default.contentsOfDirectory(atPath: scratch).count == 3, "dlm left something in TMPDIR")
  }

  private static func expectFiles(_ place: Workplace, _ status: Int32?, _ text: String) throws {
    #expect(status == 0, "\(text)")
    #expect(try place.file("out/x") == body)
    let own = try place.names(in: "out").filter { !names.contains($0) }
    #expect(own == ["a", "b", "pipe.log", "x", "x.1.part", "x.1.part.json"], "nothing of dlm's own is left")
  }

  @Test(arguments: [
    ["-m", "parallel"], ["-m", "sequential"], ["-m", "async-let"], ["--no-cache"], ["--fsync"],
    ["--on-conflict", "overwrite"], ["--on-conflict", "skip"],
  ])
  func whole(options: [String]) async throws {
    try await Self.among { place, _, check in
      for again in [[], [], ["--refresh"], ["--offline"]] where again.isEmpty || options != ["--no-cache"] {
        let run = try await place.start(["get", "urls.txt", "-d", "out"] + options + again).waitForExit()
        try Self.expectFiles(place, run.status, run.errorText)
        check("get \(options + again)")
      }
    }
  }

  /// Its parts are stepped around too: the run that goes on finds its own among theirs.
  @Test(arguments: [SIGINT, SIGTERM, SIGKILL], [[], ["--no-cache"], ["-s", "1"]])
  func interruptedAndResumed(signal: Int32, options: [String]) async throws {
    try await Self.among { place, origin, check in
      let gate = try Gate()
      let stalled = FileOptions(ending: .stall(after: 2 << 20, until: gate))
      origin.route("/x", .file(Self.body, stalled), .file(Self.body))
      let run = try place.start(["get", "urls.txt", "-d", "out"] + options)
      try await place.wait(forSize: 1 << 20, of: "out/x.3.part", toSend: signal, to: run)
      let ended = try await run.waitForExit()
      #expect(ended.status != 0)
      gate.open()
      check("signal \(signal) \(options)")
      let before = origin.record.bodyBytesSent["/x", default: 0]
      let again = try await place.start(["get", "urls.txt", "-d", "out"] + options).waitForExit()
      try Self.expectFiles(place, again.status, again.errorText)
      #expect(
        origin.record.bodyBytesSent["/x", default: 0] - before < 3 << 20, "it went on with what it had left")
      check("the run after signal \(signal) \(options)")
    }
  }

  @Test func otherCommands() async throws {
    try await Self.among { place, origin, check in
      for arguments in [
        ["get", "urls.txt", "-d", "out"], ["cache", "list"], ["cache", "status"], ["cache", "verify"],
        ["cache", "prune"], ["get", "--dry-run", "urls.txt"], ["clear-cache"],
        ["get", "urls.txt", "-d", "out"],
        ["compare", "urls.txt", "--runs", "1"], ["clear-cache"], ["cache", "path"], ["--version"],
      ] {
        let run = try await place.start(arguments).waitForExit()
        #expect(run.status == 0, "\(arguments): \(run.errorText)")
        check(arguments.joined(separator: " "))
      }
      let piped = try await place.start(
        ["get", "-d", "out", "-"], input: .bytes(Array((origin.url("/a") + "\n").utf8))
      ).waitForExit()
      #expect(piped.status == 0, "\(piped.errorText)")
      check("a list from a pipe")
    }
  }

  /// A list of failures is written beside its name and renamed: what stands there is not its own.
  @Test func aListOfFailures() async throws {
    try await Self.among { place, origin, check in
      origin.route("/b", .status(404))
      let run = try await place.dlm("get", "urls.txt", "-d", "out", "--failed", "failed.txt")
      #expect(run.status == 1, "\(run.errorText)")
      check("--failed")
    }
  }
}
