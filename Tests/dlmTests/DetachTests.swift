import DownloadModel
import Foundation
import Glibc
import RunDoors
import SystemPackage
import TestSupport
import Testing

/// A folder, and an origin whose file `/big` stops halfway until the gate opens.
private struct Runs {
  static let body = SplitMix64.bytes(count: 1 << 20, seed: 71)

  let origin: FaultyOrigin
  let gate: Gate
  let place: Workplace

  init(_ variables: [String: String] = [:], hasRanges: Bool = true) async throws {
    (origin, gate, place) = (try FaultyOrigin(), try Gate(), try Workplace(variables))
    var options = FileOptions(ending: .stall(after: 1 << 19, until: gate))
    if !hasRanges { (options.ranges, options.acceptRanges) = (.ignored, nil) }
    origin.route("/big", .file(Self.body, options))
    origin.route("/small", .file([1, 2, 3]))
    _ = try place.list([origin.url("/small"), origin.url("/big")])
  }

  /// Ends all detached runs, and then the origin.
  func end() async throws {
    gate.open()
    for run in try await status() where run.hasPrefix("running") || run.hasPrefix("paused") {
      _ = try await place.dlm("stop")
    }
    origin.stop()
  }

  /// Without the numbers.
  func status() async throws -> [String] {
    try await place.dlm("status").outputText.split(separator: "\n").map { line in
      line.drop { $0.isNumber || $0 == " " }.description
    }
  }

  func wait(for state: String, at index: Int = 0) async throws {
    try await poll("run \(index) to be \(state)") {
      let all = try await status()
      return all.count > index && all[index].hasPrefix(state)
    }
  }

  /// The process of a run.
  func process(_ number: Int) throws -> Int {
    let json = try JSONSerialization.jsonObject(
      with: Data(try place.folder.read("home/state/dlm/records/\(number).json")))
    let process = (json as? [String: Any])?["process"] as? [String: Any]
    return try #require(process?["number"] as? Int)
  }
}

@Suite("Runs without a terminal: --detach, and key b", .serialized)
struct DetachTests {
  @Test func aRunThatOutlivesItsTerminal() async throws {
    let runs = try await Runs()
    let terminal = try TerminalRun(
      runs.place, ["get", "urls.txt", "--detach", "-H", "X-Key: s3cret", "-s", "1", "-d", "out"])
    let screen = try await terminal.waitForEnd()
    #expect(screen.status == 0 && screen.text.contains("run 1 started · dlm attach 1"), "\(screen.text)")
    try await runs.origin.wait(path: "/big", bodyBytesSent: 1 << 19)
    terminal.stop()
    try await runs.wait(for: "running")
    let process = try runs.process(1)
    // Every user can see the command line, and the files are kept.
    let words = try #require(FileManager.default.contents(atPath: "/proc/\(process)/cmdline"))
    #expect(String(decoding: words, as: UTF8.self) == "dlm\0detached\0")
    for name in try runs.place.folder.names(in: "home/state/dlm/records") where !name.hasSuffix(".sock") {
      let text = String(decoding: try runs.place.folder.read("home/state/dlm/records/\(name)"), as: UTF8.self)
      #expect(!text.contains("s3cret"), "\(name)")
    }
    #expect(getsid(pid_t(process)) == pid_t(process))
    let attached = try runs.place.start(["attach"])
    try await attached.wait(forErrorOutput: "progress: 1 of 2 files done")
    runs.gate.open()
    let ended = try await attached.waitForExit()
    #expect(ended.status == 0 && ended.errorText.contains("1  done  urls.txt  2 files, 1.0 MiB"), "\(ended.errorText)")
    #expect(try runs.place.file("out/big") == Runs.body)
    #expect(runs.origin.log.count { $0.path == "/big" } == 1)
    #expect(try runs.place.folder.names(in: "home/state/dlm/records") == ["1.json", "1.log"])
    try await runs.end()
  }

  @Test(
    arguments: [
      (["nothing.txt"], 66, "nothing.txt cannot be read"), (["-"], 64, "standard input"),
      (["urls.txt", "--ask-names"], 64, "it cannot ask questions"), (["http://127.0.0.1:1/", "-o", "-"], 64, "-o -"),
      (["urls.txt", "--events", "fd:1"], 64, "--events writes to this process's own streams"),
      (["urls.txt", "-d", "/proc/x"], 73, "choose another with --directory"),
      (["urls.txt", "--jobs", "x"], 64, "use a number"), (["urls.txt", "--cert", "none.pem"], 64, "none.pem"),
    ] as [([String], Int32, String)])
  func whatIsWrongIsSaidBefore(words: [String], status: Int32, text: String) async throws {
    let place = try Workplace()
    _ = try place.list(["http://127.0.0.1:1/x"])
    let run = try await place.dlm(["get", "--detach"] + words)
    #expect(run.status == status && run.errorText.contains(text), "\(run.errorText)")
    #expect(try await place.dlm("status").outputText == "no download is running\n")
  }

