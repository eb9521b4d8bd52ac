import DownloadModel
import Foundation
import Glibc
import TestSupport
import Testing

/// A real server of a kind, and a place whose user it lets in.
private final class KindOfServer {
  enum Kind: String, CaseIterable { case vsftpd, pyftpdlib, ftpes, sftp, scp, moto, file }

  let kind: Kind
  let place: Workplace
  /// What dlm must be told.
  private(set) var options: [String] = []
  private var server: LoopbackServer?
  private var moto: MotoServer?
  private var folder: TemporaryFolder?
  private var authority: TestAuthority?

  init(_ kind: Kind, login: [String: String] = [:]) async throws {
    self.kind = kind
    var variables: [String: String] = [:]
    switch kind {
    case .vsftpd: server = try await .vsftpd()
    case .pyftpdlib:
      server = try await LoopbackServer("/usr/bin/python3", package: "python3-pyftpdlib") { path, ports in
        mkdir("\(path)/root", 0o755)
        let words = ["-m", "pyftpdlib", "-i", "127.0.0.1", "-p", "\(ports[0])", "-d", "\(path)/root"]
        return LoopbackServer.Launch(arguments: words)
      }
    case .ftpes:
      let authority = try await TestAuthority()
      try await authority.issue("server")
      server = try await .vsftpd(tls: (authority.folder.path("server.pem"), authority.folder.path("server.key")))
      options = ["--cacert", authority.certificatePath]
      self.authority = authority
    case .sftp, .scp: server = try await .sshd()
    case .moto:
      let moto = try await MotoServer()
      variables = moto.variables
      self.moto = moto
    case .file: folder = try TemporaryFolder()
    }
    place = try Workplace(variables.merging(login) { $1 })
    guard kind == .sftp || kind == .scp, let server else { return }
    try place.folder.write(Array(server.hostLine().utf8), to: "home/.ssh/known_hosts")
    let key = try place.folder.write(server.folder.read("user"), to: "home/.ssh/id_ed25519")
    chmod(key, 0o600)
  }

  func write(_ bytes: [UInt8], _ name: String, at time: TimeInterval = 1_700_000_000) async throws {
    try await moto?.write(bytes, key: name)
    guard let folder = folder ?? server?.folder else { return }
    let path = try folder.write(bytes, to: self.folder == nil ? "root/\(name)" : name)
    let date = Date(timeIntervalSince1970: time)
    try FileManager.default.setAttributes([.modificationDate: date], ofItemAtPath: path)
  }

  func url(_ name: String) -> String {
    switch kind {
    case .vsftpd, .pyftpdlib: server?.ftp("/\(name)") ?? ""
    case .ftpes: server?.ftp("/\(name)", scheme: "ftpes") ?? ""
    case .sftp, .scp: server?.sftp(name, scheme: kind.rawValue) ?? ""
    case .moto: "s3://bucket/\(name)"
    case .file: "file://\(folder?.path(name) ?? "")"
    }
  }

  func stop() {
    server?.stop()
    moto?.stop()
  }

  /// Another program's answer for a file.
  func answerOfAnother(_ name: String) async throws -> [UInt8] {
    let command: [String]
    switch kind {
    case .vsftpd, .pyftpdlib: command = ["lftp", "-c", "set net:max-retries 1; get \(url(name)) -o other"]
    case .ftpes:
      let plain = url(name).replacing("ftpes:", with: "ftp:")
      command = ["curl", "-sS", "--ssl-reqd", "--cacert", options[1], plain, "-o", "other"]
    case .sftp, .scp:
      let path = (server?.folder.path("root") ?? "") + "/\(name)"
      let port = "\(server?.port ?? 0)"
      let trust = ["-o", "UserKnownHostsFile=\(place.folder.path("home/.ssh/known_hosts"))"]
      let key = ["-i", place.folder.path("home/.ssh/id_ed25519")]
      command = ["scp", "-q", "-P", port] + trust + key + ["127.0.0.1:\(path)", "other"]
    case .moto:
      command = ["aws", "s3", "cp", url(name), "other", "--endpoint-url", moto?.variables["AWS_ENDPOINT_URL"] ?? ""]
    case .file: command = ["cp", String(url(name).dropFirst(7)), "other"]
    }
    let result = try await place.start(command[0], Array(command.dropFirst())).waitForExit()
    #expect(result.status == 0, "\(command): \(result.errorText)")
    return try place.file("other")
  }
}

@Suite("Each kind of server: whole, killed, changed, refused, wrong logins, many files, folders")
struct ServerKindsTests {
  private typealias Kind = KindOfServer.Kind

