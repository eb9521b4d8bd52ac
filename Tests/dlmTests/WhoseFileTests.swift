import DownloadModel
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
  /// `--require-proof digest` said that the foreign bytes were proved. Whoever else makes files on this disk may have
  /// the inode for a while, as both cases at once had each other's.
  @Test(.serialized, arguments: [false, true])
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
      for _ in range(100):
          for number in range(20000):
              name = path + ".try%d" % number
              with open(name, "wb") as file: file.write(foreign)
              if os.stat(name).st_ino == was.st_ino:
                  os.rename(name, path)
                  os.utime(path, ns=(was.st_atime_ns, was.st_mtime_ns))
                  break
          for name in os.listdir(os.path.dirname(path)):
              if ".try" in name: os.unlink(os.path.join(os.path.dirname(path), name))
          if os.path.exists(path): break
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

  /// Where its checksum is known, the file is read, not fetched; and is known again.
  @Test(arguments: acts, [true, false])
  func bytesAreReadWhereTheirChecksumIsKnown(act: String, isGivenAgain: Bool) async throws {
    let origin = try FaultyOrigin()
    defer { origin.stop() }
    origin.route("/x", .file(Self.old, FileOptions(etag: "\"v1\"", revalidates: true)))
    let place = try Workplace()
    let checksum = ["--checksum", "sha256:\(ContentDigest.of(Self.old))"]
    let first = try await place.start(["get", origin.url("/x")] + checksum).waitForExit()
    #expect(first.status == 0, "\(first.errorText)")
    for command in [["get", origin.url("/x")] + (isGivenAgain ? checksum : []), ["cache", "verify"]] {
      #expect(try await place.start("sh", ["-c", "rm -f y; \(act)"]).waitForExit().status == 0)
      for _ in 0..<2 {
        let run = try await place.start(command).waitForExit()
        let words = command[0] == "get" ? "up to date: 1 file" : "1 proven"
        #expect(run.status == 0 && (run.outputText + run.errorText).contains(words), "\(run.errorText)")
      }
    }
    #expect(origin.record.bodyBytesSent["/x"] == Self.old.count)
    // A change whose time was set back is found, and mended.
    let edit = "cp -p x saved; printf 'version 1!!' > x; touch -r saved x; rm saved"
    #expect(try await place.start("sh", ["-c", edit]).waitForExit().status == 0)
    let found = try await place.dlm("cache", "verify")
    #expect(found.status == 1 && (found.outputText + found.errorText).contains("1 corrupt"), "\(found.errorText)")
    #expect(try await place.dlm("get", origin.url("/x")).status == 0)
    #expect(try place.file("x") == Self.old)
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
    #expect(try await place.dlm("get", list, "--store", "link").errorText.contains("up to date: 2 files"))
    #expect(try await place.dlm("cache", "prune", "--max-size", "0").status == 0)
    #expect(try place.folder.names(in: "home/cache/dlm/store").filter { $0 != "new" } == [])
    let run = try await place.dlm("get", list, "--store", "none")
    #expect(run.errorText.contains("up to date: 2 files"), "\(run.errorText)")
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

/// A place in which every kind of file that dlm reads is there, and how it shows whether it is believed: what dlm
/// keeps for itself, and what the user names.
private enum OwnState: String, CaseIterable, CustomTestStringConvertible {
  case index, secret, history, remembered, spool, settings, store, part, record
  case settingsOfTheFolder, logins, headerLines

  var testDescription: String { rawValue }

  /// The file below the home, and its ending where the name is not known.
  private var folder: String {
    switch self {
    case .index, .secret: "home/cache/dlm"
    case .history, .remembered, .spool: "home/state/dlm/runs"
    case .settings: "home/config/dlm"
    case .store: "home/cache/dlm/store"
    case .part, .record, .settingsOfTheFolder, .logins, .headerLines: "work"
    }
  }

  private func isName(_ name: String) -> Bool {
    switch self {
    case .index: name == "index.sqlite"
    case .secret: name == "scope-key"
    case .history, .remembered: name.hasSuffix(".jsonl")
    case .spool: name.hasSuffix(".list")
    case .settings: name == "dlm.conf"
    case .store: name != "new"
    case .part: name == "x.part"
    case .record: name == "x.part.json"
    case .settingsOfTheFolder: name == ".dlm.conf"
    case .logins, .headerLines: name == "secret"
    }
  }

  func make(_ here: OtherUsersPlace) async throws {
    here.origin.route("/x", .file([1, 2, 3], FileOptions(etag: "\"v1\"")))
    if self == .settings {
      _ = try here.place.folder.write(Array("directory = out\n".utf8), to: "home/config/dlm/dlm.conf")
      try here.giveAll()
    } else if self == .part || self == .record {
      let body = SplitMix64.bytes(count: 100_000, seed: 3)
      here.origin.route("/x", .file(body, FileOptions(ending: .close(after: 50_000))), .file(body))
      #expect(try await here.run(["get", here.origin.url("/x"), "--retries", "0"]).status != 0)
    } else if let text {
      let name = self == .settingsOfTheFolder ? ".dlm.conf" : "secret"
      _ = try here.place.folder.write(Array(text.utf8), to: "work/\(name)")
      try here.giveAll()
    } else {
      let list = Array((here.origin.url("/x") + "\n").utf8)
      _ = try here.place.folder.write(list, to: "work/urls.txt")
      let run = try await here.run(
        ["get", self == .spool ? "-" : "urls.txt", "--store", "copy"], input: self == .spool ? list : [])
      #expect(run.status == 0, "\(run.errorText)")
    }
  }

  private var text: String? {
    switch self {
    case .settingsOfTheFolder: "user-agent = believed\n"
    case .logins: "default login user password secret\n"
    case .headerLines: "User-Agent: believed\n"
    default: nil
    }
  }

  func change(_ here: OtherUsersPlace, owner: uid_t, parent: mode_t) throws {
    let name = try #require(here.place.folder.names(in: folder).first(where: isName))
    let path = here.place.folder.path("\(folder)/\(name)")
    // Whoever it belongs to, it could be read. To give a file to its owner would count as a change.
    if owner != OtherUsersPlace.victim { #expect(lchown(path, owner, owner) == 0 && chmod(path, 0o644) == 0) }
    #expect(chmod(here.place.folder.path(folder), parent) == 0)
  }

  func isBelieved(owner: uid_t, parent: mode_t) -> Bool {
    switch self {
    case .settings: owner != OtherUsersPlace.other && parent == 0o700
    // As every finished file: by itself.
    case .store, .part, .record: owner == OtherUsersPlace.victim
    case .settingsOfTheFolder, .logins, .headerLines: owner != OtherUsersPlace.other
    default: owner == OtherUsersPlace.victim && parent == 0o700
    }
  }

  /// Whether it is believed, and the run's own words.
  func look(_ here: OtherUsersPlace) async throws -> (Bool, CommandResult) {
    let address = here.origin.url("/x")
    switch self {
    case .index:
      let run = try await here.dlm("get", address)
      return (run.errorText.contains("up to date: 1 file"), run)
    case .secret:
      // It is read where a name has to be made of it.
      let run = try await here.dlm("get", "--refresh", "--store", "copy", address)
      return (!run.errorText.contains("not trusted"), run)
    case .history:
      let run = try await here.dlm("history")
      return (run.status == 0, run)
    case .remembered, .spool:
      let run = try await here.dlm("get")
      return (run.status == 0, run)
    case .settings:
      let run = try await here.dlm("get", address)
      return (access("\(here.place.work)/out/x", F_OK) == 0, run)
    case .store:
      try here.place.folder.remove("work/x")
      let run = try await here.dlm("get", "--offline", "--store", "copy", address)
      return (run.status == 0, run)
    case .part, .record:
      let run = try await here.dlm("get", address)
      return (here.origin.log.last?.headers["range"] != nil, run)
    case .settingsOfTheFolder, .headerLines:
      let more = self == .headerLines ? ["-H", "@secret"] : []
      let run = try await here.run(["get", address] + more)
      return (here.origin.log.last?.headers["user-agent"] == "believed", run)
    case .logins:
      let run = try await here.dlm("get", address, "--netrc-file", "secret")
      return (run.status == 0, run)
    }
  }
}

@Suite(
  "What dlm keeps for itself is believed only where the user alone can have written it",
  .enabled(if: geteuid() == 0, needsRoot))
struct OwnStateTests {
  /// A planted history once chose proxy and folder, and a planted index whose bytes are served.
  @Test(arguments: OwnState.allCases)
  fileprivate func ownersAndFolders(state: OwnState) async throws {
    for owner in [OtherUsersPlace.victim, OtherUsersPlace.other, 0] {
      for parent in [0o700, 0o777, 0o1777] as [mode_t] {
        let here = try OtherUsersPlace()
        defer { here.origin.stop() }
        try await state.make(here)
        try state.change(here, owner: owner, parent: parent)
        let (isBelieved, run) = try await state.look(here)
        #expect(
          isBelieved == state.isBelieved(owner: owner, parent: parent),
          "\(owner) in \(String(parent, radix: 8)): \(run.errorText)")
      }
    }
  }

  /// It is said once, with what to do.
  @Test(arguments: ["cache", "state"])
  func itIsSaid(folder: String) async throws {
    let here = try OtherUsersPlace()
    defer { here.origin.stop() }
    here.origin.route("/x", .file([1, 2, 3]))
    #expect(try await here.dlm("get", here.origin.url("/x")).status == 0)
    let path = here.place.folder.path("home/\(folder)/dlm")
    for (owner, mode, word) in [
      (OtherUsersPlace.victim, 0o777, "others can write to it"), (OtherUsersPlace.other, 0o755, "another user"),
      (0, 0o755, "another user"),
    ] as [(uid_t, mode_t, String)] {
      #expect(lchown(path, owner, owner) == 0 && chmod(path, mode) == 0)
      let run = try await here.dlm("get", here.origin.url("/x"))
      #expect(run.status == 0, "\(run.errorText)")
      #expect(
        run.errorText.components(separatedBy: "\(path) is not trusted and not used").count == 2, "\(run.errorText)")
      #expect(run.errorText.contains(word), "\(run.errorText)")
    }
  }
}

