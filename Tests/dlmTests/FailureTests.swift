import Foundation
import TestSupport
import Testing

@Suite("What goes wrong is said with its place, its cause and a remedy; the other files arrive", .serialized)
struct FailureTests {
  /// The issue's list in one run: a bad line 7, a 404, a refused connection, and good files around them.
  @Test func theOthersArrive() async throws {
    let origin = try FaultyOrigin()
    defer { origin.stop() }
    let refused = try RefusedPort()
    let place = try Workplace()
    var lines = (0..<10).map { origin.url("/f\($0)") }
    for index in 0..<10 { origin.route("/f\(index)", .file([UInt8(index)])) }
    origin.route("/f2", .status(404, body: Array("gone".utf8)))
    lines[4] = refused.url("/x")
    lines[6] = "htp:/nowhere"
    _ = try place.list(lines)
    let run = try await place.dlm("get", "urls.txt", "-d", "out", "--retries", "0")
    #expect(run.status == 1)
    #expect(try place.names(in: "out") == ["f0", "f1", "f3", "f5", "f7", "f8", "f9"])
    let text = run.errorText
    #expect(text.contains("urls.txt:7"), "\(text)")
    #expect(text.contains("htp:/nowhere"), "\(text)")
    #expect(text.contains("404 Not Found"), "\(text)")
    #expect(text.contains(origin.url("/f2")), "\(text)")
    #expect(text.contains(refused.url("/x")), "\(text)")
    #expect(text.contains("dlm get urls.txt"), "\(text)")
  }

  @Test func passingFailuresOnly() async throws {
    let refused = try RefusedPort()
    let place = try Workplace()
    let run = try await place.dlm("get", "--retries", "0", refused.url("/x"))
    #expect(run.status == 75)
    #expect(run.errorText.contains("cannot connect"), "\(run.errorText)")
    #expect(try place.names().isEmpty)
  }

  @Test func anUnreadableList() async throws {
    let origin = try FaultyOrigin()
    defer { origin.stop() }
    origin.route("/a", .file([1]))
    let place = try Workplace()
    let run = try await place.dlm("get", "missing.txt", origin.url("/a"))
    #expect(run.status == 66)
    #expect(run.errorText.contains("missing.txt"), "\(run.errorText)")
    #expect(run.errorText.contains("No such file"), "\(run.errorText)")
    #expect(try place.names() == ["a"])
  }

  @Test func aFolderThatCannotBeMade() async throws {
    let place = try Workplace()
    _ = try place.folder.write([1], to: "work/file")
    let run = try await place.dlm("get", "-d", "file/below", "http://127.0.0.1:9/x")
    #expect(run.status == 73)
    #expect(run.errorText.contains("file/below"), "\(run.errorText)")
    #expect(run.errorText.contains("--directory"), "\(run.errorText)")
  }

  @Test(arguments: [
    (["get", "-m", "fast", "http://a/"], "use sequential, async-let, parallel, auto"),
    (["get", "--jobs", "0", "http://a/"], "--jobs"),
    (["get", "-o", "x", "http://a/", "http://b/"], "--output"),
    (["get", "--offline", "--no-cache", "http://a/"], "--offline"),
    (["get", "--header", "no colon", "http://a/"], "--header"),
    (["fetch"], "fetch"),
  ])
  func usage(_ arguments: [String], _ words: String) async throws {
    let place = try Workplace()
    let run = try await place.start(arguments).waitForExit()
    #expect(run.status == 64)
    #expect(run.errorText.contains(words), "\(run.errorText)")
  }

  @Test func aTransientFailureIsTriedAgain() async throws {
    let origin = try FaultyOrigin()
    defer { origin.stop() }
    let body = SplitMix64.bytes(count: 100_000, seed: 1)
    origin.route(
      "/f", .status(503), .file(body, FileOptions(ending: .reset(after: 30_000))),
      .file(body, FileOptions(ending: .close(after: 30_000))), .file(body))
    let place = try Workplace()
    let run = try await place.dlm("get", origin.url("/f"))
    #expect(run.status == 0, "\(run.errorText)")
    #expect(try place.file("f") == body)
    #expect(try place.names() == ["f"])
    #expect(!run.errorText.contains("resumed"), "all of it came in this run: \(run.errorText)")
  }

  @Test func credentialsAreNeverShown() async throws {
    let origin = try FaultyOrigin()
    defer { origin.stop() }
    origin.route("/f", .behindBasic(.status(404)))
    let place = try Workplace()
    let address = origin.url("/f").replacing("http://", with: "http://me:hunter2@")
    let run = try await place.dlm("get", "--verbose", address)
    #expect(run.status == 1)
    #expect(origin.log.last?.headers["authorization"] != nil)
    #expect(!run.errorText.contains("hunter2"), "\(run.errorText)")
    let bad = try await place.dlm("get", "-", input: Array("htp://me:hunter2@host/x\n".utf8))
    #expect(!bad.errorText.contains("hunter2"), "\(bad.errorText)")
    let kept = try await CommandRun.result(of: "grep", ["-r", "hunter2", place.folder.path])
    #expect(kept.status == 1, "found in \(kept.outputText)")
  }

