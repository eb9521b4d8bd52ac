import DownloadModel
import TestSupport
import Testing

@testable import CurlTransport

@Suite("What a proxy says is judged like any answer, and is the proxy's (HTTP rule 40)")
struct ProxyTests {
  /// Fetches once through a proxy, and gives the failure.
  private func failure(
    of url: String, through proxy: String, connectTimeout: Duration = .seconds(120)
  ) async throws -> DownloadError {
    let address = try ProxyAddress(proxy)
    return try await withTransport({
      $0.proxies = Proxy.routes(http: address, https: address)
      $0.connectTimeout = connectTimeout
    }) { transport, _ in
      let error = try await #require(throws: DownloadError.self) {
        _ = try await transport.fetch(try Address(url))
      }
      #expect(!error.description.contains("s3cret"))
      return error
    }
  }

  private func refusal(_ error: DownloadError) throws -> ProxyRefusal {
    guard case .proxy(let refusal)? = error.cause else {
      throw SupportFailure("no word of the proxy: \(error)")
    }
    return refusal
  }

  /// All of them were "the server broke off", and passing.
  @Test(
    arguments: [
      (407, .login, false), (401, .login, false), (403, .status(403), false), (404, .status(404), false),
      (302, .status(302), false), (501, .status(501), false), (408, .status(408), true),
      (429, .status(429), true),
      (500, .status(500), true), (502, .status(502), true), (503, .status(503), true),
      (504, .status(504), true),
    ] as [(Int, ProxyRefusal.Answer, Bool)])
  func answersToCONNECT(status: Int, answer: ProxyRefusal.Answer, isTransient: Bool) async throws {
    let proxy = try FaultyOrigin()
    defer { proxy.stop() }
    proxy.route("example.invalid:443", .status(status, body: Array("page".utf8)))
    let error = try await failure(
      of: "https://example.invalid/f", through: "http://u:s3cret@127.0.0.1:\(proxy.port)")
    #expect(error.code == (isTransient ? .connect : .proxy))
    #expect(error.isTransient == isTransient)
    #expect(!error.isStaleConnection)
    #expect(
      try refusal(error)
        == ProxyRefusal(proxy: "http://127.0.0.1:\(proxy.port)", hadLogin: true, answer: answer))
    #expect(error.address == "https://example.invalid/f")
  }

  /// A login that the proxy cannot be given by Basic or Digest was never sent.
  @Test(arguments: ["https://example.invalid/f", "http://example.invalid/f"])
  func otherSchemesOfLogin(url: String) async throws {
    let proxy = try FaultyOrigin()
    defer { proxy.stop() }
    let answer = OriginAnswer.status(407, headers: ["Proxy-Authenticate: NTLM"])
    proxy.route("example.invalid:443", answer)
    proxy.route("http://example.invalid/f", answer)
    let error = try await failure(of: url, through: "http://u:s3cret@127.0.0.1:\(proxy.port)")
    #expect(try refusal(error).answer == .misunderstood("it takes no login by Basic or Digest"))
    #expect(!error.isTransient)
    #expect(proxy.log.allSatisfy { $0.headers["proxy-authorization"] == nil })
  }

  @Test(arguments: ["close", "reset"])
  func brokenOff(how: String) async throws {
    let proxy = try FaultyOrigin()
    defer { proxy.stop() }
    proxy.route("example.invalid:443", how == "close" ? .close : .reset)
    let error = try await failure(of: "https://example.invalid/f", through: proxy.url(""))
    #expect(error.code == .reset && error.isTransient)
  }

  @Test func proxiesThatAreAway() async throws {
    let refused = try RefusedPort()
    for scheme in ["http", "socks5", "socks4a"] {
      let error = try await failure(
        of: "https://example.invalid/f", through: "\(scheme)://u:s3cret@127.0.0.1:\(refused.port)")
      #expect(error.code == .connect && error.isTransient)
      guard case .away = try refusal(error).answer else { throw SupportFailure("\(error)") }
    }
    for scheme in ["http", "socks5h"] {
      let error = try await failure(
        of: "http://127.0.0.1:1/f", through: "\(scheme)://no-such-proxy.invalid:1")
      #expect(error.isTransient)
      guard case .away = try refusal(error).answer else { throw SupportFailure("\(error)") }
    }
  }

  /// What NO_PROXY names is no matter of the proxy's: here nothing is, and a server that refuses is said by
  /// the proxy.
  @Test(
    arguments: [
      ("1", .unreachable("general failure"), true), ("2", .forbidden, false),
      ("3", .unreachable("network unreachable"), true), ("4", .unreachable("host unreachable"), true),
      ("5", .unreachable("connection refused"), true), ("6", .unreachable("TTL expired"), true),
      ("7", nil, false), ("8", nil, false), ("9", nil, false), ("http", nil, false),
      ("close", .away("connection to proxy closed"), true),
    ] as [(String, ProxyRefusal.Answer?, Bool)])
  func socksReplies(step: String, answer: ProxyRefusal.Answer?, isTransient: Bool) async throws {
    let proxy = try await SocksServer(steps: [step])
    defer { proxy.stop() }
    for url in ["http://example.invalid/f", "https://example.invalid/f"] {
      let error = try await failure(of: url, through: proxy.url())
      #expect(error.isTransient == isTransient, "\(error)")
      #expect(error.code == (isTransient ? .connect : .proxy), "\(error)")
      let refusal = try refusal(error)
      #expect(refusal.proxy == proxy.url())
      if let answer { #expect(refusal.answer == answer) }
    }
  }

  @Test func socksLogins() async throws {
    let proxy = try await SocksServer(login: "u:s3cret")
    defer { proxy.stop() }
    try await withTransport { _, origin in
      origin.route("/f", .file([1, 2]))
      for (login, hadLogin) in [("u:wrong", true), (nil, false)] {
        let error = try await failure(of: origin.url("/f"), through: proxy.url(login: login))
        #expect(error.code == .proxy && !error.isTransient)
        #expect(
          try refusal(error) == ProxyRefusal(proxy: proxy.url(), hadLogin: hadLogin, answer: .login))
      }
      #expect(origin.log.isEmpty)
      for scheme in ["socks5", "socks5h"] {
        let address = try ProxyAddress(proxy.url(scheme, login: "u:s3cret"))
        try await withTransport({ $0.proxies = Proxy.routes(http: address, https: address) }) { transport, _ in
          let sink = try await transport.fetch(try origin.address("/f")).1
          #expect(sink.bytes == [1, 2])
        }
      }
    }
  }

  @Test func aSilentProxy() async throws {
    let proxy = try await SocksServer(steps: ["silent"])
    defer { proxy.stop() }
    let error = try await failure(
      of: "http://example.invalid/f", through: proxy.url(), connectTimeout: .milliseconds(300))
    #expect(error.code == .timeout && error.isTransient)
  }

  /// A 407 to a plain request is the proxy's; one that comes out of a tunnel, or without a proxy, is the
  /// server's.
  @Test func whose407() async throws {
    let proxy = try FaultyOrigin()
    defer { proxy.stop() }
    proxy.route("http://example.invalid/f", .status(407, headers: ["Proxy-Authenticate: Basic realm=\"r\""]))
    let error = try await failure(
      of: "http://example.invalid/f", through: "http://u:s3cret@127.0.0.1:\(proxy.port)")
    #expect(error.code == .proxy && !error.isTransient)
    #expect(proxy.log.map { $0.headers["proxy-authorization"] != nil } == [false, true])
    let socks = try await SocksServer()
    defer { socks.stop() }
    let address = try ProxyAddress(socks.url())
    for routes in [[:], Proxy.routes(http: address, https: address)] {
      try await withTransport({ $0.proxies = routes }) { transport, origin in
        origin.route("/f", .status(407))
        let receipt = try await transport.fetch(try origin.address("/f")).0
        #expect(receipt.status == 407)
      }
    }
  }

  /// The first request is answered by 407 and then, with the login, by the file; no trailer or page of the
  /// first is taken for the second's. What the proxy offered is then given at once.
  @Test func theFileBehindA407() async throws {
    let proxy = try FaultyOrigin()
    defer { proxy.stop() }
    let head =
      "HTTP/1.1 407 No\r\nProxy-Authenticate: Basic realm=\"r\"\r\nTransfer-Encoding: chunked\r\n\r\n"
    proxy.route(
      "http://example.invalid/f",
      .raw(Array((head + "4\r\npage\r\n0\r\nX-Trailer: y\r\n\r\n").utf8)), .file([1, 2, 3]))
    proxy.route("http://example.invalid/g", .file([4]))
    let address = try ProxyAddress("http://u:s3cret@127.0.0.1:\(proxy.port)")
    try await withTransport({ $0.proxies = Proxy.routes(http: address, https: address) }) { transport, _ in
      let first = try await transport.fetch(try Address("http://example.invalid/f")).1
      #expect(first.bytes == [1, 2, 3])
      let second = try await transport.fetch(try Address("http://example.invalid/g")).1
      #expect(second.bytes == [4])
    }
    #expect(proxy.log.map { $0.headers["proxy-authorization"] != nil } == [false, true, true])
  }

  /// Broken off between the two, the login was not refused.
  @Test func brokenOffBehindA407() async throws {
    let proxy = try FaultyOrigin()
    defer { proxy.stop() }
    proxy.route(
      "http://example.invalid/f",
      .status(407, headers: ["Proxy-Authenticate: Basic realm=\"r\""]), .reset)
    let error = try await failure(
      of: "http://example.invalid/f", through: "http://u:s3cret@127.0.0.1:\(proxy.port)")
    #expect(error.code == .reset && error.isTransient, "\(error)")
  }

  /// A wrong login was tried by each file, six times: 36 times for six files.
  @Test(arguments: ["http://example.invalid/f", "https://example.invalid/f"])
  func aRefusedLoginIsTriedOnce(url: String) async throws {
    let proxy = try FaultyOrigin()
    defer { proxy.stop() }
    let answer = OriginAnswer.status(407, headers: ["Proxy-Authenticate: Basic realm=\"r\""])
    for path in ["example.invalid:443", url] { proxy.route(path, answer) }
    let shared = Proxy(try ProxyAddress("http://u:s3cret@127.0.0.1:\(proxy.port)"))
    var options = TransportOptions(userAgent: "dlm-test")
    options.proxies = [.http: shared, .https: shared]
    let transports = [try CurlTransport(options), try CurlTransport(options)]
    let address = try Address(url)
    await withTaskGroup { group in
      for index in 0..<40 {
        group.addTask {
          let error = await #expect(throws: DownloadError.self) {
            _ = try await transports[index % 2].fetch(address)
          }
          #expect(error?.isProxyLogin == true && error?.address == url)
        }
      }
    }
    #expect(proxy.log.count { $0.headers["proxy-authorization"] != nil } == 1)
    for transport in transports { await transport.shutdown() }
  }

  /// The task that tries the login may end without having learnt anything: then the next one tries it, and
  /// no task waits for good, nor behind a cancelled one.
  @Test func theTurnGoesOn() async throws {
    let proxy = Proxy(try ProxyAddress("http://u:p@h:1"))
    #expect(try await proxy.enter())
    let next = Task { try await proxy.enter() }
    let cancelled = Task { try await proxy.enter() }
    cancelled.cancel()
    await #expect(throws: DownloadError.cancelled) { _ = try await cancelled.value }
    proxy.left()
    #expect(try await next.value)
    let others = (0..<3).map { _ in Task { try await proxy.enter() } }
    proxy.letThrough(offered: 0)
    for other in others { #expect(try await other.value == false) }
    let refused = DownloadError(.proxy)
    proxy.refuse(refused)
    proxy.letThrough(offered: 0)
    await #expect(throws: refused) { _ = try await proxy.enter() }
  }

  /// Without a login nothing can lock an account, and a proxy may want one for some servers only.
  @Test func withoutALoginEachIsAsked() async throws {
    let proxy = Proxy(try ProxyAddress("http://h:1"))
    proxy.refuse(DownloadError(.proxy))
    #expect(try await proxy.enter() == false)
  }
}
