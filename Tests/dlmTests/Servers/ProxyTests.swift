import Foundation
import TestSupport
import Testing

@Suite(
  "Through real proxies: what they say is theirs, final or not, and no login is tried again and again",
  .serialized)
struct ProxyTests {
  /// A proxy, and how many requests with a login it was asked; those before the login do not count.
  enum Kind: String, CaseIterable, Sendable {
    case squidBasic, squidDigest, squidBoth, tinyproxy

    func start() async throws -> LoopbackServer {
      switch self {
      case .squidBasic: try await .squid(.basic)
      case .squidDigest: try await .squid(.digest)
      case .squidBoth: try await .squid(.basicOrDigest)
      case .tinyproxy: try await .tinyproxy(.basic)
      }
    }

    func asked(_ server: LoopbackServer) throws -> Int {
      self == .tinyproxy ? server.tinyproxyLog.count : try server.squidLog().count
    }
  }

  private static let files = 30

  /// An origin with files, reached in a tunnel or by plain requests; and a list of its files.
  private func origin(_ place: Workplace, overTLS: Bool) async throws -> NginxServer {
    let origin = try await NginxServer()
    for index in 0..<Self.files { try origin.write([UInt8(index), 1, 2], to: "f\(index)") }
    _ = try place.list(
      (0..<Self.files).map { overTLS ? origin.tlsURL("/f\($0)") : origin.url("/f\($0)") })
    return origin
  }

  private func get(_ origin: NginxServer, _ place: Workplace, _ arguments: String...) async throws
    -> CommandResult
  {
    try await place.start(
      ["get", "urls.txt", "-d", "out", "--progress", "plain", "--cacert", origin.caCertificatePath]
        + arguments
    ).waitForExit()
  }

  @Test(arguments: Kind.allCases, [false, true])
  func theRightLogin(kind: Kind, overTLS: Bool) async throws {
    let place = try Workplace()
    let proxy = try await kind.start()
    defer { proxy.stop() }
    let origin = try await origin(place, overTLS: overTLS)
    defer { origin.stop() }
    let run = try await get(origin, place, "--proxy", proxy.proxyURL(LoopbackServer.proxyPassword))
    #expect(run.status == 0, "\(run.errorText)")
    for index in 0..<Self.files { #expect(try place.file("out/f\(index)") == [UInt8(index), 1, 2]) }
    #expect(try kind.asked(proxy) > 0)
  }

  /// Six files were asked for 36 times, and "the server broke off".
  @Test(arguments: Kind.allCases, [false, true])
  func aWrongLogin(kind: Kind, overTLS: Bool) async throws {
    let place = try Workplace()
    let proxy = try await kind.start()
    defer { proxy.stop() }
    let origin = try await origin(place, overTLS: overTLS)
    defer { origin.stop() }
    let run = try await get(origin, place, "--proxy", proxy.proxyURL("s3cret"), "--verbose")
    #expect(run.status == 1, "\(run.errorText)")
    #expect(
      run.errorText.contains("30 files: the proxy \(proxy.proxyURL()) refused the login"),
      "\(run.errorText)")
    #expect(!run.errorText.contains("s3cret") && !run.errorText.contains("netrc"), "\(run.errorText)")
    #expect(!run.errorText.contains("retry:"), "\(run.errorText)")
    #expect(try place.names(in: "out").isEmpty)
    // One without the login, which tells how it is wanted, and one with it.
    #expect(try kind.asked(proxy) <= 2)
    #expect(try origin.accessLog().isEmpty)
  }

