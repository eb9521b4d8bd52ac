import DownloadModel
import Foundation
import Synchronization
import TestSupport
import Testing

@Suite("Logins, as Apache and others ask for them (HTTP rule 41)", .serialized)
struct LoginTests {
  /// Apache with a folder `d` behind Digest and one `b` behind Basic: user `user`, password `secret`.
  private static func apache(_ more: [String] = []) async throws -> LoopbackServer {
    let folder = try TemporaryFolder()
    func md5(_ text: String) -> String {
      ContentHasher.digest(.md5, of: Array(text.utf8)).hex
    }
    let digests = ["one", "two"].map { "user:\($0):\(md5("user:\($0):secret"))\n" }.joined()
    try folder.write(Array(digests.utf8), to: "digests")
    let hashed = try await CommandRun.result(of: "htpasswd", ["-nbs", "user", "secret"])
    try folder.write(hashed.output, to: "passwords")
    func digest(_ path: String, _ realm: String) -> String {
      """
      <Location "\(path)">
        AuthType Digest
        AuthName "\(realm)"
        AuthDigestProvider file
        AuthUserFile "\(folder.path("digests"))"
        Require valid-user
      </Location>
      """
    }
    let basic = """
      <Location "/b">
        AuthType Basic
        AuthName "b"
        AuthBasicProvider file
        AuthUserFile "\(folder.path("passwords"))"
        Require valid-user
      </Location>
      """
    return try await .apache(
      modules: ["authn_file", "authz_user", "auth_basic", "auth_digest", "ratelimit", "env"],
      lines: [
        digest("/d", "one"), digest("/e", "two"), basic, "CustomLog \"\(folder.path)/access.log\" seen",
      ]
        + more, folder: folder)
  }

  /// A file that is older than a second: a younger one has weak validators only, and is neither split nor
  /// gone on with.
  private static func statuses(_ server: LoopbackServer) throws -> [String] {
    String(decoding: try server.folder.read("access.log"), as: UTF8.self).split(separator: "\n").compactMap {
      $0.split(separator: " ").first.map(String.init)
    }
  }

  private static func with(_ login: String, _ address: String) -> String {
    address.replacing("http://", with: "http://\(login)@")
  }

