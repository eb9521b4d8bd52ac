import DownloadModel
import Foundation
import Glibc
import TestSupport
import Testing

@testable import dlm

@Suite("Cookies go back to their origin, within the run or from a jar (RFC 6265, HTTP rule 41)", .serialized)
struct CookieTests {
  /// `/page` sets a cookie and leads to `/file`, which is only there for who has it.
  private func origin(_ attributes: String = "", file: FileOptions = FileOptions()) throws -> FaultyOrigin {
    let origin = try FaultyOrigin()
    origin.route(
      "/page",
      .status(302, headers: ["Set-Cookie: session=CANARY1; Path=/\(attributes)", "Location: /file"]))
    origin.route(
      "/file",
      .either(
        { $1["cookie"]?.contains("session=CANARY1") == true }, .file([1, 2, 3], file), else: .status(403)))
    return origin
  }

  private static func attributes(_ path: String) throws -> (mode: Int, lines: [String]) {
    let mode = try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int
    let text = try String(contentsOfFile: path, encoding: .utf8)
    return (mode ?? 0, text.split(separator: "\n").map(String.init))
  }

  /// U+2028 and its like once ended a line of a jar, and of a file with header lines.
  @Test(arguments: ["\u{2028}", "\u{2029}", "\u{85}", "\u{B}", "\u{C}"])
  func whatEndsALine(text: String) throws {
    let line = "h\tFALSE\t/\tFALSE\t0\tname\ta\(text)b"
    #expect(CookieLines.cookies(in: "# x\r\n\(line)\r\n\(line)\n\n") == [line, line])
    #expect(OptionTable.lines(of: "A: 1\(text)2\r\nB: 3\n") == ["A: 1\(text)2", "B: 3"])
  }

  @Test(arguments: DownloadMode.allCases)
  func aPageThatSetsOneAndLeadsToTheFile(mode: DownloadMode) async throws {
    let origin = try origin()
    defer { origin.stop() }
    let place = try Workplace()
    _ = try place.list((0..<20).map { origin.url("/page?\($0)") })
    let run = try await place.dlm("get", "urls.txt", "-d", "out", "-m", mode.rawValue)
    #expect(run.status == 0, "\(run.errorText)")
    #expect(try place.names(in: "out").count == 20)
    // Forgotten: the next run meets the page without one.
    let before = origin.log.count
    let again = try await place.dlm("get", "urls.txt", "-d", "out", "-m", "sequential")
    #expect(again.status == 0, "\(again.errorText)")
    #expect(origin.log[before].headers["cookie"] == nil)
  }

  /// One for all loops: what the first file's page sets is there for the last.
  @Test func forLaterFiles() async throws {
    let origin = try origin()
    defer { origin.stop() }
    let place = try Workplace()
    _ = try place.list([origin.url("/page")] + (0..<5).map { origin.url("/file?\($0)") })
    let run = try await place.dlm("get", "urls.txt", "-d", "out", "-m", "sequential")
    #expect(run.status == 0, "\(run.errorText)")
  }

  /// Cookies know no ports (RFC 6265 §8.5), but hosts; and a line of the user's and a server's are one.
  @Test func whereTheyGo() async throws {
    let origin = try origin()
    let other = try FaultyOrigin()
    defer {
      origin.stop()
      other.stop()
    }
    other.route("/g", .file([4]))
    let place = try Workplace()
    _ = try place.list([
      origin.url("/page"), other.url("/g?port"),
      other.url("/g?host").replacing("127.0.0.1", with: "localhost"),
    ])
    let run = try await place.dlm("get", "urls.txt", "-d", "out", "-m", "sequential", "-H", "Cookie: own=1")
    #expect(run.status == 0, "\(run.errorText)")
    #expect(other.log.map { $0.headers["cookie"] } == ["session=CANARY1; own=1", "own=1"])
    #expect(origin.log.map { $0.headers["cookie"] } == ["own=1", "session=CANARY1; own=1"])
    #expect(!run.errorText.contains("CANARY"))
  }

