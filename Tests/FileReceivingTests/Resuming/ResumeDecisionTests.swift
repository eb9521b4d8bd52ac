import DownloadModel
import TestSupport
import Testing

@testable import FileReceiving

@Suite("What an answer means for the bytes on disk (HTTP rules 1–9 and 11)")
struct ResumeDecisionTests {
  struct Case: Sendable, CustomTestStringConvertible {
    var testDescription: String
    var asked = TransferPlan.Asked.rest(from: 100, proof: .ifRange)
    var held = HeldPart(length: 100, validator: Validator(etag: "\"v1\""), total: 1000)
    var status: Int
    var fields: KeyValuePairs<String, String> = [:]
    /// What a conditional request was about.
    var known: KnownVersion?
    /// Where redirects led.
    var effectiveURL: String?
    var isProvable = false
    var expected: ResumeDecision
  }

  private static let old = "Sun, 06 Nov 1994 08:49:37 GMT"
  private static let later = "Sun, 06 Nov 1994 09:00:00 GMT"
  private static let nothing = HeldPart()
  private static let dated = HeldPart(
    length: 100, validator: Validator(lastModified: old, date: later), total: 1000)
  private static let unnamed = HeldPart(length: 100, total: 1000)
  private static let finished = KnownVersion(validator: Validator(etag: "\"v1\""))
  private static let notWhole = DownloadError(
    .badResponse, "a part of the file, though all of it was requested", "receiving", isTransient: true)
  private static let append = ResumeDecision.append(at: 100, end: 1000, total: 1000)

  private static let weak = HeldPart(
    length: 100, validator: Validator(etag: "W/\"v1\"", lastModified: old, date: old), total: 1000)
  private static func tail(_ etag: String, _ date: String) -> KeyValuePairs<String, String> {
    ["Content-Range": "bytes 50-999/1000", "ETag": etag, "Last-Modified": date]
  }

