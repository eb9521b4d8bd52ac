import Foundation
import Glibc
import TestSupport
import Testing

@Suite("Files over SSH: complete, resumed, unchanged; keys that are unknown, changed, revoked")
struct SFTPTests {
  private static let body = SplitMix64.bytes(count: 400_000, seed: 31)

  /// A place whose user knows the server, and has its key.
  private static func place(_ server: LoopbackServer, known: String? = nil) throws -> Workplace {
    let place = try Workplace()
    try place.folder.write(Array((known ?? server.hostLine()).utf8), to: "home/.ssh/known_hosts")
    let key = try place.folder.write(server.folder.read("user"), to: "home/.ssh/id_ed25519")
    chmod(key, 0o600)
    return place
  }

  @Test(arguments: ["sftp", "scp"]) func filesOfARealServer(scheme: String) async throws {
    let server = try await LoopbackServer.sshd()
    defer { server.stop() }
    try server.serve(Self.body, as: "a b?.bin")
    try server.serve([], as: "empty")
    let place = try Self.place(server)
    let urls = [server.sftp("a%20b%3F.bin", scheme: scheme), server.sftp("empty", scheme: scheme)]
    let run = try await place.dlm(["get", "-d", "out"] + urls)
    #expect(run.status == 0, "\(run.errorText)")
    #expect(try place.file("out/a b?.bin") == Self.body && place.file("out/empty") == [])
    let again = try await place.dlm(["get", "-d", "out"] + urls)
    #expect(again.status == 0, "\(again.errorText)")
    // SCP does not tell when a file was changed.
    #expect(again.errorText.contains("up to date") == (scheme == "sftp"), "\(again.errorText)")
    #expect(try place.names(in: "out") == ["a b?.bin", "empty"])
  }