  @Test func aJarAcrossTwoRuns() async throws {
    let origin = try origin("; Max-Age=1000")
    defer { origin.stop() }
    let place = try Workplace()
    let first = try await place.dlm("get", origin.url("/page"), "--cookie-jar", "jar", "-v", "-d", "a")
    #expect(first.status == 0, "\(first.errorText)")
    let jar = try Self.attributes("\(place.work)/jar")
    #expect(jar.mode == 0o600)
    #expect(jar.lines.first == "# Netscape HTTP Cookie File")
    #expect(jar.lines.count { $0.hasSuffix("session\tCANARY1") } == 1)
    let second = try await place.dlm("get", origin.url("/file"), "--cookie-jar", "jar", "-d", "b")
    #expect(second.status == 0, "\(second.errorText)")
    #expect(!(first.errorText + second.errorText).contains("CANARY"))
    // curl reads what dlm wrote.
    let curl = try await CommandRun.result(
      of: "curl", ["-sf", "-b", "\(place.work)/jar", origin.url("/file")])
    #expect(curl.output == [1, 2, 3])
  }

  /// Two runs on one jar: each keeps what the other wrote meanwhile.
  @Test func twoRunsAtOnce() async throws {
    let place = try Workplace()
    let origin = try FaultyOrigin()
    defer { origin.stop() }
    let gate = try Gate()
    origin.route(
      "/slow", .file([1], FileOptions(ending: .stall(after: 0, until: gate), headers: ["Set-Cookie: one=1"])))
    origin.route("/quick", .file([2], FileOptions(headers: ["Set-Cookie: two=2"])))
    let slow = try place.start(["get", origin.url("/slow"), "--cookie-jar", "jar"])
    try await origin.wait(forRequests: 1)
    #expect(try await place.dlm("get", origin.url("/quick"), "--cookie-jar", "jar").status == 0)
    gate.open()
    #expect(try await slow.waitForExit().status == 0)
    let lines = try Self.attributes("\(place.work)/jar").lines
    #expect(
      lines.contains { $0.hasSuffix("one\t1") } && lines.contains { $0.hasSuffix("two\t2") }, "\(lines)")
  }

  @Test(arguments: [
    ("ln -s target jar", "link"), ("echo text of mine > jar", "not a file of cookies"), ("mkdir jar", "regular"),
    ("touch jar; chmod 666 jar", "chmod go-w"), ("mkfifo jar", "regular"),
  ])
  func whatIsNoJar(command: String, word: String) async throws {
    let origin = try origin()
    defer { origin.stop() }
    let place = try Workplace()
    _ = try await CommandRun.result(of: "sh", ["-c", command], folder: place.work)
    let run = try await place.dlm("get", origin.url("/page"), "--cookie-jar", "jar")
    #expect(run.status == 64)
    #expect(run.errorText.contains("--cookie-jar jar") && run.errorText.contains(word), "\(run.errorText)")
    #expect(origin.log.isEmpty)
  }

  @Test func aJarThatCannotBeWritten() async throws {
    let place = try Workplace()
    let origin = try FaultyOrigin()
    defer { origin.stop() }
    let gate = try Gate()
    origin.route(
      "/f",
      .file([1], FileOptions(ending: .stall(after: 0, until: gate), headers: ["Set-Cookie: one=CANARY"])))
    mkdir("\(place.work)/folder", 0o755)
    let run = try place.start(["get", origin.url("/f"), "--cookie-jar", "folder/jar"])
    try await origin.wait(forRequests: 1)
    rmdir("\(place.work)/folder")
    gate.open()
    let result = try await run.waitForExit()
    #expect(result.status == 74)
    #expect(
      result.errorText.contains("folder/jar") && !result.errorText.contains("CANARY"), "\(result.errorText)")
    #expect(try place.file("f") == [1])
  }

  /// A stored answer that varies by cookies is nobody's in another run (RFC 9111 §4.1): with only a date it
  /// would be taken for confirmed, whoever asks.
  @Test func whatVariesByThemIsNotConfirmedByADate() async throws {
    let place = try Workplace()
    let date = FileOptions(etag: nil, headers: ["Vary: Cookie"])
    let origin = try origin(file: date)
    defer { origin.stop() }
    for _ in 0..<2 {
      #expect(try await place.dlm("get", origin.url("/page"), "-o", "f").status == 0)
    }
    #expect(origin.log.filter { $0.path == "/file" }.allSatisfy { $0.headers["if-modified-since"] == nil })
    #expect(try await place.dlm("get", origin.url("/page"), "-o", "f", "--offline").status == 1)
    // Without cookies all is as it was.
    origin.route("/plain", .file([5], date))
    for _ in 0..<2 { #expect(try await place.dlm("get", origin.url("/plain")).status == 0) }
    #expect(origin.log.last?.headers["if-modified-since"] != nil)
  }

  /// Whose cookies they are says whose answer it is: those that stand in the jar for its host.
  @Test func anAnswerToAJarIsOnlyIts() async throws {
    let place = try Workplace()
    let origin = try FaultyOrigin()
    defer { origin.stop() }
    origin.route("/f", .file([1]))
    func get(_ more: String...) async throws -> Int32? {
      try await place.start(["get", origin.url("/f")] + more, input: .bytes([])).waitForExit().status
    }
    func keep(_ cookies: String...) throws {
      let text = ["# Netscape HTTP Cookie File"] + cookies.map { $0 + "\tFALSE\t/\tFALSE\t0\twho\tme" }
      try place.folder.write(Array((text.joined(separator: "\n") + "\n").utf8), to: "work/jar")
    }
    try keep("127.0.0.1")
    #expect(try await get("--cookie-jar", "jar") == 0)
    #expect(try await get("--cookie-jar", "jar", "--offline") == 0)
    try keep("elsewhere", "127.0.0.1")
    #expect(try await get("--cookie-jar", "jar", "--offline") == 0)
    try keep("elsewhere")
    #expect(try await get("--cookie-jar", "jar", "--offline") == 1)
    #expect(try await get("--offline") == 1)
  }
}