  static let ranges: [Case] = [
    Case(
      testDescription: "206 as asked", status: 206,
      fields: ["Content-Range": "bytes 100-999/1000", "ETag": "\"v1\""], expected: append),
    Case(
      testDescription: "206 that repeats no validator, after If-Range", status: 206,
      fields: ["Content-Range": "bytes 100-999/1000"], expected: append),
    Case(
      testDescription: "206 with less than asked", status: 206,
      fields: ["Content-Range": "bytes 100-199/1000"],
      expected: .append(at: 100, end: 200, total: 1000)),
    Case(
      testDescription: "206 of unknown complete length", status: 206,
      fields: ["Content-Range": "bytes 100-999/*"], expected: append),
    Case(
      testDescription: "206 where no length was known",
      held: HeldPart(length: 100, validator: Validator(etag: "\"v1\"")), status: 206,
      fields: ["Content-Range": "bytes 100-999/*"], expected: .append(at: 100, end: 1000, total: nil)),
    Case(
      testDescription: "206 at another place", status: 206,
      fields: ["Content-Range": "bytes 0-999/1000", "ETag": "\"v1\""], expected: .restart),
    Case(
      testDescription: "206 one byte late", status: 206,
      fields: ["Content-Range": "bytes 101-999/1000"], expected: .restart),
    Case(
      testDescription: "206 of another unit", status: 206,
      fields: ["Content-Range": "lines 100-999/1000"], expected: .restart),
    Case(testDescription: "206 without Content-Range", status: 206, expected: .restart),
    Case(
      testDescription: "206 of another length", status: 206,
      fields: ["Content-Range": "bytes 100-1999/2000", "ETag": "\"v1\""], expected: .restart),
    Case(
      testDescription: "206 of another tag", status: 206,
      fields: ["Content-Range": "bytes 100-999/1000", "ETag": "\"v2\""], expected: .restart),
    Case(
      testDescription: "206 of the same tag, now weak", status: 206,
      fields: ["Content-Range": "bytes 100-999/1000", "ETag": "W/\"v1\""], expected: .restart),
    Case(
      testDescription: "206 encoded", status: 206,
      fields: ["Content-Range": "bytes 100-999/1000", "Content-Encoding": "gzip"], expected: .restart),
    Case(
      testDescription: "206 encoded as the part was",
      held: HeldPart(length: 100, validator: Validator(etag: "\"v1\""), total: 1000, encoding: "gzip"),
      status: 206, fields: ["Content-Range": "bytes 100-999/1000", "Content-Encoding": "gzip"],
      expected: append),
    Case(
      testDescription: "206 with an absurd end",
      held: HeldPart(length: 100, validator: Validator(etag: "\"v1\"")),
      status: 206, fields: ["Content-Range": "bytes 100-9223372036854775807/*"], expected: .restart),
    Case(
      testDescription: "206 of the same strong date", held: dated, status: 206,
      fields: ["Content-Range": "bytes 100-999/1000", "Last-Modified": old], expected: append),
    Case(
      testDescription: "206 of another date", held: dated, status: 206,
      fields: ["Content-Range": "bytes 100-999/1000", "Last-Modified": later], expected: .restart),
    Case(
      testDescription: "206 without If-Range, same tag", asked: .rest(from: 100, proof: .sameValidator),
      status: 206, fields: ["Content-Range": "bytes 100-999/1000", "ETag": "\"v1\""], expected: append),
    Case(
      testDescription: "206 without If-Range and without tag",
      asked: .rest(from: 100, proof: .sameValidator), status: 206,
      fields: ["Content-Range": "bytes 100-999/1000"], expected: .restart),
    Case(
      testDescription: "206 of a tail", asked: .rest(from: 50, proof: .tail), held: unnamed, status: 206,
      fields: ["Content-Range": "bytes 50-999/1000"], expected: .append(at: 50, end: 1000, total: 1000)),
    Case(
      testDescription: "206 of a tail, the same weak tag", asked: .rest(from: 50, proof: .tail), held: weak,
      status: 206, fields: tail("W/\"v1\"", old), expected: .append(at: 50, end: 1000, total: 1000)),
    Case(
      testDescription: "206 of a tail, the tag strong by now", asked: .rest(from: 50, proof: .tail),
      held: weak,
      status: 206, fields: tail("\"v1\"", old), expected: .append(at: 50, end: 1000, total: 1000)),
    Case(
      testDescription: "206 of a tail, another weak tag", asked: .rest(from: 50, proof: .tail), held: weak,
      status: 206, fields: tail("W/\"v2\"", old), expected: .restart),
    Case(
      testDescription: "206 of a tail, the same weak tag and another date",
      asked: .rest(from: 50, proof: .tail), held: weak, status: 206, fields: tail("W/\"v1\"", later),
      expected: .restart),
    Case(
      testDescription: "206 of a tail without the tag there was", asked: .rest(from: 50, proof: .tail),
      held: weak, status: 206,
      fields: ["Content-Range": "bytes 50-999/1000", "Last-Modified": old], expected: .restart),
    Case(
      testDescription: "206 of a tail, the same weak tag and another length",
      asked: .rest(from: 50, proof: .tail), held: weak, status: 206,
      fields: ["Content-Range": "bytes 50-1000/1001", "ETag": "W/\"v1\"", "Last-Modified": old],
      expected: .restart),
    Case(
      testDescription: "206 of a tail that no longer lacks a tag", asked: .rest(from: 50, proof: .tail),
      held: unnamed, status: 206, fields: tail("\"v1\"", old),
      expected: .append(at: 50, end: 1000, total: 1000)),
    Case(
      testDescription: "206 that nobody asked for", asked: .whole, held: nothing, status: 206,
      fields: ["Content-Range": "bytes 5-9/10"],
      expected: .answered(.rejected(notWhole))),
    Case(
      testDescription: "206 that is the whole", asked: .whole, held: nothing, status: 206,
      fields: ["Content-Range": "bytes 0-9/10"], expected: .startOver(total: 10)),
  ]