  @Test(arguments: Kind.allCases) private func theSameBytesAsAnotherProgram(kind: Kind) async throws {
    let server = try await KindOfServer(kind)
    defer { server.stop() }
    let body = SplitMix64.bytes(count: 3_000_000, seed: 51)
    try await server.write(body, "f")
    let digest = ["--checksum", "sha256:\(ContentHasher.digest(of: body).hex)", "-s", "4"]
    let run = try await server.place.dlm(["get", server.url("f")] + digest + server.options)
    #expect(run.status == 0, "\(run.errorText)")
    #expect(try server.place.file("f") == body)
    #expect(try await server.answerOfAnother("f") == body)
  }

  /// What had come is kept where the server sends the rest of the same file; a changed file is whole and new.
  @Test(arguments: Kind.allCases, [false, true]) private func aKilledRun(kind: Kind, changes: Bool) async throws {
    let server = try await KindOfServer(kind)
    defer { server.stop() }
    let body = SplitMix64.bytes(count: 3_000_000, seed: 52)
    try await server.write(body, "f")
    let first = try server.place.start(["get", server.url("f"), "--limit-rate", "100K"] + server.options)
    try await server.place.wait(forSize: 250_000, of: "f.part", toSend: SIGKILL, to: first)
    _ = try await first.waitForExit()
    let wanted = changes ? SplitMix64.bytes(count: 2_900_000, seed: 53) : body
    if changes { try await server.write(wanted, "f", at: 1_700_000_100) }
    let run = try await server.place.dlm(["get", server.url("f")] + server.options)
    #expect(run.status == 0, "\(run.errorText)")
    #expect(try server.place.file("f") == wanted && server.place.names() == ["f"])
    if !changes, kind != .scp { #expect(run.errorText.contains("resumed"), "\(run.errorText)") }
  }

  @Test(arguments: Kind.allCases) private func aFileThatIsNotThere(kind: Kind) async throws {
    let server = try await KindOfServer(kind)
    defer { server.stop() }
    let run = try await server.place.dlm(["get", server.url("none"), "--retries", "0"] + server.options)
    #expect(run.status == 1 && run.errorText.contains("none"), "\(run.errorText)")
    #expect(try server.place.names().isEmpty)
  }

  @Test(arguments: [Kind.vsftpd, .pyftpdlib, .ftpes, .sftp, .scp, .moto])
  private func aWrongLogin(kind: Kind) async throws {
    let server = try await KindOfServer(kind, login: ["AWS_SECRET_ACCESS_KEY": "wrong"])
    defer { server.stop() }
    try await server.write([1], "f")
    unlink(server.place.folder.path("home/.ssh/id_ed25519"))
    let login = kind == .moto ? [] : ["--user", "nobody-here:SECRET"]
    let run = try await server.place.dlm(["get", server.url("f"), "--retries", "0"] + login + server.options)
    #expect(run.status == 1 && !run.errorText.contains("SECRET"), "\(run.errorText)")
    #expect(try server.place.names().isEmpty)
  }

  @Test(arguments: [Kind.vsftpd, .pyftpdlib, .ftpes, .sftp, .moto, .file])
  private func aThousandSmallFiles(kind: Kind) async throws {
    let server = try await KindOfServer(kind)
    defer { server.stop() }
    let count = kind == .moto ? 100 : 1000
    for number in 0..<count { try await server.write(Array("file \(number)".utf8), "f\(number)") }
    _ = try server.place.list((0..<count).map { server.url("f\($0)") })
    let run = try await server.place.dlm(["get", "urls.txt", "-d", "out"] + server.options)
    #expect(run.status == 0, "\(run.errorText)")
    for number in 0..<count { #expect(try server.place.file("out/f\(number)") == Array("file \(number)".utf8)) }
    let again = try await server.place.dlm(["get", "urls.txt", "-d", "out", "--no-compare"] + server.options)
    #expect(again.errorText.contains("up to date"), "\(again.errorText)")
  }

  @Test(arguments: [Kind.vsftpd, .pyftpdlib, .ftpes, .sftp, .moto]) private func aFolder(kind: Kind) async throws {
    let server = try await KindOfServer(kind)
    defer { server.stop() }
    for name in ["pub/a b", "pub/c", "pub/sub/d", "other"] { try await server.write(Array(name.utf8), name) }
    let words = ["get", server.url("pub/"), "-d", "out", "--accept", "*", "--depth", "1"]
    let run = try await server.place.dlm(words + server.options)
    #expect(run.status == 0, "\(run.errorText)")
    #expect(try server.place.names(in: "out") == ["a b", "c", "sub"])
    #expect(try server.place.file("out/sub/d") == Array("pub/sub/d".utf8))
  }
}
