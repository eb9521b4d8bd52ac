import Foundation
import Glibc
import TestSupport
import Testing

@Suite("What is fetched outlives the user's files, on real disks", .serialized, .timeLimit(.minutes(hangMinutes)))
struct StoreTests {
  private static let body = SplitMix64.bytes(count: 3 << 20, seed: 1)
  private static let cloning = [LoopDisk.Kind.btrfs, .xfs].filter { LoopDisk.isAllowed($0) }
  private static let why: Comment = "needs root, loop devices, and mkfs of btrfs and xfs"

  private static func origin() throws -> FaultyOrigin {
    let origin = try FaultyOrigin()
    origin.route("/f", .file(body))
    return origin
  }

  private static func entries(_ place: Workplace) throws -> [String] {
    let names = try place.folder.names(in: "home/cache/dlm")
    return try names.contains("store")
      ? place.folder.names(in: "home/cache/dlm/store").filter { $0 != "new" } : []
  }

  private static func drafts(_ place: Workplace) -> [String] {
    (try? place.folder.names(in: "home/cache/dlm/store/new")) ?? []
  }

  private static func inode(_ path: String) -> UInt64 {
    var status = stat()
    return stat(path, &status) == 0 ? UInt64(status.st_ino) : 0
  }

  /// Nothing is set: where the disk can share blocks, the store takes no space, and its bytes come back.
  @Test(.enabled(if: !cloning.isEmpty, why), arguments: cloning)
  func aCloneTakesNoSpaceAndComesBack(kind: LoopDisk.Kind) async throws {
    let disk = try await LoopDisk(kind)
    defer { disk.stop() }
    let origin = try Self.origin()
    defer { origin.stop() }
    let place = try Workplace(on: disk)
    #expect(try await place.dlm("cache", "status").status == 0)
    let before = disk.used()
    let first = try await place.dlm("get", origin.url("/f"))
    #expect(first.status == 0 && !first.errorText.contains("kept in"), "\(first.errorText)")
    #expect(disk.used() - before < Int64(Self.body.count) * 3 / 2)
    let entry = place.folder.path("home/cache/dlm/store/\(try #require(try Self.entries(place).first))")
    let extents = try await CommandRun.result(of: "/usr/sbin/filefrag", ["-v", entry])
    #expect(extents.outputText.contains("shared"), "\(extents.outputText)")

    try place.folder.remove("work/f")
    let again = try await place.dlm("get", origin.url("/f"))
    #expect(again.errorText.contains("from cache"), "\(again.errorText)")
    #expect(try place.file("f") == Self.body)
    #expect(origin.log.count == 2)
    #expect(origin.log.last?.headers["if-none-match"] != nil)
    #expect(origin.record.bodyBytesSent["/f"] == Self.body.count)
    #expect(disk.used() - before < Int64(Self.body.count) * 3 / 2)
    #expect(Self.inode(entry) != Self.inode("\(place.work)/f"))

    // Touched: it is fetched.
    try place.folder.remove("work/f")
    let file = try FileHandle(forWritingTo: URL(filePath: entry))
    try file.write(contentsOf: [0xff])
    try file.close()
    #expect(try await place.dlm("get", origin.url("/f")).status == 0)
    #expect(try place.file("f") == Self.body)
    #expect(origin.record.bodyBytesSent["/f"] == Self.body.count * 2)
    #expect(try Self.entries(place).count == 1)
    #expect(Self.drafts(place) == [])
  }

