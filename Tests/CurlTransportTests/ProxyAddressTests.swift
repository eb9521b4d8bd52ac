import DownloadModel
import TestSupport
import Testing

@testable import CurlTransport

@Suite("A proxy's address is judged before anything is asked of it, and never shows its login")
struct ProxyAddressTests {
  @Test(
    arguments: [
      ("http://proxy:3128", "http://proxy:3128", "http://proxy:3128"),
      ("proxy:3128", "http://proxy:3128", "http://proxy:3128"),
      ("proxy", "http://proxy:1080", "http://proxy:1080"),
      ("HTTP://Proxy:80/", "http://proxy:80", "http://proxy:80"),
      ("socks5h://me:pw@[::1]:9", "socks5h://[::1]:9", "socks5h://me:pw@[::1]:9"),
      ("https://p", "https://p:443", "https://p:443"),
      ("socks4a://p", "socks4a://p:1080", "socks4a://p:1080"),
      ("me:p@ss@host:1", "http://host:1", "http://me:p%40ss@host:1"),
      ("@host:1", "http://host:1", "http://host:1"),
    ])
  func good(text: String, name: String, wire: String) throws {
    let address = try ProxyAddress(text)
    #expect(address.name == name)
    #expect(address.wireText == wire)
    #expect(address.hasLogin == (name != wire))
  }

  @Test(
    arguments: [
      ("htp://proxy:3128", .scheme("htp")), ("socks9://u:s3cret@h", .scheme("socks9")), ("://h", .scheme("")),
      ("", .noHost), ("http://", .noHost), ("http://u:p@", .noHost), ("http://:3128", .noHost),
      ("http://h:0", .badPort), ("http://h:99999", .badPort), ("http://h:", .badPort),
      ("http:h:3128", .badPort),
      ("http://h:3128/x", .path), ("http://u:s3/cret@h:1", .path), ("http://h:1?x", .path),
      ("http://a b:1", .controlCharacter), ("http://h\n:1", .controlCharacter), ("http://[::1:1", .badHost),
      ("http://[::1]x:1", .badHost), ("http://a|b:1", .badHost),
    ] as [(String, ProxyAddress.Malformed)])
  func bad(text: String, why: ProxyAddress.Malformed) {
    #expect(throws: why) { try ProxyAddress(text) }
  }

  /// Whatever signs the password is made of.
  @Test(
    arguments: [
      ("htp://u:s3cret@h:1", "htp://h:1"), ("u:s3cret@h:1", "h:1"), ("http://u:s3/c?r#e@t@h:1", "http://h:1"),
      ("http://u:12/s3cret@h", "http://h"), ("http://h:1", "http://h:1"),
    ])
  func shown(text: String, shown: String) { #expect(Redaction.withoutLogin(text) == shown) }

  @Test func equalAddressesAreOneProxy() throws {
    let (one, other) = (try ProxyAddress("http://h:1"), try ProxyAddress("h:1/"))
    let routes = Proxy.routes(http: one, https: other)
    #expect(routes[.http] === routes[.https])
    let two = Proxy.routes(http: one, https: try ProxyAddress("http://u:p@h:1"))
    #expect(two[.http] !== two[.https])
  }

  /// - Parameter port: that the connection led to.
  @Test(
    arguments: [
      ("http://h:1", 407, "", 1, true), ("https://h:1", 407, "", 1, true),
      // NO_PROXY named it, so that it is the server's own.
      ("http://h:1", 407, "", 80, false),
      ("http://h:1", 401, "Server: tinyproxy/1.11\r\n", 1, true),
      ("http://h:1", 401, "Server: x\r\n", 1, false),
      ("http://h:1", 403, "", 1, false), ("socks5://h:1", 407, "", 1, false),
    ])
  func itsOwnWordOnTheLogin(proxy: String, status: Int, lines: String, port: Int, isOwn: Bool) throws {
    let head = ResponseHead(status: status, block: Array(lines.utf8))
    #expect(try ProxyAddress(proxy).refusesLogin(head, to: .http, port: port) == isOwn)
    #expect(try !ProxyAddress(proxy).refusesLogin(head, to: .https, port: port), "a tunnel is the server's")
  }

  /// Over plain http a 502 may be the proxy's own, and proves nothing.
  @Test(arguments: [
    (200, true), (404, true), (401, false), (403, false), (500, false), (502, false),
  ])
  func lettingThrough(status: Int, isProven: Bool) throws {
    #expect(try ProxyAddress("http://h:1").letsThrough(status, from: .http) == isProven)
    #expect(try ProxyAddress("http://h:1").letsThrough(status, from: .https))
    #expect(try ProxyAddress("socks5://h:1").letsThrough(status, from: .http))
  }
}