  @Test func controlCharactersOfServersStayOut() async throws {
    let origin = try FaultyOrigin()
    defer { origin.stop() }
    origin.route(
      "/f",
      .file([1], FileOptions(headers: ["Content-Disposition: attachment; filename=\"a\u{1B}[31mb.txt\""])))
    let place = try Workplace()
    let run = try await place.dlm("get", origin.url("/f"))
    #expect(run.status == 0)
    #expect(!run.errors.contains(0x1B))
    #expect(try place.names().allSatisfy { !$0.utf8.contains(0x1B) })
  }

  /// A server may send less of a range than was asked for: what it owes is asked for again, and is no
  /// failure. That the end of such a part is the end of the file must be said by somebody (HTTP rules 3 and
  /// 4).
  @Test(arguments: ["\(600_000)", "*"])
  func cappedRanges(completeLength: String) async throws {
    let origin = try FaultyOrigin()
    defer { origin.stop() }
    let body = SplitMix64.bytes(count: 600_000, seed: 2)
    let capped = FileOptions(ranges: .capped(at: 65_536, completeLength: completeLength))
    var first = FileOptions(framing: .chunked(size: 5000), ending: .close(after: 200_000))
    first.ranges = capped.ranges
    origin.route("/f", .file(body, first), .file(body, capped))
    let place = try Workplace()
    let run = try await place.dlm("get", origin.url("/f"), "--retries", "1", "--require-proof", "length")
    #expect(run.status == 0, "\(run.errorText)")
    #expect(try place.file("f") == body)
  }

  /// "Retry-After: 999999999" is a mistake, and an hour the user's to decide on.
  @Test func aPauseThatNobodyWaitsFor() async throws {
    let origin = try FaultyOrigin()
    defer { origin.stop() }
    origin.route("/f", .status(503, headers: ["Retry-After: 7200"]))
    let place = try Workplace()
    let run = try await place.dlm("get", origin.url("/f"))
    #expect(run.status == 75)
    #expect(run.errorText.contains("wait 2 h"), "\(run.errorText)")
    #expect(origin.log.count == 1)
  }

  @Test(arguments: [
    (["get", "-o", "", "http://127.0.0.1:9/x"], 64, "--output"),
    (["get", "--cacert", "missing.pem", "https://127.0.0.1:9/x"], 64, "missing.pem"),
    (["get", "www.example.org"], 66, "https://www.example.org"),
    (["get", "--offline", "http://127.0.0.1:9/x"], 1, "without --offline"),
  ])
  func slips(_ arguments: [String], _ status: Int32, _ words: String) async throws {
    let place = try Workplace()
    let run = try await place.start(arguments).waitForExit()
    #expect(run.status == status, "\(run.errorText)")
    #expect(run.errorText.contains(words), "\(run.errorText)")
  }

  @Test func settingsFilesWithSlips() async throws {
    let origin = try FaultyOrigin()
    defer { origin.stop() }
    origin.route("/a", .file([1]))
    let place = try Workplace()
    _ = try place.folder.write(Array("# nothing\n\n".utf8), to: "work/.dlm.conf")
    #expect(try await place.dlm("get", origin.url("/a")).status == 0)
    _ = try place.folder.write(Array("jbos = 3\nmode = sequential\n".utf8), to: "work/.dlm.conf")
    let run = try await place.dlm("get", "--verbose", origin.url("/a"))
    #expect(run.status == 0)
    #expect(run.errorText.contains("jbos is not a setting"), "\(run.errorText)")
    #expect(run.errorText.contains("sequential"), "\(run.errorText)")
    _ = try place.folder.write(Array("mode = parallel\njobs 3\n".utf8), to: "work/.dlm.conf")
    let broken = try await place.dlm("get", origin.url("/a"))
    #expect(broken.status == 64)
    #expect(broken.errorText.contains(".dlm.conf:2: this is not a setting"), "\(broken.errorText)")
  }

  /// A service or a container may run without HOME: nothing is written into the root folder.
  @Test func withoutAHome() async throws {
    let place = try Workplace()
    let run = try await place.start(
      "env",
      [
        "-u", "HOME", "-u", "XDG_CACHE_HOME", "-u", "XDG_STATE_HOME", try DLMExecutable.path(), "cache",
        "path",
      ]
    ).waitForExit()
    #expect(run.status == 0)
    #expect(!run.outputText.hasPrefix("/.cache"), "\(run.outputText)")
  }

