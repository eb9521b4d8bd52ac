import DownloadModel
import Foundation
import Glibc
import TestSupport
import Testing

/// `dlm get` without a SOURCE, as the README's first page types it. It once read standard input wherever that
/// was no terminal: under cron it fetched nothing, ended well, and remembered the empty list in place of the
/// real one; and on a terminal the second command measured 304s.
@Suite("The last list of a folder is taken again, and in another mode repeated to compare", .serialized)
struct RepeatTests {
  /// How a command line gets to dlm.
  enum Surroundings: CaseIterable {
    case terminal, cron, closedInput, pipe
  }

  private static let bodies = (0..<12).map { SplitMix64.bytes(count: 3000 + $0, seed: UInt64($0)) }

  /// Addresses that end in one name among them.
  private static func origin(_ place: Workplace) throws -> (FaultyOrigin, [String]) {
    let origin = try FaultyOrigin()
    let paths = bodies.indices.map { $0 < 3 ? "/\($0)/index" : "/f\($0)" }
    for (path, body) in zip(paths, bodies) { origin.route(path, .file(body)) }
    _ = try place.list(paths.map { origin.url($0) })
    return (origin, paths)
  }

  private static func run(
    _ place: Workplace, _ surroundings: Surroundings, _ line: String
  ) async throws -> (status: Int32?, text: String) {
    let dlm = try DLMExecutable.path()
    let command = line.replacing("dlm ", with: "'\(dlm)' ")
    let result: CommandResult
    switch surroundings {
    case .terminal: result = try await place.start("script", ["-qefc", command, "/dev/null"]).waitForExit()
    case .cron:
      let home = place.folder.path("home")
      result = try await place.start(
        "env",
        [
          "-i", "HOME=\(home)", "PATH=/usr/bin:/bin", "LOGNAME=root", "SHELL=/bin/sh", "sh", "-c",
          "\(command) </dev/null",
        ]
      ).waitForExit()
    case .closedInput: result = try await place.start("sh", ["-c", "\(command) <&-"]).waitForExit()
    // Nobody ever writes or closes it.
    case .pipe:
      let run = try place.start("sh", ["-c", command], input: .open)
      result = try await run.waitForExit()
    }
    return (result.status, result.outputText + result.errorText)
  }

  @Test(arguments: Surroundings.allCases)
  func theThreeCommands(surroundings: Surroundings) async throws {
    let place = try Workplace(["TERM": "xterm", "NO_COLOR": "1"])
    let (origin, _) = try Self.origin(place)
    defer { origin.stop() }

    let first = try await Self.run(place, surroundings, "dlm get urls.txt --mode parallel")
    #expect(first.status == 0, "\(first.text)")
    let names = try place.names()
    #expect(names.count == 13)
    let before = try names.map { try place.file($0) }
    // On a machine that stalls, a request may be left unanswered and asked again.
    let asked = origin.log.count
    #expect(Set(origin.log.map(\.path)).count == 12)

    let second = try await Self.run(place, surroundings, "dlm get --mode sequential")
    #expect(second.status == 0, "\(second.text)")
    #expect(second.text.contains("urls.txt again, sequentially, to compare with parallel ("), "\(second.text)")
    #expect(second.text.contains("all 12 files identical;"), "\(second.text)")
    #expect(second.text.contains("The same list in mode parallel took"), "\(second.text)")
    #expect(!second.text.contains("not comparable"), "\(second.text)")
    let again = origin.log.dropFirst(asked)
    #expect(again.count == 12)
    #expect(again.allSatisfy { $0.headers["if-none-match"] == nil && $0.headers["if-modified-since"] == nil })
    #expect(Set(again.map(\.connection)).count == 1)
    #expect(try place.names() == names, "nothing is left behind")
    #expect(try names.map { try place.file($0) } == before)

    let cleared = try await Self.run(place, surroundings, "dlm clear-cache")
    #expect(cleared.status == 0, "\(cleared.text)")
    let third = try await Self.run(place, surroundings, "dlm get --mode async-let")
    #expect(third.status == 0, "\(third.text)")
    #expect(third.text.contains("to compare with sequential ("), "\(third.text)")
    #expect(third.text.contains("The same list in mode sequential took"), "\(third.text)")
    #expect(Set(origin.log.dropFirst(asked + 12).map(\.path)).count == 12)
    #expect(try place.names() == names)

    // From the top. What was forgotten is fetched, found here already, and measured all the same.
    let fourth = try await Self.run(place, surroundings, "dlm get urls.txt --mode parallel")
    #expect(fourth.status == 0, "\(fourth.text)")
    #expect(fourth.text.contains("The same list in mode async-let took"), "\(fourth.text)")
    // And an unchanged run tells what is known.
    let fifth = try await Self.run(place, surroundings, "dlm get urls.txt --mode parallel")
    #expect(fifth.text.contains("Earlier: "), "\(fifth.text)")
    let sixth = try await Self.run(place, surroundings, "dlm get --mode sequential")
    #expect(sixth.text.contains("The same list in mode parallel took"), "\(sixth.text)")
    #expect(!sixth.text.contains("not comparable"), "\(sixth.text)")
  }