@Suite("Numbers that no dlm wrote stop none")
struct DamagedStateTests {
  private static func place() async throws -> (FaultyOrigin, Workplace) {
    let (origin, place) = (try FaultyOrigin(), try Workplace())
    origin.route("/x", .file([1, 2, 3], FileOptions(etag: "\"v1\"")))
    _ = try place.list([origin.url("/x")])
    #expect(try await place.dlm("get", "urls.txt").status == 0)
    return (origin, place)
  }

  /// Each get ran through them, one by one.
  @Test(arguments: [1_000_000_000_000, .max] as [UInt64])
  func sectionsOfTheClaims(count: UInt64) async throws {
    let (origin, place) = try await Self.place()
    defer { origin.stop() }
    let name = "home/state/dlm/under-way"
    var bytes = try place.folder.read(name)
    for index in 0..<8 { bytes[8 + index] = UInt8(truncatingIfNeeded: count >> (8 * UInt64(index))) }
    _ = try place.folder.write(bytes, to: name)
    #expect(chmod(place.folder.path(name), 0o600) == 0)
    let run = try await place.start(["get", "urls.txt"]).waitForExit()
    #expect(run.status == 0, "\(run.errorText)")
  }

  @Test(arguments: ["-9223372036854775808", "9223372036854775807", "-1"])
  func rows(number: String) async throws {
    let (origin, place) = try await Self.place()
    defer { origin.stop() }
    let script = """
      import sqlite3, sys
      with sqlite3.connect(sys.argv[1]) as index:
          for column in ["fetchedAt", "usedAt", "size", "modified", "changed", "status"]:
              index.execute("UPDATE file SET %s = %s" % (column, sys.argv[2]))
      """
    let index = place.folder.path("home/cache/dlm/index.sqlite")
    let change = try await place.start("/usr/bin/python3", ["-c", script, index, number]).waitForExit()
    #expect(change.status == 0, "\(change.errorText)")
    for command in [
      ["cache", "show", origin.url("/x")], ["cache", "list", "--json"], ["cache", "status"],
      ["get", "urls.txt"], ["get", "--heuristic", "--store", "copy", "urls.txt"], ["cache", "prune"],
    ] {
      let run = try await place.start(command).waitForExit()
      #expect([0, 1].contains(run.status), "\(command): \(run.status) \(run.errorText)")
    }
    #expect(try place.file("x") == [1, 2, 3])
  }

  @Test(arguments: ["1e300", "inf", "-1", "1e-310", "nan"])
  func secondsOfTheHistory(seconds: String) async throws {
    let (origin, place) = try await Self.place()
    defer { origin.stop() }
    let runs = place.folder.path("home/state/dlm/runs")
    let edit =
      "sed -i 's/\"seconds\":[^,]*/\"seconds\":\(seconds)/' \(runs)/* && grep -q 'seconds\":\(seconds),' \(runs)/*"
    #expect(try await place.start("sh", ["-c", edit]).waitForExit().status == 0)
    for command in [["history"], ["history", "--json"], ["get"], ["get", "-m", "sequential"]] {
      let run = try await place.start(command).waitForExit()
      #expect([0, 66].contains(run.status), "\(command): \(run.status) \(run.errorText)")
    }
  }
}
