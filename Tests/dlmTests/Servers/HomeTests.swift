import DownloadModel
import Foundation
import TestSupport
import Testing

/// What the user gives for a server goes there and nowhere else, whoever names other servers (HTTP rule 42).
@Suite("Header lines, cookies, certificates and logins stay at home", .serialized)
struct HomeTests {
  @Test(
    arguments: [
      ("https://h/x", "https://h/list", Provenance.home), ("https://h:443/x", "https://h/list", .home),
      ("http://h/x", "https://h/list", .thirdParty), ("https://h:8443/x", "https://h/list", .thirdParty),
      ("https://g/x", "https://h/list", .thirdParty), ("https://u:p@h/x", "https://h/list", .home),
      ("https://g/x", nil, .user),
    ] as [(String, String?, Provenance)])
  func provenance(address: String, list: String?, expected: Provenance) throws {
    #expect(Provenance(of: try Address(address), listedAt: try list.map { try Address($0) }) == expected)
  }

  @Test(arguments: [Provenance.user, .home, .thirdParty], ["https://h/y", "https://g/x", "http://h/x"])
  func isHome(provenance: Provenance, destination: String) throws {
    let request = TransferRequest(address: try Address("https://h/x"), provenance: provenance)
    #expect(
      request.isHome(try Address(destination)) == (provenance != .thirdParty && destination == "https://h/y"))
  }

  /// How the foreign server comes into it.
  enum Way: String, CaseIterable {
    /// The user's own list names it, so it is the user's.
    case file
    case list
    /// The list stands behind a redirect to it.
    case listBehindRedirect
    case compare
  }

  /// The story: what a list at an address had named, and failed, was the user's own when it was tried again.
  @Test func aListOfFailuresKeepsWhoNamedThem() async throws {
    let (home, other) = (try FaultyOrigin(), try FaultyOrigin())
    defer {
      home.stop()
      other.stop()
    }
    let foreign = other.url("/.bashrc")
    home.route("/urls.txt", .file(Array("none\n\(foreign)\n".utf8)))
    other.route("/.bashrc", .status(404), .file([1]))
    let place = try Workplace()
    let keys = ["-H", "Cookie: c=1", "-H", "X-Key: k"]
    let first = try await place.start(
      ["get", home.url("/urls.txt"), "--list", "--failed", "again.txt"] + keys
    ).waitForExit()
    #expect(first.status == 1, "\(first.errorText)")
    let lines = try String(decoding: place.file("again.txt"), as: UTF8.self).split(separator: "\n")
    #expect(
      lines.contains("\(foreign)\tby=stranger") && lines.contains("\(home.url("/none"))\tby=home"), "\(lines)"
    )
    let again = try await place.start(["get", "again.txt"] + keys).waitForExit()
    #expect(again.status == 1, "\(again.errorText)")
    #expect(home.log.last?.headers["x-key"] == "k")
    #expect(other.log.count == 2)
    for request in other.log {
      #expect(request.headers["cookie"] == nil && request.headers["x-key"] == nil, "\(request.headers)")
    }
    #expect(try place.names().contains("_bashrc") && !place.names().contains(".bashrc"))
  }

  @Test(arguments: Way.allCases) func staysAtHome(way: Way) async throws {
    let authority = try await TestAuthority()
    try await authority.issue("me")
    let ca = authority.certificatePath
    let other = try await TLSOrigin(
      ["/seen": .body("x"), "/redirected": .body("x"), "/urls.txt": .body("seen\n")], authority: ca)
    let home = try await TLSOrigin(
      [
        "/seen": .body("x"), "/away": .redirect(other.url("/redirected")),
        "/urls.txt": .body("seen\naway\n\(other.url("/seen"))\n"),
        "/latest": .redirect(other.url("/urls.txt")),
      ], authority: ca)
    defer {
      home.stop()
      other.stop()
    }
    let place = try Workplace()
    _ = try place.list([home.url("/seen"), home.url("/away"), other.url("/seen")])
    let trusted = try [home, other].flatMap {
      [UInt8](try Data(contentsOf: URL(filePath: $0.certificatePath)))
    }
    try place.folder.write(trusted, to: "work/trusted.pem")
    try place.folder.write(Array("default login user password secret\n".utf8), to: "work/netrc")
    let source =
      switch way {
      case .file: ["get", "urls.txt"]
      case .list: ["get", "--list", home.url("/urls.txt")]
      case .listBehindRedirect: ["get", "--list", home.url("/latest")]
      case .compare: ["compare", "--runs", "1", "-m", "sequential", "--list", home.url("/urls.txt")]
      }
    let run = try await place.start(
      source + [
        "--cacert", "trusted.pem", "-H", "X-Key: k", "-H", "Cookie: c=1", "--netrc-file", "netrc",
        "--cert", authority.folder.path("me.both.pem"),
      ]
    ).waitForExit()
    #expect(run.status == 0, "\(run.errorText)")
    let all = ["k", "c=1", "yes", "Basic dXNlcjpzZWNyZXQ="]
    let none = ["-", "-", "-", "-"]
    if way == .listBehindRedirect {
      #expect(try await home.brought(to: "/latest").allSatisfy { $0 == all })
      #expect(try await other.brought(to: "/urls.txt").allSatisfy { $0 == none })
    } else {
      #expect(try await home.brought(to: "/seen").allSatisfy { $0 == all })
      #expect(try await home.brought(to: "/away").allSatisfy { $0 == all })
      #expect(try await other.brought(to: "/redirected").allSatisfy { $0 == none })
    }
    #expect(try await other.brought(to: "/seen").allSatisfy { $0 == (way == .file ? all : none) })
  }

  /// What came safely may name what does not: the run says so at its end, however it read the list.
  @Test(arguments: [[], ["--watch", "--refresh-every", "1h"]])
  func aListOverTLSThatNamesPlainHTTP(watching: [String]) async throws {
    let origin = try FaultyOrigin()
    defer { origin.stop() }
    origin.route("/f", .file([1]))
    let home = try await TLSOrigin(["/urls.txt": .body(origin.url("/f") + "\n")])
    defer { home.stop() }
    let place = try Workplace()
    let run = try place.start(
      ["get", "--list", home.url("/urls.txt"), "--cacert", home.certificatePath, "--progress", "json"]
        + watching)
    try await run.wait(forOutput: "\"how\":\"fetched\"")
    if !watching.isEmpty { run.send(SIGINT) }
    let result = try await run.waitForExit()
    #expect(result.status == 0, "\(result.errorText)")
    #expect(
      result.errorText.contains("/urls.txt was downloaded over https, but names http URLs"), "\(result.errorText)")
  }

  /// What a stranger's request brought without the header lines is no answer to one that has them.
  @Test func theUsersOwnRequestIsAsked() async throws {
    let origin = try FaultyOrigin()
    let other = try FaultyOrigin()
    defer {
      origin.stop()
      other.stop()
    }
    origin.route("/urls.txt", .file(Array(other.url("/f").utf8)))
    other.route("/f", .file([1], FileOptions(headers: ["Cache-Control: max-age=1000"])))
    let place = try Workplace()
    let list = try await place.dlm("get", "--list", origin.url("/urls.txt"), "-H", "X-Key: k")
    #expect(list.status == 0, "\(list.errorText)")
    let own = try await place.dlm("get", other.url("/f"), "-H", "X-Key: k")
    #expect(own.status == 0, "\(own.errorText)")
    #expect(other.log.map { $0.headers["x-key"] } == [nil, "k"])
    #expect(try place.names() == ["f"])
  }

  /// The user named that host, so its login is for it whoever names the address.
  @Test func aLoginOfTheHostItself() async throws {
    let origin = try FaultyOrigin()
    let other = try FaultyOrigin()
    defer {
      origin.stop()
      other.stop()
    }
    origin.route("/urls.txt", .file(Array(other.url("/f").utf8)))
    other.route("/f", .behindBasic(.file([1])))
    let place = try Workplace()
    for (entry, isSent) in [("machine 127.0.0.1", true), ("default", false)] {
      try place.folder.write(Array("\(entry) login user password secret\n".utf8), to: "work/netrc")
      let run = try await place.dlm(
        "get", "--list", origin.url("/urls.txt"), "--netrc-file", "netrc", "-d", isSent ? "out" : "none")
      #expect(run.status == (isSent ? 0 : 1), "\(run.errorText)")
      #expect(other.log.last?.headers["authorization"] == (isSent ? "Basic dXNlcjpzZWNyZXQ=" : nil))
    }
  }
}