  /// Where it cannot, nothing is tried but once, and the cache folder takes what its index takes.
  @Test(.enabled(if: LoopDisk.isAllowed(.ext4), why))
  func withoutClonesTheIndexIsAll() async throws {
    let disk = try await LoopDisk(.ext4)
    defer { disk.stop() }
    let origin = try FaultyOrigin()
    defer { origin.stop() }
    let addresses = (0..<300).map { number in
      origin.route("/\(number)", .file(SplitMix64.bytes(count: 65_536, seed: UInt64(number))))
      return origin.url("/\(number)")
    }
    /// What the run takes beside its index, in KiB.
    func taken(_ option: String...) async throws -> Int {
      let place = try Workplace(on: disk)
      _ = try place.list(addresses)
      let run = try await place.start(
        "strace",
        ["-f", "-e", "trace=ioctl,mkdir,mkdirat", try DLMExecutable.path(), "get", "urls.txt", "-d", "out"]
          + option
      ).waitForExit()
      #expect(run.status == 0, "\(run.errorText)")
      #expect(run.errorText.split(separator: "FICLONE").count - 1 == (option.isEmpty ? 1 : 0))
      #expect(!run.errorText.contains("dlm/store"))
      sync()
      let du = try await CommandRun.result(
        of: "du", ["-sk", "--exclude=state", "--exclude=index.sqlite", place.folder.path])
      return try #require(Int(du.outputText.prefix { $0.isNumber }))
    }
    let (auto, none) = (try await taken(), try await taken("--no-cache"))
    #expect(auto - none <= none / 100, "\(auto) KiB, without \(none) KiB")
  }

  @Test(arguments: ["copy", "link", "none"])
  func byChoice(kind: String) async throws {
    let origin = try Self.origin()
    defer { origin.stop() }
    let place = try Workplace()
    #expect(try await place.dlm("get", origin.url("/f"), "--store", kind).status == 0)
    #expect(try Self.entries(place).count == (kind == "none" ? 0 : 1))
    if kind == "link" {
      let entry = place.folder.path("home/cache/dlm/store/\(try Self.entries(place)[0])")
      #expect(Self.inode(entry) == Self.inode("\(place.work)/f"))
      // dlm itself never writes into a file with two names: a new version is a new file.
      origin.route("/f", .file(Array(Self.body.reversed()), FileOptions(etag: "\"v2\"")))
      #expect(try await place.dlm("get", origin.url("/f"), "--store", "none").status == 0)
      #expect(try place.file("f") == Array(Self.body.reversed()))
      #expect(Self.inode(entry) != Self.inode("\(place.work)/f"))
      #expect(try place.folder.read("home/cache/dlm/store/\(try Self.entries(place)[0])") == Self.body)
      return
    }
    try place.folder.remove("work/f")
    let again = try await place.dlm("get", origin.url("/f"), "--store", kind)
    #expect(again.errorText.contains("from cache") == (kind != "none"), "\(again.errorText)")
    #expect(try place.file("f") == Self.body)
    #expect(origin.record.bodyBytesSent["/f"] == Self.body.count * (kind == "none" ? 2 : 1))
  }