  /// One unchanged rerun once took the measured time's place.
  @Test func anUnchangedRunErasesNoTime() async throws {
    let place = try Workplace()
    let (origin, _) = try Self.origin(place)
    defer { origin.stop() }
    #expect(try await place.dlm("get", "urls.txt", "--mode", "parallel").status == 0)
    #expect(try await place.dlm("get").errorText.contains("up to date: 12 files"))
    #expect(try await place.dlm("get", "--mode", "parallel").errorText.contains("up to date: 12 files"))
    let run = try await place.dlm("get", "--mode", "sequential")
    #expect(run.errorText.contains("to compare with parallel ("), "\(run.errorText)")
    #expect(run.errorText.contains("The same list in mode parallel took"), "\(run.errorText)")
    #expect(!run.errorText.contains("not comparable"), "\(run.errorText)")
  }

  /// Without `-d`, files were once copied into the current folder.
  @Test func theOptionsAreRemembered() async throws {
    let place = try Workplace()
    let (origin, _) = try Self.origin(place)
    defer { origin.stop() }
    let first = try await place.dlm(
      "get", "urls.txt", "-d", "data", "-j", "4", "--user-agent", "mine", "--retries=2")
    #expect(first.status == 0, "\(first.errorText)")
    let names = try place.names(in: "data")
    let again = try await place.dlm("get")
    #expect(again.errorText.contains("up to date: 12 files"), "\(again.errorText)")
    #expect(again.errorText.contains("--directory=data"), "\(again.errorText)")
    #expect(try place.names() == ["data", "urls.txt"])
    #expect(origin.log.allSatisfy { $0.headers["user-agent"] == "mine" })
    let repeated = try await place.dlm("get", "-m", "sequential", "--user-agent", "now")
    #expect(repeated.errorText.contains("identical; temporary copies deleted"), "\(repeated.errorText)")
    #expect(origin.log.suffix(12).allSatisfy { $0.headers["user-agent"] == "now" })
    #expect(try place.names(in: "data") == names)
    // Another folder is another wish.
    let elsewhere = try await place.dlm("get", "-d", "other", "-m", "parallel")
    #expect(elsewhere.status == 0, "\(elsewhere.errorText)")
    #expect(try place.names(in: "other").count == 12)
  }

  /// Nobody knows then which address got which name, so that the bytes are looked for under all that were
  /// wanted.
  @Test func withoutTheCache() async throws {
    let place = try Workplace()
    let (origin, _) = try Self.origin(place)
    defer { origin.stop() }
    #expect(try await place.dlm("get", "urls.txt", "--no-cache", "-d", "out").status == 0)
    let run = try await place.dlm("get", "-m", "sequential")
    #expect(run.status == 0, "\(run.errorText)")
    #expect(run.errorText.contains("all 12 files identical;"), "\(run.errorText)")
    #expect(!FileManager.default.fileExists(atPath: place.folder.path("home/cache/dlm")))
  }

  /// A file of the user's stands where one of the list was to go.
  @Test func whatWasSkippedIsNotComparedWith() async throws {
    let place = try Workplace()
    let (origin, _) = try Self.origin(place)
    defer { origin.stop() }
    _ = try place.folder.write([1], to: "work/f6")
    #expect(try await place.dlm("get", "urls.txt", "--on-conflict", "skip").status == 0)
    let run = try await place.dlm("get", "-m", "sequential")
    #expect(run.status == 0, "\(run.errorText)")
    #expect(run.errorText.contains("skipped files"), "\(run.errorText)")
    #expect(try place.file("f6") == [1])
  }

  @Test func anOrdinaryRunIfAskedFor() async throws {
    let place = try Workplace()
    let (origin, _) = try Self.origin(place)
    defer { origin.stop() }
    #expect(try await place.dlm("get", "urls.txt").status == 0)
    let run = try await place.dlm("get", "-m", "sequential", "--no-compare")
    #expect(run.errorText.contains("up to date: 12 files"), "\(run.errorText)")
    // A list that has changed is another list: what is new in it is to be had.
    origin.route("/new", .file([7]))
    _ = try place.list([origin.url("/f5"), origin.url("/new")])
    let changed = try await place.dlm("get", "-m", "parallel")
    #expect(changed.status == 0, "\(changed.errorText)")
    #expect(try place.file("new") == [7])
  }

