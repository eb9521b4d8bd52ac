import Foundation
import Glibc
import TestSupport
import Testing

@Suite("A run that watches its lists", .serialized)
struct WatchTests {
  private let large = SplitMix64.bytes(count: 3 << 20, seed: 1)

  /// As editors do it: another file takes the name.
  private func replace(_ addresses: [String], _ place: Workplace, name: String = "urls.txt") throws {
    let draft = try place.list(addresses, name: ".draft")
    #expect(rename(draft, "\(place.work)/\(name)") == 0)
  }

  private func watch(_ place: Workplace, _ more: String..., lists: [String] = ["urls.txt"]) throws
    -> CommandRun
  {
    try place.start(["get"] + lists + ["--watch", "-d", "out", "--progress", "json"] + more)
  }

  private func end(_ run: CommandRun, _ status: Int32, _ comment: Comment? = nil) async throws
    -> CommandResult
  {
    run.send(SIGINT)
    let ended = try await run.waitForExit()
    #expect(ended.status == status, "\(ended.errorText)")
    return ended
  }

  private func removed(_ id: Int) -> String { "\"type\":\"removed\",\"id\":\(id)," }
  private let waiting = "\"what\":\"waiting\""

  @Test(arguments: ["sequential", "async-let", "parallel"])
  func linesComeAndGo(mode: String) async throws {
    let origin = try FaultyOrigin()
    defer { origin.stop() }
    origin.route("/a", .file(large, FileOptions(ending: .stall(after: 2 << 20))), .file(large))
    origin.route("/b", .file([1, 2, 3]))
    let place = try Workplace()
    _ = try place.list([origin.url("/a")])
    let run = try watch(place, "-m", mode)
    try await origin.wait(path: "/a", bodyBytesSent: 2 << 20)
    try await place.wait(forSize: 1 << 20, of: "out/a.part")
    // One by one, the next file begins only because this one is cancelled, and alone.
    try replace([origin.url("/b")], place)
    try await run.wait(forOutput: removed(0))
    try await run.wait(forOutput: waiting)
    #expect(try place.names(in: "out").contains("a.part") && place.file("out/b") == [1, 2, 3])
    #expect(run.outputText.contains("\(removed(0))\"url\":\"\(origin.url("/a"))\",\"was\":\"running\""))
    // Put back, it goes on where it was; the file of a removed line stays.
    try replace([origin.url("/a")], place)
    try await run.wait(forOutput: "\"how\":\"fetched\",\"id\":2")
    let ended = try await end(run, 0)
    #expect(ended.outputText.contains("\(removed(1))\"url\":\"\(origin.url("/b"))\",\"was\":\"done\""))
    #expect(try place.names(in: "out") == ["a", "b"] && place.file("out/a") == large)
    let resumed = try #require(origin.log.last { $0.path == "/a" })
    #expect(resumed.headers["range"]?.hasPrefix("bytes=") == true, "\(resumed)")
    #expect(
      ended.outputText.contains("\"type\":\"summary\",\"cancelled\":0,\"copied\":0,\"decoded\":0,\"done\":1"))
  }

  @Test(arguments: ["sequential", "async-let", "parallel"])
  func whatStaysGoesOnUndisturbed(mode: String) async throws {
    let origin = try FaultyOrigin()
    defer { origin.stop() }
    let gate = try Gate()
    origin.route("/a", .file([1, 2, 3], FileOptions(ending: .stall(after: 1, until: gate))))
    for name in ["/b", "/c"] { origin.route(name, .file([4])) }
    let place = try Workplace()
    _ = try place.list([origin.url("/b"), origin.url("/a")])
    let run = try watch(place, "-m", mode)
    try await origin.wait(path: "/a", bodyBytesSent: 1)
    try replace([origin.url("/c"), origin.url("/a")], place)
    try await run.wait(forOutput: "\"what\":\"changed\"")
    gate.open()
    try await run.wait(forOutput: waiting)
    _ = try await end(run, 0)
    #expect(try place.names(in: "out") == ["a", "b", "c"])
    #expect(origin.record.requests(to: "/a").count == 1)
  }

  /// A list that is being written in its place is seen empty, and half written.
  @Test func halfAListCancelsNothing() async throws {
    let origin = try FaultyOrigin()
    defer { origin.stop() }
    let gate = try Gate()
    origin.route("/a", .file([1, 2, 3], FileOptions(ending: .stall(after: 1, until: gate))))
    for name in ["/b", "/c"] { origin.route(name, .file([4])) }
    let place = try Workplace()
    let path = try place.list([origin.url("/b"), origin.url("/a")])
    let run = try watch(place)
    try await origin.wait(path: "/a", bodyBytesSent: 1)
    let list = open(path, O_WRONLY | O_TRUNC)
    func write(_ text: String) { #expect(Glibc.write(list, text, text.utf8.count) == text.utf8.count) }
    // The last line is not whole: its beginning is an address, but another one.
    write("\(origin.url("/c"))\n\(origin.url("/a-that-is"))")
    // It is seen, and what is new in it begins.
    try await origin.wait(forRequests: 1, path: "/c")
    write("-longer\n\(origin.url("/a"))\n\(origin.url("/b"))\n")
    close(list)
    try await origin.wait(forRequests: 1, path: "/a-that-is-longer")
    gate.open()
    try await run.wait(forOutput: waiting)
    let ended = try await end(run, 1, "of the longer one there is no such route")
    #expect(!ended.outputText.contains("\"type\":\"removed\""), "\(ended.outputText)")
    #expect(origin.record.requests(to: "/a").count == 1 && origin.record.requests(to: "/a-that-is").isEmpty)
  }

  @Test func aListThatIsGoneOrBrokenForAWhile() async throws {
    let origin = try FaultyOrigin()
    defer { origin.stop() }
    let gate = try Gate()
    origin.route("/a", .file([1, 2, 3], FileOptions(ending: .stall(after: 1, until: gate))))
    origin.route("/b", .file([4]))
    let place = try Workplace()
    // Not there yet: it is waited for.
    let run = try watch(place)
    try await run.wait(forOutput: "\"what\":\"missing\"")
    try replace([origin.url("/a")], place)
    try await origin.wait(path: "/a", bodyBytesSent: 1)
    #expect(remove("\(place.work)/urls.txt") == 0)
    try await run.wait(
      forOutput: "\"files\":1,\"id\":null,\"list\":\"urls.txt\",\"url\":null,\"what\":\"missing\"")
    _ = try place.folder.write([0, 1, 2, 3], to: "work/.draft")
    #expect(rename("\(place.work)/.draft", "\(place.work)/urls.txt") == 0)
    try await run.wait(forOutput: "\"what\":\"unreadable\"")
    try replace([origin.url("/a"), origin.url("/b")], place)
    try await origin.wait(forRequests: 1, path: "/b")
    gate.open()
    try await run.wait(forOutput: "\"how\":\"fetched\",\"id\":0")
    let ended = try await end(run, 0)
    #expect(ended.outputText.components(separatedBy: "\"what\":\"missing\"").count == 3, "once each")
    #expect(!ended.outputText.contains("\"type\":\"removed\""), "\(ended.outputText)")
    #expect(origin.record.requests(to: "/a").count == 1)
  }

  /// Both lines share one transfer. The one that began it goes, and the other goes on with it.
  @Test func anEqualLineGoesOn() async throws {
    let origin = try FaultyOrigin()
    defer { origin.stop() }
    let gate = try Gate()
    origin.route("/a", .file([1, 2, 3], FileOptions(ending: .stall(after: 1, until: gate))))
    let place = try Workplace()
    _ = try place.list([origin.url("/a")])
    _ = try place.list([origin.url("/a")], name: "more.txt")
    let run = try watch(place, lists: ["urls.txt", "more.txt"])
    try await origin.wait(path: "/a", bodyBytesSent: 1)
    try await run.wait(forOutput: "\"type\":\"start\",\"id\":1,")
    try replace([], place)
    try await run.wait(forOutput: removed(0))
    gate.open()
    try await run.wait(forOutput: waiting)
    _ = try await end(run, 0)
    #expect(try place.file("out/a") == [1, 2, 3])
    #expect(origin.record.requests(to: "/a").count == 1)
  }

  /// Its host is not to be asked for a minute; the run does not wait for it.
  @Test func aLineThatWaitsForItsHostIsTakenBack() async throws {
    let origin = try FaultyOrigin()
    defer { origin.stop() }
    origin.route("/a", .status(503, headers: ["Retry-After: 60"]))
    let place = try Workplace()
    _ = try place.list([origin.url("/a")])
    let run = try watch(place)
    try await run.wait(forOutput: "\"type\":\"retry\"")
    try replace([], place)
    try await run.wait(forOutput: removed(0))
    try await run.wait(forOutput: waiting)
    let ended = try await end(run, 0)
    #expect(ended.errorText == "dlm: urls.txt has no URLs\n")
    #expect(origin.record.requests(to: "/a").count == 1)
  }

  /// A file that waits for another process is in no queue.
  @Test func aLineThatWaitsForAnotherProcessIsTakenBack() async throws {
    let origin = try FaultyOrigin()
    defer { origin.stop() }
    let gate = try Gate()
    origin.route("/a", .file([1, 2, 3], FileOptions(ending: .stall(after: 1, until: gate))))
    let place = try Workplace()
    _ = try place.list([origin.url("/a")])
    let first = try place.start(["get", origin.url("/a"), "-d", "out"])
    try await origin.wait(path: "/a", bodyBytesSent: 1)
    let run = try watch(place)
    try await run.wait(forOutput: "\"for\":\"another-process\"")
    try replace([], place)
    try await run.wait(forOutput: removed(0))
    try await run.wait(forOutput: waiting)
    _ = try await end(run, 0)
    gate.open()
    #expect(try await first.waitForExit().status == 0)
    #expect(try place.file("out/a") == [1, 2, 3] && origin.record.requests(to: "/a").count == 1)
  }

  /// The downloaded part is saved, so that little is requested again.
  @Test func anAddressOfTwoListsStaysInTheOther() async throws {
    let origin = try FaultyOrigin()
    defer { origin.stop() }
    let gate = try Gate()
    defer { gate.open() }
    origin.route("/a", .file(large, FileOptions(ending: .stall(after: 2 << 20, until: gate))))
    origin.route("/b", .file([1]))
    let place = try Workplace()
    _ = try place.list([origin.url("/a")])
    _ = try place.list([origin.url("/a")], name: "more.txt")
    let run = try watch(place, "-j", "1", lists: ["urls.txt", "more.txt"])
    try await origin.wait(path: "/a", bodyBytesSent: 2 << 20)
    try replace([origin.url("/b")], place)
    try await run.wait(forOutput: removed(0))
    gate.open()
    try await run.wait(forOutput: waiting)
    _ = try await end(run, 0)
    #expect(origin.log.map(\.path).sorted() == ["/a", "/a", "/b"])
    #expect(try place.file("out/a") == large)
  }

  /// Nobody knew of an urgent line when the run began; it takes the next place all the same.
  @Test func anUrgentLineThatComesLater() async throws {
    let origin = try FaultyOrigin()
    defer { origin.stop() }
    let gate = try Gate()
    defer { gate.open() }
    let paths = ["/a", "/b", "/c", "/d"]
    for path in paths.dropFirst() { origin.route(path, .file([1])) }
    origin.route("/a", .late([1], until: gate))
    let place = try Workplace()
    _ = try place.list(paths.prefix(3).map { origin.url($0) })
    let run = try watch(place, "-j", "1")
    try await origin.wait(forRequests: 1, path: "/a")
    try replace(paths.prefix(3).map { origin.url($0) } + [origin.url("/d") + "\tfirst=yes"], place)
    try await run.wait(forOutput: "\"started\":1")
    gate.open()
    try await run.wait(forOutput: waiting)
    _ = try await end(run, 0)
    #expect(origin.log.map(\.path) == ["/a", "/d", "/b", "/c"])
  }

  /// It was waited for as for a pipe, for good.
  @Test func aListThatIsAPipeForAWhile() async throws {
    let origin = try FaultyOrigin()
    defer { origin.stop() }
    for path in ["/a", "/b"] { origin.route(path, .file([1])) }
    let place = try Workplace()
    _ = try place.list([origin.url("/a")])
    let run = try watch(place)
    try await run.wait(forOutput: waiting)
    #expect(mkfifo("\(place.work)/.pipe", 0o600) == 0 && rename("\(place.work)/.pipe", "\(place.work)/urls.txt") == 0)
    try await run.wait(forOutput: "is not a regular file; it is read again once it is one")
    try replace([origin.url("/a"), origin.url("/b")], place)
    try await run.wait(forOutput: "\"how\":\"fetched\",\"id\":1")
    _ = try await end(run, 0)
    #expect(try place.names(in: "out") == ["a", "b"])
  }

  @Test func theStatusIsThatOfTheLastList() async throws {
    let origin = try FaultyOrigin()
    defer { origin.stop() }
    origin.route("/a", .file([1]))
    origin.route("/slow", .file([1, 2], FileOptions(ending: .stall(after: 1))))
    let place = try Workplace()
    _ = try place.list([origin.url("/a"), origin.url("/none"), "nonsense"])
    for (list, status) in [([], Int32(1)), ([origin.url("/a")], 0), ([origin.url("/slow")], 130)] {
      let run = try watch(place)
      try await run.wait(forOutput: waiting)
      if !list.isEmpty { try replace(list, place) }
      if status == 0 { try await run.wait(forOutput: removed(1)) }
      if status == 130 { try await origin.wait(path: "/slow", bodyBytesSent: 1) }
      let ended = try await end(run, status)
      switch status {
      case 1: #expect(ended.errorText.contains("nonsense") && ended.errorText.contains("404"))
      case 0: #expect(!ended.errorText.contains("404") && !ended.errorText.contains("nonsense"))
      default:
        #expect(ended.errorText.contains("0 of 1 file done, 1 B of the next saved. Resume with:\n    dlm get urls.txt"))
      }
    }
    // What is remembered is the list, and not that it was watched; nothing is compared.
    origin.route("/slow", .file([1, 2]))
    let again = try await place.dlm("get", "-m", "sequential")
    #expect(again.status == 0 && !again.errorText.contains("to compare"), "\(again.errorText)")
    #expect(try place.file("out/slow") == [1, 2])
  }

  @Test func everythingIsAskedAboutAgain() async throws {
    let origin = try FaultyOrigin()
    defer { origin.stop() }
    origin.route("/a", .file([1]), .file([1]), .file([2, 3], FileOptions(etag: "\"v2\"")))
    let place = try Workplace()
    _ = try place.list([origin.url("/a")])
    let run = try watch(place, "--refresh-every", "1s")
    try await origin.wait(forRequests: 4, path: "/a")
    let ended = try await end(run, 0)
    #expect(try place.file("out/a") == [2, 3] && place.names(in: "out") == ["a"])
    let conditions = origin.record.requests(to: "/a").map { $0.headers["if-none-match"] }
    #expect(conditions.prefix(4) == [nil, "\"v1\"", "\"v1\"", "\"v2\""])
    #expect(ended.outputText.contains("\"what\":\"asking\""))
    #expect(ended.errorText.hasPrefix("1 file, 2 B in "), "\(ended.errorText)")
  }

  @Test func aListAtAnAddressIsAskedForAgain() async throws {
    let origin = try FaultyOrigin()
    defer { origin.stop() }
    for name in ["/a", "/b"] { origin.route(name, .file([1])) }
    origin.route(
      "/list", .file(Array("a\n".utf8)), .file(Array("a\n".utf8)),
      .file(Array("b\n".utf8), FileOptions(etag: "\"v2\"")))
    let place = try Workplace()
    let run = try watch(place, "--list", "--refresh-every", "1s", lists: [origin.url("/list")])
    try await run.wait(forOutput: removed(0))
    try await origin.wait(forRequests: 1, path: "/b")
    try await run.wait(forOutput: "\"how\":\"fetched\",\"id\":1")
    let ended = try await end(run, 0)
    #expect(!ended.outputText.contains("unreadable"), "not another version is no trouble")
    let conditions = origin.record.requests(to: "/list").map { $0.headers["if-none-match"] }
    #expect(conditions.prefix(3) == [nil, "\"v1\"", "\"v1\""])
  }

  /// A bare CR ends no line for this reader, but may for the next: such a tag is not sent back.
  @Test func aTagThatIsNoneIsNotSentBack() async throws {
    let origin = try FaultyOrigin()
    defer { origin.stop() }
    for name in ["/a", "/b"] { origin.route(name, .file([1])) }
    let options = FileOptions(etag: "\"v1\rX-Evil: 1\"", lastModified: nil)
    origin.route("/list", .file(Array("a\n".utf8), options), .file(Array("a\nb\n".utf8), options))
    let place = try Workplace()
    let run = try watch(place, "--list", "--refresh-every", "1s", lists: [origin.url("/list")])
    try await origin.wait(forRequests: 1, path: "/b")
    try await run.wait(forOutput: "\"how\":\"fetched\",\"id\":1")
    _ = try await end(run, 0)
    let second = try #require(origin.record.requests(to: "/list").dropFirst().first)
    #expect(second.headers["if-none-match"] == nil && second.headers["x-evil"] == nil, "\(second.headers)")
  }

  /// The list is in the folder into which the files go: what is written there is no change of the list.
  @Test func aFileThatSomebodyRemovedIsFetchedAgain() async throws {
    let origin = try FaultyOrigin()
    defer { origin.stop() }
    origin.route("/a", .file([1, 2]))
    let place = try Workplace()
    _ = try place.list([origin.url("/a")])
    let run = try place.start(
      ["get", "urls.txt", "--watch", "--refresh-every", "1s", "--progress", "plain", "--report", "r.json"])
    try await run.wait(forErrorOutput: "done: a, 2 B\n")
    try await run.wait(forErrorOutput: "asked: 1 unchanged\n")
    #expect(remove("\(place.work)/a") == 0)
    while !FileManager.default.fileExists(atPath: "\(place.work)/a") {
      try await Task.sleep(for: .milliseconds(20))
    }
    let ended = try await end(run, 0)
    #expect(ended.errorText.components(separatedBy: "done: a, 2 B\n").count == 3, "\(ended.errorText)")
    #expect(try place.file("a") == [1, 2] && place.names() == ["a", "r.json", "urls.txt"])
    // A report of a watched run once called all of its files failed.
    #expect(String(decoding: try place.file("r.json"), as: UTF8.self).contains(#""failed":false"#))
  }

  @Test func whatCannotBeWatchedIsRefused() async throws {
    let place = try Workplace()
    _ = try place.list(["http://127.0.0.1:1/a"])
    for (arguments, word) in [
      (["-", "--watch"], "standard input is read once"),
      (["http://127.0.0.1:1/a", "--watch"], "--refresh-every 10m"),
      (["http://127.0.0.1:1/a", "--list", "--watch"], "say how often to ask for it"),
      (["/dev/null", "--watch"], "not a regular file"),
      ([".", "--watch"], "not a regular file"),
      (["urls.txt", "--refresh-every", "10m"], "needs --watch"),
      (["urls.txt", "--watch", "--refresh-every", "10m", "--no-cache"], "use one of the two"),
      (["urls.txt", "--watch", "--refresh-every", "0s"], "refresh-every"),
      (["urls.txt", "--watch", "--refresh-every", "soon"], "refresh-every"),
    ] {
      let run = try await place.start(["get"] + arguments).waitForExit()
      #expect(run.status == 64 && run.errorText.contains(word), "\(arguments): \(run.errorText)")
    }
  }

  /// As a setting it is for runs that have something to watch.
  @Test func asASettingItIsForListsOnly() async throws {
    let origin = try FaultyOrigin()
    defer { origin.stop() }
    origin.route("/a", .file([1]))
    let place = try Workplace(["DLM_WATCH": "yes"])
    let single = try await place.dlm("get", origin.url("/a"))
    #expect(single.status == 0 && origin.log.count == 1, "\(single.errorText)")
    _ = try place.list([origin.url("/a")])
    let run = try place.start(["get", "urls.txt", "--progress", "plain"])
    try await run.wait(forErrorOutput: "watching: urls.txt; 1 file\n")
    _ = try await end(run, 0)
  }
}
