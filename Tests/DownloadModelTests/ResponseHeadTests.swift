import DownloadModel
import TestSupport
import Testing

@Suite("Header fields are read as RFC 9110 §5 says")
struct ResponseHeadTests {
  private func head(_ block: String) -> ResponseHead { ResponseHead(status: 200, block: Array(block.utf8)) }

  @Test func values() {
    let head = head("ETag: \"a\"\r\nCONTENT-type:text/plain \r\nX: 1\nx:  2\r\nEmpty:\r\nLast: end")
    #expect(head["etag"] == "\"a\"")
    #expect(head["content-type"] == "text/plain")
    #expect(head["x"] == "1, 2")
    #expect(head["empty"] == "")
    #expect(head["last"] == "end")
    #expect(head["missing"] == nil)
    #expect(head["eta"] == nil)
  }

  /// `--retry-on`.
  @Test(
    arguments: [
      ("403", 403, true), ("403", 404, false), ("403,5xx", 599, true), ("403, 5xx", 500, true), ("4XX", 418, true),
      ("4xx", 500, false), ("H.example=403", 403, true), ("h.example:8080=403", 403, true), ("h=403", 403, false),
      ("h.example:80=403", 403, false),
      ("202", 202, true), ("2xx,403", 204, true), ("h.example=202", 202, true),
      ("", 403, nil), ("403,", 403, nil), ("199", 199, nil), ("600", 600, nil), ("3xx", 304, nil), ("xx", 400, nil),
      ("40x", 400, nil), ("=403", 403, nil), ("http://h/=403", 403, nil), ("403=h", 403, nil),
    ] as [(String, Int, Bool?)])
  func throttlingStatuses(text: String, status: Int, contains: Bool?) throws {
    let address = try Address("http://h.example:8080/x")
    #expect(ThrottlingStatuses(text)?.contains(status, of: address) == contains)
  }

  /// Dates are as at 1,700,000,000 s.
  @Test(
    arguments: [
      ("RateLimit: \"default\";r=50;t=30", 50, 30), ("RateLimit: default; r=0; t=7", 0, 7),
      ("RateLimit: \"hour\";r=500;t=3000, \"minute\";r=3;t=10", 3, 10),
      ("RateLimit: \"a\";r=0;t=3\r\nRateLimit: \"b\";r=0;t=9", 0, 9),
      ("RateLimit-Policy: \"a\";q=9;w=60, \"b\";q=1;w=2\r\nRateLimit: \"b\";r=1", 1, 2),
      ("RateLimit: limit=100, remaining=40, reset=5", 40, 5),
      ("RateLimit-Limit: 100, 100;w=60\r\nRateLimit-Remaining: 4\r\nRateLimit-Reset: 12", 4, 12),
      ("X-RateLimit-Remaining: 59\r\nX-RateLimit-Reset: 1700000042", 59, 42),
      ("X-RateLimit-Remaining: 0\r\nX-RateLimit-Reset: 42", 0, 42),
      ("x-ratelimit-remaining: 594.0\r\nx-ratelimit-reset: 385", 594, 385),
      ("X-RateLimit-Remaining: 0\r\nX-RateLimit-Reset: 1699999999", nil, 0), ("X-RateLimit-Remaining: 3", nil, 0),
      ("X-RateLimit-Reset: 3", nil, 0), ("X-RateLimit-Remaining: -1\r\nX-RateLimit-Reset: 3", nil, 0),
      ("RateLimit: \"default\";r=5", nil, 0), ("RateLimit: ;=,r=;t", nil, 0), ("RateLimit: ", nil, 0),
      ("RateLimit: \"a\";r=1;t=99999999999999999999", nil, 0), ("ETag: \"a\"", nil, 0),
      ("Age: 9\r\nRateLimit: \"default\";r=50;t=30", nil, 0),
    ] as [(String, Int?, Int)])
  func whatAHostStillTakes(fields: String, left: Int?, seconds: Int) {
    let allowance = head("Date: Tue, 14 Nov 2023 22:13:20 GMT\r\n" + fields).allowance
    #expect(allowance?.left == left && allowance?.time == left.map { _ in .seconds(seconds) })
    // Whose clock it is would be unknown.
    let isDated = fields.contains("1700000042")
    #expect(head(fields).allowance?.left == (isDated ? nil : left))
  }

