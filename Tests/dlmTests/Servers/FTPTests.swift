import DownloadModel
import Foundation
import Glibc
import TestSupport
import Testing

@Suite("FTP: complete, resumed, unchanged, refused; servers that lie, hang and close")
struct FTPTests {
  private static let body = SplitMix64.bytes(count: 400_000, seed: 21)

  // MARK: Real servers

  @Test func filesOfARealServer() async throws {
    let server = try await LoopbackServer.vsftpd()
    defer { server.stop() }
    try server.serve(Self.body, as: "pub/a b?.bin")
    try server.serve([], as: "empty")
    let place = try Workplace()
    let urls = [server.ftp("/pub/a%20b%3F.bin"), server.ftp("/empty"), server.ftp("/pub/a b?.bin;type=i")]
    let run = try await place.dlm(["get", "-d", "out"] + urls)
    #expect(run.status == 0, "\(run.errorText)")
    #expect(try place.file("out/a b?.bin") == Self.body)
    #expect(try place.file("out/empty") == [])
    let again = try await place.dlm(["get", "-d", "out"] + urls)
    #expect(again.status == 0 && again.errorText.contains("up to date"), "\(again.errorText)")
    #expect(try place.names(in: "out") == ["a b?.bin", "empty"])
  }

  /// `ftps` is TLS from the start, which vsftpd speaks on a port of its own; `ftpes` asks for it.
  @Test(arguments: ["ftpes", "ftps", "--ssl-reqd"])
  func overTLS(how: String) async throws {
    let authority = try await TestAuthority()
    try await authority.issue("server")
    let identity = (authority.folder.path("server.pem"), authority.folder.path("server.key"))
    let server = try await LoopbackServer.vsftpd(tls: identity, lines: how == "ftps" ? ["implicit_ssl=YES"] : [])
    defer { server.stop() }
    try server.serve(Self.body, as: "f")
    let place = try Workplace()
    let url = server.ftp("/f", scheme: how.hasPrefix("ftp") ? how : "ftp")
    let options = ["--retries", "0"] + (how.hasPrefix("ftp") ? [] : [how])
    let unknown = try await place.dlm(["get", url] + options)
    #expect(unknown.status == 1 && unknown.errorText.contains("unknown issuer"), "\(unknown.errorText)")
    let run = try await place.dlm(["get", url, "--cacert", authority.certificatePath] + options)
    #expect(run.status == 0, "\(run.errorText)")
    #expect(try place.file("f") == Self.body)
  }

  @Test func aServerWithoutTLSIsNotAskedWithoutIt() async throws {
    let server = try await LoopbackServer.vsftpd()
    defer { server.stop() }
    try server.serve([1], as: "f")
    let run = try await Workplace().dlm("get", server.ftp("/f"), "--ssl-reqd", "--retries", "0")
    #expect(run.status == 1 && !run.errorText.isEmpty, "\(run.errorText)")
  }

  /// One control connection is kept for a host's files.
  @Test func anUnchangedFileIsNotSentAgain() async throws {
    let server = try await FTPServer()
    defer { server.stop() }
    try server.folder.write(Self.body, to: "f")
    let place = try Workplace()
    #expect(try await place.dlm("get", server.url("/f")).status == 0)
    let again = try await place.dlm("get", server.url("/f"))
    #expect(again.status == 0 && again.errorText.contains("up to date"), "\(again.errorText)")
    #expect(try await server.count("RETR") == 1)
    let other = SplitMix64.bytes(count: 1000, seed: 3)
    try server.folder.write(other, to: "f")
    #expect(try await place.dlm("get", server.url("/f")).status == 0)
    #expect(try place.file("f") == other && place.names() == ["f"])
    #expect(try await server.count("RETR", atLeast: 2) == 2)
    #expect(try await server.count("USER") == 3, "the probe and the file share a connection")
  }