  /// A thousand files, ten of them missing: once those exist, only the ten are downloaded.
  @Test func tenOfAThousand() async throws {
    let server = try await NginxServer()
    defer { server.stop() }
    let missing = Set(stride(from: 50, to: 1000, by: 100))
    for index in 0..<1000 where !missing.contains(index) {
      try server.write(SplitMix64.bytes(count: 500 + index, seed: UInt64(index)), to: "f\(index)")
    }
    let place = try Workplace()
    _ = try place.list((0..<1000).map { server.url("/f\($0)") })
    let first = try await place.dlm("get", "urls.txt", "-d", "out", "--failed", "again.txt")
    #expect(first.status == 1)
    #expect(first.errorText.contains("10 files: 404"), "\(first.errorText.suffix(2000))")
    for index in missing {
      try server.write(SplitMix64.bytes(count: 500 + index, seed: UInt64(index)), to: "f\(index)")
    }
    _ = try await server.accessLog(atLeast: 1000)
    try server.clearLog()
    let second = try await place.dlm("get", "urls.txt", "-d", "out")
    #expect(second.status == 0, "\(second.errorText.suffix(2000))")
    let log = try await server.accessLog(atLeast: 1000)
    #expect(log.count { $0.status == 304 } == 990 && log.count { $0.status == 200 } == 10)
    #expect(
      log.filter { $0.status == 200 }.reduce(0) { $0 + $1.bodyBytes } == missing.reduce(0) { $0 + 500 + $1 })
    // The list of what failed would have done as well.
    let list = String(decoding: try place.file("again.txt"), as: UTF8.self).split(separator: "\n")
    #expect(list.count { !$0.hasPrefix("#") } == 10)
    for index in 0..<1000 {
      #expect(try place.file("out/f\(index)") == SplitMix64.bytes(count: 500 + index, seed: UInt64(index)))
    }
  }

  /// A script finds there what failed, and the list brings it into the same folder.
  @Test func whatFailedIsInTheSummaryAndInTheList() async throws {
    let origin = try FaultyOrigin()
    defer { origin.stop() }
    origin.route("/a", .file([1]))
    origin.route("/b", .status(404))
    let place = try Workplace()
    _ = try place.list([origin.url("/a"), origin.url("/b") + "\tdir=in"])
    let run = try await place.dlm(
      "get", "urls.txt", "-d", "out", "--failed", "again.txt", "--summary-json", "summary")
    #expect(run.status == 1)
    #expect(run.errorText.hasSuffix("To try these again:\n    dlm get again.txt --summary-json summary\n"))
    #expect(run.errorText.ranges(of: origin.url("/b")).count == 1, "it is said once: \(run.errorText)")
    let list = String(decoding: try place.file("again.txt"), as: UTF8.self)
    #expect(list.hasSuffix("\(origin.url("/b"))\tdirectory=out\tdir=in\n"), "\(list)")
    let data = Data(try place.file("summary"))
    let summary = try #require(try JSONSerialization.jsonObject(with: data) as? [String: Any])
    let failure = try #require((summary["failures"] as? [[String: Any]])?.first)
    #expect(failure["url"] as? String == origin.url("/b") && failure["code"] as? String == "status")
    #expect(failure["status"] as? Int == 404 && failure["temporary"] as? Bool == false)
    #expect(summary["failed_list"] as? String == "again.txt")
    origin.route("/b", .file([2]))
    #expect(try await place.dlm("get", "again.txt").status == 0)
    #expect(try place.file("out/in/b") == [2])
    // With the folder given again it went to out/out/in.
    #expect(try await place.dlm("get", "again.txt", "-d", "out").status == 0)
    #expect(try await place.dlm("get", "again.txt", "-d", "other").status == 0)
    #expect(try place.file("other/in/b") == [2])
    #expect(try place.names(in: "out") == ["a", "in"])
  }

  /// It was dropped without a word, and the percent fell.
  @Test(arguments: [
    ("\"2\"", "has changed on the server: starting over", "because=other-version"),
    ("\"1\"", "cannot be resumed: starting over", "because=not-continued"),
  ])
  func aPartThatIsDroppedIsSaid(tag: String, words: String, reason: String) async throws {
    let origin = try FaultyOrigin()
    defer { origin.stop() }
    let body = SplitMix64.bytes(count: 1_000_000, seed: 4)
    origin.route("/big.iso", .file(body, FileOptions(etag: "\"1\"", ending: .close(after: 400_000))))
    let place = try Workplace()
    #expect(try await place.dlm("get", "--retries", "0", origin.url("/big.iso")).status == 75)
    origin.route("/big.iso", .file(body.reversed(), FileOptions(etag: tag, ranges: .ignored)))
    let run = try await place.dlm("get", "-v", origin.url("/big.iso"))
    #expect(run.status == 0, "\(run.errorText)")
    #expect(run.errorText.contains("/big.iso: \(words)"), "\(run.errorText)")
    #expect(run.errorText.contains(reason), "\(run.errorText)")
    #expect(try place.file("big.iso") == body.reversed())
  }

  @Test func aDeadProxyOfTheEnvironmentAndAMissingJarAreNamed() async throws {
    let refused = try RefusedPort()
    let place = try Workplace(["http_proxy": refused.url("")])
    let run = try await place.dlm("get", "--retries", "0", "--cookie-jar", "typo.txt", "http://host.example/x")
    #expect(
      run.errorText.contains("; http_proxy in the environment names it (--proxy '' uses none)"), "\(run.errorText)")
    #expect(run.errorText.contains("--cookie-jar typo.txt does not exist"), "\(run.errorText)")
  }
}
