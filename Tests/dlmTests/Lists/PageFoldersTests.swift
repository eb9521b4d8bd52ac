import DownloadModel
import Foundation
import TestSupport
import Testing

@testable import dlm

@Suite("A page's folders (--depth)")
struct PageFoldersTests {
  /// As Apache writes it, with links to its own orders and to the folder above.
  private static func index(_ links: String...) -> OriginAnswer {
    let all = ["?C=N;O=D", "?C=M;O=A", "/", "../"] + links
    return .file(Array("<html><body>\(all.map { "<a href=\"\($0)\">x</a>" }.joined())</body></html>".utf8))
  }

  /// Two folders with a file of one name, a circle, and links out of the page's folder.
  private static func tree(_ origin: FaultyOrigin, _ other: FaultyOrigin) {
    origin.route("/", index("no.txt", "top.txt"))
    origin.route("/pub/", index("a/", "b/?C=S;O=A", "b/", "index.txt", "/other/", "\(other.url("/far/"))"))
    origin.route("/pub/a/", index("index.txt", "deep/", "../a/", "/pub/", "x.iso"))
    origin.route("/pub/a/deep/", index("index.txt", "../../b/", "more/"))
    origin.route("/pub/a/deep/more/", index("index.txt"))
    origin.route("/pub/b/", index("index.txt", "-%0Ax/", "%2e%2E/%2e%2E/c/", "x/.%2e/.%2e/.%2e/d/"))
    origin.route("/pub/b/-%0Ax/", index("index.txt"))
    for path in ["/pub/", "/pub/a/", "/pub/a/deep/", "/pub/a/deep/more/", "/pub/b/", "/pub/b/-%0Ax/"] {
      origin.route("\(path)index.txt", .file(Array(path.utf8)))
    }
  }

  private func withTree(_ body: (FaultyOrigin, Workplace) async throws -> Void) async throws {
    let (origin, other) = (try FaultyOrigin(), try FaultyOrigin())
    defer { origin.stop() }
    defer { other.stop() }
    Self.tree(origin, other)
    try await body(origin, try Workplace())
    #expect(other.log.isEmpty)
  }

