import DownloadModel
import Foundation
import Glibc
import TestSupport
import Testing

@Suite("Client certificates, pinned keys, TLS versions and revocation lists", .serialized)
struct ClientCertificateTests {
  private let body = SplitMix64.bytes(count: 50_000, seed: 4)

  /// nginx that gives files to those only who have a certificate of the authority's.
  private func nginx(_ authority: TestAuthority, _ more: [String] = []) async throws -> NginxServer {
    let server = try await NginxServer(
      serverLines: [
        "ssl_client_certificate \"\(authority.certificatePath)\";", "ssl_verify_client on;",
        "ssl_protocols TLSv1.2 TLSv1.3;",
      ]
        + more)
    try server.write(body, to: "f")
    return server
  }

  private func workplace(_ authority: TestAuthority, _ more: [String: String] = [:]) throws -> Workplace {
    let place = try Workplace(more)
    for name in try authority.folder.names() where name.hasPrefix("me") {
      try place.folder.write(try authority.folder.read(name), to: "work/\(name)")
    }
    try place.folder.write(Array("secret\nnot this\n".utf8), to: "work/phrase")
    try place.folder.write(Array("wrong\n".utf8), to: "work/wrong")
    return place
  }

  @Test func inAllItsForms() async throws {
    let authority = try await TestAuthority()
    try await authority.issue("me")
    let server = try await nginx(authority)
    defer { server.stop() }
    for (options, variable) in [
      (["--cert", "me.both.pem"], nil), (["--cert", "me.pem", "--key", "me.key"], nil),
      (["--cert", "me.pem", "--key", "me.locked.key", "--cert-passphrase-file", "phrase"], nil),
      (["--cert", "me.pem", "--key", "me.locked.key"], "secret"), (["--cert", "me.p12"], "secret"),
      (["--cert", "me.p12", "--cert-type", "p12", "--cert-passphrase-file", "phrase"], nil),
      (["--cert", "me.both.pem", "--tlsv1.3"], nil), (["--cert", "me.both.pem", "--tls-max", "1.2"], nil),
    ] as [([String], String?)] {
      let place = try workplace(authority, variable.map { ["DLM_CERT_PASSPHRASE": $0] } ?? [:])
      let run = try await place.start(
        ["get", server.tlsURL("/f"), "--cacert", server.caCertificatePath, "-d", "out"] + options
      ).waitForExit()
      #expect(run.status == 0, "\(options): \(run.errorText)")
      #expect(try place.file("out/f") == body)
    }
  }

  /// What can be known before the run is said before it; nothing is tried twice, and nobody is asked at a
  /// terminal that is not there.
  @Test(arguments: [
    (["--cert", "none.pem"], 64, "none.pem"), (["--cert", "me.pem"], 64, "--key"),
    (["--cert", "me.key", "--key", "none"], 64, "--key none"), (["--key", "me.key"], 64, "--cert"),
    (["--cert", "me.pem", "--key", "me.pem"], 64, "private key"), (["--cert", "phrase"], 64, "PEM"),
    (["--cert", "me.p12", "--key", "me.key"], 64, "PKCS #12"),
    (["--cert", "me.both.pem:CANARY"], 64, "DLM_CERT_PASSPHRASE"),
    (["--cert", "me.pem", "--key", "me.locked.key"], 64, "--cert-passphrase-file"),
    (["--cert", "me.both.pem", "--cert-passphrase-file", "none"], 64, "--cert-passphrase-file none"),
    (["--cert", "me.pem", "--key", "me.locked.key", "--cert-passphrase-file", "wrong"], 1, "pass phrase"),
    (["--cert", "me.p12", "--cert-passphrase-file", "wrong"], 1, "pass phrase"),
    (["--cert", "me.p12"], 1, "pass phrase"), (["--cert", "me.pem", "--key", "meother.key"], 1, "--key"),
  ])
  func whatIsWrongWithIt(options: [String], status: Int32, word: String) async throws {
    let authority = try await TestAuthority()
    try await authority.issue("me")
    try await authority.issue("meother")
    let server = try await nginx(authority)
    defer { server.stop() }
    let place = try workplace(authority)
    let run = try await place.start(
      "setsid",
      ["-w", try DLMExecutable.path(), "get", server.tlsURL("/f"), "--cacert", server.caCertificatePath]
        + options
    ).waitForExit()
    #expect(run.status == status, "\(run.errorText)")
    #expect(run.errorText.contains(word), "\(run.errorText)")
    #expect(!run.errorText.contains("CANARY"), "\(run.errorText)")
    #expect(!run.errorText.lowercased().contains("retr"), "\(run.errorText)")
    #expect(try !place.names().contains("f"))
  }

