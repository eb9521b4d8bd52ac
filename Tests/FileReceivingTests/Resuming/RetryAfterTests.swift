import DownloadModel
import Testing

@testable import FileReceiving

@Suite("Retry-After (RFC 9110 §10.2.3), strong dates (§8.8.2.2)")
struct RetryAfterTests {
  @Test(
    arguments: [
      ("120", 120), ("0", 0), ("-1", nil), ("5.4", 5.4), ("1.5s", nil), ("1.2.3", nil), (".", nil), ("1e5", nil),
      ("nan", nil), ("", nil), ("soon", nil), ("9999999999", 2_147_483_648),
      ("Sun, 06 Nov 1994 08:49:47 GMT", 10), ("Sun, 06 Nov 1994 08:49:27 GMT", 0),
    ] as [(String, Double?)])
  func retryAfter(field: String, seconds: Double?) {
    #expect(Duration(retryAfter: field, now: 784_111_777) == seconds.map { .seconds($0) })
  }

  private static let pairs: [(String?, String?, Bool)] = [
    ("Sun, 06 Nov 1994 08:49:37 GMT", "Sun, 06 Nov 1994 08:49:38 GMT", true),
    ("Sun, 06 Nov 1994 08:49:37 GMT", "Sun, 06 Nov 1994 08:49:37 GMT", false),
    ("Sun, 06 Nov 1994 08:49:37 GMT", "Sun, 06 Nov 1994 08:49:30 GMT", false),
    ("Sun, 06 Nov 1994 08:49:37 GMT", nil, false),
    (nil, "Sun, 06 Nov 1994 08:49:37 GMT", false),
    ("Thu, 01 Jan 1970 00:00:00 GMT", "Sun, 06 Nov 1994 08:49:38 GMT", false),
    ("Thu, 01 Jan 1970 23:59:59 GMT", "Sun, 06 Nov 1994 08:49:38 GMT", false),
    ("Fri, 02 Jan 1970 00:00:00 GMT", "Sun, 06 Nov 1994 08:49:38 GMT", true),
    ("yesterday", "Sun, 06 Nov 1994 08:49:37 GMT", false),
  ]

  @Test(arguments: pairs)
  func strongDates(lastModified: String?, date: String?, isStrong: Bool) {
    #expect((Validator(lastModified: lastModified, date: date).strongDate != nil) == isStrong)
  }
}
