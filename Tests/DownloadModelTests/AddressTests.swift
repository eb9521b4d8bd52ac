import DownloadModel
import Testing

@Suite("An address is absolute, http or https, and never shows its credentials (HTTP rule 25)")
struct AddressTests {
  @Test(arguments: [
    ("http://example.org/a/b.txt", "http://example.org/a/b.txt"),
    ("HTTPS://Example.org", "https://example.org"),
    ("http://example.org/a#part", "http://example.org/a"),
    ("http://example.org/a b", "http://example.org/a%20b"),
    ("http://example.org/ä?q=ü", "http://example.org/%C3%A4?q=%C3%BC"),
    ("http://[::1]:8080/x", "http://[::1]:8080/x"),
    ("http://user:secret@example.org/x", "http://example.org/x"),
    ("http://user:p@ss@example.org:81/x", "http://example.org:81/x"),
    ("http://example.org/a@b", "http://example.org/a@b"),
    ("http://example.org?x=a@b", "http://example.org?x=a@b"),
  ])
  func key(_ text: String, _ key: String) throws {
    let address = try Address(text)
    #expect(address.key == key)
    #expect("\(address)" == key)
  }

  /// Both spellings are one address: for limits, the cache, logins and the log. In any locale: the tests' is
  /// C.
  @Test(arguments: [
    ("http://bücher.example/", "http://xn--bcher-kva.example/"),
    ("http://BÜCHER.Example:81/Ü", "http://xn--bcher-kva.example:81/%C3%9C"),
    ("http://b%C3%BCcher.example?q", "http://xn--bcher-kva.example?q"),
    ("http://bu\u{308}cher.example", "http://xn--bcher-kva.example"),
    ("http://xn--bcher-kva.example/", "http://xn--bcher-kva.example/"),
    ("http://faß.de/", "http://xn--fa-hia.de/"), ("http://日本語。jp/x", "http://xn--wgv71a119e.jp/x"),
    ("http://ü:ö@bücher.example/", "http://xn--bcher-kva.example/"),
    ("http://１２７.0.0.1/", "http://127.0.0.1/"),
    ("http://exa%6Dple.org/", "http://example.org/"),
    ("http://[fe80::1%25eth0]/", "http://[fe80::1%25eth0]/"),
  ])
  func internationalHost(_ text: String, _ key: String) throws {
    let address = try Address(text)
    #expect(address.key == key)
    let plain = try Address(key)
    #expect(plain.key == key)
    #expect(address.host == plain.host)
    #expect(address.hostAndPort == plain.hostAndPort)
    #expect(address.lastPathSegment == plain.lastPathSegment)
  }

  @Test(arguments: [
    "http://\(String(repeating: "ü", count: 70)).example/", "http://-ü.example/", "http://a%2Fb/",
    "http://a%40b/", "http://a%00b/", "http://a%zz/", "http://a%/", "http://%FF.example/", "http://a%3Ab/",
    "http://\u{301}.example/", "http://\u{AD}/",
  ])
  func noInternationalHost(_ text: String) {
    #expect(throws: Address.Malformed.badInternationalHost) { try Address(text) }
  }

  @Test func credentialsGoOverTheWireOnly() throws {
    let address = try Address("http://user:secret@example.org/x")
    #expect(address.wireText == "http://user:secret@example.org/x")
    #expect(address.hasCredentials)
    #expect(try address != Address("http://example.org/x"))
    #expect(try !Address("http://example.org/x").hasCredentials)
  }

  @Test(arguments: [
    ("", Address.Malformed.empty), ("example.org/x", .noScheme), ("htp:/x", .noScheme),
    ("/etc/passwd", .noScheme), ("gopher://example.org/x", .unsupportedScheme("gopher")),
    ("file://host/etc/passwd", .hostOfFile), ("file://", .hostOfFile), ("file:/x", .noScheme),
    ("http:///x", .noHost), ("http://:80/x", .noHost),
    ("http://user@/x", .noHost), ("http://a b/x", .badHost), ("http://[::1/x", .badHost),
    ("http://[::1]x/", .badHost), ("http://a:0/", .badPort), ("http://a:65536/", .badPort),
    ("http://a:b/", .badPort), ("http://a:/", .badPort), ("http://a/\r\nX: 1", .controlCharacter),
    ("http://a/\u{7f}", .controlCharacter),
  ])
  func malformed(_ text: String, _ reason: Address.Malformed) {
    #expect(throws: reason) { try Address(text) }
  }