  /// Sentinel's and Box's archives answer 202 while a file comes from tape.
  @Test(
    arguments: [
      (200, "", true), (202, "", true), (202, "Retry-After: 9\r\n", false), (203, "Retry-After: 9\r\n", true),
      (204, "", false), (206, "", false), (404, "", false),
    ])
  func whole(status: Int, block: String, isWhole: Bool) {
    var head = ResponseHead(status: status, block: Array(block.utf8))
    #expect(head.isWhole == isWhole)
    head.isRefusal = true
    #expect(!head.isWhole, "--retry-on names it")
  }

  /// Older servers, and frameworks in file names (HTTP rule 36).
  @Test func whatIsNoUTF8IsLatin1() {
    let head = ResponseHead(status: 200, block: Array("X: f=R".utf8) + [0xE9, 0x73] + Array("\r\nY: é".utf8))
    #expect(head["x"] == "f=Rés")
    #expect(head["y"] == "é")
  }

  @Test(
    arguments: [
      ("", .none), ("Content-Encoding: identity", .none), ("Content-Encoding: gzip", .known([.gzip])),
      ("Content-Encoding: X-GZIP\r\nContent-Encoding: br", .known([.gzip, .brotli])),
      ("Content-Encoding: deflate,gzip", .known([.deflate, .gzip])), ("Content-Encoding: zstd", .unknown),
      ("Content-Encoding: gzip, none", .unknown),
    ] as [(String, ResponseHead.BodyCoding)])
  func bodyCoding(_ block: String, _ coding: ResponseHead.BodyCoding) {
    #expect(head(block).bodyCoding == coding)
  }

  @Test(
    arguments: [
      ("Content-Length: 12\r\n", 12), ("Content-Length: 12\r\nContent-Length: 12\r\n", 12),
      ("Content-Length: 12, 12\r\n", 12), ("Content-Length: 12\r\nContent-Length: 13\r\n", nil),
      ("Content-Length: -1\r\n", nil), ("Content-Length: +1\r\n", nil), ("Content-Length: 1x\r\n", nil),
      ("Content-Length: 99999999999999999999\r\n", nil), ("", nil), ("Content-Length: 0\r\n", 0),
    ] as [(String, Int64?)])
  func contentLength(_ block: String, _ length: Int64?) { #expect(head(block).contentLength == length) }

  @Test(
    arguments: [
      ("bytes 0-9/100", 0...9, 100), ("bytes 5-5/*", 5...5, nil), ("bytes */100", nil, 100),
      ("BYTES 0-0/1", 0...0, 1),
    ] as [(String, ClosedRange<Int64>?, Int64?)])
  func contentRange(_ text: String, _ range: ClosedRange<Int64>?, _ length: Int64?) throws {
    let parsed = try #require(ContentRange(text))
    #expect(parsed.range == range)
    #expect(parsed.completeLength == length)
  }

  @Test(arguments: [
    "", "bytes", "items 0-9/100", "bytes 9-0/100", "bytes 0-100/100", "bytes 0-9", "bytes a-b/c",
    "bytes -1-5/9",
    "bytes 0-9/-1", "bytes 0-9/100/1", "bytes 0-9/999999999999999999", "bytes 0-999999999999999999/*",
    "bytes +0-9/100", "bytes 0-9223372036854775807/*", "bytes 0-9/9223372036854775807",
  ])
  func noContentRange(_ text: String) { #expect(ContentRange(text) == nil) }

  @Test(arguments: [
    ("", true), ("Content-Encoding: identity\r\n", true), ("Content-Encoding: gzip\r\n", false),
  ])
  func identity(_ block: String, _ isIdentity: Bool) { #expect((head(block).bodyCoding == .none) == isIdentity) }
}