  @Test(arguments: DownloadMode.allCases)
  func manyFilesBehindDigest(mode: DownloadMode) async throws {
    let server = try await Self.apache()
    defer { server.stop() }
    let place = try Workplace()
    let body = SplitMix64.bytes(count: 5000, seed: 3)
    for index in 0..<200 { try server.serve(body, as: "d/f\(index).bin") }
    _ = try place.list((0..<200).map { Self.with("user:secret", server.url("/d/f\($0).bin?a=b,c")) })
    let run = try await place.dlm("get", "urls.txt", "-d", "out", "-j", "8", "-m", mode.rawValue)
    #expect(run.status == 0, "\(run.errorText)")
    for index in 0..<200 { #expect(try place.file("out/f\(index).bin") == body) }
    let statuses = try Self.statuses(server)
    // What waits for a process of Apache's to be started may be asked again over a connection that has one.
    #expect((200...208).contains(statuses.count { $0 == "200" }))
    // A challenge for each lane.
    #expect(statuses.count { $0 == "401" } <= (mode == .sequential ? 1 : 24), "\(statuses)")
    let again = try await place.dlm("get", "urls.txt", "-d", "out", "-j", "8", "-m", mode.rawValue)
    #expect(again.errorText.contains("up to date: 200 files"), "\(again.errorText)")
  }

  /// Two realms and Basic on one host, by turns.
  @Test func everythingByTurns() async throws {
    let server = try await Self.apache()
    defer { server.stop() }
    let place = try Workplace()
    var addresses: [String] = []
    for index in 0..<30 {
      let path = ["d", "e", "b", "open"][index % 4] + "/f\(index).bin"
      try server.serve([UInt8(index)], as: "\(path)")
      addresses.append(Self.with("user:secret", server.url("/\(path)")))
    }
    _ = try place.list(addresses)
    let run = try await place.dlm("get", "urls.txt", "-d", "out", "-m", "sequential")
    #expect(run.status == 0, "\(run.errorText)")
    for index in 0..<30 { #expect(try place.file("out/f\(index).bin") == [UInt8(index)]) }
  }

  @Test func netrcAndBasic() async throws {
    let server = try await Self.apache()
    defer { server.stop() }
    let place = try Workplace()
    try server.serve([1], as: "d/one.bin")
    try server.serve([2], as: "b/two.bin")
    try place.folder.write(Array("machine 127.0.0.1 login user password secret\n".utf8), to: "work/netrc")
    _ = try place.list([server.url("/d/one.bin"), server.url("/b/two.bin")])
    let run = try await place.dlm("get", "urls.txt", "--netrc-file", "netrc", "-m", "sequential")
    #expect(run.status == 0, "\(run.errorText)")
    #expect(try place.file("one.bin") == [1])
    #expect(try place.file("two.bin") == [2])
  }

  /// It said that a login was wanted, of one that was refused, and never spoke of the file that has one.
  @Test func whatIsWrongWithALoginIsSaid() async throws {
    let origin = try FaultyOrigin()
    defer { origin.stop() }
    origin.route("/f", .status(401, headers: ["WWW-Authenticate: Basic realm=\"r\""]))
    origin.route("/token", .status(401, headers: ["WWW-Authenticate: Bearer"]))
    origin.route("/right", .behindBasic(.file([1])))
    let place = try Workplace()
    func said(_ arguments: String...) async throws -> String {
      try await place.start(["get"] + arguments).waitForExit().errorText
    }
    #expect(try await said(origin.url("/f")).contains("requires a login: give one with --netrc-file"))
    #expect(try await said(origin.url("/token")).contains("--header 'Authorization: Bearer TOKEN'"))
    let refused = ": the login was refused\n"
    #expect(try await said("-H", "Authorization: Bearer x", origin.url("/token")).contains(refused))
    try place.folder.write(Array("machine 127.0.0.1 login user password secret\n".utf8), to: "home/.netrc")
    #expect(try await said(origin.url("/f")).contains("~/.netrc has a login for 127.0.0.1: --netrc uses it"))
    #expect(try await said("--netrc", origin.url("/f")).contains(refused))
    #expect(try await place.dlm("get", "-n", origin.url("/right")).status == 0)
    #expect(try place.file("right") == [1])
  }

  @Test(arguments: ["user:wrong", "nobody:secret", ""])
  func aWrongLogin(login: String) async throws {
    let server = try await Self.apache()
    defer { server.stop() }
    let place = try Workplace()
    try server.serve([1], as: "d/f.bin")
    let address = login.isEmpty ? server.url("/d/f.bin") : Self.with(login, server.url("/d/f.bin"))
    let run = try await place.dlm("get", address)
    #expect(run.status == 1)
    #expect(run.errorText.contains("401 Unauthorized"), "\(run.errorText)")
    #expect(!run.errorText.contains("wrong"))
    #expect(try place.names() == [])
    // The challenge, its answer; without a login there is nothing to answer with.
    #expect(try Self.statuses(server) == Array(repeating: "401", count: login.isEmpty ? 1 : 2))
  }

  @Test func interruptedAndGoneOn() async throws {
    let server = try await Self.apache([
      "<Location \"/d/slow\">\nSetOutputFilter RATE_LIMIT\nSetEnv rate-limit 1000\n</Location>"
    ])
    defer { server.stop() }
    let place = try Workplace()
    let body = SplitMix64.bytes(count: 6_000_000, seed: 9)
    try server.serve(body, as: "d/slow/large.bin")
    let address = Self.with("user:secret", server.url("/d/slow/large.bin"))
    let run = try place.start(["get", address, "-s", "1"])
    try await place.wait(forSize: 2_000_000, of: "large.bin.part", toSend: SIGINT, to: run)
    #expect(try await run.waitForExit().status == 130)
    let again = try await place.dlm("get", address, "-s", "3")
    #expect(again.status == 0, "\(again.errorText)")
    #expect(again.errorText.contains("resumed"), "\(again.errorText)")
    #expect(try place.file("large.bin") == body)
    let statuses = try Self.statuses(server)
    #expect(statuses.contains("206"))
    #expect(statuses.count { $0 == "401" } <= 10, "\(statuses)")
  }

  @Test func inParts() async throws {
    let server = try await Self.apache([
      "<Location \"/d/slow\">\nSetOutputFilter RATE_LIMIT\nSetEnv rate-limit 1000\n</Location>"
    ])
    defer { server.stop() }
    let place = try Workplace()
    let body = SplitMix64.bytes(count: 8_000_000, seed: 10)
    try server.serve(body, as: "d/slow/large.bin")
    let run = try await place.dlm("get", Self.with("user:secret", server.url("/d/slow/large.bin")), "-s", "4")
    #expect(run.status == 0, "\(run.errorText)")
    #expect(try place.file("large.bin") == body)
    #expect(try Self.statuses(server).contains("206"))
  }

  // MARK: Scripted servers

  /// Whether a request answers a challenge of SHA-256 rightly (RFC 7616 §3.4.1).
  private static func answers(
    _ nonce: String, _ target: String, _ headers: [String: String], password: String = "secret"
  ) -> Bool {
    guard let text = headers["authorization"], text.hasPrefix("Digest ") else { return false }
    var values: [String: String] = [:]
    for part in text.dropFirst("Digest ".count).split(separator: ",") {
      let sides = part.split(separator: "=", maxSplits: 1)
      guard sides.count == 2 else { return false }
      values[sides[0].filter { $0 != " " }] = sides[1].filter { $0 != "\"" }
    }
    func sha(_ text: String) -> String {
      ContentHasher.digest(of: Array(text.utf8)).hex
    }
    let user = sha("user:sha:\(password)")
    let request = sha("GET:\(target)")
    let count = values["nc"] ?? ""
    let own = values["cnonce"] ?? ""
    return values["algorithm"] == "SHA-256" && values["nonce"] == nonce && values["uri"] == target
      && values["response"] == sha("\(user):\(nonce):\(count):\(own):auth:\(request)")
  }

  private static func challenge(_ nonce: String, _ more: String = "", body: [UInt8] = []) -> OriginAnswer {
    .status(
      401, body: body,
      headers: [
        "WWW-Authenticate: Digest realm=\"sha\", nonce=\"\(nonce)\", qop=\"auth\", algorithm=SHA-256\(more)"
      ])
  }

  private static func guarded(
    _ nonce: String, _ answer: OriginAnswer, _ more: String = "", body: [UInt8] = []
  ) -> OriginAnswer {
    .either({ answers(nonce, $0, $1) }, answer, else: challenge(nonce, more, body: body))
  }

  @Test(arguments: [0, 100, 200_000])
  func sha256(bodyOfTheRefusal count: Int) async throws {
    let origin = try FaultyOrigin()
    defer { origin.stop() }
    let body = SplitMix64.bytes(count: 300_000, seed: 1)
    let refusal = [UInt8](repeating: 7, count: count)
    // Cut once, so that it is gone on with.
    origin.route(
      "/f", Self.guarded("n1", .file(body), body: refusal),
      Self.guarded("n1", .file(body, FileOptions(ending: .close(after: 200_000))), body: refusal),
      Self.guarded("n1", .file(body), body: refusal))
    let place = try Workplace()
    let run = try await place.dlm("get", Self.with("user:secret", origin.url("/f")))
    #expect(run.status == 0, "\(run.errorText)")
    #expect(try place.file("f") == body)
    #expect(origin.log.last?.headers["range"] != nil)
    let schemes = origin.log.map { String(($0.headers["authorization"] ?? "none").prefix(5)) }
    #expect(schemes.prefix(2) == ["none", "Diges"])
    // Who listens on the way must not learn it.
    #expect(!schemes.contains("Basic"))
  }

  /// Over plain http nothing is sent unasked; from the first challenge on, a file is one request.
  @Test(arguments: [false, true]) func basicIsAskedForOnce(isNetrc: Bool) async throws {
    let origin = try FaultyOrigin()
    defer { origin.stop() }
    for index in 0..<30 { origin.route("/f\(index)", .behindBasic(.file([UInt8(index)]))) }
    origin.route("/open", .file([7]))
    let place = try Workplace()
    try place.folder.write(Array("machine 127.0.0.1 login user password secret\n".utf8), to: "work/netrc")
    let addresses = (["/open"] + (0..<30).map { "/f\($0)" }).map { origin.url($0) }
    _ = try place.list(isNetrc ? addresses : addresses.map { Self.with("user:secret", $0) })
    let run = try await place.start(
      ["get", "urls.txt", "-d", "out", "-m", "sequential"] + (isNetrc ? ["--netrc-file", "netrc"] : [])
    ).waitForExit()
    #expect(run.status == 0, "\(run.errorText)")
    let basic = "Basic dXNlcjpzZWNyZXQ="
    #expect(
      origin.log.map { $0.headers["authorization"] } == [nil, nil] + Array(repeating: basic, count: 30))
  }

  /// Over TLS nobody listens, and a server that wants no login is not asked to ask.
  @Test func basicAtOnceOverTLS() async throws {
    let server = try await TLSOrigin(["/f": .body("x")])
    defer { server.stop() }
    let place = try Workplace()
    let address = server.url("/f").replacing("https://", with: "https://user:secret@")
    let run = try await place.dlm("get", address, "--cacert", server.certificatePath)
    #expect(run.status == 0, "\(run.errorText)")
    #expect(try await server.brought(to: "/f") == [["-", "-", "-", "Basic dXNlcjpzZWNyZXQ="]])
  }

  private final class Served: Sendable {
    let count = Lock(0)
  }

  /// Some servers say that their challenge is stale, some only refuse it.
  @Test(arguments: [", stale=true", ""])
  func theServerWantsAnotherNonce(word: String) async throws {
    let origin = try FaultyOrigin()
    defer { origin.stop() }
    let place = try Workplace()
    let served = Served()
    func answer(_ index: Int) -> OriginAnswer {
      // Five files, then another nonce.
      .either(
        { target, headers in
          served.count.withLock { served in
            guard Self.answers("n\(served / 5)", target, headers) else { return false }
            served += 1
            return true
          }
        }, .file([UInt8(index)]),
        else: .either(
          { _, _ in served.count.withLock { $0 } / 5 == 0 }, Self.challenge("n0"),
          else: .either(
            { _, _ in served.count.withLock { $0 } / 5 == 1 }, Self.challenge("n1", word),
            else: Self.challenge("n2", word))))
    }
    for index in 0..<14 { origin.route("/f\(index)", answer(index)) }
    _ = try place.list((0..<14).map { Self.with("user:secret", origin.url("/f\($0)")) })
    let run = try await place.dlm("get", "urls.txt", "-d", "out", "-m", "sequential")
    #expect(run.status == 0, "\(run.errorText)")
    for index in 0..<14 { #expect(try place.file("out/f\(index)") == [UInt8(index)]) }
    // One more for the first file, two for each new nonce.
    #expect(origin.log.count == 19)
  }

  /// The login is one origin's; another that the file is redirected to gets none, whatever it asks for.
  @Test func notAcrossARedirect() async throws {
    let origin = try FaultyOrigin()
    let other = try FaultyOrigin()
    defer {
      origin.stop()
      other.stop()
    }
    other.route("/g", Self.guarded("n2", .file([9])))
    origin.route("/f", Self.guarded("n1", .redirect(302, to: other.url("/g"))))
    let place = try Workplace()
    let run = try await place.dlm("get", Self.with("user:secret", origin.url("/f")))
    #expect(run.status == 1)
    #expect(run.errorText.contains("401"), "\(run.errorText)")
    #expect(other.log.count == 1)
    #expect(other.log.allSatisfy { $0.headers["authorization"] == nil })
    // Its own login is for it.
    let own = try Workplace()
    origin.route("/f", Self.guarded("n1", .redirect(302, to: Self.with("user:secret", other.url("/g")))))
    let second = try await own.dlm("get", Self.with("user:secret", origin.url("/f")))
    #expect(second.status == 0, "\(second.errorText)")
    #expect(try own.names().count == 1)
  }

  /// A header line of the user's is their login; nothing is made of it, and nothing is sent beside it.
  @Test func anOwnAuthorizationLine() async throws {
    let origin = try FaultyOrigin()
    defer { origin.stop() }
    origin.route("/f", Self.guarded("n1", .file([9])))
    let place = try Workplace()
    let run = try await place.dlm(
      "get", Self.with("user:secret", origin.url("/f")), "-H", "Authorization: Bearer x")
    #expect(run.status == 1)
    #expect(origin.log.map { $0.headers["authorization"] } == ["Bearer x"])
  }

  /// Without a ticket there is no answer, and one try.
  @Test func negotiateWithoutATicket() async throws {
    let origin = try FaultyOrigin()
    defer { origin.stop() }
    origin.route("/f", .status(401, headers: ["WWW-Authenticate: Negotiate"]))
    let place = try Workplace()
    let run = try await place.dlm("get", Self.with("user:secret", origin.url("/f")))
    #expect(run.status == 1)
    #expect(run.errorText.contains("401"), "\(run.errorText)")
    #expect(origin.log.count <= 2)
  }
}