  static let others: [Case] = [
    Case(
      testDescription: "200 to a fresh request", asked: .whole, held: nothing, status: 200,
      fields: ["Content-Length": "10"], expected: .startOver(total: 10)),
    Case(
      testDescription: "200 without length", asked: .whole, held: nothing, status: 200,
      expected: .startOver(total: nil)),
    Case(
      testDescription: "200 chunked: Content-Length means nothing", asked: .whole, held: nothing, status: 200,
      fields: ["Content-Length": "10", "Transfer-Encoding": "chunked"], expected: .startOver(total: nil)),
    Case(testDescription: "203", asked: .whole, held: nothing, status: 203, expected: .startOver(total: nil)),
    Case(
      testDescription: "200 encoded is taken as sent", asked: .whole, held: nothing, status: 200,
      fields: ["Content-Encoding": "gzip", "Content-Length": "10"], expected: .startOver(total: 10)),
    Case(
      testDescription: "200 to a range, new version", status: 200,
      fields: ["Content-Length": "10", "ETag": "\"v2\"", "Accept-Ranges": "bytes"],
      expected: .startOver(total: 10)),
    Case(
      testDescription: "200 to a range, equal length, another tag, and a digest proves it", status: 200,
      fields: ["Content-Length": "1000", "ETag": "\"v2\"", "Accept-Ranges": "bytes"], isProvable: true,
      expected: .askWithoutIfRange),
    Case(
      testDescription: "200 to a range, another length, and a digest proves it", status: 200,
      fields: ["Content-Length": "900", "ETag": "\"v2\"", "Accept-Ranges": "bytes"], isProvable: true,
      expected: .startOver(total: 900)),
    Case(
      testDescription: "206 of another tag, and a digest proves it", status: 206,
      fields: ["Content-Range": "bytes 100-999/1000", "ETag": "\"v2\""], isProvable: true, expected: append),
    // HTTP rule 2: what Content-Range says goes before a status of 200.
    Case(
      testDescription: "200 that is the range that was asked for", status: 200,
      fields: ["Content-Range": "bytes 100-999/1000", "ETag": "\"v1\"", "Accept-Ranges": "bytes"], expected: append),
    Case(
      testDescription: "200 that is that range of another version", status: 200,
      fields: ["Content-Range": "bytes 100-999/1000", "ETag": "\"v2\""], expected: .restart),
    Case(
      testDescription: "200 that is another range", status: 200, fields: ["Content-Range": "bytes 200-999/1000"],
      expected: .restart),
    Case(
      testDescription: "200 that is part of a file that was asked for whole", asked: .whole, held: nothing, status: 200,
      fields: ["Content-Range": "bytes 100-999/1000"],
      expected: .answered(.rejected(notWhole))),
    Case(
      testDescription: "200 that is a part of unknown length", asked: .conditional, held: nothing, status: 200,
      fields: ["Content-Range": "bytes 0-99/*"],
      expected: .answered(.rejected(notWhole))),
    Case(
      testDescription: "200 that says it is whole", asked: .whole, held: nothing, status: 200,
      fields: ["Content-Range": "bytes 0-999/1000", "Content-Length": "1000"], expected: .startOver(total: 1000)),
    Case(
      testDescription: "200 to a range that says it is whole", status: 200,
      fields: ["Content-Range": "bytes 0-899/900", "Content-Length": "900"], expected: .startOver(total: 900)),
    Case(
      testDescription: "200 to a range, same version, server knows ranges", status: 200,
      fields: ["Content-Length": "1000", "ETag": "\"v1\"", "Accept-Ranges": "bytes"],
      expected: .askWithoutIfRange),
    Case(
      testDescription: "200 to a range, same date, server knows ranges", held: dated, status: 200,
      fields: ["Last-Modified": old, "Accept-Ranges": "bytes"], expected: .askWithoutIfRange),
    Case(
      testDescription: "200 to a range, same version, server without ranges", status: 200,
      fields: ["Content-Length": "1000", "ETag": "\"v1\""], expected: .startOver(total: 1000)),
    Case(
      testDescription: "200 again, without If-Range", asked: .rest(from: 100, proof: .sameValidator),
      status: 200, fields: ["Content-Length": "1000", "ETag": "\"v1\"", "Accept-Ranges": "bytes"],
      expected: .startOver(total: 1000)),
    Case(
      testDescription: "200 to a tail", asked: .rest(from: 50, proof: .tail), held: unnamed, status: 200,
      fields: ["Accept-Ranges": "bytes"], expected: .startOver(total: nil)),
    Case(
      testDescription: "200 to a conditional request", asked: .conditional, held: nothing, status: 200,
      fields: ["Content-Length": "10"], expected: .startOver(total: 10)),
    Case(
      testDescription: "304", asked: .conditional, held: nothing, status: 304, known: finished,
      expected: .answered(.unchanged)),
    Case(
      testDescription: "304 of another version", asked: .conditional, held: nothing, status: 304,
      fields: ["ETag": "\"v2\""], known: finished, expected: .answered(.meaningless)),
    Case(
      testDescription: "304 of another resource", asked: .conditional, held: nothing, status: 304,
      fields: ["ETag": "\"v1\""], known: finished, effectiveURL: "http://a/y", expected: .answered(.meaningless)),
    Case(
      testDescription: "304 that nobody asked for", asked: .whole, held: nothing, status: 304,
      expected: .answered(.rejected(DownloadError(.badResponse, cause: .http(status: 304))))),
    Case(
      testDescription: "304 to a range", status: 304,
      expected: .answered(.rejected(DownloadError(.badResponse, cause: .http(status: 304))))),
    Case(
      testDescription: "416 of a whole part", asked: .rest(from: 1000, proof: .ifRange),
      held: HeldPart(length: 1000, validator: Validator(etag: "\"v1\""), total: 1000), status: 416,
      fields: ["Content-Range": "bytes */1000"], expected: .answered(.complete)),
    Case(
      testDescription: "416 of a whole part of unknown length", asked: .rest(from: 1000, proof: .ifRange),
      held: HeldPart(length: 1000, validator: Validator(etag: "\"v1\"")), status: 416,
      fields: ["Content-Range": "bytes */1000"], expected: .answered(.complete)),
    Case(
      testDescription: "416, equal length but another tag", asked: .rest(from: 1000, proof: .ifRange),
      held: HeldPart(length: 1000, validator: Validator(etag: "\"v1\""), total: 1000), status: 416,
      fields: ["Content-Range": "bytes */1000", "ETag": "\"v2\""], expected: .restart),
    Case(
      testDescription: "416, equal length but nothing compared",
      asked: .rest(from: 1000, proof: .sameValidator),
      held: HeldPart(length: 1000, validator: Validator(etag: "\"v1\""), total: 1000), status: 416,
      fields: ["Content-Range": "bytes */1000"], expected: .restart),
    Case(
      testDescription: "416, shorter file", status: 416, fields: ["Content-Range": "bytes */50"],
      expected: .restart),
    Case(testDescription: "416 without length", status: 416, expected: .restart),
    Case(
      testDescription: "416 to a tail", asked: .rest(from: 50, proof: .tail), held: unnamed, status: 416,
      fields: ["Content-Range": "bytes */100"], expected: .restart),
    Case(
      testDescription: "416 to a fresh request", asked: .whole, held: nothing, status: 416,
      expected: .answered(.rejected(DownloadError(.badResponse, cause: .http(status: 416))))),
  ]

