import DownloadModel
import TestSupport
import Testing

@testable import FileReceiving

@Suite(
  "What a server is asked about a finished file, and which 304 is believed (HTTP rules 16, 27–29 and 31)")
struct KnownVersionTests {
  private static let old = "Sun, 06 Nov 1994 08:49:37 GMT"
  private static let later = "Sun, 06 Nov 1994 09:00:00 GMT"
  private static let latest = "Mon, 07 Nov 1994 09:00:00 GMT"

  @Test(arguments: [
    (Validator(etag: "\"1\"", lastModified: old), true, "If-None-Match: \"1\""),
    (Validator(etag: "W/\"1\""), true, "If-None-Match: W/\"1\""),
    // Apache compares the tag that it has before it compresses: 52 of 60 files came again.
    (Validator(etag: "\"1-gzip\""), true, "If-None-Match: \"1-gzip\", \"1\""),
    (Validator(etag: "W/\"1-gzip\""), true, "If-None-Match: W/\"1-gzip\", W/\"1\""),
    (Validator(lastModified: old, date: later), true, "If-Modified-Since: \(old)"),
    // Weak: changed within the second of the answer, or nobody knows (RFC 9110 §8.8.2.2).
    (Validator(lastModified: old, date: old), true, nil),
    (Validator(lastModified: old), true, nil),
    // Found by trial: a date that is none was sent back.
    (Validator(lastModified: "0", date: later), true, nil),
    (Validator(lastModified: "-1", date: later), true, nil),
    (Validator(), true, nil),
    // Reproducible builds date every version alike.
    (Validator(lastModified: "Thu, 01 Jan 1970 00:00:01 GMT", date: later), true, nil),
    (Validator(lastModified: "Wed, 31 Dec 1969 23:59:59 GMT", date: later), true, nil),
    (
      Validator(etag: "\"1\"", lastModified: "Thu, 01 Jan 1970 00:00:00 GMT", date: later), true, "If-None-Match: \"1\""
    ),
    // Other selecting fields: only a strong tag names bytes.
    (Validator(etag: "\"1\""), false, "If-None-Match: \"1\""),
    (Validator(etag: "W/\"1\""), false, nil),
    (Validator(lastModified: old, date: later), false, nil),
  ])
  func condition(validator: Validator, isSelected: Bool, expected: String?) {
    #expect(KnownVersion(validator: validator, isSelected: isSelected).condition == expected)
  }

  struct Case: Sendable, CustomTestStringConvertible {
    var testDescription: String
    var known = Validator(etag: "\"1\"", lastModified: old, date: later)
    var knownFrom: String?
    var isSelected = true
    var fields: KeyValuePairs<String, String> = [:]
    var effectiveURL: String?
    var isConfirmed: Bool
  }

  private static let dated = Validator(lastModified: old, date: later)
  private static let weak = Validator(etag: "W/\"1\"", lastModified: old, date: later)

  static let cases: [Case] = [
    Case(testDescription: "the same tag", fields: ["ETag": "\"1\""], isConfirmed: true),
    Case(testDescription: "nothing repeated", isConfirmed: true),
    Case(testDescription: "another strong tag", fields: ["ETag": "\"2\""], isConfirmed: false),
    Case(testDescription: "the tag, weak now", fields: ["ETag": "W/\"1\""], isConfirmed: true),
    Case(
      testDescription: "the tag that was coded", known: Validator(etag: "\"1-gzip\""),
      fields: ["ETag": "\"1\""], isConfirmed: true),
    Case(
      testDescription: "the tag, coded now", known: Validator(etag: "\"1\""), fields: ["ETag": "\"1-gzip\""],
      isConfirmed: true),
    Case(
      testDescription: "another coded tag", known: Validator(etag: "\"1-gzip\""),
      fields: ["ETag": "\"2-gzip\""], isConfirmed: false),
    Case(
      testDescription: "a coded tag, weak now", known: Validator(etag: "\"1-br\""),
      fields: ["ETag": "W/\"1\""], isConfirmed: true),
    Case(testDescription: "another weak tag", fields: ["ETag": "W/\"2\""], isConfirmed: false),
    Case(
      testDescription: "a weak tag, strong now", known: weak, fields: ["ETag": "\"1\""], isConfirmed: false),
    Case(testDescription: "the same weak tag", known: weak, fields: ["ETag": "W/\"1\""], isConfirmed: true),
    Case(
      testDescription: "the same strong tag of a touched file",
      fields: ["ETag": "\"1\"", "Last-Modified": latest],
      isConfirmed: true),
    Case(
      testDescription: "no tag, an older date", known: Validator(etag: "\"1\"", lastModified: later),
      fields: ["Last-Modified": old], isConfirmed: false),
    Case(testDescription: "no tag, a later date", fields: ["Last-Modified": latest], isConfirmed: true),
    Case(testDescription: "no tag, no date that is one", fields: ["Last-Modified": "0"], isConfirmed: false),
    Case(testDescription: "the same date", known: dated, fields: ["Last-Modified": old], isConfirmed: true),
    Case(
      testDescription: "the same date, written in another way", known: dated,
      fields: ["Last-Modified": "Sun Nov  6 08:49:37 1994"], isConfirmed: true),
    Case(testDescription: "date alone, nothing repeated", known: dated, isConfirmed: true),
    Case(
      testDescription: "an older date", known: Validator(lastModified: later, date: latest),
      fields: ["Last-Modified": old], isConfirmed: false),
    Case(
      testDescription: "date alone, a later one", known: dated, fields: ["Last-Modified": latest],
      isConfirmed: false),
    Case(testDescription: "date alone, a tag", known: dated, fields: ["ETag": "\"9\""], isConfirmed: false),
    Case(
      testDescription: "date alone, the same and a tag", known: dated,
      fields: ["ETag": "\"9\"", "Last-Modified": old], isConfirmed: true),
    Case(
      testDescription: "of another resource", fields: ["ETag": "\"1\""], effectiveURL: "http://a/y",
      isConfirmed: false),
    Case(
      testDescription: "of the address itself, where it was another's", knownFrom: "http://a/y",
      fields: ["ETag": "\"1\""], isConfirmed: false),
    Case(
      testDescription: "of the same resource behind the redirect, signed anew", knownFrom: "http://a/y",
      fields: ["ETag": "\"1\""], effectiveURL: "http://a/y?sv=1&se=2&sig=3", isConfirmed: true),
    Case(
      testDescription: "other fields, the same strong tag", isSelected: false, fields: ["ETag": "\"1\""],
      isConfirmed: true),
    Case(testDescription: "other fields, no tag", isSelected: false, isConfirmed: false),
    Case(
      testDescription: "other fields, a weak tag", isSelected: false, fields: ["ETag": "W/\"1\""],
      isConfirmed: false),
    Case(
      testDescription: "other fields, the same date", isSelected: false, fields: ["Last-Modified": old],
      isConfirmed: false),
  ]

  @Test(arguments: cases)
  func confirmation(test: Case) {
    var head = ResponseHead(status: 304, fields: test.fields)
    head.effectiveURL = test.effectiveURL
    let known = KnownVersion(validator: test.known, effectiveURL: test.knownFrom, isSelected: test.isSelected)
    #expect(known.isConfirmed(by: head) == test.isConfirmed)
  }
}