  /// Not a byte twice, one entry in the history, and each command once.
  @Test func keyBHandsOver() async throws {
    let runs = try await Runs()
    let hook = try runs.place.folder.write(Array("#!/bin/sh\necho $DLM_VERDICT >> ended\n".utf8), to: "work/hook")
    chmod(hook, 0o755)
    let terminal = try TerminalRun(
      runs.place, ["get", "urls.txt", "-s", "1", "-H", "X-Key: s3cret", "--on-complete", hook, "--on-done", hook])
    defer { terminal.stop() }
    try await runs.origin.wait(path: "/big", bodyBytesSent: 1 << 19)
    try await runs.place.wait(forSize: 1, of: "ended")
    _ = try await terminal.wait(for: "1/2 files")
    try await terminal.type("b")
    let screen = try await terminal.waitForEnd()
    #expect(screen.status == 75 && screen.text.contains("goes on · dlm attach"), "\(screen.text)")
    #expect(screen.mode == screen.modeBefore)
    runs.gate.open()
    try await runs.wait(for: "done")
    #expect(try runs.place.file("big") == Runs.body)
    let asked = runs.origin.log.filter { $0.path == "/big" }
    #expect(asked.count == 2)
    #expect(asked.map { $0.headers["range"] ?? "" }.last == "bytes=\(1 << 19)-")
    #expect(asked.allSatisfy { $0.headers["x-key"] == "s3cret" })
    #expect(try runs.place.file("ended") == Array("downloaded\ndownloaded\ndownloaded\n".utf8))
    #expect(try await runs.place.dlm("history", "--json").outputText.split(separator: "\n").count == 1)
    try await runs.end()
  }

  /// What would begin anew is counted, and the key is asked for again.
  @Test func keyBWhereNothingIsResumed() async throws {
    let runs = try await Runs(hasRanges: false)
    let terminal = try TerminalRun(runs.place, ["get", "urls.txt", "-s", "1"])
    defer { terminal.stop() }
    try await runs.origin.wait(path: "/big", bodyBytesSent: 1 << 19)
    _ = try await terminal.wait(for: "1/2 files")
    try await terminal.type("b")
    _ = try await terminal.wait(for: "1 file would begin anew")
    try await terminal.type("b")
    #expect(try await terminal.waitForEnd().status == 75)
    try await runs.end()
  }

  @Test(arguments: [["-"], ["urls.txt", "--summary-json", "-"]]) func keyBIsRefused(words: [String]) async throws {
    let runs = try await Runs()
    let list = "\(runs.place.work)/urls.txt"
    let terminal =
      words == ["-"]
      ? try TerminalRun(
        runs.place, command: ["/bin/sh", "-c", "cat \(list) | \(try DLMExecutable.path()) get - -s 1"])
      : try TerminalRun(runs.place, ["get", "-s", "1"] + words)
    defer { terminal.stop() }
    try await runs.origin.wait(path: "/big", bodyBytesSent: 1 << 19)
    _ = try await terminal.wait(for: "1/2 files")
    try await terminal.type("b")
    _ = try await terminal.wait(for: "cannot go on without its terminal")
    runs.gate.open()
    #expect(try await terminal.waitForEnd().status == 0)
    try await runs.end()
  }
}

@Suite("Runs elsewhere: attach, stop, pause, resume", .serialized)
struct AttachTests {
  private func started(_ more: String...) async throws -> Runs {
    let runs = try await Runs()
    #expect(try await runs.place.dlm(["get", "urls.txt", "--detach", "-s", "1"] + more).status == 0)
    try await runs.origin.wait(path: "/big", bodyBytesSent: 1 << 19)
    return runs
  }