  @Test(arguments: [Kind.squidBasic, .tinyproxy], [false, true])
  func noLogin(kind: Kind, overTLS: Bool) async throws {
    let place = try Workplace()
    let proxy = try await kind.start()
    defer { proxy.stop() }
    let origin = try await origin(place, overTLS: overTLS)
    defer { origin.stop() }
    let run = try await get(origin, place, "--proxy", proxy.proxyURL())
    #expect(run.status == 1, "\(run.errorText)")
    #expect(
      run.errorText.contains("30 files: the proxy \(proxy.proxyURL()) requires a login"),
      "\(run.errorText)")
    #expect(try place.names(in: "out").isEmpty)
    #expect(try kind.asked(proxy) <= Self.files)
  }

  @Test(arguments: [false, true])
  func forbidden(overTLS: Bool) async throws {
    let place = try Workplace()
    let proxy = try await LoopbackServer.squid(lines: ["http_access deny all"])
    defer { proxy.stop() }
    let origin = try await origin(place, overTLS: overTLS)
    defer { origin.stop() }
    let run = try await get(origin, place, "--proxy", proxy.proxyURL())
    #expect(run.status == 1, "\(run.errorText)")
    if overTLS {
      #expect(
        run.errorText.contains("the proxy \(proxy.proxyURL()) answered 403 Forbidden"), "\(run.errorText)")
      #expect(run.errorText.contains("NO_PROXY"), "\(run.errorText)")
    }
    #expect(try place.names(in: "out").isEmpty)
    #expect(try proxy.squidLog().count == Self.files)
  }

  /// What is away for a while, while the proxy is there: 503 of squid, 500 of tinyproxy, code 5 of SOCKS. The
  /// direct way got over it and these did not.
  @Test(arguments: ["squid", "tinyproxy", "socks"])
  func anOriginThatComesBack(kind: String) async throws {
    let place = try Workplace()
    let made = try await CommandRun.result(
      of: "openssl",
      [
        "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2",
        "-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost", "-keyout", "key.pem", "-out",
        "certificate.pem",
      ], folder: place.work)
    try #require(made.status == 0, "\(made.errorText)")
    _ = try place.folder.write([7, 8, 9], to: "work/f")
    var away: RefusedPort? = try RefusedPort()
    let port = try #require(away?.port)
    let proxy = try await kind == "squid" ? LoopbackServer.squid() : .tinyproxy()
    let socks = try await SocksServer()
    defer {
      proxy.stop()
      socks.stop()
    }
    let address = kind == "socks" ? socks.url() : proxy.proxyURL()
    let run = try place.start([
      "get", "https://localhost:\(port)/f", "-d", "out", "--retries", "12", "--progress", "plain", "--cacert",
      "certificate.pem", "--proxy", address,
    ])
    try await run.wait(forErrorOutput: "again in")
    away = nil
    let origin = try CommandRun(
      "openssl",
      [
        "s_server", "-quiet", "-accept", "127.0.0.1:\(port)", "-cert", "certificate.pem", "-key", "key.pem",
        "-WWW",
      ], folder: place.work)
    defer { origin.send(9) }
    let result = try await run.waitForExit()
    #expect(result.status == 0, "\(result.errorText) \(origin.errorText)")
    #expect(try place.file("out/f") == [7, 8, 9])
    let said = [
      "squid": "answered 503 Service Unavailable", "tinyproxy": "answered 500 Internal Server Error",
      "socks": "said connection refused",
    ]
    #expect(
      result.errorText.contains("cannot connect: the proxy \(address) \(said[kind] ?? ""); again in "),
      "\(result.errorText)")
    #expect(result.errorText.contains(", 1 of 12"), "\(result.errorText)")
  }

  /// By the count of tries: each temporary status is tried again, each other once.
  @Test(arguments: [500, 502, 503, 504, 403, 404, 407])
  func answersToCONNECT(status: Int) async throws {
    let proxy = try FaultyOrigin()
    defer { proxy.stop() }
    proxy.route("example.invalid:443", .status(status, body: Array("a page of the proxy's".utf8)))
    let place = try Workplace()
    let run = try await place.dlm(
      "get", "https://example.invalid/f", "--retries", "1", "--proxy", "127.0.0.1:\(proxy.port)")
    #expect(run.status == (status >= 500 ? 75 : 1), "\(run.errorText)")
    #expect(proxy.log.count == (status >= 500 ? 2 : 1))
    #expect(run.errorText.contains("the proxy http://127.0.0.1:\(proxy.port)"), "\(run.errorText)")
    #expect(try place.names().isEmpty)
  }

  @Test func aWrongSOCKSLogin() async throws {
    let place = try Workplace()
    let proxy = try await SocksServer(login: "me:right")
    defer { proxy.stop() }
    let origin = try await origin(place, overTLS: false)
    defer { origin.stop() }
    let wrong = try await get(origin, place, "--proxy", proxy.url(login: "me:s3cret"))
    #expect(wrong.status == 1, "\(wrong.errorText)")
    #expect(wrong.errorText.contains("30 files: the proxy \(proxy.url()) refused the login"), "\(wrong.errorText)")
    try await proxy.wait(for: "login refused")
    #expect(proxy.asked == ["login refused"])
    let right = try await get(origin, place, "--proxy", proxy.url("socks5", login: "me:right"))
    #expect(right.status == 0, "\(right.errorText)")
    #expect(try place.names(in: "out").count == Self.files)
  }

  /// TLS to the proxy itself, its certificate judged as a server's.
  @Test func anHTTPSProxy() async throws {
    let place = try Workplace()
    let origin = try await origin(place, overTLS: true)
    defer { origin.stop() }
    let squid = try await LoopbackServer.squid(.basic)
    defer { squid.stop() }
    let pem = try ["certificate.pem", "key.pem"].flatMap {
      try Data(
        contentsOf: URL(filePath: origin.caCertificatePath).deletingLastPathComponent().appending(path: $0))
    }
    let front = try await LoopbackServer("/usr/sbin/haproxy", package: "haproxy") { path, ports in
      try Data(pem).write(to: URL(filePath: "\(path)/both.pem"))
      let text = """
        defaults
          mode tcp
          timeout connect 5s
          timeout client 60s
          timeout server 60s
        frontend front
          bind 127.0.0.1:\(ports[0]) ssl crt \(path)/both.pem
          default_backend back
        backend back
          server one 127.0.0.1:\(squid.port)

        """
      return .init(files: ["haproxy.cfg": text], arguments: ["-db", "-f", "\(path)/haproxy.cfg"])
    }
    defer { front.stop() }
    let run = try await get(
      origin, place, "--proxy", front.proxyURL(LoopbackServer.proxyPassword, scheme: "https"))
    #expect(run.status == 0, "\(run.errorText)")
    let stranger = try await place.dlm(
      "get", "http://example.invalid/f", "--proxy", front.proxyURL(scheme: "https"))
    #expect(stranger.status == 1, "\(stranger.errorText)")
    #expect(
      stranger.errorText.contains("no secure connection to the proxy \(front.proxyURL(scheme: "https"))"),
      "\(stranger.errorText)")
  }

  /// It was tried again for 5 to 13 seconds, as if it might pass.
  @Test(
    arguments: [
      ("htp://u:s3cret@h:1", "htp is not a kind of proxy"), ("http://u:s3cret@", "the host is missing"),
      ("h:99999", "its port is not a number"), ("http://u:s3/cret@h:1", "%2F"),
    ])
  func usage(text: String, words: String) async throws {
    let origin = try FaultyOrigin()
    defer { origin.stop() }
    for variable in ["http_proxy", "https_proxy", "HTTPS_PROXY", "ALL_PROXY", "all_proxy", "DLM_PROXY"] {
      let place = try Workplace([variable: text])
      try await refused(place, ["get", origin.url("/f")], variable, words)
    }
    let place = try Workplace()
    try await refused(place, ["get", origin.url("/f"), "--proxy", text], "--proxy", words)
    _ = try place.folder.write(Array("proxy = \(text)\n".utf8), to: "home/config/dlm/dlm.conf")
    try await refused(place, ["get", origin.url("/f")], "dlm.conf:1: proxy", words)
    #expect(origin.log.isEmpty)
  }

  private func refused(
    _ place: Workplace, _ arguments: [String], _ name: String, _ words: String
  ) async throws {
    let run = try await place.start(arguments).waitForExit()
    #expect(run.status == 64, "\(run.errorText)")
    #expect(run.errorText.contains(name) && run.errorText.contains(words), "\(run.errorText)")
    #expect(!run.errorText.contains("s3"), "\(run.errorText)")
  }

  /// The variables that curl knows: by scheme, the empty one is none, NO_PROXY is kept, and the option is
  /// stronger.
  @Test func variables() async throws {
    let (proxy, origin) = (try FaultyOrigin(), try FaultyOrigin())
    defer {
      proxy.stop()
      origin.stop()
    }
    origin.route("/f", .file([1]))
    proxy.route(origin.url("/f"), .file([2]))
    proxy.route("example.invalid:443", .status(403))
    func got(_ variables: [String: String], _ more: String...) async throws -> [UInt8] {
      let place = try Workplace(variables)
      let run = try await place.start(["get", origin.url("/f")] + more).waitForExit()
      #expect(run.status == 0, "\(variables): \(run.errorText)")
      return try place.file("f")
    }
    let url = proxy.url("")
    #expect(try await got(["http_proxy": url]) == [2])
    #expect(try await got(["HTTP_PROXY": url]) == [1], "a CGI server sets it from a header")
    #expect(try await got(["https_proxy": url]) == [1])
    #expect(try await got(["ALL_PROXY": url]) == [2])
    #expect(try await got(["http_proxy": "", "all_proxy": url]) == [2])
    #expect(try await got(["http_proxy": url, "NO_PROXY": "127.0.0.1"]) == [1])
    #expect(try await got(["http_proxy": url], "--proxy", "") == [1])
    #expect(try await got(["http_proxy": "http://127.0.0.1:1", "DLM_PROXY": url]) == [2])
    let place = try Workplace(["HTTPS_PROXY": url])
    let run = try await place.dlm("get", "https://example.invalid/x")
    #expect(run.errorText.contains("the proxy \(url) answered 403"), "\(run.errorText)")
  }
}
