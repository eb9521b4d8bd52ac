import Foundation
import Glibc
import TestSupport
import Testing

/// A user without a name, in a place of their own, as whom `dlm` runs.
private struct OtherUsersPlace {
  static let (victim, other): (uid_t, uid_t) = (61_001, 61_002)
  let place: Workplace
  let origin: FaultyOrigin

  init() throws {
    (place, origin) = (try Workplace(), try FaultyOrigin())
    try giveAll()
  }

  /// Gives all of the place to the user, who lets others in.
  func giveAll() throws {
    #expect(chmod(place.folder.path, 0o755) == 0)
    let names = try FileManager.default.subpathsOfDirectory(atPath: place.folder.path)
    for path in [place.folder.path] + names.map({ place.folder.path($0) }) {
      #expect(lchown(path, Self.victim, Self.victim) == 0)
    }
  }

  func run(
    _ arguments: [String], as user: uid_t = victim, command: String? = nil, input: [UInt8] = []
  ) async throws -> CommandResult {
    try await place.start(
      "setpriv",
      [
        "--reuid=\(user)", "--regid=\(user)", "--clear-groups",
        try command ?? DLMExecutable.path(),
      ] + arguments, input: .bytes(input)
    ).waitForExit()
  }

  func dlm(_ arguments: String..., input: [UInt8] = []) async throws -> CommandResult {
    try await run(arguments, input: input)
  }
}

private let needsRoot = Comment("only root can be two users")

/// HTTP rule 44.
@Suite(
  "A finished file is believed only where nobody can have changed it", .enabled(if: geteuid() == 0, needsRoot)
)
struct FinishedFileTests {
  private static let (body, foreign) = (Array("the right bytes".utf8), Array("bytes of others".utf8))

  private static func checksum(_ bytes: [UInt8]) async throws -> String {
    let folder = try TemporaryFolder()
    let run = try CommandRun("sha256sum", [try folder.write(bytes, to: "x")])
    return "sha256:" + (try await run.waitForExit().outputText.prefix(64))
  }

  /// Another user unlinked the file, made files until its inode came again, and set the time: with a checksum,
  /// `--require-proof digest` said that the foreign bytes were proved.
  @Test(arguments: [false, true])
  func anotherUsersFileWithTheSameInode(hasChecksum: Bool) async throws {
    let here = try OtherUsersPlace()
    defer { here.origin.stop() }
    here.origin.route("/x", .file(Self.body, FileOptions(etag: "\"v1\"")))
    try here.place.folder.makeFolder("work/shared")
    #expect(
      lchown(here.place.folder.path("work/shared"), OtherUsersPlace.victim, OtherUsersPlace.victim) == 0)
    #expect(chmod(here.place.folder.path("work/shared"), 0o777) == 0)
    let options =
      hasChecksum ? ["--checksum", try await Self.checksum(Self.body), "--require-proof", "digest"] : []
    let first = try await here.run(["get", "-d", "shared", here.origin.url("/x")] + options)
    #expect(first.status == 0, "\(first.errorText)")
    let script = """
      import os, sys
      path, foreign = sys.argv[1], sys.argv[2].encode()
      was = os.stat(path)
      os.unlink(path)
      for number in range(20000):
          name = path + ".try%d" % number
          with open(name, "wb") as file: file.write(foreign)
          if os.stat(name).st_ino == was.st_ino:
              os.rename(name, path)
              os.utime(path, ns=(was.st_atime_ns, was.st_mtime_ns))
              break
      for name in os.listdir(os.path.dirname(path)):
          if ".try" in name: os.unlink(os.path.join(os.path.dirname(path), name))
      now = os.stat(path)
      sys.exit((was.st_ino, was.st_size, was.st_mtime_ns) != (now.st_ino, now.st_size, now.st_mtime_ns))
      """
    let attack = try await here.run(
      ["-c", script, here.place.folder.path("work/shared/x"), String(decoding: Self.foreign, as: UTF8.self)],
      as: OtherUsersPlace.other, command: "/usr/bin/python3")
    try #require(attack.status == 0, "the inode came again: \(attack.errorText)")
    let run = try await here.run(["get", "-d", "shared", here.origin.url("/x")] + options)
    #expect(run.status == 0, "\(run.errorText)")
    #expect(!run.errorText.contains("unchanged"), "\(run.errorText)")
    #expect(try here.place.file("shared/x") == Self.foreign, "it is not dlm's to change")
    #expect(try here.place.file("shared/x.1") == Self.body)
    // Nor is it copied into a folder of the user's.
    let fetched = try await here.run(["get", "-d", "own", here.origin.url("/x")] + options)
    #expect(fetched.status == 0)
    #expect(try here.place.file("own/x") == Self.body)
  }
}

@Suite("What the user does to a finished file costs neither it nor a second one")
struct ChangedFileTests {
  private static let (old, new) = (Array("version one".utf8), Array("version two, which is longer".utf8))

