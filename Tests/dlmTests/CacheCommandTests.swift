import Foundation
import Glibc
import TestSupport
import Testing

@testable import dlm

@Suite("dlm cache and dlm clear-cache: what is known, and what can be taken back")
struct CacheCommandTests {
  private static let body = SplitMix64.bytes(count: 5 << 20, seed: 11)

  private static func json(_ text: some StringProtocol) throws -> [String: Any] {
    try #require(try JSONSerialization.jsonObject(with: Data(text.utf8)) as? [String: Any], "\(text)")
  }

  private static func cache(_ place: Workplace, _ arguments: String...) async throws -> [String: Any] {
    let run = try await place.start(["cache"] + arguments + ["--json"]).waitForExit()
    #expect(run.errorText == "")
    return try json(run.outputText)
  }

  /// Leaves a part of 3 MiB as SIGKILL leaves it.
  private static func leavePart(_ origin: FaultyOrigin, _ place: Workplace, into folder: String) async throws {
    let gate = try Gate()
    origin.route("/big", .file(body, FileOptions(ending: .stall(after: 3 << 20, until: gate))))
    let run = try place.start(["get", "-s", "1", "-d", folder, origin.url("/big")])
    try await place.wait(forSize: 3 << 20, of: "\(folder)/big.part")
    // Its metadata follows the bytes at once, but not in the same step.
    try await Task.sleep(for: .milliseconds(100))
    run.send(SIGKILL)
    _ = try await run.waitForExit()
    gate.open()
  }

  /// What stands at a path takes so many bytes.
  static func du(_ path: String) async throws -> Int {
    let run = try await CommandRun.result(of: "du", ["-s", "--block-size=1", path])
    return try #require(Int(run.outputText.prefix { $0.isNumber }))
  }

  /// A place whose index knows three hundred files.
  static func threeHundred() async throws -> Workplace {
    let origin = try FaultyOrigin()
    defer { origin.stop() }
    let place = try Workplace()
    for index in 0..<300 { origin.route("/\(index)", .file([1])) }
    _ = try place.list((0..<300).map { origin.url("/\($0)") })
    #expect(try await place.dlm("get", "urls.txt", "-d", "out").status == 0)
    return place
  }

  @Test func whatIsKnownOfAnAddress() async throws {
    let origin = try FaultyOrigin()
    defer { origin.stop() }
    origin.route("/a", .file([1, 2, 3], FileOptions(etag: "\"one\"")))
    let place = try Workplace()
    let url = origin.url("/a")
    #expect(try await place.dlm("get", url, "-d", "here").status == 0)
    #expect(try await place.dlm("get", url, "-d", "there", "-H", "X-Key: secret", "-o", "mine").status == 0)
    let shown = try await place.dlm("cache", "show", url.replacing("http://", with: "http://user:word@"))
    #expect(shown.status == 0, "\(shown.errorText)")
    let lines = shown.outputText.split(separator: "\n")
    #expect(lines.first.map(String.init) == url)
    for text in [
      "here/a: 3 B, intact", "there/mine: 3 B, intact", "ETag: \"one\"", "Status: 200", "Name chosen: mine",
      "Key: downloaded with its own login, certificate or header lines",
    ] {
      #expect(shown.outputText.contains(text), "\(shown.outputText)")
    }
    #expect(!shown.outputText.contains("secret") && !shown.outputText.contains("word"))

    let known = try await Self.cache(place, "show", url)
    #expect(known["url"] as? String == url)
    #expect((known["unfinished"] as? [Any])?.isEmpty == true)
    let files = try #require(known["files"] as? [[String: Any]])
    #expect(files.map { $0["keyed"] as? Bool } == [false, true])
    let file = try #require(files.first)
    #expect(file["path"] as? String == "\(place.work)/here/a" && file["size"] as? Int == 3)
    #expect(file["etag"] as? String == "\"one\"" && file["condition"] as? String == "intact")
    #expect(file["vary"] is NSNull && file["digest"] is NSNull && file["status"] as? Int == 200)
    #expect((file["usedAt"] as? String)?.hasSuffix("Z") == true)
  }

