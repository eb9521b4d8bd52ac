import Foundation
import Glibc
import TestSupport
import Testing

/// `dlm compare` and `dlm demo` beside their table.
@Suite("What a comparison shows, takes and leaves", .serialized)
struct ComparingTests {
  private static func served(_ count: Int = 4) throws -> (FaultyOrigin, [String]) {
    let origin = try FaultyOrigin()
    for index in 0..<count {
      origin.route("/f\(index)", .file(SplitMix64.bytes(count: 2000, seed: UInt64(index))))
    }
    return (origin, (0..<count).map { origin.url("/f\($0)") })
  }

  /// They were taken once, and nothing was written.
  @Test(arguments: ["compare", "demo"], ["--failed", "--events", "--summary-json", "--no-keys"])
  func whatIsOfOneRunIsNotOffered(command: String, option: String) async throws {
    let place = try Workplace()
    let value = option == "--no-keys" ? [] : ["file"]
    let run = try await place.start([command] + (command == "compare" ? ["urls.txt"] : []) + [option] + value)
      .waitForExit()
    #expect(run.status == 64 && run.errorText.contains("dlm: unknown option '\(option)'"), "\(run.errorText)")
    let help = try await place.dlm(command, "--help")
    #expect(help.status == 0 && !help.outputText.contains(option))
    #expect(help.outputText.contains("--report") && help.outputText.contains("--progress"))
  }