  /// Asked for on the terminal, unseen; Ctrl-C ends dlm and gives the echo back.
  @Test func askedFor() async throws {
    let authority = try await TestAuthority()
    try await authority.issue("me")
    let server = try await nginx(authority)
    defer { server.stop() }
    let place = try workplace(authority)
    let words =
      [
        try DLMExecutable.path(), "get", server.tlsURL("/f"), "--cacert", server.caCertificatePath, "--cert",
        "me.p12",
      ]
    func start() throws -> CommandRun {
      // The shell outlives Ctrl-C, to look at the terminal.
      let line =
        "trap : INT; " + words.map { "'\($0)'" }.joined(separator: " ")
        + "; status=$?; stty -a | grep -o ' echo '; exit $status"
      return try place.start("script", ["-qefc", line, "/dev/null"], input: .open)
    }
    let run = try start()
    try await run.wait(forOutput: "Pass phrase for me.p12: ")
    run.write(Array("sEcrex\u{7f}t\r".replacing("E", with: "e").utf8))
    let result = try await run.waitForExit()
    #expect(result.status == 0, "\(result.outputText)")
    #expect(
      !result.outputText.contains("secre") && result.outputText.contains(" echo "), "\(result.outputText)")
    #expect(try place.file("f") == body)
    let ended = try start()
    try await ended.wait(forOutput: "Pass phrase for me.p12: ")
    ended.write([3])
    let interrupted = try await ended.waitForExit()
    #expect(interrupted.status != 0)
    #expect(interrupted.outputText.contains(" echo "), "\(interrupted.outputText)")
  }

  /// TLS 1.3 lets a server say no only after the handshake: that was once a connection that broke, and tried
  /// five times.
  @Test(arguments: [[], ["--tls-max", "1.2"]] as [[String]])
  func aServerThatWantsOne(more: [String]) async throws {
    let authority = try await TestAuthority()
    try await authority.issue("server")
    let server = try await LoopbackServer.apache(
      lines: ["SSLCACertificateFile \"\(authority.certificatePath)\"", "SSLVerifyClient require"],
      tlsCertificate: authority.folder.path("server.both.pem"))
    defer { server.stop() }
    try server.folder.write([1], to: "root/f")
    let place = try Workplace()
    let run = try await place.start(
      ["get", "https://localhost:\(server.port)/f", "--cacert", authority.certificatePath] + more
    ).waitForExit()
    #expect(run.status == 1, "\(run.errorText)")
    #expect(run.errorText.contains(more.isEmpty ? "--cert" : "secure connection"), "\(run.errorText)")
  }

  /// A certificate goes to the origin of the address, as logins do, and not where a redirect leads.
  @Test func notAcrossARedirect() async throws {
    let authority = try await TestAuthority()
    try await authority.issue("me")
    let other = try await nginx(authority)
    defer { other.stop() }
    let server = try await nginx(authority, ["location /away { return 302 \(other.tlsURL("/f")); }"])
    defer { server.stop() }
    let place = try workplace(authority)
    let both = authority.folder.path("trusted.pem")
    let pems = try [server, other].map { try String(contentsOfFile: $0.caCertificatePath, encoding: .utf8) }
    try pems.joined().write(toFile: both, atomically: true, encoding: .utf8)
    _ = try place.list([server.tlsURL("/away"), server.tlsURL("/f"), other.tlsURL("/f?own")])
    let run = try await place.dlm(
      "get", "urls.txt", "--cacert", both, "--cert", "me.both.pem", "-m", "sequential", "-d", "out")
    #expect(run.status == 1, "\(run.errorText)")
    #expect(run.errorText.contains("400"), "\(run.errorText)")
    #expect(try place.names(in: "out").count == 2)
  }

  @Test func pinnedKeys() async throws {
    let authority = try await TestAuthority()
    try await authority.issue("server")
    try await authority.issue("other")
    let server = try await LoopbackServer.apache(tlsCertificate: authority.folder.path("server.both.pem"))
    defer { server.stop() }
    try server.folder.write([1], to: "root/f")
    let (right, wrong) = (try await authority.pin(of: "server"), try await authority.pin(of: "other"))
    for pins in [right, "\(wrong);\(right)"] {
      let run = try await Workplace().dlm(
        "get", "https://localhost:\(server.port)/f", "--cacert", authority.certificatePath, "--pinnedpubkey",
        pins)
      #expect(run.status == 0, "\(run.errorText)")
    }
    let run = try await Workplace().dlm(
      "get", "https://localhost:\(server.port)/f", "--cacert", authority.certificatePath, "--pinnedpubkey",
      wrong)
    #expect(run.status == 1)
    #expect(run.errorText.contains("pinned") && run.errorText.contains("owner"), "\(run.errorText)")
    let missing = try await Workplace().dlm("get", "https://localhost:1/f", "--pinnedpubkey", "none.pem")
    #expect(missing.status == 64 && missing.errorText.contains("--pinnedpubkey none.pem"))
  }

  @Test func versions() async throws {
    let server = try await NginxServer(serverLines: ["ssl_protocols TLSv1.2;"])
    defer { server.stop() }
    try server.write(body, to: "f")
    let address = server.tlsURL("/f")
    let ca = server.caCertificatePath
    #expect(try await Workplace().dlm("get", address, "--cacert", ca, "--tlsv1.2").status == 0)
    let run = try await Workplace().dlm("get", address, "--cacert", ca, "--tlsv1.3")
    #expect(run.status == 1)
    #expect(run.errorText.contains("no TLS version"), "\(run.errorText)")
    let both = try await Workplace().dlm("get", address, "--tlsv1.3", "--tls-max", "1.2")
    #expect(both.status == 64 && both.errorText.contains("--tls-max 1.2"), "\(both.errorText)")
    let variable = try await Workplace(["DLM_TLSV1_3": "yes"]).dlm("get", address, "--cacert", ca)
    #expect(variable.status == 1)
    let place = try Workplace()
    try place.folder.write(Array("tlsv1.3 = yes\n".utf8), to: "home/config/dlm/dlm.conf")
    #expect(try await place.dlm("get", address, "--cacert", ca).status == 1)
  }

  @Test func revoked() async throws {
    let authority = try await TestAuthority()
    try await authority.issue("server")
    let server = try await LoopbackServer.apache(tlsCertificate: authority.folder.path("server.both.pem"))
    defer { server.stop() }
    try server.folder.write([1], to: "root/f")
    let options = [
      "get", "https://localhost:\(server.port)/f", "--cacert", authority.certificatePath, "--crlfile",
      authority.revocationListPath,
    ]
    let place = try Workplace()
    #expect(try await place.start(options).waitForExit().status == 0)
    try await authority.revoke("server")
    let run = try await place.start(options + ["--refresh"]).waitForExit()
    #expect(run.status == 1)
    #expect(run.errorText.contains("revoked") && run.errorText.contains("do not trust"), "\(run.errorText)")
  }
}
