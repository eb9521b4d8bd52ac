import CurlTransport
import DownloadModel
import TestSupport
import Testing

@Suite("Redirects are followed with what belongs to each origin, and no further (HTTP rules 25, 33, 42)")
struct RedirectTests {
  private let secrets = [
    "X-Api-Key: s3cret", "Authorization: Bearer s3cret", "Cookie: a=s3cret", "User-Agent: mine",
  ]

  private func said(_ request: Seen) -> String { "\(request.path) \(request.headers)" }

  /// Found by trial: libcurl has one list of header lines for all hosts, and keeps back Authorization and
  /// Cookie only.
  @Test func headerLinesDoNotCrossToAnotherOrigin() async throws {
    let other = try FaultyOrigin()
    defer { other.stop() }
    try await withTransport({ $0.trust.headerLines = secrets }) { transport, origin in
      origin.route("/old", .redirect(302, to: other.url("/away")))
      other.route("/away", .redirect(307, to: origin.url("/back")))
      origin.route("/back", .redirect(303, to: "/here?q=1"))
      origin.route("/here", .file([1, 2, 3]))
      let (receipt, sink) = try await transport.fetch(
        try origin.address("/old"), headers: ["If-None-Match: \"9\""])
      #expect(sink.bytes == [1, 2, 3])
      #expect(receipt.effectiveURL == origin.url("/here?q=1"))
      #expect(sink.head?.effectiveURL == origin.url("/here?q=1"))
      let away = try #require(other.log.first)
      #expect(!said(away).contains("s3cret"), "\(said(away))")
      #expect(away.headers["user-agent"] == "dlm-test")
      #expect(away.headers["accept-encoding"] == "identity")
      #expect(away.headers["if-none-match"] == "\"9\"")
      #expect(origin.log.count == 3)
      for request in origin.log {
        #expect(request.headers["x-api-key"] == "s3cret", "\(said(request))")
        #expect(request.headers["user-agent"] == "mine")
      }
      // The easy handle is used again: the user's lines are back.
      _ = try await transport.fetch(try other.address("/away"))
      #expect(other.log.last?.headers["x-api-key"] == "s3cret")
    }
  }

  @Test func aLoginStaysWithItsOrigin() async throws {
    let other = try FaultyOrigin()
    defer { other.stop() }
    try await withTransport { transport, origin in
      origin.route("/old", .behindBasic(.redirect(302, to: "/new")))
      origin.route("/new", .redirect(302, to: other.url("/away")))
      other.route("/away", .file([1]))
      let address = try Address("http://me:s3cret@127.0.0.1:\(origin.port)/old")
      let (receipt, _) = try await transport.fetch(address)
      #expect(receipt.effectiveURL == other.url("/away"))
      let basic = "Basic bWU6czNjcmV0"
      #expect(origin.log.map { $0.headers["authorization"] } == [nil, basic, basic])
      #expect(other.log.first?.headers["authorization"] == nil)
    }
  }

  @Test(arguments: [(20, true), (21, false)])
  func atMostTwenty(count: Int, isFollowed: Bool) async throws {
    try await withTransport { transport, origin in
      for hop in 0..<count { origin.route("/\(hop)", .redirect(302, to: "\(hop + 1)")) }
      origin.route("/\(count)", .file([7]))
      let address = try origin.address("/0")
      if isFollowed {
        #expect(try await transport.fetch(address).1.bytes == [7])
      } else {
        let error = try await #require(throws: DownloadError.self) { _ = try await transport.fetch(address) }
        #expect(error.code == .redirect && !error.isTransient)
        #expect(error.address == address.key)
      }
      #expect(origin.record.connectionsOpened == 1)
    }
  }

  @Test(arguments: [
    ("ftp://u:s3cret@h/x?sig=s3cret", "to ftp://h/x?sig=…"),
    ("http://", "to http://"), ("http://h:99999/", "to http://h:99999/"), ("//", "to //"),
  ])
  func whereNothingIsToBeAsked(location: String, reason: String) async throws {
    try await withTransport { transport, origin in
      origin.route("/old", .redirect(302, to: location))
      let error = try await #require(throws: DownloadError.self) {
        _ = try await transport.fetch(try origin.address("/old"))
      }
      #expect(error.code == .redirect)
      #expect(error.reason.contains(reason) && !error.reason.contains("s3cret"), "\(error)")
    }
  }

  @Test func headerLinesAreNotForAProxysConnect() async throws {
    let proxy = try FaultyOrigin()
    defer { proxy.stop() }
    proxy.route("example.invalid:443", .status(403))
    let address = try ProxyAddress(proxy.url(""))
    try await withTransport({
      $0.trust.headerLines = secrets
      $0.proxies = Proxy.routes(http: address, https: address)
    }) { transport, _ in
      _ = try await #require(throws: DownloadError.self) {
        _ = try await transport.fetch(try Address("https://example.invalid/x"))
      }
      let connect = try #require(proxy.log.first)
      #expect(connect.method == "CONNECT")
      #expect(!said(connect).contains("s3cret"), "\(said(connect))")
    }
  }

  private static let heads = [
    "HTTP/1.1 404 Not Found\r\nContent-Length: 10\r\n\r\nxx", "HTTP/1.1 404 Not Found\r\n\r\nxx",
    "HTTP/1.1 404 Not Found\r\nTransfer-Encoding: chunked\r\n\r\n",
    "HTTP/1.1 404 Not Found\r\nContent-Length: 99999999\r\n\r\n",
    "HTTP/1.1 404 Not Found\r\n\r\n" + String(repeating: "x", count: 200_000),
  ]

  /// Found by trial: a 404 whose body never ended took the 30 s of a stall, was called temporary, and asked
  /// for again. The time limit is the test's: a transfer that waits for its body waits for an hour.
  @Test(.timeLimit(.minutes(hangMinutes)), arguments: heads)
  func anAnswerIsKnownFromItsHead(head: String) async throws {
    try await withTransport({ $0.stallTimeout = .seconds(3600) }) { transport, origin in
      origin.route("/f", .unfinished(Array(head.utf8)))
      let (receipt, _) = try await transport.fetch(
        try origin.address("/f"), into: CollectingSink { _ in .drain })
      #expect(receipt.status == 404)
      // And a redirect.
      let redirect = head.replacing("404 Not Found", with: "302 Found\r\nLocation: /g")
      origin.route("/old", .unfinished(Array(redirect.utf8)))
      origin.route("/g", .file([1, 2]))
      #expect(try await transport.fetch(try origin.address("/old")).1.bytes == [1, 2])
    }
  }

  @Test func aShortBodyKeepsItsConnection() async throws {
    try await withTransport { transport, origin in
      origin.route("/f", .status(404, body: Array(repeating: 65, count: 5000)))
      origin.route("/old", .redirect(302, to: "/f"))
      for path in ["/f", "/old", "/f", "/old"] {
        let (receipt, _) = try await transport.fetch(
          try origin.address(path), into: CollectingSink { _ in .drain })
        #expect(receipt.status == 404)
      }
      #expect(origin.record.connectionsOpened == 1)
    }
  }
}
