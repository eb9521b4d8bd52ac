import Foundation
import TestSupport
import Testing

/// Clients of aria2 ask dlm and aria2 itself the same, in turn.
@Suite("Calls of aria2's JSON-RPC", .serialized)
struct AriaCallsTests {
  private struct Server {
    let url: String
    let token: String

    func call(_ body: String) async throws -> (status: Int, json: Any) {
      let body = body.replacing("TOKEN", with: "token:\(token)")
      let response = try await CurlCommand.response(["--data-binary", body, url])
      let json = try JSONSerialization.jsonObject(with: Data(response.body), options: .fragmentsAllowed)
      #expect(response.fields["content-type"] == "application/json-rpc")
      return (response.status, json)
    }

    func result(_ method: String, _ parameters: String) async throws -> Any? {
      let body = "{\"jsonrpc\":\"2.0\",\"id\":\"1\",\"method\":\"\(method)\",\"params\":[\"TOKEN\",\(parameters)]}"
      return (try await call(body).json as? [String: Any])?["result"]
    }

    func wait(for status: String, of gid: String) async throws {
      for _ in 0..<600 {
        let fields = try await result("aria2.tellStatus", "\"\(gid)\"") as? [String: Any]
        if fields?["status"] as? String == status { return }
        try await Task.sleep(for: .milliseconds(100))
      }
      throw SupportFailure("the download is not \(status)")
    }
  }

  /// The form of a value: names and types, but for messages and states, which stay. A GID has 16 digits.
  private static func shape(_ value: Any, _ name: String = "") -> String {
    switch value {
    case let fields as [String: Any]:
      "{" + fields.sorted { $0.key < $1.key }.map { "\($0.key):\(shape($0.value, $0.key))" }.joined(separator: ",")
        + "}"
    case let list as [Any]:
      name == "enabledFeatures" ? "[text]" : "[" + list.map { shape($0) }.joined(separator: ",") + "]"
    case let text as String where ["message", "status", "version"].contains(name):
      text.replacing(/[0-9a-f]{16}/, with: "GID")
    case let text as String: text.wholeMatch(of: /[0-9a-f]{16}/) != nil ? "GID" : "text"
    case is NSNull: "null"
    default: "\(value)"
    }
  }

  private static func call(_ method: String, _ parameters: String, id: String = "\"7\"") -> String {
    "{\"jsonrpc\":\"2.0\",\"id\":\(id),\"method\":\"\(method)\",\"params\":[\(parameters)]}"
  }