  private static func of(_ mirror: String, dated: Bool = false) -> HeldPart {
    HeldPart(
      length: 100, validator: dated ? Self.dated.validator : Validator(etag: "\"v1\""), total: 1000,
      effectiveURL: mirror)
  }

  static let redirects: [Case] = [
    Case(
      testDescription: "206 of the same mirror, signed anew", held: of("http://a/x"), status: 206,
      fields: ["Content-Range": "bytes 100-999/1000"], effectiveURL: "http://a/x?X-Amz-Signature=2",
      expected: append),
    Case(
      testDescription: "206 of another resource that only its query tells from the part's",
      held: of("http://a/x"),
      status: 206, fields: ["Content-Range": "bytes 100-999/1000"], effectiveURL: "http://a/x?v=2",
      expected: .restart),
    Case(
      testDescription: "206 of another mirror that repeats the tag", held: of("http://a/x"), status: 206,
      fields: ["Content-Range": "bytes 100-999/1000", "ETag": "\"v1\""], effectiveURL: "http://b/x",
      expected: append),
    Case(
      testDescription: "206 of another mirror without tag", held: of("http://a/x"), status: 206,
      fields: ["Content-Range": "bytes 100-999/1000"], effectiveURL: "http://b/x", expected: .restart),
    Case(
      testDescription: "206 of another mirror with the same date", held: of("http://a/x", dated: true),
      status: 206,
      fields: ["Content-Range": "bytes 100-999/1000", "Last-Modified": old], effectiveURL: "http://b/x",
      expected: .restart),
    Case(
      testDescription: "206 without the redirect there was", held: of("http://a/x"), status: 206,
      fields: ["Content-Range": "bytes 100-999/1000"], expected: .restart),
    Case(
      testDescription: "416 of another mirror", asked: .rest(from: 100, proof: .ifRange),
      held: of("http://a/x"),
      status: 416, fields: ["Content-Range": "bytes */1000"], effectiveURL: "http://b/x", expected: .restart),
    Case(
      testDescription: "200 of another mirror", held: of("http://a/x"), status: 200,
      fields: ["Content-Length": "10"], effectiveURL: "http://b/x", expected: .startOver(total: 10)),
  ]

