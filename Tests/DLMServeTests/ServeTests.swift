import Foundation
import Glibc
import TestSupport
import Testing

@Suite("dlm serve, as its users and its attackers use it", .serialized)
struct ServeTests {
  private static let picture: [UInt8] = [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A]

  /// The token stays, is the user's alone, and no list of processes shows it.
  @Test func theToken() async throws {
    var page = try await ServedPage()
    let first = page.token
    #expect(first.count == 43)
    let path = page.place.folder.path("home/state/dlm/page.token")
    var status = stat()
    #expect(stat(path, &status) == 0 && status.st_mode & 0o777 == 0o600)
    let line = try String(contentsOfFile: "/proc/\(page.run.processID)/cmdline", encoding: .utf8)
    #expect(line.hasPrefix("dlm-serve") && !line.contains(first))
    try await page.kill(SIGTERM)
    try await page.restart()
    #expect(page.token == first)
    try await page.end()
  }

  /// Guesses wait for a second each; the right token does not, also while they wait.
  @Test func guesses() async throws {
    let page = try await ServedPage()
    let start = ContinuousClock.now
    try await withThrowingTaskGroup { group in
      for number in 0..<12 {
        group.addTask {
          let answer = try await page.ask("/api/runs", headers: ["Authorization: Bearer \(number)"])
          #expect(answer.status == 401)
        }
      }
      #expect(try await page.ask("/api/runs").status == 200)
      try await group.waitForAll()
    }
    #expect(start.duration(to: .now) >= .seconds(1))
    try await page.end()
  }

  /// Nothing of it holds up or ends the server: half requests, no HTTP, a long body, connections that say nothing.
  @Test func badRequests() async throws {
    let page = try await ServedPage()
    let port = try #require(UInt16(page.server.split(separator: ":").last ?? ""))
    var silent: [Int32] = []
    for text in [
      "", "GET", "GET / HTTP/1.1\r\nHost:", "\0\0\0\r\n\r\n", "POST /api/runs HTTP/1.1\r\nContent-Length: -1\r\n\r\n",
    ] {
      for _ in 0..<8 {
        let socket = try Self.connect(port)
        _ = text.withCString { send(socket, $0, strlen($0), Int32(MSG_NOSIGNAL)) }
        silent.append(socket)
      }
    }
    defer { for socket in silent { close(socket) } }
    #expect(try await page.ask("/api/runs").status == 200)
    let long = try page.place.folder.write([UInt8](repeating: 32, count: 9 << 20), to: "work/long")
    // The answer may come before curl has sent everything.
    let refused = try await CurlCommand.result([
      "-H", "Authorization: Bearer \(page.token)", "-H", "Expect:", "--data-binary", "@\(long)",
      page.server + "/api/runs",
    ])
    #expect(refused.outputText.contains("more than 8 MiB") || refused.status != 0)
    for (path, body, status) in [
      ("/api/runs", "{", 400), ("/api/runs", "[]", 400), ("/api/runs", "{\"text\":\"no URL\"}", 400),
      ("/api/runs", "{\"text\":\"file:///etc/passwd\"}", 400), ("/api/runs", "{\"text\":\"http://h/ FILE:/x\"}", 400),
      ("/api/runs", "{\"text\":\"http://h/x\",\"folder\":\"../x\"}", 403),
      ("/api/runs", "{\"text\":\"http://h/x\",\"run\":9}", 404), ("/api/run", "{\"run\":9,\"do\":\"pause\"}", 404),
      ("/api/run", "{\"run\":1,\"do\":\"watch\"}", 400), ("/api/events?run=9", nil, 404), ("/api/events", nil, 400),
      ("/api/picture?run=9&picture=x", nil, 404), ("/api/nothing", nil, 404), ("/api/runs/../..", nil, 404),
    ] as [(String, String?, Int)] {
      let answer = try await page.ask(path, body)
      #expect(answer.status == status, "\(path) \(body ?? ""): \(answer)")
    }
    #expect(try await page.states() == [])
    // What says nothing keeps out others for some seconds at most.
    try await poll("the end of a silent connection") {
      var byte: UInt8 = 0
      return recv(silent[0], &byte, 1, Int32(MSG_DONTWAIT)) == 0
    }
    try await page.end()
  }