  @Test func nothingIsKnownOfAnother() async throws {
    let place = try Workplace()
    let run = try await place.dlm("cache", "show", "http://user:word@host/x")
    #expect(run.status == 1)
    #expect(run.outputText == "")
    #expect(run.errorText.hasPrefix("dlm: nothing is known of http://host/x: "), "\(run.errorText)")
    let json = try await place.dlm("cache", "show", "http://host/x", "--json")
    #expect(json.status == 1)
    #expect(json.outputText == "{\"files\":[],\"unfinished\":[],\"url\":\"http://host/x\"}\n")
    #expect(try await place.dlm("cache", "show", "x").status == 64)
  }

  @Test func listsAndVerdictsAsObjects() async throws {
    let origin = try FaultyOrigin()
    defer { origin.stop() }
    let place = try Workplace()
    for name in ["a", "b"] { origin.route("/\(name)", .file([1])) }
    #expect(try await place.dlm("get", origin.url("/a"), origin.url("/b")).status == 0)
    for command in ["list", "verify"] {
      let run = try await place.dlm("cache", command, "--json")
      let lines = try run.outputText.split(separator: "\n").map { try Self.json($0) }
      #expect(lines.map { $0["url"] as? String } == [origin.url("/a"), origin.url("/b")])
      #expect(lines.allSatisfy { $0["condition"] as? String == "intact" && $0["message"] is NSNull })
    }
    #expect(try await Self.cache(place, "path")["folder"] as? String == place.folder.path("home/cache/dlm"))
  }

  /// What is unfinished is told of by status and show, wherever it stands: its folder has no row in the index.
  @Test func unfinishedFilesAreToldOfAndRemoved() async throws {
    let origin = try FaultyOrigin()
    defer { origin.stop() }
    let place = try Workplace()
    try await Self.leavePart(origin, place, into: "elsewhere")
    _ = try place.folder.write([1], to: "work/elsewhere/mine.part")
    _ = try place.folder.write([1], to: "work/elsewhere/mine.part.json")
    let status = try await place.dlm("cache", "status")
    #expect(
      status.outputText.contains(
        "Unfinished: 3.0 MiB (of 5.0 MiB) of \(origin.url("/big")) in \(place.work)/elsewhere/big.part"),
      "\(status.outputText)")
    let json = try await Self.cache(place, "status")
    let unfinished = try #require(json["unfinished"] as? [[String: Any]])
    #expect(unfinished.count == 1 && unfinished[0]["bytes"] as? Int == 3 << 20)
    #expect(unfinished[0]["total"] as? Int == 5 << 20)
    let shown = try await place.dlm("cache", "show", origin.url("/big"))
    #expect(shown.status == 0 && shown.outputText.contains("Unfinished: 3.0 MiB"), "\(shown.outputText)")

