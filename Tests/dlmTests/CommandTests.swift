import Foundation
import Glibc
import TestSupport
import Testing

@Suite("The other commands", .serialized)
struct CommandTests {
  @Test func versionAndHelp() async throws {
    let place = try Workplace()
    let version = try await place.dlm("--version")
    #expect(version.status == 0)
    #expect(version.outputText.hasPrefix("dlm "))
    #expect(try await place.dlm("-V").outputText == version.outputText)
    for command in ["get", "compare", "demo", "cache", "clear-cache", "config"] {
      let help = try await place.dlm(command, "--help")
      #expect(help.status == 0)
      #expect(help.outputText.contains("USAGE: dlm \(command)"), "\(help.outputText)")
    }
    for shell in ["bash", "zsh", "fish"] {
      let script = try await place.dlm("--generate-completion-script", shell)
      #expect(script.status == 0)
      #expect(script.outputText.contains("dlm"))
      #expect(try await place.dlm("completion", shell).outputText == script.outputText)
      #expect(script.outputText.contains("zenodo"), "presets are completed")
    }
  }

  @Test func compareChecksAndCleansUp() async throws {
    let origin = try FaultyOrigin()
    defer { origin.stop() }
    let scratch = try TemporaryFolder()
    let place = try Workplace(["TMPDIR": scratch.path])
    for index in 0..<20 {
      origin.route("/f\(index)", .file(SplitMix64.bytes(count: 5000, seed: UInt64(index))))
    }
    _ = try place.list((0..<20).map { origin.url("/f\($0)") })
    let run = try await place.dlm("compare", "urls.txt", "--runs", "2")
    #expect(run.status == 0, "\(run.errorText)")
    for mode in ["sequential", "async-let", "parallel"] { #expect(run.outputText.contains(mode)) }
    #expect(run.outputText.contains("byte for byte"), "\(run.outputText)")
    // On a slow machine one that is long unanswered may be asked again (HTTP rule 38).
    let asked = Dictionary(grouping: origin.log, by: \.path).mapValues(\.count)
    #expect(asked.count == 20 && asked.values.allSatisfy { (6...7).contains($0) }, "\(asked)")
    #expect(try place.names() == ["urls.txt"])
    #expect(try scratch.names().isEmpty)
  }

  /// The folder for scratch files cannot be written, and nothing is wanted of it.
  @Test func discardKeepsDisksOutOfIt() async throws {
    let origin = try FaultyOrigin()
    defer { origin.stop() }
    let place = try Workplace(["TMPDIR": "/proc/none"])
    for index in 0..<5 { origin.route("/f\(index)", .file(SplitMix64.bytes(count: 5000, seed: 7))) }
    _ = try place.list((0..<5).map { origin.url("/f\($0)") })
    let run = try await place.dlm(
      "compare", "urls.txt", "--runs", "1", "--discard", "--modes", "parallel", "auto")
    #expect(run.status == 0, "\(run.errorText)")
    #expect(run.outputText.contains("byte for byte, into memory"), "\(run.outputText)")
    #expect(run.outputText.contains("\nauto "), "\(run.outputText)")
    let onDisk = try await place.dlm("compare", "urls.txt", "--runs", "1")
    #expect(onDisk.status == 73, "\(onDisk.errorText)")
    #expect(try place.names() == ["urls.txt"])
  }

  /// A server that takes its time is asked for many at once; one that answers at once, for few of a short list.
  @Test func autoSaysWhatItChose() async throws {
    let origin = try FaultyOrigin()
    defer { origin.stop() }
    let gate = try Gate()
    let slow = FileOptions(ending: .stall(after: 0, until: gate))
    for index in 0..<100 {
      origin.route("/slow\(index)", .file([1, 2, 3], slow))
      origin.route("/f\(index)", .file([4]))
    }
    let place = try Workplace()
    _ = try place.list((0..<100).map { origin.url("/slow\($0)") })
    let run = try place.start(["get", "urls.txt", "--mode", "auto", "-d", "out", "--summary-json", "summary"])
    try await origin.wait(forRequests: 1, path: "/slow63")
    gate.open()
    let result = try await run.waitForExit()
    #expect(result.status == 0, "\(result.errorText)")
    #expect(
      result.errorText.contains(
        "auto used up to 64 at once: answers were slow, so it used the most allowed"
      ),
      "\(result.errorText)")
    let summary = String(decoding: try place.file("summary"), as: UTF8.self)
    #expect(
      summary.contains("\"mode\":\"auto\"") && summary.contains("\"why\":\"slow-answers\""), "\(summary)")
    #expect(summary.contains("\"atOnce\":64"), "\(summary)")