  /// What a signal or a power cut left is found by the next run, at every step of putting in.
  @Test(
    .enabled(if: LoopDisk.isAllowed(.btrfs) && LoopDisk.isAllowed(.ext4), why),
    arguments: ["auto", "copy", "link"], ["ioctl", "linkat", "renameat", "unlinkat", "write"])
  func killedAtEveryStep(kind: String, call: String) async throws {
    let disk = try await LoopDisk(kind == "copy" ? .ext4 : .btrfs)
    defer { disk.stop() }
    let origin = try Self.origin()
    defer { origin.stop() }
    let place = try Workplace(["DLM_STORE": kind], on: disk)
    var kills = 0
    for count in 1...5 {
      // An entry stands there already every other time, so that it is replaced.
      if count % 2 == 1, count > 1 { #expect(try await place.dlm("clear-cache").status == 0) }
      if try place.names().contains("f") { try place.folder.remove("work/f") }
      let etag = "\"v\(count)\""
      let body = SplitMix64.bytes(count: 300_000 + count, seed: UInt64(count))
      origin.route("/f", .file(body, FileOptions(etag: etag)))
      let run = try await place.start(
        "strace",
        [
          "-f", "-o", "/dev/null", "-e", "trace=\(call)", "-e", "inject=\(call):signal=KILL:when=\(count)",
          try DLMExecutable.path(), "get", origin.url("/f"), "--refresh",
        ]
      ).waitForExit()
      if run.status != 0 { kills += 1 }
      // What is there is right, whatever it was killed in. From the store or fetched, it comes again.
      if try place.names().contains("f") {
        #expect(try place.file("f") == body, "\(kind) \(call) \(count)")
        try place.folder.remove("work/f")
      }
      let next = try await place.dlm("get", origin.url("/f"))
      #expect(next.status == 0, "\(kind) \(call) \(count): \(next.errorText)")
      #expect(try place.file("f") == body, "\(kind) \(call) \(count)")
      #expect(try Self.entries(place).count == 1, "\(kind) \(call) \(count)")
      try place.folder.remove("work/f")
      #expect(
        try await place.dlm("get", origin.url("/f"), "--offline").status == 0, "\(kind) \(call) \(count)")
      #expect(try place.file("f") == body, "\(kind) \(call) \(count)")
      #expect(Self.drafts(place) == [], "\(kind) \(call) \(count)")
      try place.folder.remove("work/f")
      #expect(try place.folder.names(in: "home/cache/dlm").allSatisfy { !$0.hasSuffix(".log") })
    }
    if call != "ioctl" || kind == "auto" { #expect(kills > 0 || call == "renameat") }
  }

  /// No room in the store is no failure of the file.
  @Test(.enabled(if: LoopDisk.isAllowed(.ext4), why))
  func aFullDisk() async throws {
    let disk = try await LoopDisk(.ext4, size: 6)
    defer { disk.stop() }
    let origin = try FaultyOrigin()
    defer { origin.stop() }
    for number in 0..<4 { origin.route("/\(number)", .file(SplitMix64.bytes(count: 2 << 20, seed: 1))) }
    let place = try Workplace(["XDG_CACHE_HOME": disk.path, "DLM_CACHE_MAX_SIZE": "1G", "DLM_STORE": "copy"])
    _ = try place.list((0..<4).map { origin.url("/\($0)") })
    let run = try await place.dlm("get", "urls.txt", "-d", "out")
    #expect(run.status == 0, "\(run.errorText)")
    #expect(try place.names(in: "out").count == 4)
    #expect(run.errorText.contains("No space left on device"), "\(run.errorText)")
    #expect(run.errorText.contains("\(disk.path)/dlm/store"), "\(run.errorText)")
    #expect(try await place.dlm("get", "urls.txt", "-d", "out").errorText.contains("up to date: 4 files"))
  }

  /// What was asked for and cannot be is said, once.
  @Test(.enabled(if: LoopDisk.isAllowed(.ext4), why), arguments: ["clone", "link", "auto"])
  func twoDisks(kind: String) async throws {
    let disk = try await LoopDisk(.ext4, size: 16)
    defer { disk.stop() }
    let origin = try Self.origin()
    defer { origin.stop() }
    origin.route("/g", .file([1, 2, 3]))
    let place = try Workplace(["XDG_CACHE_HOME": disk.path])
    let run = try await place.dlm("get", origin.url("/f"), origin.url("/g"), "--store", kind)
    #expect(run.status == 0, "\(run.errorText)")
    let said = run.errorText.split(separator: "no copies can be stored in").count - 1
    #expect(said == (kind == "auto" ? 0 : 1), "\(run.errorText)")
    if kind != "auto" { #expect(run.errorText.contains("store: copy"), "\(run.errorText)") }
  }

  @Test func bounded() async throws {
    let origin = try FaultyOrigin()
    defer { origin.stop() }
    for number in 0..<40 { origin.route("/\(number)", .file(SplitMix64.bytes(count: 100_000, seed: 1))) }
    let place = try Workplace(["DLM_STORE": "copy"])
    _ = try place.list((0..<40).map { origin.url("/\($0)") })
    #expect(try await place.dlm("get", "urls.txt", "-d", "out", "--cache-max-size", "1M").status == 0)
    let count = try Self.entries(place).count
    #expect(count > 5 && count <= 10, "\(count)")
    // A folder's file must not empty the user's cache.
    try place.folder.write("cache-max-size = 1\n", to: "work/.dlm.conf")
    let run = try await place.dlm("get", origin.url("/0"), "-d", "other")
    #expect(run.errorText.contains("cache-max-size"), "\(run.errorText)")
    #expect(try Self.entries(place).count >= count)
    #expect(try await place.dlm("clear-cache").status == 0)
    #expect(try Self.entries(place) == [])
    #expect(try place.names(in: "out").count == 40)
  }

  /// Two with lists of their own at once: what one puts in, the other counts and evicts.
  @Test func boundedForTwo() async throws {
    let origin = try FaultyOrigin()
    defer { origin.stop() }
    let bodies = (0..<600).map { SplitMix64.bytes(count: 20_000, seed: UInt64($0)) }
    for (number, body) in bodies.enumerated() { origin.route("/\(number)", .file(body)) }
    let place = try Workplace(["DLM_STORE": "copy"])
    let bound = 2 << 20
    for round in 0..<2 {
      let runs = try (0..<2).map { half in
        let list = "list\(half)"
        let lines = (half * 300..<(half + 1) * 300).map { origin.url("/\($0)") }
        try place.folder.write(lines.joined(separator: "\n"), to: "work/\(list)")
        return try place.start(
          ["get", list, "-d", "out\(half)", "--cache-max-size", "2M"] + (round == 0 ? [] : ["--refresh"]))
      }
      for run in runs {
        let result = try await run.waitForExit()
        #expect(result.status == 0 && !result.errorText.contains("cache"), "\(result.errorText)")
      }
      for (number, body) in bodies.enumerated() {
        #expect(try place.file("out\(number / 300)/\(number)") == body)
      }
      // The end of the last run counts all; 256 files are a batch.
      let entries = try Self.entries(place)
      #expect(entries.count > 20 && entries.count * 20_480 <= bound + 256 * 20_480, "\(entries.count)")
    }
    // One run more, and each file has its row, and each row its file.
    origin.route("/more", .file(bodies[0]))
    #expect(try await place.dlm("get", origin.url("/more"), "--cache-max-size", "2M").status == 0)
    let entries = try Self.entries(place)
    #expect(entries.count > 20 && entries.count * 20_480 <= bound, "\(entries.count)")
    let status = try await place.dlm("cache", "status", "--json")
    let pruned = try await place.dlm("cache", "prune", "--json")
    #expect(try Self.entries(place) == entries, "\(status.outputText) \(pruned.outputText)")
    let named = try await CommandRun.result(
      of: "/usr/bin/python3",
      [
        "-c",
        "import sqlite3, sys; print(*(r[0] for r in sqlite3.connect(sys.argv[1]).execute(\"SELECT name FROM file WHERE requested = '/'\")))",
        place.folder.path("home/cache/dlm/index.sqlite"),
      ])
    #expect(Set(named.outputText.split(whereSeparator: \.isWhitespace).map(String.init)) == Set(entries))
  }

  @Test func settings() async throws {
    let origin = try Self.origin()
    defer { origin.stop() }
    let place = try Workplace()
    let wrong = try await place.dlm("get", origin.url("/f"), "--store", "magic")
    #expect(wrong.status == 64)
    #expect(wrong.errorText.contains("use auto, clone, copy, link, none"), "\(wrong.errorText)")
    try place.folder.write("store = copy\n", to: "work/.dlm.conf")
    #expect(try await place.dlm("get", origin.url("/f")).status == 0)
    #expect(try Self.entries(place).count == 1)
  }
}