  @Test func otherBytesAreNamedAndNothingHereIsTouched() async throws {
    let place = try Workplace()
    let (origin, _) = try Self.origin(place)
    defer { origin.stop() }
    #expect(try await place.dlm("get", "urls.txt").status == 0)
    origin.route("/f5", .file([1, 2, 3], FileOptions(etag: "\"v2\"")))
    try FileManager.default.removeItem(atPath: "\(place.work)/f7")
    let names = try place.names()
    let known = try await place.dlm("cache", "list").outputText
    let run = try await place.dlm("get", "-m", "sequential")
    #expect(try await place.dlm("cache", "list").outputText == known)
    #expect(run.status == 1, "\(run.errorText)")
    #expect(run.errorText.contains("1 of 11 files changed"), "\(run.errorText)")
    #expect(run.errorText.contains("\(origin.url("/f5")): f5 is different"), "\(run.errorText)")
    #expect(run.errorText.contains("\(origin.url("/f7")): f7 does not exist"), "\(run.errorText)")
    #expect(!run.errorText.contains("times as fast"), "\(run.errorText)")
    #expect(try place.names() == names)
    #expect(try place.file("f5") == Self.bodies[5])
    let mended = try await place.dlm("get", "--no-compare")
    #expect(mended.status == 0, "\(mended.errorText)")
    #expect(try place.file("f5") == [1, 2, 3])
    #expect(try place.file("f7") == Self.bodies[7])
  }