  @Test func twoViewersAndTheirKeys() async throws {
    let runs = try await started()
    let first = try TerminalRun(runs.place, ["attach"])
    let second = try TerminalRun(runs.place, ["attach", "1"], columns: 60, rows: 12)
    defer {
      first.stop()
      second.stop()
    }
    for terminal in [first, second] { _ = try await terminal.wait(for: "1/2 files") }
    try await first.type("p")
    for terminal in [first, second] { _ = try await terminal.wait(for: "paused") }
    #expect(try await runs.status().first?.hasPrefix("paused") == true)
    try await second.resize(columns: 100, rows: 30)
    _ = try await second.wait(for: "press p to resume")
    try await first.type("b")
    let left = try await first.waitForEnd()
    #expect(left.status == 0 && left.text.contains("run 1 goes on · dlm attach 1"), "\(left.text)")
    #expect(left.isCursorShown && left.mode == left.modeBefore)
    #expect(!left.text.contains("1/2 files"), "the bars are taken off")
    try await second.type("q")
    let stopped = try await second.waitForEnd()
    #expect(stopped.status == 130 && stopped.text.contains("1  stopped  urls.txt"), "\(stopped.text)")
    #expect(stopped.isCursorShown && stopped.mode == stopped.modeBefore)
    try await runs.end()
  }

  @Test func killed() async throws {
    let runs = try await started()
    let viewer = try TerminalRun(runs.place, ["attach"])
    let other = try runs.place.start(["attach"])
    defer { viewer.stop() }
    _ = try await viewer.wait(for: "1/2 files")
    other.send(SIGKILL)
    _ = try await other.waitForExit()
    #expect(try await runs.status().first?.hasPrefix("running") == true)
    kill(pid_t(try runs.process(1)), SIGKILL)
    let lost = try await viewer.waitForEnd()
    #expect(lost.status == 75 && lost.text.contains("run 1 was killed: dlm resume 1"), "\(lost.text)")
    #expect(lost.isCursorShown && lost.mode == lost.modeBefore)
    runs.gate.open()
    let resumed = try await runs.place.dlm("resume")
    #expect(resumed.status == 0, "\(resumed.errorText)")
    #expect(try runs.place.file("big") == Runs.body)
    try await runs.end()
  }

  @Test func commands() async throws {
    let runs = try await started()
    #expect(try await runs.place.dlm("pause").outputText == "run 1 is paused: dlm resume 1 goes on with it\n")
    try await runs.wait(for: "paused")
    #expect(try await runs.place.dlm("resume", "1").outputText == "run 1 goes on\n")
    let again = try await runs.place.dlm("resume", "1")
    #expect(again.status == 64 && again.errorText.contains("run 1 is running: dlm attach 1 shows it"))
    let stopped = try await runs.place.dlm("stop", "1").outputText
    #expect(stopped == "run 1, into \(runs.place.work), is stopped: dlm resume 1 goes on with it\n")
    #expect(try await runs.status().first?.hasPrefix("stopped") == true)
    let ended = try await runs.place.dlm("attach")
    #expect(ended.status == 130 && ended.errorText.contains("1  stopped  urls.txt"), "\(ended.errorText)")
    for name in ["stop", "pause", "attach"] {
      let said = try await runs.place.dlm(name)
      #expect(name == "attach" || said.status == 64 && said.errorText.contains("no download is running"))
      let unknown = try await runs.place.dlm(name, "9")
      #expect(unknown.status == 64 && unknown.errorText.contains("run 9 is not known"), "\(unknown.errorText)")
    }
    let resumed = try await runs.place.dlm("resume", "1", "--detach")
    #expect(resumed.outputText == "run 1 started · dlm attach 1\n", "\(resumed.errorText)")
    runs.gate.open()
    try await runs.wait(for: "done")
    #expect(try runs.place.file("big") == Runs.body)
    try await runs.end()
  }

  /// What was added is resumed with its options, and a wrong line is told to the one who added it: both were lost.
  @Test func additionsAreResumed() async throws {
    let runs = try await started()
    runs.origin.route("/late", .late([7], until: runs.gate))
    runs.origin.route("/later", .late([8], until: runs.gate))
    let more = try runs.place.list(
      [runs.origin.url("/late") + "\tout=named\theader=X-Key: key", "htp:/wrong"], name: "more.txt")
    let added = try await runs.place.dlm("add", "--list", more)
    #expect(added.outputText.hasPrefix("added 1 file to "), "\(added.outputText)")
    #expect(added.status == 1 && added.errorText.contains("more.txt:2: \"htp:/wrong\""), "\(added.errorText)")
    #expect(try await runs.place.dlm("add", runs.origin.url("/later")).status == 0)
    kill(pid_t(try runs.process(1)), SIGKILL)
    try await runs.wait(for: "died")
    _ = try runs.place.list([runs.origin.url("/late") + "\tout=named\theader=X-Key: key"], name: "more.txt")
    #expect(try await runs.place.dlm("resume", "--detach").outputText.hasPrefix("run 1 started"))
    runs.gate.open()
    try await runs.wait(for: "done")
    #expect(try runs.place.names().filter { !$0.hasSuffix(".txt") } == ["big", "later", "named", "small"])
    #expect(runs.origin.log.last { $0.path == "/late" }?.headers["x-key"] == "key")
    try await runs.end()
  }

