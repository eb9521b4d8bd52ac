import CCurl
import DownloadModel
import TestSupport
import Testing

@testable import CurlTransport

/// One transfer without a network: heads and bytes in, the receipt out.
@Suite("What a transfer comes to")
struct ExchangeTests {
  private static let now: UInt64 = 1_000

  private func exchange(_ url: String = "http://h/a") throws -> Exchange {
    Exchange(TransferRequest(address: try Address(url)), CollectingSink())
  }

  private func head(_ status: Int, _ lines: String = "") -> ResponseHead {
    ResponseHead(status: status, block: Array(lines.utf8))
  }

  /// - Returns: nil for success.
  private func code(_ exchange: borrowing Exchange, _ code: CURLcode = CURLE_OK) -> DownloadError.Code? {
    do throws(DownloadError) {
      _ = try exchange.receipt(code) { DownloadError(.transport) }
      return nil
    } catch { return error.code }
  }

  @Test func aWholeBody() throws {
    var exchange = try exchange()
    #expect(exchange.isWaiting == true)
    let judged = try exchange.final(head(200, "Content-Length: 5\r\n"))
    let isTaken = try exchange.take(.write, of: judged, at: Self.now)
    #expect(isTaken)
    #expect(!exchange.isWaiting && !exchange.goesOn && exchange.drainDeadline == nil)
    exchange.delivered(3)
    #expect(code(exchange) == .shortBody)
    exchange.delivered(2)
    #expect(
      try exchange.receipt(CURLE_OK) { .cancelled }
        == TransferReceipt(status: 200, bodyBytes: 5, proof: .length))
    #expect(code(exchange, CURLE_RECV_ERROR) == .transport)
    exchange.delivered(1)
    #expect(code(exchange) == .longBody)
  }

  /// What is found here comes before what libcurl says of the same end.
  @Test func theFirstFailureCounts() throws {
    var exchange = try exchange()
    #expect(code(exchange) == .badResponse, "no head")
    let goesOn = exchange.fail(DownloadError(.diskFull))
    #expect(!goesOn && code(exchange, CURLE_WRITE_ERROR) == .diskFull)
  }

  /// The answer is in the head: it counts whatever becomes of the body.
  @Test(arguments: [CURLE_OK, CURLE_WRITE_ERROR, CURLE_RECV_ERROR])
  func drained(code: CURLcode) throws {
    var exchange = try exchange()
    let judged = try exchange.final(head(404, "Content-Length: 100\r\n"))
    let isTaken = try exchange.take(.drain, of: judged, at: Self.now)
    #expect(isTaken)
    #expect(exchange.drainDeadline == Self.now + Exchange.drainTime)
    let goesOn = exchange.dropped(10)
    #expect(goesOn && exchange.bodyBytes == 10 && exchange.received == 0)
    let receipt = try exchange.receipt(code) { .cancelled }
    #expect(receipt.status == 404 && receipt.bodyBytes == 0)
  }

  @Test(
    arguments: [
      ("Content-Length: 65537\r\n", false), ("Content-Length: 65536\r\n", true), ("", true),
      ("Content-Length: 0\r\n", true),
    ])
  func bodiesThatAreNotWorthTheirWay(lines: String, goesOn: Bool) throws {
    var exchange = try exchange()
    let judged = try exchange.final(head(404, lines))
    let isRead = try exchange.take(.drain, of: judged, at: Self.now)
    #expect(isRead == goesOn)
  }

  @Test func noMoreThanTheLimitIsRead() throws {
    var exchange = try exchange()
    let judged = try exchange.final(head(404))
    let isRead = try exchange.take(.drain, of: judged, at: Self.now)
    let goesOn = exchange.dropped(65_536)
    #expect(isRead && goesOn && exchange.bodyBytes == 65_536)
    let isTooLong = !exchange.dropped(1)
    #expect(isTooLong)
  }

  @Test func redirects() throws {
    var exchange = try exchange("http://u:p@h/a")
    let goesOn = exchange.redirect(head(302, "Location: b\r\nContent-Length: 0\r\n"), atMost: 20, at: Self.now)
    #expect(goesOn && exchange.goesOn)
    guard case .redirect(let route)? = exchange.follow(after: 30) else {
      Issue.record("it leads elsewhere")
      return
    }
    let target = exchange.destination
    #expect(target == route.destination && target.key == "http://h/b" && target.hasCredentials)
    #expect(exchange.effectiveURL == "http://h/b" && exchange.hopTime == 30)
    #expect(!exchange.goesOn && exchange.isWaiting)
    let refused = exchange.redirect(head(302, "Location: file:///x\r\n"), atMost: 20, at: Self.now)
    #expect(!refused && !exchange.goesOn && code(exchange, CURLE_WRITE_ERROR) == .redirect)
  }

  /// Asked again at the same address: no redirect, and no answer yet.
  @Test func challenges() throws {
    var exchange = try exchange()
    let goesOn = exchange.askAgain(.probe, head(401, "Content-Length: 10\r\n"), at: Self.now)
    #expect(goesOn && exchange.goesOn)
    guard case .login(.probe)? = exchange.follow(after: 5) else {
      Issue.record("it asks again")
      return
    }
    #expect(exchange.effectiveURL == nil && exchange.hopTime == 5)
    // libcurl would try the login again by itself: the connection is given up.
    exchange.login = .digest(isFresh: false)
    let isKept = exchange.askAgain(.probe, head(401, "Content-Length: 10\r\n"), at: Self.now)
    #expect(!isKept && exchange.goesOn)
  }

  /// A 407 is the end unless libcurl asks once more with the login, and that is answered.
  @Test func aProxysRefusal() throws {
    var exchange = try exchange()
    exchange.proxyDidRefuse(DownloadError(.proxy))
    #expect(code(exchange) == .proxy && code(exchange, CURLE_WRITE_ERROR) == .proxy)
    #expect(code(exchange, CURLE_RECV_ERROR) == .transport && exchange.drainDeadline == nil)
    exchange.serverDidAnswer()
    let judged = try exchange.final(head(200, "Content-Length: 0\r\n"))
    let isTaken = try exchange.take(.write, of: judged, at: Self.now)
    #expect(isTaken)
    #expect(code(exchange) == nil)
  }
}
