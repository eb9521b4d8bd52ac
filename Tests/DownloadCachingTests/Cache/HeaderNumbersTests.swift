import DownloadModel
import TestSupport
import Testing

@testable import DownloadCaching
@testable import FileReceiving

/// `RateLimit-Reset: 9223372036854775807` with a Date of 1900 ended the run, and every other file with it.
@Suite("Numbers in header fields are bounded where they are read (HTTP rule 26)")
struct HeaderNumbersTests {
  private static let numbers = [
    "-9223372036854775808", "-9223372036854775809", "-1", "0", "1", "86400", "86401", "2147483648",
    "999999999999999999", "1000000000000000000", "9223372036854775806", "9223372036854775807", "9223372036854775808",
    "18446744073709551615", "99999999999999999999999", "1.5", "1e400", "inf", "nan", "0x7fffffffffffffff", "٣", "",
    "soon",
  ]
  private static let fields = [
    "RateLimit-Remaining: 0\r\nRateLimit-Reset: #", "RateLimit: \"a\";r=0;t=#", "RateLimit: \"a\";r=#;t=5",
    "RateLimit-Policy: \"a\";w=#\r\nRateLimit: \"a\";r=0", "X-RateLimit-Remaining: #\r\nX-RateLimit-Reset: #",
    "Retry-After: #", "Age: #", "Cache-Control: max-age=#", "Cache-Control: stale-if-error=#, max-stale=#",
    "Expires: #", "Last-Modified: #", "Content-Length: #", "Content-Range: bytes #-#/#", "Content-Range: bytes 0-#/*",
    "Content-Range: bytes */#",
  ]
  private static let dates = [
    "", "Date: Mon, 01 Jan 1900 00:00:00 GMT\r\n", "Date: Fri, 31 Dec 9999 23:59:59 GMT\r\n",
    "Expires: Fri, 31 Dec 9999 23:59:59 GMT\r\nDate: Mon, 01 Jan 1900 00:00:00 GMT\r\n",
    "Retry-After: Fri, 31 Dec 9999 23:59:59 GMT\r\n", "Last-Modified: Mon, 01 Jan 1900 00:00:00 GMT\r\n",
  ]

  @Test(arguments: fields, numbers)
  func bounded(field: String, number: String) {
    for date in Self.dates {
      let block = Array((date + field.replacing("#", with: number)).utf8)
      // A date changes what is read of a field, and not what a status means.
      for status in date.isEmpty ? [200, 202, 206, 304, 416, 429, 503] : [200, 503] {
        let head = ResponseHead(status: status, block: block)
        if let allowance = head.allowance {
          #expect((0...Int(ResponseHead.longestFile) * 1024).contains(allowance.left))
          #expect((Duration.seconds(1)...Duration.seconds(86_400)).contains(allowance.time))
        }
        if let range = head.contentRange?.range { #expect(range.upperBound < ResponseHead.longestFile) }
        for asked in [TransferPlan.Asked.whole, .conditional, .rest(from: 1, proof: .ifRange)] {
          _ = ResumeDecision.decide(
            asked: asked, held: HeldPart(length: 1, total: 2), known: nil, head: head, now: 1_700_000_000)
        }
        for now in [Int64(0), 1_700_000_000, 253_402_300_799] {
          let wait = head.failure(now: now).retryAfter ?? .zero
          #expect(wait >= .zero && wait <= .seconds(253_402_300_799))
        }
      }
      for now in [Int64(0), 1_700_000_000, 253_402_300_799] { judge(ResponseHead(status: 200, block: block), at: now) }
    }
  }

  private func judge(_ head: ResponseHead, at now: Int64) {
    for asked in [0, 1_700_000_000, now] {
      let freshness = Freshness(
        FreshnessFields(cacheControl: head["cache-control"], expires: head["expires"], age: head["age"]),
        Validator(head), status: head.status, isRedirected: false, askedAt: asked, at: now, guesses: true)
      for control in ["max-age=9223372036854775807", "min-fresh=9223372036854775807", "max-stale", "max-stale=x"] {
        _ = freshness.use(for: RequestDirectives(cacheControl: control))
        _ = freshness.mayStandIn(for: RequestDirectives(cacheControl: control))
      }
    }
    _ = RemoteTime.seconds(head["last-modified"], now: now)
    _ = Validator(head).strongDate
  }
}
