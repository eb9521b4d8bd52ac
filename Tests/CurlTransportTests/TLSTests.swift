import CurlTransport
import DownloadModel
import TestSupport
import Testing

@Suite("TLS is verified, and can be told whom to trust")
struct TLSTests {
  private let body = SplitMix64.bytes(count: 50_000, seed: 7)

  @Test func certificates() async throws {
    let server = try await NginxServer()
    defer { server.stop() }
    try server.write(body, to: "f")
    let address = try Address(server.tlsURL("/f"))
    try await withTransport { transport, _ in
      let error = try await #require(throws: DownloadError.self) { _ = try await transport.fetch(address) }
      #expect(error.code == .certificate)
      #expect(!error.isTransient)
    }
    try await withTransport({ $0.caFile = server.caCertificatePath }) { [body] transport, _ in
      let (_, sink) = try await transport.fetch(address)
      #expect(sink.bytes == body)
    }
    try await withTransport({ $0.isInsecure = true }) { [body] transport, _ in
      let (_, sink) = try await transport.fetch(address)
      #expect(sink.bytes == body)
    }
    try await withTransport({
      $0.caFile = server.caCertificatePath
      $0.usesHTTP2 = true
    }) { [body] transport, _ in
      let (_, sink) = try await transport.fetch(address)
      #expect(sink.bytes == body)
    }
  }

  @Test func aDowngradeIsRefused() async throws {
    let plain = try FaultyOrigin()
    defer { plain.stop() }
    plain.route("/f", .file([1]))
    let server = try await NginxServer(serverLines: ["location /down { return 302 \(plain.url("/f")); }"])
    defer { server.stop() }
    try await withTransport({ $0.caFile = server.caCertificatePath }) { transport, _ in
      let error = try await #require(throws: DownloadError.self) {
        _ = try await transport.fetch(try Address(server.tlsURL("/down")))
      }
      #expect(error.code == .redirect)
      #expect(plain.log.isEmpty)
    }
  }
}