@Suite("A cookie jar that several runs write")
struct CookieLinesTests {
  private func line(_ name: String, _ value: String, end: Int = 0, host: String = "h") -> String {
    "\(host)\tFALSE\t/\tFALSE\t\(end)\t\(name)\t\(value)"
  }

  @Test func changesAreDoneToWhatStandsThere() {
    let before = [line("stays", "1"), line("goes", "1"), line("changes", "1")]
    let after = [line("stays", "1"), line("changes", "2"), line("comes", "1")]
    let there = [line("stays", "9"), line("goes", "1"), line("changes", "1"), line("others", "1")]
    #expect(
      CookieLines.merged(before: before, after: after, there: there, now: 100)
        == [line("changes", "2"), line("comes", "1"), line("others", "1"), line("stays", "9")])
  }

  @Test func whatHasEndedIsLeftOut() {
    let lines = [line("a", "1", end: 99), line("b", "1", end: 101), line("c", "1")]
    let left = CookieLines.merged(before: [], after: [], there: lines, now: 100)
    #expect(Set(left) == [lines[1], lines[2]])
  }

  /// A server that sets more and more cookies made a jar that the next run refused.
  @Test func aJarIsBounded() {
    let mine = (0..<10).map { line("n\($0)", "v", host: "mine.example") }
    let long = String(repeating: "x", count: 4000)
    let evil = (0..<10_000).map { line("n\($0)", long, end: $0 + 1000, host: "evil\($0 % 5000).example") }
    let kept = CookieLines.merged(before: mine, after: mine + evil, there: mine, now: 100)
    #expect(kept.joined(separator: "\n").utf8.count < CookieJarFile.largest)
    #expect(Set(kept).isSuperset(of: mine) && kept.count > 3000)
    let flood = (0..<5000).map { line("n\($0)", long, end: $0 + 1000, host: "evil.example") }
    let left = CookieLines.merged(before: mine, after: mine + flood, there: mine, now: 100)
    #expect(Set(left) == Set(mine + flood.suffix(150)))
  }

  @Test func oneCookieHasOneLine() {
    let after = ["#HttpOnly_.H\tTRUE\t/\tTRUE\t0\tn\t2"]
    #expect(
      CookieLines.merged(before: [], after: after, there: ["h\ttrue\t/\tFALSE\t0\tn\t1"], now: 0) == after)
  }

  @Test func whatIsNone() {
    let text =
      "# Netscape HTTP Cookie File\n\n#h\tFALSE\t/\tFALSE\t0\tn\tv\nSet-Cookie: a=b\n" + line("n", "v")
    #expect(CookieLines.cookies(in: text) == [line("n", "v")])
  }
}