  private static func dialogue(with server: Server, _ url: String, _ gate: Gate) async throws -> [String] {
    let added = try await server.result("aria2.addUri", "[\"\(url)\"],{\"out\":\"named.bin\"}")
    let gid = try #require(added as? String)
    try await server.wait(for: "active", of: gid)
    let own = "\"TOKEN\",\"\(gid)\""
    var calls = [
      Self.call("aria2.getVersion", "\"TOKEN\""), Self.call("aria2.getVersion", ""),
      Self.call("aria2.getVersion", "\"token:wrong\"", id: "3"), Self.call("aria2.tellStatus", own),
      Self.call("aria2.tellStatus", "\(own),[\"gid\",\"status\"]"),
      Self.call("aria2.tellActive", "\"TOKEN\",[\"gid\"]"),
      Self.call("aria2.getGlobalStat", "\"TOKEN\""), Self.call("aria2.pause", own),
    ]
    var said: [String] = []
    for call in calls { said.append(try await Self.said(server, call)) }
    try await server.wait(for: "paused", of: gid)
    calls = [
      Self.call("aria2.pause", own), Self.call("aria2.tellWaiting", "\"TOKEN\",0,10,[\"gid\",\"status\"]"),
      Self.call("aria2.unpause", own), Self.call("aria2.tellStatus", "\"TOKEN\",\"00000000000000ff\""),
      Self.call("aria2.nope", "\"TOKEN\""), Self.call("aria2.addUri", "\"TOKEN\""),
      Self.call("aria2.addUri", "\"TOKEN\",[]"), "not JSON", "[\(Self.call("aria2.getVersion", "\"TOKEN\"", id: "8"))]",
      Self.call(
        "system.multicall",
        "[{\"methodName\":\"aria2.getGlobalStat\",\"params\":[\"TOKEN\"]},{\"methodName\":\"aria2.nope\",\"params\":"
          + "[\"TOKEN\"]},{\"methodName\":\"aria2.getVersion\",\"params\":[\"token:bad\"]}]"),
    ]
    for call in calls { said.append(try await Self.said(server, call)) }
    gate.open()
    try await server.wait(for: "complete", of: gid)
    calls = [
      Self.call("aria2.tellStopped", "\"TOKEN\",0,10,[\"gid\",\"status\",\"errorCode\"]"),
      Self.call("aria2.tellStopped", "\"TOKEN\",-1,1,[\"gid\"]"), Self.call("aria2.tellStopped", "\"TOKEN\",-2,5"),
      Self.call("aria2.tellStopped", "\"TOKEN\",1,10"), Self.call("aria2.tellStopped", "\"TOKEN\",0,0"),
      Self.call("aria2.tellStopped", "\"TOKEN\",0,-1"), Self.call("aria2.tellStopped", "\"TOKEN\",0"),
      Self.call("aria2.tellStopped", "\"TOKEN\",\"x\",1"),
      Self.call("aria2.tellActive", "\"TOKEN\""),
    ]
    for call in calls { said.append(try await Self.said(server, call)) }
    return said
  }

  private static func said(_ server: Server, _ call: String) async throws -> String {
    let answer = try await server.call(call)
    return "\(answer.status) \(shape(answer.json))"
  }

  @Test func asAria2Answers() async throws {
    let origin = try FaultyOrigin()
    defer { origin.stop() }
    let body = SplitMix64.bytes(count: 1 << 20, seed: 6)
    let page = try await ServedPage()
    let secret = "secret"
    let aria2 = try await LoopbackServer("/usr/bin/aria2c", package: "aria2") { folder, ports in
      LoopbackServer.Launch(arguments: [
        "--no-conf", "-q", "--enable-rpc", "--rpc-listen-port=\(ports[0])", "--rpc-secret=\(secret)", "-d", folder,
      ])
    }
    defer { aria2.stop() }
    var dialogues: [[String]] = []
    for server in [
      Server(url: "http://127.0.0.1:\(aria2.port)/jsonrpc", token: secret),
      Server(url: "\(page.server)/jsonrpc", token: page.token),
    ] {
      let gate = try Gate()
      let path = "/file-\(dialogues.count)"
      origin.route(path, .file(body, FileOptions(ending: .stall(after: 1 << 19, until: gate))))
      dialogues.append(try await Self.dialogue(with: server, origin.url(path), gate))
    }
    for (theirs, own) in zip(dialogues[0], dialogues[1]) { #expect(own == theirs) }
    #expect(dialogues[0].count == dialogues[1].count)
    #expect(try page.place.file("files/named.bin") == body)
    try await page.end()
  }

  /// A download of one file is stopped, and never leaves the folder of the page.
  @Test func removedAndConfined() async throws {
    let origin = try FaultyOrigin()
    defer { origin.stop() }
    let gate = try Gate()
    let body = SplitMix64.bytes(count: 1 << 20, seed: 6)
    origin.route("/big", .file(body, FileOptions(ending: .stall(after: 1 << 19, until: gate))))
    let page = try await ServedPage()
    let server = Server(url: "\(page.server)/jsonrpc", token: page.token)
    for options in ["{\"dir\":\"/tmp\"}", "{\"dir\":\"../x\"}", "{\"dir\":\"\(page.place.work)\"}"] {
      #expect(try await server.result("aria2.addUri", "[\"\(origin.url("/big"))\"],\(options)") == nil, "\(options)")
    }
    let dir =
      "{\"dir\":\"\(page.place.work)/files/deep\",\"out\":\"x\",\"referer\":\"http://r.example/\","
      + "\"header\":[\"Cookie: a=b\",\"X-One: 1\"]}"
    let gid = try #require(try await server.result("aria2.addUri", "[\"\(origin.url("/big"))\"],\(dir)") as? String)
    try await origin.wait(path: "/big", bodyBytesSent: 1 << 19)
    // What programs in a browser send with a URL.
    let headers = origin.log.first?.headers ?? [:]
    #expect(headers["cookie"] == "a=b" && headers["x-one"] == "1" && headers["referer"] == "http://r.example/")
    #expect(try await server.result("aria2.remove", "\"\(gid)\"") as? String == gid)
    try await server.wait(for: "removed", of: gid)
    gate.open()
    #expect(try page.place.names(in: "files") == ["deep"])
    try await page.end()
  }
}