  /// A list with a dead link was never compared, and nothing said why.
  @Test(arguments: [true, false])
  func whatFailsIsNamedAndLeftOut(refused: Bool) async throws {
    let place = try Workplace()
    let (origin, paths) = try Self.origin(place)
    defer { origin.stop() }
    let dead = refused ? "http://127.0.0.1:1/dead" : origin.url("/dead")
    origin.route("/dead", .status(404))
    _ = try place.list(paths.map { origin.url($0) } + [dead])
    let status: Int32 = refused ? 75 : 1
    #expect(try await place.dlm("get", "urls.txt", "--retries", "0").status == status)
    let names = try place.names()
    let run = try await place.dlm("get", "-m", "sequential")
    #expect(run.status == status, "\(run.errorText)")
    #expect(
      run.errorText.contains("all 12 files identical; 1 failed and was skipped"),
      "\(run.errorText)")
    #expect(run.errorText.contains("The same list in mode parallel took"), "\(run.errorText)")
    #expect(!run.errorText.contains("not comparable"), "\(run.errorText)")
    #expect(run.errorText.contains("    \(dead)"), "\(run.errorText)")
    #expect(try place.names() == names)
    let history = try await place.dlm("history")
    #expect(
      history.outputText.contains("sequential") && history.outputText.contains("parallel"),
      "\(history.outputText)")
    // Brought only by the one: named, and no part of what is compared.
    if !refused {
      origin.route("/dead", .file([7]))
      let third = try await place.dlm("get", "-m", "async-let")
      #expect(third.status == 1, "\(third.errorText)")
      #expect(third.errorText.contains("\(dead): dead does not exist"), "\(third.errorText)")
      #expect(third.errorText.contains("all 12 files identical;"), "\(third.errorText)")
      #expect(third.errorText.contains("not comparable"), "\(third.errorText)")
    }
  }

  @Test func whereNothingIsComparedItSaysWhy() async throws {
    let place = try Workplace()
    let (origin, _) = try Self.origin(place)
    defer { origin.stop() }
    #expect(try await place.dlm("get", "urls.txt").status == 0)
    let elsewhere = try await place.dlm("get", "-m", "sequential", "-d", "other")
    #expect(
      elsewhere.errorText.contains("with mode parallel: its files are in another folder"),
      "\(elsewhere.errorText)")
    _ = try place.list([origin.url("/f5")])
    let changed = try await place.dlm("get", "-m", "async-let")
    #expect(
      changed.errorText.contains("with mode sequential: the list has changed since"), "\(changed.errorText)")
    origin.route("/f5", .file(Self.bodies[5], FileOptions(ending: .stall(after: 100))))
    let before = origin.log.count { $0.path == "/f5" }
    let cut = try place.start(["get", "urls.txt", "--refresh"])
    try await origin.wait(forRequests: before + 1, path: "/f5")
    cut.send(SIGTERM)
    _ = try await cut.waitForExit()
    origin.route("/f5", .file(Self.bodies[5]))
    let after = try await place.dlm("get", "-m", "sequential")
    #expect(after.errorText.contains("with mode parallel: its run was cut short"), "\(after.errorText)")
  }

  /// Compared with a run in mode auto, 30.5 times as fast was said of one that waited 2 s for a busy server.
  @Test func likeIsComparedWithLike() async throws {
    let place = try Workplace()
    let (origin, paths) = try Self.origin(place)
    defer { origin.stop() }
    #expect(try await place.dlm("get", "urls.txt").status == 0)
    let asked = origin.log.count
    let auto = try await place.dlm("get", "-m", "auto")
    #expect(origin.log.count == asked + paths.count, "each file was only revalidated: \(auto.errorText)")
    let reason = "  Not comparable with mode parallel: both modes run a task group. dlm compare --mode parallel auto"
    #expect(auto.errorText.contains(reason) && !auto.errorText.contains("times as fast"), "\(auto.errorText)")
    // What was measured of the strategy is known all the same.
    let sequential = try await place.dlm("get", "-m", "sequential")
    #expect(sequential.errorText.contains("The same list in mode parallel took"), "\(sequential.errorText)")
    #expect(!sequential.errorText.contains("not comparable"), "\(sequential.errorText)")

    let busy = try Workplace()
    _ = try busy.list([origin.url("/busy")])
    let answer = OriginAnswer.status(503, headers: ["Retry-After: 1"])
    origin.route("/busy", answer, .file([1]))
    #expect(try await busy.dlm("get", "urls.txt").status == 0)
    let after = try await busy.dlm("get", "-m", "sequential")
    #expect(after.errorText.contains("Not comparable with mode parallel: its run waited"), "\(after.errorText)")
    // The other way round it is known at the end only.
    origin.route("/busy", .file([1]))
    #expect(try await busy.dlm("get", "urls.txt", "--refresh", "-m", "async-let").status == 0)
    origin.route("/busy", answer, .file([1]))
    let waiting = try await busy.dlm("get", "-m", "sequential")
    #expect(waiting.errorText.contains("; not comparable: this run waited "), "\(waiting.errorText)")
  }

  /// `about 9 min` was said of 1 min 17 s: as many files as `--jobs` are not in flight all the time.
  @Test func theTimeThatFilesWereInFlightIsKept() async throws {
    let place = try Workplace()
    let (origin, paths) = try Self.origin(place)
    defer { origin.stop() }
    let gate = try Gate()
    origin.route("/f9", .file(Self.bodies[9], FileOptions(ending: .stall(after: 100, until: gate))))
    let run = try place.start(["get", "urls.txt", "-j", "12"])
    for path in paths { try await origin.wait(forRequests: 1, path: path) }
    try await Task.sleep(for: .seconds(1))
    gate.open()
    #expect(try await run.waitForExit().status == 0)
    let line = try await place.dlm("history", "--json").outputText
    let past = try #require(try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any])
    let work = try #require(past["work"] as? Double)
    let seconds = try #require(past["seconds"] as? Double)
    #expect(work > 0.5 && work < seconds * 6, "\(line)")
  }

  @Test func interruptedItLeavesNothingBehind() async throws {
    let place = try Workplace()
    let (origin, _) = try Self.origin(place)
    defer { origin.stop() }
    #expect(try await place.dlm("get", "urls.txt", "-d", "out").status == 0)
    let names = try place.names(in: "out")
    origin.route("/f9", .file(Self.bodies[9], FileOptions(ending: .stall(after: 100))), .file(Self.bodies[9]))
    let run = try place.start(["get", "-m", "sequential"])
    try await origin.wait(forRequests: 2, path: "/f9")
    let during = try place.names(in: "out").filter { $0.hasPrefix(".dlm-compare-") }
    let scratch = try #require(during.first)
    let attributes = try FileManager.default.attributesOfItem(atPath: "\(place.work)/out/\(scratch)")
    #expect(attributes[.posixPermissions] as? Int == 0o700)
    run.send(SIGTERM)
    let ended = try await run.waitForExit()
    #expect(ended.status == 143)
    #expect(ended.errorText.contains("your files are unchanged"), "\(ended.errorText)")
    #expect(try place.names(in: "out") == names)
    // It did not end, so that it is repeated still.
    let again = try await place.dlm("get", "-m", "sequential")
    #expect(again.errorText.contains("identical; temporary copies deleted"), "\(again.errorText)")
  }

  /// As early as it can be: nothing is made yet, or what was made is removed.
  @Test func interruptedAtOnce() async throws {
    let place = try Workplace()
    let (origin, _) = try Self.origin(place)
    defer { origin.stop() }
    #expect(try await place.dlm("get", "urls.txt", "-d", "out").status == 0)
    let names = try place.names(in: "out")
    for pause in 0..<8 {
      let run = try place.start(["get", "-m", "sequential", "--limit-rate", "1K"])
      try await run.wait(forErrorOutput: "to compare with")
      try await Task.sleep(for: .milliseconds(pause))
      run.send(SIGTERM)
      _ = try await run.waitForExit()
      #expect(try place.names(in: "out") == names, "after \(pause) ms")
    }
  }

  /// A list that could not be read, is empty, or is mistyped is not remembered.
  @Test func whatIsNoListReplacesNone() async throws {
    let place = try Workplace()
    let (origin, _) = try Self.origin(place)
    defer { origin.stop() }
    #expect(try await place.dlm("get", "urls.txt").status == 0)
    _ = try place.folder.write([], to: "work/empty.txt")
    _ = try place.folder.write(Array("htp:/x\n".utf8), to: "work/bad.txt")
    #expect(try await place.dlm("get", "ulrs.txt").status == 66)
    #expect(try await place.dlm("get", "urls.txt", "ulrs.txt").status == 66)
    #expect(try await place.dlm("get", ".").status == 66)
    _ = try await place.dlm("get", "empty.txt")
    _ = try await place.dlm("get", "-")
    #expect(try await place.dlm("get", "bad.txt").status == 1)
    let again = try await place.dlm("get")
    #expect(again.status == 0, "\(again.errorText)")
    #expect(again.errorText.contains("urls.txt"), "\(again.errorText)")
    #expect(again.errorText.contains("up to date: 12 files"), "\(again.errorText)")
    // A list from a pipe is remembered too, and an empty pipe does not take it away.
    #expect(try await place.dlm("get", "-", input: Array("\(origin.url("/f4"))\n".utf8)).status == 0)
    _ = try await place.dlm("get", "-")
    let piped = try await place.dlm("get")
    #expect(piped.errorText.contains("up to date: 1 file"), "\(piped.errorText)")
    let comparison = try await place.dlm("compare", "--runs", "1")
    #expect(comparison.status == 0, "\(comparison.errorText)")
    #expect(comparison.outputText.contains("the same 1 files"), "\(comparison.outputText)")
  }

  @Test(arguments: ["get", "compare"])
  func withoutAnyListThereIsNothingToDo(command: String) async throws {
    let place = try Workplace()
    let run = try await place.dlm(command, input: Array("http://127.0.0.1:1/a\n".utf8))
    #expect(run.status == 64)
    #expect(run.errorText.contains("nothing to get: name a list"), "\(run.errorText)")
  }

  @Test func secretsAreToBeGivenAgain() async throws {
    let place = try Workplace()
    let origin = try FaultyOrigin()
    defer { origin.stop() }
    origin.route("/a", .behindBasic(.file([1])))
    let url = origin.url("/a").replacing("http://", with: "http://user:sEcret1@")
    #expect(try await place.dlm("get", url, "-H", "X-Api-Key: sEcret2").status == 0)
    let bare = try await place.dlm("get")
    #expect(bare.status == 64)
    #expect(bare.errorText.contains("-H 'X-Api-Key: …'"), "\(bare.errorText)")
    #expect(bare.errorText.contains("logins of the URLs"), "\(bare.errorText)")
    #expect(origin.log.count == 2)
    let folder = place.folder.path("home/state/dlm/runs")
    for name in try FileManager.default.contentsOfDirectory(atPath: folder) {
      let text = String(decoding: try place.folder.read("home/state/dlm/runs/\(name)"), as: UTF8.self)
      #expect(!text.contains("sEcret"), "\(text)")
      let attributes = try FileManager.default.attributesOfItem(atPath: "\(folder)/\(name)")
      #expect(attributes[.posixPermissions] as? Int == 0o600)
    }
    #expect(try FileManager.default.attributesOfItem(atPath: folder)[.posixPermissions] as? Int == 0o700)
    _ = try place.folder.write(
      Array("machine 127.0.0.1 login user password sEcret1\n".utf8), to: "work/netrc")
    let given = try await place.dlm("get", "-H", "x-api-key: sEcret2", "--netrc-file", "netrc")
    #expect(given.status == 0, "\(given.errorText)")
    #expect(origin.log.last?.headers["x-api-key"] == "sEcret2")
    #expect(origin.log.last?.headers["authorization"] != nil)
  }
}
