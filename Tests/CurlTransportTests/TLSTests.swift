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
    try await withTransport({ $0.trust.caFile = server.caCertificatePath }) { [body] transport, _ in
      let (_, sink) = try await transport.fetch(address)
      #expect(sink.bytes == body)
    }
    try await withTransport({ $0.trust.isInsecure = true }) { [body] transport, _ in
      let (_, sink) = try await transport.fetch(address)
      #expect(sink.bytes == body)
    }
    try await withTransport({
      $0.trust.caFile = server.caCertificatePath
      $0.usesHTTP2 = true
    }) { [body] transport, _ in
      let (_, sink) = try await transport.fetch(address)
      #expect(sink.bytes == body)
    }
  }

  /// libcurl keeps the certificates that it parsed only without a folder; one that is only there is found all the same.
  @Test func aCertificateInTheFolder() async throws {
    let authority = try await TestAuthority()
    try await authority.issue("server")
    let hash = try await CommandRun.result(
      of: "openssl", ["x509", "-hash", "-noout", "-in", authority.certificatePath])
    let folder = try TemporaryFolder()
    defer { withExtendedLifetime(folder) {} }
    try folder.write(authority.folder.read("ca.pem"), to: hash.outputText.filter { !$0.isNewline } + ".0")
    let server = authority.folder
    let origin = try await TLSOrigin(
      ["/f": .body("x")], identity: (certificate: server.path("server.pem"), key: server.path("server.key")))
    defer { origin.stop() }
    try await withTransport({ options in
      options.trust.caFile = origin.certificatePath
      options.trust.caFolder = folder.path
    }) { transport, _ in
      for _ in 0..<3 {
        let (_, sink) = try await transport.fetch(try Address(origin.url("/f")))
        #expect(sink.bytes == Array("x".utf8))
      }
    }
    try await withTransport({ $0.trust.caFile = origin.certificatePath }) { transport, _ in
      let error = try await #require(throws: DownloadError.self) {
        _ = try await transport.fetch(try Address(origin.url("/f")))
      }
      #expect(error.code == .certificate)
    }
  }

  @Test func aDowngradeIsRefused() async throws {
    let plain = try FaultyOrigin()
    defer { plain.stop() }
    plain.route("/f", .file([1]))
    let server = try await NginxServer(serverLines: ["location /down { return 302 \(plain.url("/f")); }"])
    defer { server.stop() }
    try await withTransport({ $0.trust.caFile = server.caCertificatePath }) { transport, _ in
      let error = try await #require(throws: DownloadError.self) {
        _ = try await transport.fetch(try Address(server.tlsURL("/down")))
      }
      #expect(error.code == .redirect)
      #expect(plain.log.isEmpty)
    }
  }

  /// An expired certificate, another host's and a self-signed one are three things, with three remedies. One who
  /// skips the check is served by all of them.
  @Test func whatIsWrongWithACertificate() async throws {
    let authority = try await TestAuthority()
    try await authority.issue("good")
    try await authority.issue("old", dates: "-startdate 20200101000000Z -enddate 20210101000000Z")
    try await authority.issue("new", dates: "-startdate 20900101000000Z -enddate 20910101000000Z")
    try await authority.issue("other", names: "DNS:other.example")
    try await authority.issue("back")
    try await authority.revoke("back")
    try authority.folder.write(Array("hello".utf8), to: "text")
    let trusted = authority.certificatePath
    for (name, file, fault) in [
      ("old", trusted, .expired), ("new", trusted, .notYetValid), ("other", trusted, .otherHost),
      (nil, nil, .selfSigned), ("good", nil, .unknownIssuer), ("back", trusted, .revoked),
      ("good", authority.folder.path("text"), .badAuthorities),
    ] as [(String?, String?, CertificateFault)] {
      let identity = name.map {
        (certificate: authority.folder.path("\($0).pem"), key: authority.folder.path("\($0).key"))
      }
      let origin = try await TLSOrigin(["/f": .body("x")], identity: identity)
      defer { origin.stop() }
      try await withTransport({ options in
        options.trust.caFile = file
        if fault == .revoked { options.trust.tls.revocationList = authority.revocationListPath }
      }) { transport, _ in
        let error = try await #require(throws: DownloadError.self) {
          _ = try await transport.fetch(try Address(origin.url("/f")))
        }
        var found: CertificateFault?
        if case .certificate(let fault, _)? = error.cause { found = fault }
        #expect(found == fault && error.code == .certificate && !error.isTransient, "\(error)")
      }
      try await withTransport({ $0.trust.isInsecure = true }) { transport, _ in
        let (_, sink) = try await transport.fetch(try Address(origin.url("/f")))
        #expect(sink.bytes == Array("x".utf8))
      }
    }
  }
}