  @Test(
    arguments: [
      (0, ["index.txt"]), (1, ["a/index.txt", "b/index.txt", "index.txt"]),
      (2, ["a/deep/index.txt", "a/index.txt", "b/_x/index.txt", "b/index.txt", "index.txt"]),
      (
        9,
        [
          "a/deep/index.txt", "a/deep/more/index.txt", "a/index.txt", "b/_x/index.txt", "b/index.txt", "index.txt",
        ]
      ),
    ])
  func asFarDown(depth: Int, files: [String]) async throws {
    try await withTree { origin, place in
      let run = try await place.dlm("get", origin.url("/pub/"), "--accept", "*.txt", "--depth", "\(depth)")
      #expect(run.status == 0, "\(run.errorText)")
      #expect(try place.paths() == files)
      let pages = origin.log.map(\.path).filter { $0.hasSuffix("/") }
      #expect(pages.count == Set(pages).count && pages.allSatisfy { $0.hasPrefix("/pub/") }, "\(pages)")
      #expect(origin.record.requests(to: "/robots.txt").count == (depth == 0 ? 0 : 1))
      #expect(origin.log.allSatisfy { !$0.path.contains("?") })
      let again = try await place.dlm("get")
      #expect(again.status == 0 && again.errorText.contains("up to date"), "\(again.errorText)")
      if depth == 1 { #expect(try place.file("b/index.txt") == Array("/pub/b/".utf8)) }
    }
  }

  @Test func keepPathsCounts() async throws {
    try await withTree { origin, place in
      let run = try await place.dlm("get", origin.url("/pub/a/"), "--accept", "*.txt", "--depth", "1", "--keep-paths")
      #expect(run.status == 0, "\(run.errorText)")
      #expect(try place.paths() == ["pub/a/deep/index.txt", "pub/a/index.txt"])
    }
  }

  @Test func robotsAreHeard() async throws {
    try await withTree { origin, place in
      origin.route("/robots.txt", .file(Array("User-agent: *\nDisallow: /pub/a/\nAllow: /pub/a/deep/\n".utf8)))
      let run = try await place.dlm("get", origin.url("/pub/"), "--accept", "*.txt", "--depth", "3")
      #expect(run.status == 0 && run.errorText.contains("forbids 1 folder, skipped: /pub/a/"), "\(run.errorText)")
      #expect(try place.paths() == ["b/_x/index.txt", "b/index.txt", "index.txt"])
    }
  }

  /// One that cannot be read leaves the others, and the run does not succeed.
  @Test func aFolderThatFails() async throws {
    try await withTree { origin, place in
      origin.route("/pub/a/", .status(403))
      let run = try await place.dlm("get", origin.url("/pub/"), "--accept", "*.txt", "--depth", "1", "--retries", "0")
      #expect(run.status != 0 && run.errorText.contains("\(origin.url("/pub/a/")): 403"), "\(run.errorText)")
      #expect(try place.paths() == ["b/index.txt", "index.txt"])
    }
  }

  @Test func aFolderThatIsElsewhere() async throws {
    try await withTree { origin, place in
      origin.route("/pub/a/", .redirect(302, to: "/elsewhere/"))
      origin.route("/elsewhere/", Self.index("index.txt", "sub/"))
      let run = try await place.dlm("get", origin.url("/pub/"), "--accept", "*.txt", "--depth", "2")
      #expect(run.status == 0, "\(run.errorText)")
      #expect(try place.paths() == ["b/_x/index.txt", "b/index.txt", "index.txt"])
    }
  }

  @Test func nothingMatches() async throws {
    try await withTree { origin, place in
      let run = try await place.dlm("get", origin.url("/pub/"), "--accept", "*.zip", "--depth", "2")
      #expect(run.status == 66 && run.errorText.contains("has no link that matches --accept"), "\(run.errorText)")
    }
  }

  @Test(arguments: [
    (["urls.txt", "--depth", "1"], "--accept '*.pdf'"),
    (["page.html", "--accept", "*", "--depth", "1"], "the URL of a page"),
    (["http://127.0.0.1:1/", "--accept", "*", "--depth", "-1"], "--depth"),
  ])
  func usage(arguments: [String], said: String) async throws {
    let place = try Workplace()
    let run = try await place.start(["get"] + arguments).waitForExit()
    #expect(run.status == 64 && run.errorText.contains(said), "\(run.errorText)")
  }

  @Test func thereIsAnEnd() throws {
    var folders = PageFolders(depth: 1, namesFolders: true)
    folders.begin(at: try Address("http://h/x"))
    for number in 0..<20_000 { folders.add(try Address("http://h/\(number)/")) }
    #expect(folders.isCut)
    var count = 1
    while folders.next() != nil { count += 1 }
    #expect(count == PageFolders.most)
  }
}

@Suite("robots.txt (RFC 9309)")
struct RobotsRulesTests {
  @Test(arguments: [
    ("", "/a/", true), ("User-agent: *\nDisallow: /", "/a/", false), ("User-agent: *\nDisallow:", "/a/", true),
    ("user-agent:*\r\ndisallow:/a # why\r\n", "/a/", false), ("User-agent: *\nDisallow: /b", "/a/", true),
    ("User-agent: *\nDisallow: /a\nAllow: /a/b/", "/a/b/c/", true),
    ("User-agent: *\nDisallow: /a/\nAllow: /a/", "/a/", true),
    ("User-agent: x\nDisallow: /", "/a/", true), ("User-agent: x\nUser-agent: *\nDisallow: /", "/a/", false),
    ("User-agent: *\nDisallow: /\nUser-agent: dlm\nDisallow: /b/", "/a/", true),
    ("User-agent: DLM\nDisallow:\nUser-agent: *\nDisallow: /", "/a/", true),
    ("User-agent: *\nDisallow: /*/private/", "/a/private/", false),
    ("User-agent: *\nDisallow: /*/private/", "/private/", true),
    ("User-agent: *\nDisallow: /a/$", "/a/", false), ("User-agent: *\nDisallow: /a/$", "/a/b/", true),
    ("User-agent: *\nDisallow: /*.git/$", "/x.git/", false), ("User-agent: *\nDisallow: *$", "/a/", false),
    ("Disallow: /", "/a/", true), ("<html>User-agent: *</html>", "/a/", true),
  ])
  func whatIsAllowed(text: String, path: String, isAllowed: Bool) {
    #expect(RobotsRules(Array(text.utf8)).allow(path) == isAllowed)
  }

  /// Many asterisks take no longer than their number times the path.
  @Test func patternsAreBounded() {
    let pattern = String(repeating: "*a", count: 5_000) + "b$"
    let rules = RobotsRules(Array("User-agent: *\nDisallow: /\(pattern)".utf8))
    #expect(rules.allow("/" + String(repeating: "a", count: 9_000)))
  }
}

extension Workplace {
  /// Files in all folders, sorted.
  fileprivate func paths() throws -> [String] {
    let root = folder.path("work")
    let all = try FileManager.default.subpathsOfDirectory(atPath: root)
    return all.filter { (try? FileManager.default.contentsOfDirectory(atPath: "\(root)/\($0)")) == nil }.sorted()
  }
}
