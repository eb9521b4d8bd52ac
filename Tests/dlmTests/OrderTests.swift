import DownloadModel
import Foundation
import TestSupport
import Testing

@Suite("Which files go first, and a run in the background", .serialized)
struct OrderTests {
  private static func serve(_ origin: FaultyOrigin, _ paths: [String], sizes: [Int] = []) {
    for (index, path) in paths.enumerated() {
      let size = index < sizes.count ? sizes[index] : 10
      origin.route(path, .file(SplitMix64.bytes(count: size, seed: UInt64(index))))
    }
  }

  private static func lines(_ origin: FaultyOrigin, _ paths: [String]) -> [String] {
    paths.map { path in
      let parts = path.split(separator: "\t", maxSplits: 1)
      return origin.url(String(parts[0])) + (parts.count > 1 ? "\t\(parts[1])" : "")
    }
  }

  @Test(arguments: DownloadMode.allCases) func inEachMode(_ mode: DownloadMode) async throws {
    let origin = try FaultyOrigin()
    defer { origin.stop() }
    let place = try Workplace()
    let paths = ["/a.txt", "/b.pdf", "/docs/c.txt", "/d.pdf", "/e.txt"]
    Self.serve(origin, paths, sizes: [50, 10, 40, 30, 20])
    let mode = ["-m", mode.rawValue]
    func asked(_ list: [String], _ options: String...) async throws -> [String] {
      _ = try place.list(Self.lines(origin, list))
      let before = origin.log.count
      let run = try await place.start(
        ["get", "urls.txt", "-j", "1", "--progress", "none", "--refresh"] + mode + options
      ).waitForExit()
      #expect(run.status == 0, "\(run.errorText)")
      return origin.log.dropFirst(before).map(\.path)
    }
    #expect(
      try await asked(paths, "--first", "*.pdf", "--first", "docs/*")
        == ["/b.pdf", "/docs/c.txt", "/d.pdf", "/a.txt", "/e.txt"])
    // By now the index knows how long they are.
    #expect(
      try await asked(paths, "--order", "small") == ["/b.pdf", "/e.txt", "/d.pdf", "/docs/c.txt", "/a.txt"])
    #expect(
      try await asked(paths, "--order", "large", "--first", "e.*")
        == ["/e.txt", "/a.txt", "/docs/c.txt", "/d.pdf", "/b.pdf"])
    // What a line says goes before what is remembered, and before the patterns.
    #expect(
      try await asked(
        ["/a.txt", "/b.pdf\tfirst=no\tsize=1K", "/d.pdf", "/e.txt\tfirst=yes"], "--order", "small", "--first",
        "*.pdf") == ["/e.txt", "/d.pdf", "/a.txt", "/b.pdf"])
    #expect(try await asked(["/a.txt", "/b.pdf", "/e.txt\tfirst=yes"]) == ["/e.txt", "/a.txt", "/b.pdf"])
    #expect(try await asked(paths, "--order", "random").sorted() == paths.sorted())
  }

  /// Names are given where the list is read, so they do not depend on what ran first.
  @Test(
    arguments: [
      [], ["--order", "random"], ["--order", "large"], ["--first", "2/*"],
      ["--first", "2/*", "-m", "sequential"],
    ])
  func namesAreThoseOfTheList(options: [String]) async throws {
    let origin = try FaultyOrigin()
    defer { origin.stop() }
    let place = try Workplace()
    let paths = (0..<4).map { "/\($0)/README" }
    Self.serve(origin, paths, sizes: [10, 20, 30, 40])
    _ = try place.list(Self.lines(origin, paths.enumerated().map { "\($1)\tsize=\($0 + 1)K" } + [paths[0]]))
    let run = try await place.start(["get", "urls.txt", "-d", "out", "-j", "1"] + options).waitForExit()
    #expect(run.status == 0, "\(run.errorText)")
    #expect(try place.names(in: "out").sorted() == ["README", "README.1", "README.2", "README.3"])
    for (index, name) in ["README", "README.1", "README.2", "README.3"].enumerated() {
      #expect(try place.file("out/\(name)").count == (index + 1) * 10, "\(name)")
    }
  }

  /// A list from a pipe is kept with what its lines say.
  @Test func aListThatIsTakenAgainKeepsItsOptions() async throws {
    let origin = try FaultyOrigin()
    defer { origin.stop() }
    Self.serve(origin, ["/a", "/b"])
    let place = try Workplace()
    let list = Self.lines(origin, ["/a", "/b\tfirst=yes"]).joined(separator: "\n")
    let first = try await place.dlm("get", "-", "-j", "1", input: Array(list.utf8))
    #expect(first.status == 0, "\(first.errorText)")
    let second = try await place.dlm("get", "--refresh")
    #expect(second.status == 0, "\(second.errorText)")
    #expect(origin.log.map(\.path) == ["/b", "/a", "/b", "/a"])
  }

  @Test func aBadOptionNamesItsLine() async throws {
    let origin = try FaultyOrigin()
    defer { origin.stop() }
    Self.serve(origin, ["/a"])
    let place = try Workplace()
    _ = try place.list([origin.url("/a"), origin.url("/b") + "\tfrist=yes"])
    let run = try await place.dlm("get", "urls.txt")
    #expect(run.status == 1 && run.errorText.contains("urls.txt:2: \"frist=yes\""), "\(run.errorText)")
    #expect(origin.log.map(\.path) == ["/a"])
  }

  /// The only lane is busy when an urgent file is read from the pipe behind others: it takes the next place.
  @Test(arguments: DownloadMode.allCases) func anUrgentFileTakesTheNextPlace(_ mode: DownloadMode)
    async throws
  {
    let origin = try FaultyOrigin()
    defer { origin.stop() }
    let gate = try Gate()
    defer { gate.open() }
    origin.route("/long", .late([1], until: gate))
    Self.serve(origin, ["/a", "/b", "/urgent.txt", "/c"])
    let place = try Workplace()
    let run = try place.start(
      ["get", "-", "-j", "1", "-m", mode.rawValue, "--first", "*.txt", "--progress", "json"],
      input: .open)
    run.write(Array(Self.lines(origin, ["/long", "/a", "/b"]).joined(separator: "\n").utf8))
    try await origin.wait(forRequests: 1, path: "/long")
    run.write(Array("\n\(origin.url("/urgent.txt"))\n\(origin.url("/c"))\n".utf8))
    run.closeInput()
    // All five are read.
    try await run.wait(forOutput: "\"type\":\"plan\"")
    gate.open()
    let result = try await run.waitForExit()
    #expect(result.status == 0, "\(result.errorText)")
    // At most one that was taken while the list's end was on its way is before it.
    let paths = origin.log.map(\.path)
    #expect(paths.first == "/long" && paths.prefix(3).contains("/urgent.txt"), "\(paths)")
  }

  @Test func theThreadsOfARunInTheBackgroundAreIdleOnes() async throws {
    // Of its own host: it would give way to the usual run there.
    let (origin, other) = (try FaultyOrigin(), try FaultyOrigin())
    defer { for origin in [origin, other] { origin.stop() } }
    let gate = try Gate()
    defer { gate.open() }
    for origin in [origin, other] { origin.route("/f", .late([1], until: gate)) }
    let place = try Workplace()
    let usual = try place.start(["get", origin.url("/f"), "-d", "usual"])
    let background = try place.start(["get", other.url("/f"), "-d", "background", "--background"])
    try await poll("idle threads") { try background.schedulingPolicies() == ["5"] }
    background.leaveIdleClass()
    for origin in [origin, other] { try await origin.wait(forRequests: 1) }
    #expect(try usual.schedulingPolicies() == ["0"])
    gate.open()
    #expect(try await usual.waitForExit().status == 0)
    #expect(try await background.waitForExit().status == 0)
  }
}