  /// The same user's program wrote other bytes of that length in place, and set the time back.
  @Test(arguments: [[], ["--checksum"], ["--offline"]])
  func otherBytesInPlace(options: [String]) async throws {
    let origin = try FaultyOrigin()
    defer { origin.stop() }
    origin.route("/x", .file(Self.old, FileOptions(etag: "\"v1\"", headers: ["Cache-Control: max-age=9999"])))
    let place = try Workplace()
    let sum = try await place.start("sh", ["-c", "printf 'version one' | sha256sum"]).waitForExit()
    let more = options.flatMap { $0 == "--checksum" ? [$0, "sha256:" + sum.outputText.prefix(64)] : [$0] }
    let first = try await place.start(["get", origin.url("/x")] + more.filter { $0 != "--offline" })
      .waitForExit()
    #expect(first.status == 0, "\(first.errorText)")
    let edit = "cp -p x saved; printf 'version 1!!' > x; touch -r saved x; rm saved"
    #expect(try await place.start("sh", ["-c", edit]).waitForExit().status == 0)
    let run = try await place.start(["get", origin.url("/x")] + more).waitForExit()
    #expect(!run.errorText.contains("unchanged") && !run.errorText.contains("fresh"), "\(run.errorText)")
    if options == ["--offline"] {
      #expect(run.status != 0)
    } else {
      #expect(run.status == 0)
      let names = try place.names().filter { $0.hasPrefix("x") }
      #expect(try names.contains { try place.file($0) == Self.old }, "\(names)")
    }
  }

  private static let acts = ["chmod 755 x", "mv x y; mv y x", "ln x y", "chmod 755 x; cp -p x y; rm y"]

  /// Permissions and names change the file's time as well: its bytes are not believed, but it is not doubled,
  /// and what the user did to it stays where the bytes are the same.
  @Test(arguments: acts, [false, true])
  func permissionsAndNames(act: String, serverChanges: Bool) async throws {
    let origin = try FaultyOrigin()
    defer { origin.stop() }
    origin.route("/x", .file(Self.old, FileOptions(etag: "\"v1\"")))
    let place = try Workplace()
    #expect(try await place.dlm("get", origin.url("/x")).status == 0)
    #expect(try await place.start("sh", ["-c", act]).waitForExit().status == 0)
    if serverChanges { origin.route("/x", .file(Self.new, FileOptions(etag: "\"v2\""))) }
    let run = try await place.dlm("get", origin.url("/x"))
    #expect(run.status == 0, "\(run.errorText)")
    #expect(try place.file("x") == (serverChanges ? Self.new : Self.old))
    #expect(try place.names().filter { $0.hasPrefix("x.") } == [])
    if act.hasPrefix("chmod"), !serverChanges {
      #expect(access("\(place.work)/x", X_OK) == 0, "the file is the one that it was")
    }
    // Known again.
    let again = try await place.dlm("get", origin.url("/x"))
    #expect(again.errorText.contains("unchanged"), "\(again.errorText)")
  }

  /// The store gives a file a further name, and takes it: neither counts as the user's doing.
  @Test func whatTheStoreDoes() async throws {
    let origin = try FaultyOrigin()
    defer { origin.stop() }
    origin.route("/x", .file(Self.old, FileOptions(etag: "\"v1\"")))
    origin.route("/y", .file(Self.new, FileOptions(etag: "\"v1\"")))
    let place = try Workplace()
    let list = try place.list([origin.url("/x"), origin.url("/y")])
    #expect(try await place.dlm("get", list, "--store", "link").status == 0)
    let before = origin.record.bodyBytesSent.values.reduce(0, +)
    #expect(try await place.dlm("get", list, "--store", "link").errorText.contains("2 unchanged"))
    #expect(try await place.dlm("cache", "prune", "--max-size", "0").status == 0)
    #expect(try place.folder.names(in: "home/cache/dlm/store").filter { $0 != "new" } == [])
    let run = try await place.dlm("get", list, "--store", "none")
    #expect(run.errorText.contains("2 unchanged"), "\(run.errorText)")
    #expect(origin.record.bodyBytesSent.values.reduce(0, +) == before)
  }

  /// A hard link in the store, changed through the user's file with its time set back, was served.
  @Test func anEntryThatWasChangedThroughItsOtherName() async throws {
    let origin = try FaultyOrigin()
    defer { origin.stop() }
    origin.route("/x", .file(Self.old, FileOptions(etag: "\"v1\"")))
    let place = try Workplace()
    #expect(try await place.dlm("get", "--store", "link", origin.url("/x")).status == 0)
    let edit = "cp -p x saved; printf 'version 1!!' > x; touch -r saved x; rm saved x"
    #expect(try await place.start("sh", ["-c", edit]).waitForExit().status == 0)
    let run = try await place.dlm("get", "--store", "link", origin.url("/x"))
    #expect(run.status == 0, "\(run.errorText)")
    #expect(try place.file("x") == Self.old)
  }
}