    let one = try await place.dlm("get", origin.url("/f0"), "-m", "auto", "-d", "one", "--no-compare")
    #expect(one.errorText.contains("auto used one at a time: there were no more files"))
    let quiet = try await place.dlm("get", origin.url("/f1"), "-m", "auto", "-d", "one", "-q")
    #expect(quiet.errorText.isEmpty, "\(quiet.errorText)")
    let given = try await place.dlm("get", origin.url("/f2"), "-d", "one")
    #expect(!given.errorText.contains("auto"), "\(given.errorText)")
  }

  @Test("a file that fails is named and left out of all runs; the exit status says that there was one")
  func compareLeavesOutWhatFails() async throws {
    let origin = try FaultyOrigin()
    defer { origin.stop() }
    let place = try Workplace()
    for index in 0..<5 { origin.route("/f\(index)", .file([UInt8(index)])) }
    origin.route("/gone", .status(404))
    _ = try place.list((0..<5).map { origin.url("/f\($0)") } + [origin.url("/gone")])
    let run = try await place.dlm("compare", "urls.txt", "--runs", "2", "--modes", "sequential", "parallel")
    #expect(run.status == 1, "\(run.errorText)")
    #expect(
      run.errorText.contains("1 file failed and is skipped; starting over") && run.errorText.contains("/gone"),
      "\(run.errorText)")
    #expect(run.outputText.contains("the same 5 files"), "\(run.outputText)")
    #expect(run.outputText.contains("1 file failed and was skipped."), "\(run.outputText)")
    // One run with it, and four without.
    #expect(origin.log.count { $0.path == "/gone" } == 1)
    let strict = try await place.dlm("compare", "urls.txt", "--runs", "2", "--strict")
    #expect(strict.status == 1)
    #expect(strict.errorText.contains("The comparison was stopped"), "\(strict.errorText)")
    #expect(strict.outputText.isEmpty)
  }

  @Test("--jobs 1,2 compares widths; a download takes one")
  func compareWidths() async throws {
    let origin = try FaultyOrigin()
    defer { origin.stop() }
    let place = try Workplace()
    for index in 0..<6 { origin.route("/f\(index)", .file([UInt8(index)])) }
    _ = try place.list((0..<6).map { origin.url("/f\($0)") })
    let run = try await place.dlm(
      "compare", "urls.txt", "--runs", "1", "--warmup", "1", "--jobs", "1,2", "--mode", "parallel",
      "sequential")
    #expect(run.status == 0, "\(run.errorText)")
    for name in ["parallel -j 1", "parallel -j 2", "sequential"] {
      #expect(run.outputText.contains(name), "\(run.outputText)")
    }
    #expect(run.errorText.contains("run 6 of 6"), "\(run.errorText)")
    // It said "1 files at a time" of all of them.
    #expect(run.outputText.contains("; 1 run a mode.\n"), "\(run.outputText)")
    #expect(origin.log.count == 36)
    let get = try await place.dlm("get", "urls.txt", "--jobs", "1,2")
    #expect(get.status == 64)
    #expect(get.errorText.contains("compare them with dlm compare"), "\(get.errorText)")
  }

  @Test("Ctrl-C leaves a table of the runs that were done, the report of them, and nothing else")
  func compareIsInterrupted() async throws {
    let origin = try FaultyOrigin()
    defer { origin.stop() }
    let scratch = try TemporaryFolder()
    let place = try Workplace(["TMPDIR": scratch.path])
    // The third run does not come to its end.
    origin.route("/f", script: [.file([1]), .file([1]), .file([1], FileOptions(ending: .stall(after: 0)))])
    let run = try place.start([
      "compare", origin.url("/f"), "--mode", "parallel", "--runs", "5", "--report", "r.json",
    ])
    try await origin.wait(forRequests: 3)
    run.send(SIGINT)
    let ended = try await run.waitForExit()
    #expect(ended.status == 130, "\(ended.errorText)")
    #expect(ended.errorText.contains("Interrupted after 2 of 5 runs"), "\(ended.errorText)")
    #expect(ended.outputText.contains("parallel"), "\(ended.outputText)")
    #expect(try scratch.names().isEmpty)
    let report = String(decoding: try place.file("r.json"), as: UTF8.self)
    #expect(
      report.hasPrefix("{") && report.contains("\"round\":2") && !report.contains("\"round\":3"), "\(report)")
  }

  @Test("--report of a download and of a comparison, each form by its ending")
  func reports() async throws {
    let origin = try FaultyOrigin()
    defer { origin.stop() }
    let place = try Workplace()
    for index in 0..<3 { origin.route("/f\(index)", .file([UInt8(index), 7])) }
    _ = try place.list((0..<3).map { origin.url("/f\($0)") })
    let beginnings = ["html": "<!", "json": "{"]
    for (form, beginning) in beginnings {
      let run = try await place.dlm(
        "compare", "urls.txt", "--runs", "1", "--mode", "parallel", "--report", "c.\(form)")
      #expect(run.status == 0 && run.errorText.contains("Report: c.\(form)"), "\(run.errorText)")
      let text = String(decoding: try place.file("c.\(form)"), as: UTF8.self)
      #expect(text.lowercased().hasPrefix(beginning), "\(text.prefix(80))")
      #expect(text.hasSuffix("\n") && !text.hasSuffix("\n\n"), "\(form)")
    }
    let get = try await place.dlm("get", "urls.txt", "-d", "out", "--report", "g.html")
    #expect(get.status == 0, "\(get.errorText)")
    let page = String(decoding: try place.file("g.html"), as: UTF8.self)
    #expect(page.contains("3 files") && page.contains("<li>f0</li>"), "\(page.count)")
    for name in ["g.pdf", "g.md"] {
      let none = try await place.dlm("get", "urls.txt", "--report", name)
      #expect(none.status == 64 && none.errorText.contains("must end in .html or .json"), "\(none.errorText)")
    }
    let lost = try await place.dlm("get", "urls.txt", "-d", "out", "--report", "no/g.html")
    #expect(
      lost.status == 73 && lost.errorText.contains("choose another place with --report"), "\(lost.errorText)")
  }

  /// A comparison of minutes ended with the words that its report could not be written.
  @Test(arguments: ["compare --runs 1 --report no/c.html", "get --report /sys/g.html"])
  func anUnwritableReportIsToldBeforeTheRun(command: String) async throws {
    let origin = try FaultyOrigin()
    defer { origin.stop() }
    origin.route("/f", .file([7]))
    let place = try Workplace()
    let run = try await place.start(
      command.split(separator: " ").map(String.init) + [origin.url("/f")]
    ).waitForExit()
    #expect(run.status == 73, "\(run.errorText)")
    #expect(run.errorText.contains("choose another place with --report"), "\(run.errorText)")
    #expect(origin.log.isEmpty)
    #expect(try place.names().isEmpty)
  }

  @Test func compareStopsAtAFailure() async throws {
    let origin = try FaultyOrigin()
    defer { origin.stop() }
    let place = try Workplace()
    origin.route("/f", .status(404))
    let run = try await place.dlm("compare", origin.url("/f"))
    #expect(run.status == 1)
    #expect(run.errorText.contains("404"), "\(run.errorText)")
  }

  @Test func compareNoticesOtherBytes() async throws {
    let origin = try FaultyOrigin()
    defer { origin.stop() }
    let place = try Workplace()
    origin.route("/f", .file([1]), .file([2]))
    let run = try await place.dlm("compare", origin.url("/f"))
    #expect(run.status == 1)
    #expect(run.errorText.contains("\(origin.url("/f")) has other bytes"), "\(run.errorText)")
  }

  /// Two addresses of one name get their names in the order of the answers. Runs were once matched by name,
  /// and the server was blamed for bytes that it never changed.
  @Test func compareMatchesByAddress() async throws {
    let origin = try FaultyOrigin()
    defer { origin.stop() }
    let place = try Workplace()
    // In turn the one address is late and the other: every second run gives the name the other way round.
    let late = FileOptions(ending: .trickle(piece: 1, every: .milliseconds(200)))
    origin.route("/a/index", script: [.file([1], late), .file([1]), .file([1], late), .file([1])])
    origin.route("/b/index", script: [.file([2]), .file([2], late), .file([2]), .file([2], late)])
    _ = try place.list([origin.url("/a/index"), origin.url("/b/index"), origin.url("/b/index")])
    let run = try await place.dlm("compare", "urls.txt", "--mode", "parallel", "--runs", "4")
    #expect(run.status == 0, "\(run.errorText)")
    #expect(run.outputText.contains("the same 2 files"), "\(run.outputText)")
    #expect(origin.log.count == 8)
  }

  @Test(arguments: ["", "# nothing yet\n\n"])
  func compareSaysThatAListIsEmpty(list: String) async throws {
    let place = try Workplace()
    _ = try place.folder.write(Array(list.utf8), to: "work/urls.txt")
    let run = try await place.dlm("compare", "urls.txt")
    #expect(run.status == 66)
    #expect(run.errorText.contains("no URLs"), "\(run.errorText)")
    #expect(run.outputText.isEmpty)
  }

  @Test func theCacheCanBeLookedAtAndCleared() async throws {
    let origin = try FaultyOrigin()
    defer { origin.stop() }
    let place = try Workplace()
    origin.route("/a", .file([1, 2, 3]))
    origin.route("/b", .file([4]))
    let empty = try await place.dlm("cache", "status")
    #expect(empty.status == 0, "\(empty.errorText)")
    #expect(try await place.dlm("get", origin.url("/a"), origin.url("/b")).status == 0)
    let status = try await place.dlm("cache", "status")
    #expect(status.outputText.contains("2 files"), "\(status.outputText)")
    let path = try await place.dlm("cache", "path")
    #expect(path.outputText == place.folder.path("home/cache/dlm") + "\n")
    let list = try await place.dlm("cache", "list")
    #expect(list.outputText.contains(origin.url("/a")))
    let cleared = try await place.dlm("clear-cache")
    #expect(cleared.status == 0)
    #expect(cleared.outputText.contains("2 files"), "\(cleared.outputText)")
    #expect(try place.names() == ["a", "b"])
    #expect(try await place.dlm("cache", "status").outputText.contains("0 files"))
  }

  /// A disk that forgets changes no time and no length: only reading finds it. (Whoever writes changes the time
  /// of the last change, which nobody can set; so the row is told that of the file as it is now.)
  @Test func theCacheIsVerified() async throws {
    let origin = try FaultyOrigin()
    defer { origin.stop() }
    let place = try Workplace()
    var sums = ""
    for name in ["good", "rotten", "gone", "plain", "edited"] {
      let body = Array("\(name) as it was\n".utf8)
      origin.route("/\(name)", .file(body))
      if name != "plain", name != "edited" {
        sums += "\(try await ProofTests.sum(body))  \(name)\n"
      }
    }
    _ = try place.folder.write(Array(sums.utf8), to: "work/SUMS")
    _ = try place.list(["good", "rotten", "gone", "plain", "edited"].map { origin.url("/\($0)") })
    #expect(try await place.dlm("get", "urls.txt", "--checksums", "SUMS", "-d", "out").status == 0)
    let fresh = try await place.dlm("cache", "verify")
    #expect(fresh.status == 0, "\(fresh.errorText)")
    #expect(fresh.errorText == "Verified: 5 files, 3 proven, 2 intact\n")

    let rotten = place.folder.path("work/out/rotten")
    var before = stat()
    #expect(stat(rotten, &before) == 0)
    let file = try #require(FileHandle(forUpdatingAtPath: rotten))
    try file.write(contentsOf: Data("ROTTEN".utf8))
    try file.close()
    var times = [before.st_atim, before.st_mtim]
    #expect(utimensat(AT_FDCWD, rotten, &times, 0) == 0)
    #expect(stat(rotten, &before) == 0)
    let changed = Int64(before.st_ctim.tv_sec) * 1_000_000_000 + Int64(before.st_ctim.tv_nsec)
    let script = "import sqlite3, sys\nwith sqlite3.connect(sys.argv[1]) as index: index.execute(sys.argv[2])"
    let told = try await place.start(
      "/usr/bin/python3",
      [
        "-c", script, place.folder.path("home/cache/dlm/index.sqlite"),
        "UPDATE file SET changed = \(changed) WHERE name = 'rotten'",
      ]
    ).waitForExit()
    #expect(told.status == 0, "\(told.errorText)")
    try FileManager.default.removeItem(atPath: place.folder.path("work/out/gone"))
    _ = try place.folder.write(Array("mine now".utf8), to: "work/out/edited")
    let run = try await place.dlm("cache", "verify")
    #expect(run.status == 1)
    let found = run.outputText.split(separator: "\n").map { line in
      let fields = line.split(separator: "\t")
      return "\(fields[0]) \(fields[2].split(separator: "/").last ?? "")"
    }
    #expect(
      found.sorted() == ["corrupt rotten", "intact plain", "missing gone", "proven good", "touched edited"])
    #expect(
      run.errorText.contains("Verified: 5 files, 1 proven, 1 intact, 1 touched, 1 missing, 1 corrupt\n"))
    #expect(run.errorText.contains("remove these files and get them again"), "\(run.errorText)")
  }

  @Test func aDryRunTouchesNothing() async throws {
    let place = try Workplace()
    let run = try await place.dlm("get", "--dry-run", "--offline", "http://example.org/a%20b.txt", "-d", "out")
    #expect(run.status == 0)
    #expect(run.outputText == "http://example.org/a%20b.txt\tout/a b.txt\t-\tfetch\n")
    #expect(try place.names().isEmpty)
  }

  /// Standard output is JSON and nothing else; the summary is its last line, also when the run is
  /// interrupted.
  @Test(arguments: [false, true])
  func progressAsJSON(isInterrupted: Bool) async throws {
    let origin = try FaultyOrigin()
    defer { origin.stop() }
    origin.route("/a", .file([1, 2, 3]))
    origin.route(
      "/slow", .file([1, 2, 3], isInterrupted ? FileOptions(ending: .stall(after: 1)) : FileOptions()))
    let place = try Workplace()
    let run = try place.start(["get", "--progress", "json", origin.url("/a"), origin.url("/slow")])
    if isInterrupted {
      try await origin.wait(path: "/slow", bodyBytesSent: 1)
      try await run.wait(forOutput: "\"type\":\"done\"")
      run.send(SIGINT)
    }
    let result = try await run.waitForExit()
    #expect(result.status == (isInterrupted ? 130 : 0), "\(result.errorText)")
    let lines = try result.outputText.split(separator: "\n").map {
      try #require(try JSONSerialization.jsonObject(with: Data($0.utf8)) as? [String: Any])
    }
    #expect(lines.last?["type"] as? String == "summary")
    #expect(lines.last?["done"] as? Int == (isInterrupted ? 1 : 2))
    #expect(lines.contains { $0["type"] as? String == "done" && $0["proof"] as? String == "length" })
    #expect((lines.first?["t"] as? String)?.hasSuffix("Z") == true)
  }

  /// What a command finds wrong is said of that command, without how dlm as a whole is used.
  @Test func mistakesOfACommandAreItsOwn() async throws {
    let place = try Workplace()
    let get = try await place.dlm("get", "--offline", "--refresh", "http://h/x")
    #expect(get.status == 64 && get.errorText.contains("See dlm get --help"), "\(get.errorText)")
    #expect(!get.errorText.contains("<subcommand>"), "\(get.errorText)")
    let compare = try await place.dlm("compare", "--jobs", "2")
    #expect(
      compare.status == 64 && compare.errorText.contains("See dlm compare --help"), "\(compare.errorText)")
    let typing = try await place.dlm("gte", "http://h/x")
    #expect(typing.status == 64 && typing.errorText.contains("\"dlm get\"?"), "\(typing.errorText)")
    #expect(typing.errorText.contains("See dlm --help") && !typing.errorText.contains("Usage:"))
  }

  /// Full RELRO: every symbol is bound at the start, and the table of them is read-only from then on.
  @Test func theTableOfSymbolsIsReadOnly() async throws {
    let binary = try DLMExecutable.path()
    let dynamic = try await CommandRun.result(of: "readelf", ["-dW", binary]).outputText
    #expect(dynamic.contains("BIND_NOW") || dynamic.contains("Flags: NOW"), "\(dynamic)")
    #expect(try await CommandRun.result(of: "readelf", ["-lW", binary]).outputText.contains("GNU_RELRO"))
  }

  /// `-j4 -s8 -dDIR -oNAME -mMODE`, and `-H` both ways.
  @Test func joinedValues() async throws {
    let origin = try FaultyOrigin()
    defer { origin.stop() }
    origin.route("/f", .file([1]))
    let place = try Workplace()
    let run = try await place.dlm(
      "get", "-j4", "-s2", "-dout", "-oname", "-masync-let", "-HX-One: 1", "-vH", "X-Two: 2",
      origin.url("/f"))
    #expect(run.status == 0, "\(run.errorText)")
    #expect(try place.file("out/name") == [1])
    #expect(run.errorText.contains("async-let"), "\(run.errorText)")
    #expect(origin.log.first?.headers["x-one"] == "1" && origin.log.first?.headers["x-two"] == "2")
  }
}