    let other = try await place.dlm("clear-cache", "--partial", "http://host/other")
    #expect(other.outputText == "Removed: 0 unfinished files, 0 B\n")
    let taken = try await Self.du("\(place.work)/elsewhere/big.part")
    let cleared = try await place.dlm("clear-cache", "--partial", "--json")
    #expect(cleared.status == 0, "\(cleared.errorText)")
    let freed = try Self.json(cleared.outputText)
    #expect(freed["unfinished"] as? Int == 1 && freed["entries"] as? Int == 0)
    #expect(try #require(freed["unfinishedBytes"] as? Int) - taken == 4096)
    #expect(try place.names(in: "elsewhere") == ["mine.part", "mine.part.json"])
  }

  /// The living one's part stays, and goes on as if nothing had been.
  @Test func clearingUnfinishedFilesBesideARunningGet() async throws {
    let origin = try FaultyOrigin()
    defer { origin.stop() }
    let place = try Workplace()
    try await Self.leavePart(origin, place, into: "dead")
    let gate = try Gate()
    origin.route("/live", .file(Self.body, FileOptions(ending: .stall(after: 2 << 20, until: gate))))
    let run = try place.start(["get", "-s", "1", "-d", "out", origin.url("/live")])
    try await place.wait(forSize: 2 << 20, of: "out/live.part")
    for arguments in [["--partial"], ["--files", "--yes"]] {
      let cleared = try await place.start(["clear-cache"] + arguments).waitForExit()
      #expect(cleared.status == 0, "\(cleared.errorText)")
      #expect(
        cleared.outputText.contains("1 unfinished file kept, in use by a running dlm"),
        "\(cleared.outputText)")
      #expect(try place.names(in: "out") == ["live.part", "live.part.json"])
      #expect(try place.names(in: "dead").isEmpty)
    }
    gate.open()
    let result = try await run.waitForExit()
    #expect(result.status == 0, "\(result.errorText)")
    #expect(try place.names(in: "out") == ["live"])
    #expect(try place.file("out/live") == Self.body)
    #expect(origin.log.count { $0.path == "/live" } == 1)
  }

  @Test func someAddressesAreForgotten() async throws {
    let origin = try FaultyOrigin()
    defer { origin.stop() }
    let place = try Workplace()
    for name in ["a", "b"] { origin.route("/\(name)", .file([1])) }
    for folder in ["one", "two"] {
      #expect(try await place.dlm("get", origin.url("/a"), origin.url("/b"), "-d", folder).status == 0)
    }
    let cleared = try await place.dlm("clear-cache", origin.url("/a"), "http://host/unknown")
    #expect(cleared.outputText.hasPrefix("Cleared: 2 files forgotten, "), "\(cleared.outputText)")
    let list = try await place.dlm("cache", "list").outputText
    #expect(list.contains("/b") && !list.contains("/a\t"), "\(list)")
    #expect(try place.names(in: "one") == ["a", "b"])
  }

  /// Of the same list in two folders, and of another file.
  private static func twoFolders(_ origin: FaultyOrigin, _ place: Workplace) async throws {
    for name in ["a", "b", "c"] { origin.route("/\(name)", .file(Array(name.utf8))) }
    _ = try place.list(["/a", "/b"].map { origin.url($0) })
    for folder in ["one", "two"] {
      #expect(try await place.dlm("get", "urls.txt", origin.url("/c"), "-d", folder).status == 0)
    }
  }

  private static func known(_ place: Workplace) async throws -> [String] {
    try await place.dlm("cache", "list").outputText.split(separator: "\n").map { line in
      String(line.split(separator: "\t")[3].dropFirst(place.work.utf8.count + 1))
    }.sorted()
  }

  @Test(
    arguments: [
      (["urls.txt"], ["one/c", "two/c"]), (["urls.txt", "--here"], ["one/c", "two/a", "two/b", "two/c"]),
      (["--here"], ["two/a", "two/b", "two/c"]), (["-", "--here"], ["one/b", "one/c", "two/a", "two/b", "two/c"]),
    ])
  func whatOneListOrFolderHas(options: [String], left: [String]) async throws {
    let origin = try FaultyOrigin()
    defer { origin.stop() }
    let files = ["one/a", "one/b", "one/c", "two/a", "two/b", "two/c"]
    for removes in [false, true] {
      let place = try Workplace()
      try await Self.twoFolders(origin, place)
      let script = "cp urls.txt one; cd one; exec \"$0\" clear-cache \"$@\""
      let more = options + (removes ? ["--files", "--yes"] : [])
      let run = try await place.start(
        "sh", ["-c", script, try DLMExecutable.path()] + more, input: .bytes(Array("\(origin.url("/a"))\n".utf8))
      ).waitForExit()
      #expect(run.status == 0, "\(run.errorText)")
      #expect(try await Self.known(place) == left, "\(run.outputText)")
      let standing = try ["one", "two"].flatMap { folder in
        try place.names(in: folder).filter { $0 != "urls.txt" }.map { "\(folder)/\($0)" }
      }
      #expect(standing == (removes ? left : files))
    }
  }

  @Test func aListThatCannotBeReadClearsNothing() async throws {
    let origin = try FaultyOrigin()
    defer { origin.stop() }
    let place = try Workplace()
    try await Self.twoFolders(origin, place)
    _ = try place.list([origin.url("/a"), "nonsense"], name: "bad.txt")
    for (list, status) in [("none.txt", 66), ("bad.txt", 1)] {
      let run = try await place.dlm("clear-cache", "--files", "--yes", "urls.txt", list)
      #expect(run.status == Int32(status) && run.errorText.contains(list), "\(run.errorText)")
    }
    #expect(try await Self.known(place).count == 6)
    let asked = try await place.start("setsid", [try DLMExecutable.path(), "clear-cache", "--files", "urls.txt"])
      .waitForExit()
    #expect(
      asked.errorText.contains("since dlm wrote them, in \(place.work)/one, \(place.work)/two would be"),
      "\(asked.errorText)")
  }

  private static func threeFiles(_ origin: FaultyOrigin, _ place: Workplace) async throws {
    for name in ["a", "b", "c"] { origin.route("/\(name)", .file(Array("\(name) of ours".utf8))) }
    let urls = ["/a", "/b", "/c"].map { origin.url($0) }
    #expect(try await place.start(["get", "-d", "out"] + urls).waitForExit().status == 0)
    _ = try place.folder.write(Array("mine now".utf8), to: "work/out/b")
    _ = try place.folder.write(Array("mine".utf8), to: "work/out/own")
  }

  @Test func filesAreRemovedThatNobodyTouched() async throws {
    let origin = try FaultyOrigin()
    defer { origin.stop() }
    let place = try Workplace()
    try await Self.threeFiles(origin, place)
    let refused = try await place.start("setsid", [try DLMExecutable.path(), "clear-cache", "--files"])
      .waitForExit()
    #expect(refused.status == 64)
    #expect(
      refused.errorText.contains(
        "2 files (8.0 KiB) unchanged since dlm wrote them, in \(place.work)/out would be"))
    #expect(refused.errorText.contains("--yes"), "\(refused.errorText)")
    #expect(try place.names(in: "out") == ["a", "b", "c", "own"])

    let one = try await place.dlm("clear-cache", "--files", "--yes", origin.url("/a"))
    #expect(one.outputText.hasPrefix("Removed: 1 file, 4.0 KiB; 1 file forgotten, "), "\(one.outputText)")
    #expect(try place.names(in: "out") == ["b", "c", "own"])

    let all = try await place.dlm("clear-cache", "--files", "--yes", "--json")
    let freed = try Self.json(all.outputText)
    #expect(freed["files"] as? Int == 1 && freed["filesKept"] as? Int == 1 && freed["entries"] as? Int == 2)
    #expect(freed["fileBytes"] as? Int == 4096 && (freed["failures"] as? [Any])?.isEmpty == true)
    #expect(try place.names(in: "out") == ["b", "own"])
    #expect(try place.file("out/b") == Array("mine now".utf8))
    #expect(try await place.dlm("cache", "status").outputText.hasPrefix("0 files known"))
    let none = try await place.dlm("clear-cache", "--files", "--yes")
    #expect(none.outputText == "Nothing to remove: the cache knows no file that dlm wrote\n")
    // Back at its beginning: everything is fetched again.
    let before = origin.log.count
    #expect(try await place.dlm("get", origin.url("/a"), origin.url("/c"), "-d", "out").status == 0)
    #expect(origin.log.count == before + 2)
  }

  @Test func theQuestionAtATerminal() async throws {
    let origin = try FaultyOrigin()
    defer { origin.stop() }
    let place = try Workplace(["TERM": "xterm"])
    try await Self.threeFiles(origin, place)
    for (answer, status, names) in [
      ("n", 1, ["a", "b", "c", "own"]), ("", 1, ["a", "b", "c", "own"]), ("y", 0, ["b", "own"]),
    ] {
      let command = "'\(try DLMExecutable.path())' clear-cache --files"
      let run = try place.start("script", ["-qefc", command, "/dev/null"], input: .open)
      try await run.wait(
        forOutput: "Remove 2 files (8.0 KiB) unchanged since dlm wrote them, in \(place.work)/out? ")
      run.write(Array("\(answer)\n".utf8))
      let result = try await run.waitForExit()
      #expect(result.status == Int32(status), "\(result.outputText)")
      #expect(try place.names(in: "out") == names)
    }
  }

  /// Neither a link in place of the file, nor one in place of its folder, leads to another file.
  @Test func linksAreNotFollowed() async throws {
    let origin = try FaultyOrigin()
    defer { origin.stop() }
    let place = try Workplace()
    try await Self.threeFiles(origin, place)
    try FileManager.default.moveItem(atPath: "\(place.work)/out", toPath: "\(place.work)/moved")
    try place.folder.link("work/out", to: "moved")
    let run = try await place.dlm("clear-cache", "--files", "--yes", origin.url("/a"), origin.url("/c"))
    #expect(run.status == 0, "\(run.errorText)")
    #expect(try place.names(in: "moved") == ["a", "b", "c", "own"])
  }

  @Test(.enabled(if: NameSpace.isAllowed)) func whatCannotBeRemovedIsSaid() async throws {
    let origin = try FaultyOrigin()
    defer { origin.stop() }
    let place = try Workplace()
    try await Self.threeFiles(origin, place)
    let script = """
      mount --bind out out && mount -o remount,bind,ro out && "$0" clear-cache --files --yes; s=$?; \
      "$0" cache list; exit $s
      """
    let run = try await place.start("unshare", ["-Urm", "sh", "-c", script, try DLMExecutable.path()])
      .waitForExit()
    #expect(run.status == 1, "\(run.errorText)")
    #expect(run.errorText.contains("/work/out/a") && run.errorText.contains("Read-only"), "\(run.errorText)")
    #expect(run.outputText.contains("intact\t9\t\(origin.url("/a"))"), "it is still known: \(run.outputText)")
  }

  @Test func whatWasLongNotUsedIsForgotten() async throws {
    let origin = try FaultyOrigin()
    defer { origin.stop() }
    origin.route("/a", .file([1]))
    let place = try Workplace()
    #expect(try await place.dlm("get", origin.url("/a")).status == 0)
    for (time, entries) in [("1h", 0), ("2w", 0), ("90m", 0)] {
      let freed = try await Self.cache(place, "prune", "--older-than", time)
      #expect(freed["entries"] as? Int == entries, "\(time)")
    }
    try await Task.sleep(for: .milliseconds(1100))
    #expect(try await Self.cache(place, "prune", "--older-than", "0s")["entries"] as? Int == 1)
    #expect(try place.names() == ["a"])
    for time in ["d", "-1d", "1x", ""] {
      #expect(try await place.dlm("cache", "prune", "--older-than", time).status == 64, "\(time)")
    }
    #expect(try await place.dlm("cache", "prune", "--max-size", "10G").status == 0)
    #expect(try await place.dlm("cache", "prune", "--max-size", "much").status == 64)
  }

  /// What the cache keeps itself goes, least recently used first; what stands in the user's folders stays.
  @Test(arguments: ["copy", "link"])
  func theStoreShrinks(mode: String) async throws {
    let origin = try FaultyOrigin()
    defer { origin.stop() }
    let place = try Workplace()
    for name in ["a", "b"] {
      origin.route("/\(name)", .file(Self.body, FileOptions(etag: "\"\(name)\"")))
      #expect(try await place.dlm("get", origin.url("/\(name)"), "--store", mode).status == 0)
    }
    let status = try await Self.cache(place, "status")
    let (index, store) = (
      try #require(status["indexBytes"] as? Int), try #require(status["storeBytes"] as? Int)
    )
    #expect(store > 10 << 20 && status["entries"] as? Int == 2)
    #expect(try await Self.du(place.folder.path("home/cache/dlm")) == index + store)
    let shown = try await place.dlm("cache", "show", origin.url("/a")).outputText
    #expect(shown.contains("intact, the cache's own"), "\(shown)")
    #expect(!shown.contains("Name chosen"), "\(shown)")

    let freed = try await Self.cache(place, "prune", "--max-size", "6M")
    #expect(freed["entries"] as? Int ?? 0 > 0)
    #expect(try #require(try await Self.cache(place, "status")["storeBytes"] as? Int) < 6 << 20)
    let pruned = try await place.dlm("cache", "prune", "--max-size", "0")
    #expect(
      pruned.outputText.contains("; 1 copy of the cache removed, 5.0 MiB freed; your files stay"),
      "\(pruned.outputText)")
    #expect(try #require(try await Self.cache(place, "status")["storeBytes"] as? Int) < 1 << 20)
    #expect(try await Self.cache(place, "status")["entries"] as? Int == 2)
    #expect(try place.file("a") == Self.body && place.file("b") == Self.body)

    // The question counts the user's files, not the cache's own.
    let gone = try Self.json(try await place.dlm("clear-cache", "--files", "--yes", "--json").outputText)
    #expect(gone["files"] as? Int == 2)
    #expect(try place.names().isEmpty)
  }

  /// As `du` says it: blocks, the folder's own included.
  @Test func figuresAreThoseOfDu() async throws {
    let place = try await Self.threeHundred()
    let cache = place.folder.path("home/cache/dlm")
    _ = try place.folder.write(Self.body, to: "home/cache/dlm/store/ab/one")
    let status = try await Self.cache(place, "status")
    let (index, store) = (
      try #require(status["indexBytes"] as? Int), try #require(status["storeBytes"] as? Int)
    )
    #expect(try await Self.du(cache) == index + store)
    #expect(try await Self.du("\(cache)/store") == store)
    let before = try await Self.du(cache)
    let freed = try Self.json(try await place.dlm("clear-cache", "--json").outputText)
    let after = try await Self.du(cache)
    #expect(freed["bytes"] as? Int == before - after && before > after)
  }
}
