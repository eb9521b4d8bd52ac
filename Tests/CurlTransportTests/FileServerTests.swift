import CurlTransport
import DownloadModel
import Foundation
import TestSupport
import Testing

@Suite("Transfers from servers without HTTP, and from S3, as the transport gives them")
struct FileServerTests {
  private static let body = SplitMix64.bytes(count: 300_000, seed: 5)

  /// Each of some transfers at a time, on few connections.
  @Test func overFTP() async throws {
    let server = try await FTPServer()
    defer { server.stop() }
    try server.folder.write(Self.body, to: "f")
    let address = try Address(server.url("/f"))
    try await withTransport { transport, _ in
      let (receipt, sink) = try await transport.fetch(address)
      #expect(receipt.status == 200 && receipt.proof == .length && sink.bytes == Self.body)
      let tag = try #require(sink.head?["etag"])
      let (rest, tail) = try await transport.fetch(address, from: 299_000)
      #expect(rest.status == 206 && tail.bytes == Array(Self.body[299_000...]))
      let (known, none) = try await transport.fetch(address, headers: ["If-None-Match: \(tag)"])
      #expect(known.status == 304 && none.bytes.isEmpty)
      let (other, again) = try await transport.fetch(address, headers: ["If-None-Match: W/\"0-0\""])
      #expect(other.status == 200 && again.bytes == Self.body)
      let (_, page) = try await transport.fetch(Address(server.url("/")))
      #expect(page.bytes == Array("<a href=\"./f\"></a>\n".utf8))
      try await withThrowingTaskGroup { group in
        for _ in 0..<8 { group.addTask { try await transport.fetch(address).1.bytes == Self.body } }
        for try await isSame in group { #expect(isSame) }
      }
      await #expect(throws: DownloadError.self) { try await transport.fetch(Address(server.url("/none"))) }
    }
  }

  @Test func aSilentServerIsLeft() async throws {
    let server = try await FTPServer(faults: ["f=silent"])
    defer { server.stop() }
    try server.folder.write(Self.body, to: "f")
    let address = try Address(server.url("/f"))
    try await withTransport { transport, _ in
      let task = Task { try await transport.fetch(address) }
      _ = try await server.count("RETR", atLeast: 1)
      task.cancel()
      await #expect(throws: DownloadError.self) { try await task.value }
    }
  }

  @Test func overSSH() async throws {
    let server = try await LoopbackServer.sshd()
    defer { server.stop() }
    try server.serve(Self.body, as: "f")
    let address = try Address(server.sftp("f"))
    let known = try server.hostLine()
    let key = server.folder.path("user")
    func user(_ known: String) -> SSHUser {
      SSHUser {
        var files = SSHUser.Files()
        files.key = key
        files.name = NSUserName()
        files.knownHosts = known
        return files
      }
    }
    try await withTransport({ $0.ssh = user(known) }) { transport, _ in
      let (receipt, sink) = try await transport.fetch(address)
      #expect(receipt.proof == .length && sink.bytes == Self.body)
      let (rest, tail) = try await transport.fetch(address, from: 299_000)
      #expect(rest.status == 206 && tail.bytes == Array(Self.body[299_000...]))
    }
    try await withTransport({ $0.ssh = user("") }) { transport, _ in
      let error = await #expect(throws: DownloadError.self) { try await transport.fetch(address) }
      #expect(error?.code == .hostKey)
    }
  }

  @Test func fromABucket() async throws {
    let server = try await S3Server(faults: ["page=2"])
    defer { server.stop() }
    for key in ["d/a", "d/b", "d/c"] { try server.write(Self.body, key: key) }
    let endpoint = try Address(#require(server.variables["AWS_ENDPOINT_URL"]))
    let storage = S3Storage(now: { 1_700_000_000 }) { () throws(DownloadError) in
      var access = S3Storage.Access()
      access.endpoint = endpoint
      access.credentials = S3Credentials(accessKey: "AK/+key", secretKey: "SK/+secret")
      return access
    }
    try await withTransport({ $0.storage = storage }) { transport, _ in
      #expect(try await transport.fetch(Address("s3://bucket/d/a")).1.bytes == Self.body)
      let (_, page) = try await transport.fetch(Address("s3://bucket/d/"))
      #expect(String(decoding: page.bytes, as: UTF8.self).split(separator: "\n").count == 3)
    }
  }
}
