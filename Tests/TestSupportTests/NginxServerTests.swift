import Testing

@testable import TestSupport

@Suite("A real nginx")
struct NginxServerTests {
  @Test func `Plain and TLS serve the folder, and the log tells`() async throws {
    let server = try await NginxServer(serverLines: ["location /gone { return 410; }"])
    defer { server.stop() }
    let bytes = SplitMix64.bytes(count: 100_000, seed: 7)
    try server.write(bytes, to: "folder/file.bin")
    let plain = try await CurlCommand.result([server.url("/folder/file.bin?q"), server.url("/gone")])
    #expect(plain.output.prefix(bytes.count).firstDifference(from: bytes) == nil)
    let log = try await server.accessLog(atLeast: 2)
    #expect(log.map(\.status) == [200, 410])
    #expect(log.map(\.target) == ["/folder/file.bin?q", "/gone"])
    #expect(log.first?.bodyBytes == 100_000)
    #expect(log.first?.connection == log.last?.connection)

    try server.clearLog()
    #expect(try server.accessLog().isEmpty)
    for version in ["--http1.1", "--http2"] {
      let secure = try await CurlCommand.result(
        [version, "--cacert", server.caCertificatePath, "-r", "10-19", server.tlsURL("/folder/file.bin")])
      #expect(secure.output == Array(bytes[10..<20]), "\(secure.errorText)")
    }
    #expect(try await server.accessLog(atLeast: 2).map(\.status) == [206, 206])
    #expect(
      try await CurlCommand.result([server.tlsURL("/")]).status == 60, "an unknown certificate is refused")
  }

  @Test func `Stopping frees the ports, and may be repeated`() async throws {
    let server = try await NginxServer()
    server.stop()
    #expect(try LoopbackSocket.connected(to: server.plainPort) == nil)
    server.stop()
  }

  @Test func `A wrong configuration is a failure with nginx's own words`() async throws {
    let failure = await #expect(throws: SupportFailure.self) {
      try await NginxServer(serverLines: ["nonsense on;"])
    }
    #expect(failure?.description.contains("unknown directive \"nonsense\"") == true)
  }

  @Test func `A missing nginx says who installs it`() {
    let failure = #expect(throws: SupportFailure.self) {
      try LoopbackServer.installed(
        "/no/such/nginx", package: "nginx-light", environment: ["PATH": "/no/such/folder"])
    }
    #expect(failure?.description.contains("Config/test") == true)
    #expect(failure?.description.contains("nginx-light") == true)
  }
}
