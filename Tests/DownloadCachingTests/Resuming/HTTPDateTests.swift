import DownloadModel
import Testing

@testable import DownloadCaching

@Suite("Dates (RFC 9110 §5.6.7), Retry-After (§10.2.3), strong dates (§8.8.2.2)")
struct HTTPDateTests {
  @Test(arguments: [
    ("Sun, 06 Nov 1994 08:49:37 GMT", 784_111_777),
    ("Sunday, 06-Nov-94 08:49:37 GMT", 784_111_777),
    ("Sun Nov  6 08:49:37 1994", 784_111_777),
    ("Thu, 01 Jan 1970 00:00:00 GMT", 0),
    ("Thu, 29 Feb 2024 23:59:60 GMT", 1_709_251_200),
    ("Fri, 31 Dec 9999 23:59:59 GMT", 253_402_300_799),
    ("Wednesday, 01-Jan-69 00:00:00 GMT", 3_124_224_000),
  ])
  func read(text: String, seconds: Int) { #expect(HTTPDate(text)?.seconds == Int64(seconds)) }

  @Test(arguments: [
    "", "soon", "Sun, 06 Nov 1994 08:49:37", "Sun, 06 Nov 1994 08:49:37 CET", "Sun, 32 Nov 1994 08:49:37 GMT",
    "Sun, 06 Foo 1994 08:49:37 GMT", "Sun, 06 Nov 1994 24:00:00 GMT", "Sun, +6 Nov 1994 08:49:37 GMT",
    "Sun, 06 Nov 99999 08:49:37 GMT", "2024-02-29T23:59:59Z",
  ])
  func refused(text: String) { #expect(HTTPDate(text) == nil) }

  @Test(arguments: [
    ("120", 120), ("0", 0), ("-1", nil), ("1.5", nil), ("", nil), ("soon", nil), ("9999999999", nil),
    ("Sun, 06 Nov 1994 08:49:47 GMT", 10), ("Sun, 06 Nov 1994 08:49:27 GMT", 0),
  ])
  func retryAfter(field: String, seconds: Int?) {
    #expect(RetryAfter.duration(field, now: 784_111_777) == seconds.map { .seconds($0) })
  }

  private static let pairs: [(String?, String?, Bool)] = [
    ("Sun, 06 Nov 1994 08:49:37 GMT", "Sun, 06 Nov 1994 08:49:38 GMT", true),
    ("Sun, 06 Nov 1994 08:49:37 GMT", "Sun, 06 Nov 1994 08:49:37 GMT", false),
    ("Sun, 06 Nov 1994 08:49:37 GMT", "Sun, 06 Nov 1994 08:49:30 GMT", false),
    ("Sun, 06 Nov 1994 08:49:37 GMT", nil, false),
    (nil, "Sun, 06 Nov 1994 08:49:37 GMT", false),
    ("yesterday", "Sun, 06 Nov 1994 08:49:37 GMT", false),
  ]

  @Test(arguments: pairs)
  func strongDates(lastModified: String?, date: String?, isStrong: Bool) {
    #expect((Validator(lastModified: lastModified, date: date).strongDate != nil) == isStrong)
  }
}