  private static func connect(_ port: UInt16) throws -> Int32 {
    let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_port = port.bigEndian
    address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
    let result = withUnsafePointer(to: &address) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        Glibc.connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
      }
    }
    guard result == 0 else { throw SupportFailure("no connection: \(errno)") }
    return descriptor
  }

  /// Starts, adds, follows, names, and resumes what was stopped; a kill of the server loses nothing.
  @Test func aRun() async throws {
    let origin = try FaultyOrigin()
    defer { origin.stop() }
    let gate = try Gate()
    let body = SplitMix64.bytes(count: 1 << 20, seed: 5)
    origin.route("/a.png", .file(Self.picture))
    origin.route("/b.png", .file(Array("<script>alert(1)</script>".utf8)))
    origin.route("/c", .file([3]))
    origin.route("/big", .file(body, FileOptions(ending: .stall(after: 1 << 19, until: gate))))
    var page = try await ServedPage()
    let text = [origin.url("/a.png"), origin.url("/big")].joined(separator: "\\n")
    #expect(try await page.json("/api/runs", "{\"text\":\"\(text)\",\"folder\":\"in/side\"}")["run"] as? Int == 1)
    try await origin.wait(path: "/big", bodyBytesSent: 1 << 19)
    try await page.wait(for: ["running"])
    let outside = try await page.ask("/api/runs", "{\"run\":1,\"text\":\"http://h/x\",\"folder\":\"../x\"}")
    #expect(outside.status == 409, "\(outside)")
    let deep = "{\"run\":1,\"text\":\"\(origin.url("/c"))\",\"folder\":\"deep\"}"
    #expect(try await page.json("/api/runs", deep)["added"] as? Int == 1)
    let added = try await page.json("/api/runs", "{\"run\":1,\"text\":\"\(origin.url("/b.png"))\"}")
    #expect(added["added"] as? Int == 1)
    try await poll("the files") {
      try Set(page.place.names(in: "files/in/side")).isSuperset(of: ["a.png", "b.png"])
    }
    // A snapshot comes at once, also if nothing moves.
    let lines = try CurlCommand.start([
      "-N", "-H", "Authorization: Bearer \(page.token)", page.server + "/api/events?run=1",
    ])
    try await lines.wait(forOutput: "\"type\":\"snapshot\"")
    // What is no picture is not given out as one; a link that leads elsewhere is none.
    let side = "\(page.place.work)/files/in/side"
    try FileManager.default.createSymbolicLink(atPath: "\(side)/c.png", withDestinationPath: "/etc/passwd")
    #expect(try await page.ask("/api/picture?run=1&picture=a.png").status == 200)
    for (picture, status) in [
      ("b.png", 415), ("c.png", 404), ("../../../urls.txt", 404), ("%2Fetc%2Fpasswd", 404), ("big", 404), ("", 404),
    ] {
      #expect(try await page.ask("/api/picture?run=1&picture=\(picture)").status == status, "\(picture)")
    }
    // Named: a name that is taken or leads elsewhere is refused.
    for (name, status) in [("b.png", 409), ("../x.png", 409), ("", 409), ("harbour.png", 200)] {
      let answer = try await page.ask("/api/name", "{\"run\":1,\"picture\":\"a.png\",\"name\":\"\(name)\"}")
      #expect(answer.status == status, "\(name): \(answer)")
    }
    #expect(try page.place.file("files/in/side/harbour.png") == Self.picture)
    for (verb, state) in [("pause", "paused"), ("resume", "running")] {
      _ = try await page.json("/api/run", "{\"run\":1,\"do\":\"\(verb)\"}")
      try await page.wait(for: [state])
    }
    try await page.kill(SIGKILL)
    try await page.restart()
    try await page.wait(for: ["running"])
    _ = try await page.json("/api/run", "{\"run\":1,\"do\":\"stop\"}")
    try await page.wait(for: ["stopped"])
    #expect(try await page.ask("/api/log?run=1").text.contains("Interrupted"))
    gate.open()
    #expect(try await page.json("/api/run", "{\"run\":1,\"do\":\"resume\"}")["run"] as? Int == 1)
    try await page.wait(for: ["done"])
    #expect(try page.place.file("files/in/side/big") == body)
    // Known under its new name.
    #expect(origin.log.count { $0.path == "/a.png" && $0.headers["if-none-match"] == nil } == 1)
    #expect(try page.place.names(in: "files/in/side") == ["b.png", "big", "c.png", "deep", "harbour.png"])
    #expect(try page.place.file("files/in/side/deep/c") == [3])
    lines.send(SIGTERM)
    try await page.end()
  }

  /// The lines of a comparison, and why there is none.
  @Test func aRace() async throws {
    let origin = try FaultyOrigin()
    defer { origin.stop() }
    for number in 0..<3 { origin.route("/\(number)", .file([1, 2, 3])) }
    let page = try await ServedPage()
    let text = (0..<3).map { origin.url("/\($0)") }.joined(separator: "\\n")
    let lines = try await page.ask("/api/race", "{\"text\":\"\(text)\"}").text
    for type in ["plan", "start", "done", "summary", "comparison"] {
      #expect(lines.contains("\"type\":\"\(type)\""), "\(type)")
    }
    let none = try await page.ask("/api/race", "{\"text\":\"\(origin.url("/none"))\"}").text
    #expect(none.contains("\"type\":\"trouble\""), "\(none)")
    try await page.end()
  }

  /// A comparison ends with the server; a download goes on, and signals reach it.
  @Test func theEndOfTheServer() async throws {
    let origin = try FaultyOrigin()
    defer { origin.stop() }
    let gate = try Gate()
    for path in ["/raced", "/big"] {
      origin.route(
        path, .file(SplitMix64.bytes(count: 4000, seed: 5), FileOptions(ending: .stall(after: 10, until: gate))))
    }
    var page = try await ServedPage()
    _ = try await page.json("/api/runs", "{\"text\":\"\(origin.url("/big"))\"}")
    let race = try CurlCommand.start([
      "-N", "-H", "Authorization: Bearer \(page.token)", "--data-binary", "{\"text\":\"\(origin.url("/raced"))\"}",
      page.server + "/api/race",
    ])
    try await origin.wait(path: "/raced", bodyBytesSent: 10)
    let home = page.place.folder.path("home")
    #expect(Self.processes(["compare", home]).count == 1)
    try await page.kill(SIGTERM)
    #expect(Self.processes(["compare", home]) == [])
    _ = try await race.waitForExit()
    try await page.restart()
    try await page.wait(for: ["running"])
    #expect(try await page.place.dlm("stop").status == 0)
    try await page.wait(for: ["stopped"])
    gate.open()
    try await page.end()
  }

  /// Those whose command lines have these texts.
  private static func processes(_ texts: [String]) -> [String] {
    let all = (try? FileManager.default.contentsOfDirectory(atPath: "/proc")) ?? []
    return all.filter { Int($0) != nil }.filter { number in
      let line = try? String(contentsOfFile: "/proc/\(number)/cmdline", encoding: .utf8)
      return texts.allSatisfy { line?.contains($0) == true }
    }
  }

  @Test func portsAndFolders() async throws {
    let page = try await ServedPage()
    let port = page.server.split(separator: ":").last.map(String.init) ?? ""
    for (arguments, status, text) in [
      (["--port", port], 69, "--port 0"), (["--port", "0", "--directory", "missing"], 73, "no such folder"),
      (["--allow-origin", "ariang.example"], 64, "not an origin"), (["--host", "http://h"], 64, "not a host name"),
    ] as [([String], Int32, String)] {
      let result = try await page.place.dlm(["serve"] + arguments)
      #expect(result.status == status && result.errorText.contains(text), "\(result.errorText)")
    }
    try await page.end()
  }

  /// The recipe of the article, as it stands there: below a path of another server, whose host the page knows.
  @Test func behindNginx() async throws {
    let name = "files.example.org"
    let page = try await ServedPage("--host", name)
    let article = URL(filePath: #filePath).deletingLastPathComponent()
      .appending(path: "../../Sources/dlm/dlm.docc/Page.md")
    let text = try String(contentsOf: article.standardizedFileURL, encoding: .utf8)
    let recipe = try #require(text.firstMatch(of: /```nginx\n((?s).*?)```/)?.1)
    let port = try #require(page.server.split(separator: ":").last.map(String.init))
    let nginx = try await NginxServer(serverLines: [String(recipe).replacing("6800", with: port)])
    defer { nginx.stop() }
    for (host, status) in [(name, 200), ("evil.example", 421)] {
      let response = try await CurlCommand.response([
        "-k", "-H", "Host: \(host)", "-H", "Origin: https://\(host)", "-H", "Authorization: Bearer \(page.token)",
        nginx.tlsURL("/dlm/api/runs"),
      ])
      #expect(response.status == status)
    }
    try await page.end()
  }
}