  /// RFC 1738 §3.2.2: no query; and a line end would begin another command.
  @Test(
    arguments: [
      ("FTP://H/a?b", "ftp://h/a%3Fb", "a%3Fb"), ("ftp://h/a;type=I", "ftp://h/a", "a"), ("ftps://h", "ftps://h", ""),
      ("ftpes://u:p@h:21/x y;type=x", "ftpes://h:21/x%20y;type=x", "x%20y;type=x"),
      ("ftp://h/a;type=a#f", "ftp://h/a", "a"),
      ("ftp://h//etc/x", "ftp://h//etc/x", "x"), ("ftp://h/a%0Ab", nil, ""), ("ftp://h/a%00", nil, ""),
    ] as [(String, String?, String)])
  func fileServers(text: String, key: String?, segment: String) throws {
    let address = try? Address(text)
    #expect(address?.key == key && address?.lastPathSegment ?? "" == segment[...] && address?.query == nil)
  }

  @Test(arguments: [("ftp://h/x", 21), ("ftps://h/x", 990), ("ftpes://h/x", 21), ("ftp://h:2121/x", 2121)])
  func ports(text: String, port: Int) throws { #expect(try Address(text).port == port) }

  @Test(
    arguments: [
      ("ftp://ftp.gnu.org/gnu/x.tar", "https://ftp.gnu.org/gnu/x.tar"), ("ftp://ftp.gnu.org:2121/x", nil),
      ("ftp://me:pw@ftp.gnu.org/x", nil), ("http://ftp.gnu.org/x", nil), ("ftp://other.example/x", nil),
    ] as [(String, String?)])
  func hostsWithHTTPS(text: String, secure: String?) throws { #expect(try Address(text).overHTTPS?.key == secure) }

  /// Who answers with a wrong certificate does not send anybody to an open connection.
  @Test func aWrongCertificateLeadsToNoOpenMirror() throws {
    let wishes = DownloadRequest.Wishes(mirrors: [try Address("ftp://m/f"), try Address("https://n/f")])
    let request = DownloadRequest(id: 0, address: try Address("https://h/f"), wishes: wishes)
    #expect(request.atNextSource(nil, after: DownloadError(.certificate)) == nil)
    #expect(request.atNextSource(nil, after: DownloadError(.reset))?.source.key == "ftp://m/f")
    let digest = try #require(ContentDigest(.sha256, hex: String(repeating: "0", count: 64)))
    let proved = DownloadRequest.Wishes(checksum: digest, mirrors: wishes.mirrors)
    let sure = DownloadRequest(id: 0, address: request.address, wishes: proved)
    #expect(sure.atNextSource(nil, after: DownloadError(.certificate))?.source.key == "ftp://m/f")
  }

  @Test(arguments: [
    ("http://a/b/c.txt", "c.txt"), ("http://a/b/c.txt?x=/d", "c.txt"), ("http://a/b/", ""), ("http://a", ""),
    ("http://a?x=/y", ""), ("http://u:p@a/c%20d", "c%20d"), ("http://a/%2e%2e", "%2e%2e"),
  ])
  func lastPathSegment(_ text: String, _ segment: String) throws {
    #expect(try Address(text).lastPathSegment == segment)
  }

  @Test(arguments: [
    ("http://Example.ORG/x", "example.org", "example.org"), ("http://u@a:8080?x", "a:8080", "a"),
    ("https://[::1]:443/x", "[::1]:443", "[::1]"),
  ])
  func host(_ text: String, _ hostAndPort: String, _ host: String) throws {
    #expect(try Address(text).hostAndPort == hostAndPort)
    #expect(try Address(text).host == host)
  }

  /// The login ends at the last `@`; libcurl would take the first.
  @Test func anAtSignInAPassword() throws {
    let address = try Address("http://user:p@ss@host/x@y")
    #expect(address.wireText == "http://user:p%40ss@host/x@y")
    #expect(address.key == "http://host/x@y")
    #expect(address.host == "host")
  }

  /// RFC 3986 §6.2.2.1
  @Test func caseOfSchemeAndHost() throws {
    #expect(try Address("HTTP://Host.ORG:80/Path") == Address("http://host.org:80/Path"))
    #expect(try Address("http://Me:Secret@HOST/").wireText == "http://Me:Secret@host/")
  }
}