  @Test(arguments: ranges + others + redirects)
  func ladder(test: Case) {
    var head = ResponseHead(status: test.status, fields: test.fields)
    head.effectiveURL = test.effectiveURL
    #expect(
      ResumeDecision.decide(
        asked: test.asked, held: test.held, known: test.known, head: head, isProvable: test.isProvable, now: 0)
        == test.expected)
  }

  @Test(arguments: [
    (408, true), (425, true), (429, true), (500, true), (502, true), (503, true), (504, true), (520, true),
    (521, true), (522, true), (523, true), (524, true), (525, true), (526, false), (530, true),
    (400, false), (401, false), (403, false), (404, false), (405, false), (410, false), (412, false),
    (451, false), (501, false), (505, false),
  ])
  func statuses(status: Int, isTransient: Bool) {
    let head = ResponseHead(status: status, fields: ["Retry-After": "7"])
    let expected = DownloadError(
      .status, cause: .http(status: status), isTransient: isTransient,
      retryAfter: isTransient ? .seconds(7) : nil)
    #expect(
      ResumeDecision.decide(asked: .whole, held: HeldPart(), head: head, now: 0) == .answered(.rejected(expected)))
  }

  /// `--retry-on 403`: the host's refusal, with its Retry-After, and no answer of the file's own.
  @Test func aStatusThatThrottles() {
    var head = ResponseHead(status: 403, fields: ["Retry-After": "7"])
    head.isRefusal = true
    let error = head.failure(now: 0)
    #expect(error.isTransient && error.wasTurnedAway && error.retryAfter == .seconds(7))
  }

  /// Nothing is left: GitHub says so with 403, others with 429, most without Retry-After.
  @Test(arguments: [(403, 0, true), (429, 0, true), (403, 1, false), (404, 0, false)])
  func nothingIsLeft(status: Int, left: Int, isRefusal: Bool) {
    let head = ResponseHead(
      status: status, fields: ["X-RateLimit-Remaining": "\(left)", "X-RateLimit-Reset": "70"])
    let error = head.failure(now: 0)
    #expect(error.isTransient == isRefusal && error.retryAfter == (isRefusal ? .seconds(70) : nil))
  }

  @Test func retryAfterADate() {
    let head = ResponseHead(status: 503, fields: ["Retry-After": Self.later])
    let now = HTTPDate(Self.old)?.seconds ?? 0
    let expected = DownloadError(
      .status, cause: .http(status: 503), isTransient: true, retryAfter: .seconds(623))
    #expect(
      ResumeDecision.decide(asked: .whole, held: HeldPart(), head: head, now: now) == .answered(.rejected(expected)))
  }

  /// HTTP rule 32.
  @Test(arguments: [209, 225, 227, 250, 299])
  func unknownSuccessIsA200(status: Int) {
    let head = ResponseHead(status: status, fields: ["Content-Length": "10"])
    #expect(
      ResumeDecision.decide(asked: .whole, held: HeldPart(), head: head, now: 0) == .startOver(total: 10))
  }

  @Test func noContentIsAnEmptyFile() {
    for asked in [TransferPlan.Asked.whole, .conditional, .rest(from: 100, proof: .ifRange)] {
      let head = ResponseHead(status: 204, fields: [:])
      #expect(
        ResumeDecision.decide(asked: asked, held: HeldPart(), head: head, now: 0) == .startOver(total: 0))
    }
  }

  /// Answers that are no file: nothing is written for them, and asking again would bring the same.
  @Test(arguments: [205, 207, 208, 226, 300, 301, 302, 307])
  func oddAnswers(status: Int) {
    let expected = ResumeDecision.answered(
      .rejected(DownloadError(.badResponse, cause: .http(status: status))))
    let head = ResponseHead(status: status, fields: [:])
    #expect(ResumeDecision.decide(asked: .whole, held: HeldPart(), head: head, now: 0) == expected)
  }
}