  @Test func manySmallFiles() async throws {
    let server = try await FTPServer()
    defer { server.stop() }
    var list = ""
    for number in 0..<100 {
      try server.folder.write([UInt8(number)], to: "d/f\(number)")
      list += server.url("/d/f\(number)") + "\n"
    }
    let place = try Workplace()
    try place.folder.write(Array(list.utf8), to: "work/list")
    let run = try await place.dlm("get", "list", "-d", "out", "-j", "4")
    #expect(run.status == 0, "\(run.errorText)")
    for number in 0..<100 { #expect(try place.file("out/f\(number)") == [UInt8(number)]) }
    #expect(try await server.count("RETR", atLeast: 100) == 100)
    #expect(try await server.count("USER") <= 4)
  }

  // MARK: Folders

  @Test(arguments: ["scripted", "vsftpd"]) func aFolderIsAList(kind: String) async throws {
    let scripted = kind == "scripted" ? try await FTPServer() : nil
    let real = kind == "vsftpd" ? try await LoopbackServer.vsftpd() : nil
    let folder = try #require(scripted?.folder ?? real?.folder)
    let root = kind == "vsftpd" ? "root/" : ""
    for name in ["pub/a b?.bin", "pub/c#", "pub/sub/d", "pub/sub/deep/e", "outside"] {
      try folder.write(Array(name.utf8), to: root + name)
    }
    let url = try #require(scripted?.url("/pub/") ?? real?.ftp("/pub/"))
    let place = try Workplace()
    let run = try await place.dlm("get", url, "-d", "flat")
    #expect(run.status == 0, "\(run.errorText)")
    #expect(try place.names(in: "flat") == ["a b?.bin", "c#"])
    #expect(try place.file("flat/c#") == Array("pub/c#".utf8))
    let deep = try await place.dlm("get", url, "--accept", "*", "--depth", "1", "-d", "deep")
    #expect(deep.status == 0, "\(deep.errorText)")
    #expect(try place.file("deep/sub/d") == Array("pub/sub/d".utf8))
    #expect(try place.names(in: "deep") == ["a b?.bin", "c#", "sub"] && place.names(in: "deep/sub") == ["d"])
    // As a line of a list, its listing was a file.
    let list = try place.list([url])
    let line = try await place.dlm("get", list, "-d", "line")
    let words = "urls.txt:1: \"\(url)\": a folder is no file"
    #expect(line.status == 1 && line.errorText.contains(words), "\(line.errorText)")
    scripted?.stop()
    real?.stop()
  }

  /// Names lead to no other folder, and are no commands.
  @Test(
    arguments: [
      ("drwxr-xr-x 1 a b 1 Jan 1 2024 ..|-rw-r--r-- 1 a b 1 Jan 1 2024 ../x|-rw-r--r-- 1 a b 1 Jan 1 2024 f", ["f"], 0),
      ("-rw-r--r-- 1 a b 1 Jan 1 2024 f\u{1B}[31m|-rw-r--r-- 1 a b 1 Jan 1 10:00 f", ["f"], 0),
      ("01-02-24  10:00AM       <DIR>          sub|01-02-24  10:00AM                 1 f", ["f"], 0),
      ("lrwxrwxrwx 1 a b 1 2024-01-02 10:00 f -> sub/g", ["f"], 0), ("what is this", [], 66), ("", [], 0),
    ] as [(String, [String], Int32)])
  func listings(text: String, names: [String], status: Int32) async throws {
    let server = try await FTPServer(faults: ["*=listing=\(text)"])
    defer { server.stop() }
    try server.folder.write([1], to: "f")
    let place = try Workplace()
    let run = try await place.dlm("get", server.url("/"), "-d", "out", "--retries", "0")
    #expect(run.status == status, "\(run.errorText)")
    let isThere = FileManager.default.fileExists(atPath: place.work + "/out")
    #expect(try (isThere ? place.names(in: "out") : []) == names)
  }

  /// Nothing but a checksum of the user's proves that two parts are of one version, neither in one run nor after a kill.
  @Test(arguments: [true, false]) func aLargeFileIsSplitUnderAChecksum(isProvable: Bool) async throws {
    let log = try TemporaryFolder()
    // Slow, so that a second connection is worth its login.
    let server = try await LoopbackServer.vsftpd(lines: [
      "anon_max_rate=400000", "vsftpd_log_file=\(log.path("log"))", "log_ftp_protocol=YES", "xferlog_enable=YES",
      "dual_log_enable=YES", "xferlog_std_format=NO",
    ])
    defer { server.stop() }
    let body = SplitMix64.bytes(count: 4_000_000, seed: 22)
    try server.serve(body, as: "f")
    let place = try Workplace()
    let asked = ["get", server.ftp("/f"), "-s", "4"]
    let digest = ["--checksum", "sha256:\(ContentHasher.digest(of: body).hex)"]
    func requests() throws -> Int {
      String(decoding: try log.read("log"), as: UTF8.self).split(separator: "RETR f").count - 1
    }
    let first = try place.start(asked + digest)
    // Bytes behind the middle show that there is a second connection.
    try await place.wait(forSize: 2_100_000, of: "f.part", toSend: SIGKILL, to: first)
    _ = try await first.waitForExit()
    let before = try requests()
    #expect(before > 1)
    let again = try await place.dlm(asked + (isProvable ? digest : []))
    #expect(again.status == 0, "\(again.errorText)")
    #expect(try place.file("f") == body && place.names() == ["f"])
    #expect(again.errorText.contains("resumed from") == isProvable)
    #expect(again.errorText.contains("cannot be resumed: starting over") == !isProvable)
    if !isProvable { #expect(try requests() == before + 1) }
  }

  // MARK: Resuming

  @Test func aKilledRunGoesOn() async throws {
    let server = try await FTPServer(faults: ["f=cut=300000"])
    defer { server.stop() }
    try server.folder.write(Self.body, to: "f")
    let place = try Workplace()
    let first = try await place.dlm("get", server.url("/f"), "--retries", "0")
    #expect(first.status == 75, "\(first.errorText)")
    let again = try await place.dlm("get", server.url("/f"))
    #expect(again.status == 0, "\(again.errorText)")
    #expect(try place.file("f") == Self.body && place.names() == ["f"])
    #expect(server.commands.contains("REST \(300_000 - 65_536)"), "the last 64 KiB are compared")
  }

  /// Equal bytes at the end of the part show that the file is the same.
  @Test(arguments: [true, false]) func anotherVersionStartsOver(isOfSameTime: Bool) async throws {
    let server = try await FTPServer(faults: ["f=cut=300000"])
    defer { server.stop() }
    let path = try server.folder.write(Self.body, to: "f")
    let date = Date(timeIntervalSince1970: 1_700_000_000)
    try FileManager.default.setAttributes([.modificationDate: date], ofItemAtPath: path)
    let place = try Workplace()
    #expect(try await place.dlm("get", server.url("/f"), "--retries", "0").status == 75)
    let other = SplitMix64.bytes(count: Self.body.count, seed: 22)
    try server.folder.write(other, to: "f")
    if isOfSameTime { try FileManager.default.setAttributes([.modificationDate: date], ofItemAtPath: path) }
    let run = try await place.dlm("get", server.url("/f"))
    #expect(run.status == 0, "\(run.errorText)")
    #expect(try place.file("f") == other)
  }

  @Test(arguments: ["no-rest", "ignore-rest", "no-size", "no-mdtm"])
  func aServerThatCannotResume(fault: String) async throws {
    let server = try await FTPServer(faults: ["f=cut=300000", "*=\(fault)"])
    defer { server.stop() }
    try server.folder.write(Self.body, to: "f")
    let place = try Workplace()
    #expect(try await place.dlm("get", server.url("/f"), "--retries", "0").status == 75)
    let run = try await place.dlm("get", server.url("/f"))
    #expect(run.status == 0, "\(run.errorText)")
    #expect(try place.file("f") == Self.body && place.names() == ["f"])
  }

  // MARK: Lies about the end

  @Test(arguments: ["f=size=399999", "f=size=400001", "f=quiet-cut=100000"])
  func lengthsThatDiffer(fault: String) async throws {
    let server = try await FTPServer(faults: [fault])
    defer { server.stop() }
    try server.folder.write(Self.body, to: "f")
    let place = try Workplace()
    let run = try await place.dlm("get", server.url("/f"), "--retries", "0")
    #expect(run.status == 75, "\(run.errorText)")
    #expect(try !place.names().contains("f"))
  }

  /// The size says that every byte is there, whatever became of the last reply.
  @Test(arguments: ["close", "no-226"]) func nothingBehindTheData(fault: String) async throws {
    let server = try await FTPServer(faults: ["f=\(fault)"])
    defer { server.stop() }
    try server.folder.write(Self.body, to: "f")
    let place = try Workplace()
    let run = try await place.dlm("get", server.url("/f"), "--retries", "0")
    #expect(run.status == 0, "\(run.errorText)")
    #expect(try place.file("f") == Self.body)
  }

  @Test func withoutASizeNothingProvesAnEndWithoutAReply() async throws {
    let server = try await FTPServer(faults: ["f=close", "*=no-size"])
    defer { server.stop() }
    try server.folder.write(Self.body, to: "f")
    let place = try Workplace()
    let run = try await place.dlm("get", server.url("/f"), "--retries", "0")
    #expect(run.status == 75, "\(run.errorText)")
    #expect(try !place.names().contains("f"))
  }

  // MARK: Refusals and attacks

  @Test(
    arguments: [
      ("f=reply=550", 1, "550 refused"), ("f=reply=450", 75, "450 refused"), ("*=greeting=421", 75, "421 too many"),
      ("*=login", 1, "530 login incorrect"), ("f=reply=553", 1, "check the URL"),
    ] as [(String, Int32, String)])
  func refusals(fault: String, status: Int32, text: String) async throws {
    let server = try await FTPServer(faults: [fault])
    defer { server.stop() }
    try server.folder.write([1], to: "f")
    let run = try await Workplace().dlm("get", server.url("/f"), "--retries", "0")
    #expect(run.status == status && run.errorText.contains(text), "\(run.errorText)")
  }

  @Test func aBusyServerIsAskedAgain() async throws {
    let server = try await FTPServer(faults: ["f=reply-once=450"])
    defer { server.stop() }
    try server.folder.write([1], to: "f")
    let place = try Workplace()
    #expect(try await place.dlm("get", server.url("/f")).status == 0)
    #expect(try place.file("f") == [1])
  }

  /// A server that takes two connections gets two.
  @Test func fewConnections() async throws {
    let server = try await FTPServer(faults: ["*=greeting-after=2"])
    defer { server.stop() }
    let urls = try (0..<30).map { number in
      try server.folder.write([UInt8(number)], to: "f\(number)")
      return server.url("/f\(number)")
    }
    let place = try Workplace()
    let run = try await place.dlm(["get", "-j", "8", "-d", "out"] + urls)
    #expect(run.status == 0, "\(run.errorText)")
    #expect(try place.names(in: "out").count == 30)
  }

  @Test(
    arguments: [("me:right@", [], 0), ("me:wrong@", [], 1), ("", ["--user", "me:right"], 0), ("", [], 1)]
      as [(String, [String], Int32)])
  func logins(login: String, options: [String], status: Int32) async throws {
    let server = try await FTPServer(faults: ["*=login"])
    defer { server.stop() }
    try server.folder.write([1], to: "f")
    let run = try await Workplace().dlm(["get", server.url("/f", login: login)] + options)
    #expect(run.status == status, "\(run.errorText)")
    #expect(!run.errorText.contains("wrong"))
  }

  @Test func aSilentServerStalls() async throws {
    let server = try await FTPServer(faults: ["f=silent"])
    defer { server.stop() }
    try server.folder.write([1], to: "f")
    let run = try await Workplace().dlm("get", server.url("/f"), "--retries", "0", "--stall-timeout", "2")
    #expect(run.status == 75 && run.errorText.contains("stalled"), "\(run.errorText)")
  }

  /// Data comes from the host that was asked.
  @Test func anotherHostForTheData() async throws {
    let server = try await FTPServer(faults: ["*=foreign-pasv"])
    defer { server.stop() }
    try server.folder.write([1], to: "f")
    let place = try Workplace()
    #expect(try await place.dlm("get", server.url("/f"), "--retries", "0").status == 0)
    #expect(try place.file("f") == [1])
  }

  @Test func aBannerIsNoHead() async throws {
    let server = try await FTPServer(faults: ["*=banner"])
    defer { server.stop() }
    try server.folder.write(Self.body, to: "f")
    let place = try Workplace()
    let run = try await place.dlm("get", server.url("/f"), "--retries", "0")
    #expect(run.status == 0, "\(run.errorText)")
    #expect(try place.file("f") == Self.body)
  }

  @Test func aLineEndInANameIsNoCommand() async throws {
    let run = try await Workplace().dlm("get", "ftp://127.0.0.1:1/a%0D%0ADELE%20b")
    #expect(run.status == 1 && run.errorText.contains("control character"), "\(run.errorText)")
  }

  /// A redirect leads to no other scheme.
  @Test func noRedirectFromHTTP() async throws {
    let server = try await FTPServer()
    let origin = try FaultyOrigin()
    defer {
      server.stop()
      origin.stop()
    }
    try server.folder.write([1], to: "f")
    origin.route("/f", .redirect(302, to: server.url("/f")))
    let run = try await Workplace().dlm("get", origin.url("/f"))
    #expect(run.status == 1 && run.errorText.contains("redirect"), "\(run.errorText)")
    #expect(server.commands.isEmpty)
  }

  /// No transfer over HTTP waits for an FTP server.
  @Test func filesOverHTTPGoOnBeside() async throws {
    let server = try await FTPServer(faults: ["f=silent"])
    let origin = try FaultyOrigin()
    defer {
      server.stop()
      origin.stop()
    }
    try server.folder.write([1], to: "f")
    let urls = (0..<5).map { number in
      origin.route("/g\(number)", .file([UInt8(number)]))
      return origin.url("/g\(number)")
    }
    let place = try Workplace()
    let run = try place.start(["get", server.url("/f")] + urls)
    for number in 0..<5 { try await place.wait(forSize: 1, of: "g\(number)") }
    run.send(SIGINT)
    #expect(try await run.waitForExit().status == 130)
  }
}