  @Test func manySmallFiles() async throws {
    let server = try await LoopbackServer.sshd()
    defer { server.stop() }
    var list = ""
    for number in 0..<60 {
      try server.serve([UInt8(number)], as: "d/f\(number)")
      list += server.sftp("d/f\(number)") + "\n"
    }
    let place = try Self.place(server)
    try place.folder.write(Array(list.utf8), to: "work/list")
    let run = try await place.dlm("get", "list", "-d", "out", "-j", "4")
    #expect(run.status == 0, "\(run.errorText)")
    for number in 0..<60 { #expect(try place.file("out/f\(number)") == [UInt8(number)]) }
  }

  /// With a limit, so that it is stopped in the middle.
  @Test(arguments: ["same", "changed", "shorter"]) func aStoppedRunGoesOn(kind: String) async throws {
    let server = try await LoopbackServer.sshd()
    defer { server.stop() }
    let body = SplitMix64.bytes(count: 2_500_000, seed: 33)
    try server.serve(body, as: "f")
    let place = try Self.place(server)
    let first = try place.start(["get", server.sftp("f"), "--limit-rate", "500K"])
    try await place.wait(forSize: 400_000, of: "f.part", toSend: SIGTERM, to: first)
    #expect(try await first.waitForExit().status == 143)
    let kept = try place.file("f.part").count
    var wanted = body
    if kind == "changed" { wanted = SplitMix64.bytes(count: body.count, seed: 32) }
    if kind == "shorter" { wanted = Array(body.prefix(kept - 70_000)) }
    if kind != "same" { try server.serve(wanted, as: "f") }
    let run = try await place.dlm("get", server.sftp("f"))
    #expect(run.status == 0, "\(run.errorText)")
    #expect(try place.file("f") == wanted && place.names() == ["f"])
    if kind == "same" { #expect(run.errorText.contains("resumed"), "\(run.errorText)") }
  }

  @Test func aFolderIsAList() async throws {
    let server = try await LoopbackServer.sshd()
    defer { server.stop() }
    for name in ["pub/a b?.bin", "pub/c#", "pub/sub/d"] { try server.serve(Array(name.utf8), as: name) }
    let place = try Self.place(server)
    let run = try await place.dlm("get", server.sftp("pub/"), "--accept", "*", "--depth", "1", "-d", "out")
    #expect(run.status == 0, "\(run.errorText)")
    #expect(try place.names(in: "out") == ["a b?.bin", "c#", "sub"] && place.names(in: "out/sub") == ["d"])
  }

  // MARK: Keys

  /// The key of a type that is known is asked for, whichever the server would choose.
  @Test(arguments: ["ed25519", "ecdsa"]) func aKnownType(type: String) async throws {
    let server = try await LoopbackServer.sshd()
    defer { server.stop() }
    try server.serve([1], as: "f")
    let run = try await Self.place(server, known: server.hostLine(type)).dlm("get", server.sftp("f"))
    #expect(run.status == 0, "\(run.errorText)")
  }

  @Test(arguments: ["unknown", "changed", "revoked"]) func anotherKey(kind: String) async throws {
    let server = try await LoopbackServer.sshd()
    defer { server.stop() }
    try server.serve([1], as: "f")
    var known = ""
    if kind == "changed" {
      let other = try server.folder.read("user.pub")
      known = "[127.0.0.1]:\(server.port) " + String(decoding: other, as: UTF8.self)
    } else if kind == "revoked" {
      known =
        try "@revoked * " + server.hostLine().split(separator: " ").dropFirst().joined(separator: " ")
        + server.hostLine()
    }
    let place = try Self.place(server, known: known)
    for options in [[], ["--insecure"]] {
      let run = try await place.dlm(["get", server.sftp("f")] + options)
      let words = ["unknown": "is not known", "changed": "HAS CHANGED", "revoked": "was revoked"]
      #expect(run.status == 1 && run.errorText.contains(words[kind] ?? ""), "\(run.errorText)")
      #expect(run.errorText.contains("SHA256:"), "\(run.errorText)")
    }
    #expect(try place.names().isEmpty)
  }

  /// Asked once, however many files meet it; an accepted one is ssh's, too.
  @Test(arguments: ["y", "n"], ["# mine\n", "# mine"]) func aQuestionAboutAKey(answer: String, mine: String)
    async throws
  {
    let server = try await LoopbackServer.sshd(keys: ["ed25519"])
    defer { server.stop() }
    for name in ["a", "b", "c"] { try server.serve(Array(name.utf8), as: name) }
    let place = try Self.place(server, known: mine)
    let urls = ["a", "b", "c"].map { server.sftp($0) }
    let terminal = try TerminalRun(place, ["get"] + urls, columns: 80, rows: 24)
    defer { terminal.stop() }
    let asked = try await terminal.wait(for: "Is it the server's\\?")
    #expect(asked.text.contains("127.0.0.1:\(server.port) shows a key"), "\(asked.text)")
    // Cut, it could be that of another key.
    #expect(asked.text.contains(/SHA256:[A-Za-z0-9+\/]{43}/), "\(asked.text)")
    try await terminal.type("x")
    try await terminal.wait(for: "Not one of these keys")
    try await terminal.type(answer)
    let end = try await terminal.waitForEnd()
    let isTrusted = answer == "y"
    #expect(end.status == (isTrusted ? 0 : 1), "\(end.text)")
    #expect(try place.names() == (isTrusted ? ["a", "b", "c"] : []))
    let known = String(decoding: try place.folder.read("home/.ssh/known_hosts"), as: UTF8.self)
    #expect(known == (isTrusted ? "# mine\n" + (try server.hostLine()) : mine))
  }

  @Test func aLoginThatIsRefused() async throws {
    let server = try await LoopbackServer.sshd()
    defer { server.stop() }
    try server.serve([1], as: "f")
    let place = try Self.place(server)
    unlink(place.folder.path("home/.ssh/id_ed25519"))
    let run = try await place.dlm("get", server.sftp("f"))
    #expect(run.status == 1 && run.errorText.contains("--identity"), "\(run.errorText)")
    let given = try await place.dlm("get", server.sftp("f"), "--identity", server.folder.path("user"))
    #expect(given.status == 0, "\(given.errorText)")
  }

  @Test func noSuchFile() async throws {
    let server = try await LoopbackServer.sshd()
    defer { server.stop() }
    let run = try await Self.place(server).dlm("get", server.sftp("nope"))
    #expect(run.status == 1 && run.errorText.contains("check the URL"), "\(run.errorText)")
  }

  /// A list from elsewhere does not use the user's login.
  @Test func aThirdPartyList() async throws {
    let server = try await LoopbackServer.sshd()
    let origin = try FaultyOrigin()
    defer {
      server.stop()
      origin.stop()
    }
    try server.serve([1], as: "f")
    origin.route("/list", .file(Array("\(server.sftp("f"))\n\(origin.url("/g"))\n".utf8)))
    origin.route("/g", .file([2]))
    let place = try Self.place(server)
    let run = try await place.dlm("get", "--list", origin.url("/list"))
    #expect(run.status == 1 && run.errorText.contains("list of your own"), "\(run.errorText)")
    #expect(try place.names() == ["g"])
  }
}