  /// Behind JSON lines there was a table once.
  @Test(arguments: [false, true])
  func standardOutputStaysJSONLines(isInterrupted: Bool) async throws {
    let (origin, urls) = try Self.served()
    defer { origin.stop() }
    let place = try Workplace()
    _ = try place.list(urls)
    let run = try place.start([
      "compare", "urls.txt", "--runs", "2", "--modes", "sequential", "parallel", "--warmup", "1",
      "--progress", "json",
    ])
    if isInterrupted {
      try await origin.wait(forRequests: 17)
      run.send(SIGINT)
    }
    let ended = try await run.waitForExit()
    let lines = try ended.outputText.split(separator: "\n").map {
      try #require(try JSONSerialization.jsonObject(with: Data($0.utf8)) as? [String: Any], "\($0)")
    }
    #expect(lines.allSatisfy { $0["v"] as? Int == 1 && $0["t"] is String && $0["type"] is String })
    // An interrupt may come after the last run.
    guard ended.status == 0 || !isInterrupted else { return }
    #expect(ended.status == 0, "\(ended.errorText)")
    #expect(lines.last?["type"] as? String == "comparison")
    let report = try #require(lines.last?["report"] as? [String: Any])
    #expect(
      (report["modes"] as? [[String: Any]])?.map { $0["name"] as? String } == ["sequential", "parallel"])
    let plans = lines.filter { $0["type"] as? String == "plan" }
    #expect(plans.map { $0["run"] as? Int } == Array(1...6) && plans.allSatisfy { $0["runs"] as? Int == 6 })
    #expect(plans.map { $0["warmUp"] as? Bool } == [true, true, false, false, false, false])
    #expect(Set(plans.compactMap { $0["mode"] as? String }) == ["sequential", "parallel"])
    #expect(ended.errorText.contains("byte for byte"), "the table is for people: \(ended.errorText)")
  }

  /// It advised an option that it has not.
  @Test(arguments: [["compare", "urls.txt"], ["demo"]])
  func anUnusableTemporaryFolder(command: [String]) async throws {
    let place = try Workplace(["TMPDIR": "/proc/none"])
    _ = try place.list(["http://127.0.0.1:1/a"])
    let run = try await place.start(command).waitForExit()
    #expect(run.status == 73, "\(run.errorText)")
    #expect(
      run.errorText.contains("/proc/none") && run.errorText.contains("name another in TMPDIR"),
      "\(run.errorText)")
    #expect(!run.errorText.contains("--directory"), "\(run.errorText)")
  }

  /// It said "dlm compare dlm demo", and of no option.
  @Test func thePageHasTheCommandThatWasTyped() async throws {
    let (origin, urls) = try Self.served()
    defer { origin.stop() }
    let place = try Workplace()
    _ = try place.list(urls)
    let run = try await place.dlm(
      "compare", "urls.txt", "--runs", "1", "-HX-Key: s3cret", "--modes", "sequential", "parallel",
      "--report", "a b.html")
    #expect(run.status == 0 && run.outputText.contains("byte for byte"), "\(run.errorText)")
    let page = try String(contentsOfFile: "\(place.work)/a b.html", encoding: .utf8)
    #expect(
      page.contains(
        "dlm compare urls.txt --runs 1 &#39;-H…&#39; --modes sequential parallel --report &#39;a b.html&#39;</code>"),
      "\(page.components(separatedBy: "<pre>").last ?? "")")
    #expect(!page.contains("s3cret"))
  }

  // MARK: What it costs

  /// Nine times 10 GB were downloaded without a word before.
  @Test func theCostIsSaidFirst() async throws {
    let (origin, urls) = try Self.served()
    defer { origin.stop() }
    let place = try Workplace()
    _ = try place.list(urls)
    let first = try await place.dlm("compare", "urls.txt", "--mode", "parallel", "--runs", "2")
    #expect(
      first.status == 0 && first.errorText.hasPrefix("2 runs of 4 files: of unknown size\n"), "\(first.errorText)")
    let second = try await place.dlm("compare", "urls.txt", "--warmup", "1", "--runs", "2")
    let line = "9 runs of 4 files: 70.3 KiB in all (7.8 KiB a run), about "
    #expect(second.status == 0 && second.errorText.hasPrefix(line), "\(second.errorText)")
    let quiet = try await place.dlm("compare", "urls.txt", "--runs", "1", "-q")
    #expect(quiet.status == 0 && !quiet.errorText.contains("in all"), "\(quiet.errorText)")
  }

  /// - Parameter asks: whether a terminal is there and nothing answered before.
  @Test(arguments: [(true, "n"), (true, "y"), (false, "--yes"), (false, "a pipe")])
  func muchIsAskedAbout(asks: Bool, answer: String) async throws {
    let (origin, urls) = try Self.served()
    defer { origin.stop() }
    let place = try Workplace()
    _ = try place.list(urls.map { "\($0)\tsize=200M" })
    let arguments = ["compare", "urls.txt", "--runs", "1", "--modes", "parallel", "async-let"]
    if answer == "a pipe" {
      let run = try await place.start(arguments).waitForExit()
      #expect(run.status == 0 && run.errorText.contains("1.6 GiB in all (800 MiB a run)"), "\(run.errorText)")
      return
    }
    let terminal = try TerminalRun(place, arguments + (answer == "--yes" ? ["--yes"] : []), columns: 100)
    defer { terminal.stop() }
    if asks {
      try await terminal.wait(for: "Download that. .y/N.")
      #expect(origin.log.isEmpty)
      try await terminal.type("\(answer)\n")
    }
    let end = try await terminal.waitForEnd()
    #expect(end.everything.contains { $0.contains("1.6 GiB in all") }, "\(end.text)")
    #expect(end.status == (answer == "n" ? 1 : 0) && origin.log.isEmpty == (answer == "n"), "\(end.text)")
  }

  // MARK: What a kill leaves

  @Test func whatAKilledComparisonLeftGoesWithTheNext() async throws {
    let (origin, urls) = try Self.served()
    defer { origin.stop() }
    let parent = try TemporaryFolder()
    let place = try Workplace(["TMPDIR": parent.path])
    _ = try place.list(urls)
    origin.route("/stalls", .file([1, 2], FileOptions(ending: .stall(after: 1))))
    // Named alike by the user, or of another kind: none is dlm's.
    try FileManager.default.createDirectory(
      atPath: parent.path("dlm-compare-backup"), withIntermediateDirectories: true,
      attributes: [.posixPermissions: 0o700])
    _ = try parent.write([1], to: "dlm-compare-backup/mine")
    _ = try parent.write([1], to: "dlm-compare-AAAAAA")
    symlink(place.work, parent.path("dlm-compare-BBBBBB"))
    let planted = try parent.names().sorted()

    let killed = try place.start(["compare", origin.url("/stalls")])
    try await origin.wait(forRequests: 1, path: "/stalls")
    let living = try place.start(["compare", origin.url("/stalls")])
    try await origin.wait(forRequests: 2, path: "/stalls")
    let both = Set(try parent.names()).subtracting(planted)
    #expect(both.count == 2, "a living one's folder stays")
    killed.send(SIGKILL)
    _ = try await killed.waitForExit()
    #expect(try parent.names().count == planted.count + 2)

    let next = try await place.dlm("compare", "urls.txt", "--runs", "1")
    #expect(next.status == 0, "\(next.errorText)")
    #expect(Set(try parent.names()).subtracting(planted).count == 1)
    living.send(SIGTERM)
    _ = try await living.waitForExit()
    #expect(try parent.names().sorted() == planted)
    #expect(try place.names() == ["urls.txt"])
  }

  @Test func whatAKilledRepeatLeftGoesWithTheNext() async throws {
    let (origin, urls) = try Self.served()
    defer { origin.stop() }
    let place = try Workplace()
    _ = try place.list(urls)
    #expect(try await place.dlm("get", "urls.txt", "-d", "out").status == 0)
    let names = try place.names(in: "out")
    let body = SplitMix64.bytes(count: 2000, seed: 2)
    origin.route("/f2", .file(body, FileOptions(ending: .stall(after: 100))), .file(body))
    let killed = try place.start(["get", "-m", "sequential"])
    try await origin.wait(forRequests: 2, path: "/f2")
    killed.send(SIGKILL)
    _ = try await killed.waitForExit()
    #expect(try place.names(in: "out").count == names.count + 1)
    let next = try await place.dlm("get", "-m", "sequential")
    #expect(next.errorText.contains("identical; temporary copies deleted"), "\(next.errorText)")
    #expect(try place.names(in: "out") == names)
  }

  // MARK: While it runs

  /// The second run stands while its file does: the table so far, which run it is, and its files. It once
  /// said "0 running".
  @Test(arguments: [(80, 24), (120, 40), (40, 24), (80, 8)])
  func whileItRuns(columns: Int, rows: Int) async throws {
    let (origin, urls) = try Self.served(2)
    defer { origin.stop() }
    let gate = try Gate()
    let place = try Workplace(["NO_COLOR": "1"])
    let body = SplitMix64.bytes(count: 1 << 20, seed: 1)
    origin.route(
      "/large", .file(body), .file(body, FileOptions(ending: .stall(after: 1 << 19, until: gate))),
      .file(body))
    _ = try place.list(urls + [origin.url("/large")])
    let terminal = try TerminalRun(
      place, ["compare", "urls.txt", "--runs", "2", "--modes", "parallel", "sequential", "-s", "1"],
      columns: columns, rows: rows)
    defer { terminal.stop() }
    _ = try await terminal.wait(for: "50%")
    // The other files may end a moment later.
    let standing = try await terminal.wait(for: "2/3")
    let lines = standing.lines.filter { !$0.isEmpty }
    #expect(lines.contains { $0.hasPrefix("run 2 of 4: ") && $0.hasSuffix(", round 1") }, "\(standing.text)")
    #expect(lines.contains { $0.contains("large") && $0.contains("50%") }, "\(standing.text)")
    #expect(lines.last?.contains("2/3") == true, "\(standing.text)")
    #expect(!standing.text.contains("0 running"), "\(standing.text)")
    if rows > 8 {
      #expect(lines.contains { $0.hasPrefix("MODE") && $0.contains("MEDIAN") }, "\(standing.text)")
      #expect(lines.contains { $0.hasPrefix("parallel ") || $0.hasPrefix("sequential ") }, "\(standing.text)")
    }
    #expect(
      standing.everything.allSatisfy { !$0.contains("✓") && $0.count <= columns }, "\(standing.everything)")
    gate.open()
    let end = try await terminal.waitForEnd()
    #expect(end.status == 0 && end.isCursorShown, "\(end.text)")
    #expect(end.lines.last { !$0.isEmpty }?.hasSuffix(".") == true, "the verdict is last: \(end.text)")
    if rows >= 24 { #expect(end.lines.contains { $0.hasPrefix("MODE") }, "\(end.text)") }
    #expect(end.everything.count { $0.hasPrefix("MODE") } == 1, "\(end.everything)")
    #expect(!end.everything.contains { $0.hasPrefix("run ") }, "\(end.everything)")
    // The table of the last run had what three runs said: of each mode a row.
    let tables = try await terminal.frames().filter { $0.contains { $0.hasPrefix("run 4 of 4") } }
    if rows > 8 {
      #expect(
        tables.contains { frame in
          ["parallel ", "sequential "].allSatisfy { name in frame.contains { $0.hasPrefix(name) } }
        },
        "\(tables)")
    }
  }

  @Test func theDemoShowsItsFiles() async throws {
    let place = try Workplace(["NO_COLOR": "1"])
    let terminal = try TerminalRun(place, ["demo", "--runs", "1"], columns: 80, rows: 24)
    defer { terminal.stop() }
    let end = try await terminal.waitForEnd()
    #expect(end.status == 0, "\(end.text)")
    let frames = try await terminal.frames().filter { $0.contains { $0.hasPrefix("run ") } }
    #expect(frames.contains { $0.contains { $0.contains("%") && $0.contains(".tar.gz") } }, "\(frames)")
    #expect(frames.contains { $0.contains { $0.hasPrefix("MODE") } }, "\(frames)")
  }
}