  /// A run without its socket was called stopped, killed or ended while it went on.
  @Test func theSocketIsRemoved() async throws {
    let runs = try await started()
    try FileManager.default.removeItem(atPath: runs.place.folder.path("home/state/dlm/records/1.sock"))
    for name in ["pause", "attach"] {
      let said = try await runs.place.dlm(name)
      #expect(said.status == 75 && said.errorText.contains("its socket was removed; dlm stop 1"), "\(said.errorText)")
    }
    #expect(try await runs.status().first?.hasPrefix("does not answer") == true)
    #expect(try await runs.place.dlm("stop").status == 0)
    #expect(try await runs.status().first?.hasPrefix("stopped") == true)
    try await runs.end()
  }

  /// They stood on one line.
  @Test func oneOfSeveralIsNamed() async throws {
    let runs = try await started()
    #expect(try await runs.place.dlm("get", runs.origin.url("/big"), "--detach", "-d", "other").status == 0)
    let said = try await runs.place.dlm("stop")
    let lines = said.errorText.split(separator: "\n")
    #expect(said.status == 64 && lines.first == "dlm: name one of these runs:", "\(said.errorText)")
    #expect(lines.count == 3 && lines[1].hasPrefix("  1  running"), "\(said.errorText)")
    for number in ["1", "2"] { #expect(try await runs.place.dlm("stop", number).status == 0) }
    try await runs.end()
  }

  /// Each run keeps its list from a pipe: that of a later run once took its place.
  @Test func listsFromPipes() async throws {
    let runs = try await Runs()
    let arguments = ["get", "-", "-s", "1"]
    let first = try runs.place.start(arguments, input: .bytes(Array((runs.origin.url("/big") + "\n").utf8)))
    try await runs.origin.wait(path: "/big", bodyBytesSent: 1 << 19)
    try await runs.wait(for: "running")
    first.send(SIGTERM)
    #expect(try await first.waitForExit().status == 143)
    let second = try runs.place.start(arguments, input: .bytes(Array((runs.origin.url("/small") + "\n").utf8)))
    #expect(try await second.waitForExit().status == 0)
    runs.gate.open()
    let resumed = try await runs.place.dlm("resume", "1")
    #expect(resumed.status == 0, "\(resumed.errorText)")
    #expect(try runs.place.file("big") == Runs.body)
    try await runs.end()
  }

  /// Why a run failed is known after its end.
  @Test func failuresOfAnEndedRun() async throws {
    let runs = try await Runs()
    #expect(try await runs.place.dlm("get", runs.origin.url("/missing"), "--detach").status == 0)
    try await runs.wait(for: "failed")
    let line = "  failed: \(runs.origin.url("/missing")): 404"
    #expect(try await runs.place.dlm("status", "1").outputText.contains(line))
    let attached = try await runs.place.dlm("attach", "1")
    #expect(attached.status == 1 && attached.errorText.contains(line), "\(attached.errorText)")
    try await runs.end()
  }

  /// Failed files are tried again while others go on, and then have not failed.
  @Test func retried() async throws {
    let runs = try await Runs()
    let list = try runs.place.list([runs.origin.url("/big"), runs.origin.url("/missing")], name: "two.txt")
    let run = try runs.place.start(["get", list, "-s", "1"])
    try await runs.origin.wait(path: "/big", bodyBytesSent: 1 << 19)
    try await runs.wait(for: "running  \(list)  0 of 2 files, 1 failed")
    let files = try await runs.place.dlm("status", "1").outputText.split(separator: "\n")
    #expect(files.contains { $0.hasPrefix("  failed: \(runs.origin.url("/missing")): 404") }, "\(files)")
    runs.origin.route("/missing", .file([7]))
    #expect(try await runs.place.dlm("retry").outputText == "run 1: 1 file tried again\n")
    try await runs.place.wait(forSize: 1, of: "missing")
    runs.gate.open()
    let ended = try await run.waitForExit()
    #expect(ended.status == 0 && ended.errorText.contains("2 files"), "\(ended.errorText)")
    try await runs.end()
  }

  /// What a program gets: a snapshot at once, also if nothing moves, the lines of --progress json, and an answer to each
  /// command. A visitor that had left before ended the lines of all others.
  @Test func theDoorsLines() async throws {
    let runs = try await started()
    let path = FilePath(runs.place.folder.path("home/state/dlm/records/1.sock"))
    #expect(try await runs.status().count == 1)
    let lines = try await offThePool { [runs] in
      let door = try DoorConnection(to: path)
      try door.send(["id": 1, "do": "watch"])
      try door.send(["id": 2, "do": "fly", "height": 3])
      try door.send(["id": 3, "do": "add", "urls": "x"])
      try door.send(["id": 4, "do": "limit", "limits": JSONValue.list(["5M@1-2".json])])
      var lines: [String] = []
      while lines.last?.contains("\"type\":\"ended\"") != true {
        guard let line = try door.line(within: 120_000) else { break }
        lines.append(String(decoding: line, as: UTF8.self))
        if lines.last?.contains("\"type\":\"snapshot\"") == true { runs.gate.open() }
      }
      return lines
    }
    #expect(lines.first == "{\"run\":1,\"type\":\"hello\",\"v\":1}")
    for line in [
      "{\"id\":1,\"ok\":true}", "{\"error\":\"unknown command: fly\",\"id\":2}", "{\"error\":\"not a command\"}",
      "{\"error\":\"not a limit: 5M@1-2\",\"id\":4}",
    ] {
      #expect(lines.contains(line), "\(line)")
    }
    let types = lines.compactMap { $0.firstMatch(of: /"type":"([a-z]+)"/).map { String($0.1) } }
    #expect(types.first { $0 != "hello" } == "snapshot", "\(types)")
    #expect(types.suffix(2) == ["summary", "ended"], "\(types)")
    #expect(types.count { $0 == "done" } == 1, "\(types)")
    try await runs.end()
  }

  /// A file at the end of the list goes next.
  @Test func first() async throws {
    let runs = try await Runs()
    let names = ["/a", "/b", "/c", "/d"]
    for name in names { runs.origin.route(name, .file([1])) }
    let list = try runs.place.list((["/big"] + names).map { runs.origin.url($0) }, name: "ordered.txt")
    #expect(try await runs.place.dlm("get", list, "--detach", "-s", "1", "-m", "sequential").status == 0)
    try await runs.origin.wait(path: "/big", bodyBytesSent: 1 << 19)
    try await runs.wait(for: "running")
    let path = FilePath(runs.place.folder.path("home/state/dlm/records/1.sock"))
    try await offThePool {
      let door = try DoorConnection(to: path)
      try door.send(["id": 1, "do": "first", "files": [3]])
      while let line = try door.line(within: 60_000) {
        if String(decoding: line, as: UTF8.self).contains("\"ok\":true") { break }
      }
    }
    runs.gate.open()
    try await runs.wait(for: "done")
    #expect(runs.origin.log.map(\.path) == ["/big", "/c", "/a", "/b", "/d"])
    try await runs.end()
  }

  /// A crowd of visitors takes no descriptor from the transfers, and a slow one no time.
  @Test func aCrowd() async throws {
    let runs = try await Runs()
    let urls = (0..<200).map { number in
      runs.origin.route("/f\(number)", .file(Array("\(number)".utf8)))
      return runs.origin.url("/f\(number)")
    }
    let list = try runs.place.list([runs.origin.url("/big")] + urls, name: "many.txt")
    let run = try runs.place.start(
      "/bin/sh", ["-c", "ulimit -n 300; exec \"$@\"", "sh", try DLMExecutable.path(), "get", list, "-s", "1"])
    try await runs.wait(for: "running")
    let path = FilePath(runs.place.folder.path("home/state/dlm/records/1.sock"))
    var crowd: [DoorConnection] = []
    for number in 0..<500 {
      guard let visitor = try? DoorConnection(to: path) else { continue }
      crowd.append(visitor)
      if number % 2 == 0 { try? visitor.send(["do": "watch"]) }
    }
    #expect(crowd.count > 32)
    runs.gate.open()
    let ended = try await run.waitForExit()
    #expect(ended.status == 0, "\(ended.errorText)")
    #expect(try runs.place.names().count == 203)
    runs.origin.stop()
  }
}
