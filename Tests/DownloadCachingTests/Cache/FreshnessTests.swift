import DownloadModel
import TestSupport
import Testing

@testable import DownloadCaching
@testable import FileReceiving

/// The cases that a conformance suite for private caches tries, by the section of RFC 9111 that rules each.
@Suite("For how long a stored answer is fresh (RFC 9111 §4.2)")
struct FreshnessTests {
  /// Tue, 14 Nov 2023 22:13:20 GMT: when the answer was asked for.
  private static let asked: Int64 = 1_700_000_000
  private static let date = "Tue, 14 Nov 2023 22:13:20 GMT"
  private static let inAnHour = "Tue, 14 Nov 2023 23:13:20 GMT"
  private static let anHourAgo = "Tue, 14 Nov 2023 21:13:20 GMT"
  /// A hundred hours before it was asked for: ten are guessed.
  private static let hundredHoursAgo = "Fri, 10 Nov 2023 18:13:20 GMT"

  struct Case: Sendable, CustomTestStringConvertible {
    var testDescription: String
    var control: String?
    var expires: String?
    var age: String?
    var date: String? = FreshnessTests.date
    var lastModified: String?
    var status: Int? = 200
    var isRedirected = false
    var guesses = false
    /// Seconds after it was asked for.
    var later: Int64 = 60
    var isFresh: Bool

    init(
      _ what: String, _ control: String? = nil, expires: String? = nil, age: String? = nil,
      date: String? = FreshnessTests.date, lastModified: String? = nil, status: Int? = 200,
      isRedirected: Bool = false, guesses: Bool = false, later: Int64 = 60, fresh: Bool
    ) {
      testDescription = what
      (self.control, self.expires, self.age, self.date) = (control, expires, age, date)
      (self.lastModified, self.status, self.isRedirected) = (lastModified, status, isRedirected)
      (self.guesses, self.later, isFresh) = (guesses, later, fresh)
    }

    var freshness: Freshness {
      Freshness(
        FreshnessFields(cacheControl: control, expires: expires, age: age),
        Validator(lastModified: lastModified, date: date), status: status, isRedirected: isRedirected,
        askedAt: FreshnessTests.asked, at: FreshnessTests.asked + later, guesses: guesses)
    }
  }

  private static let parsing = [
    Case("§4.2.1 nothing is said", fresh: false),
    Case("§5.2.2.1 max-age", "max-age=3600", fresh: true),
    Case("§5.2.2.1 max-age has passed", "max-age=3600", later: 3601, fresh: false),
    Case("§4.2 fresh while the lifetime is greater than the age", "max-age=60", fresh: false),
    Case("§5.2.2.1 max-age of nothing", "max-age=0", fresh: false),
    Case("§5.2 names in any case", "MaX-AgE=3600", fresh: true),
    Case("§5.2 the quoted form", "max-age=\"3600\"", fresh: true),
    Case("§5.2 not in single quotes", "max-age='3600'", fresh: false),
    Case("§5.2 an escaped digit in quotes", "max-age=\"36\\00\"", fresh: true),
    Case("§1.2.2 leading zeros", "max-age=0003600", fresh: true),
    Case("§1.2.2 more than can be counted", "max-age=99999999999999999999", later: 1 << 30, fresh: true),
    Case("§4.2.1 a fraction is malformed", "max-age=3600.0", fresh: false),
    Case("§4.2.1 a negative number is malformed", "max-age=-3600", fresh: false),
    Case("§4.2.1 letters are malformed", "max-age=a3600", fresh: false),
    Case("§4.2.1 so is a unit", "max-age=3600s", fresh: false),
    Case("§4.2.1 so is no argument", "max-age", fresh: false),
    Case("§4.2.1 so is an empty one", "max-age=", fresh: false),
    Case("§5.2 no blank before the sign", "max-age =3600", fresh: false),
    Case("§5.2 no blank behind it", "max-age= 3600", fresh: false),
    Case("§5.2 among others, with and without blanks", "public,max-age=3600 ,foo", fresh: true),
    Case("§5.2 empty elements", ", ,max-age=3600,, ", fresh: true),
    Case("§5.2.3 an unknown directive with a comma in quotes", "x=\"a, b\", max-age=3600", fresh: true),
    Case("§5.2.3 max-age inside another's quotes is none", "x=\"a, max-age=3600\"", fresh: false),
    Case("§5.2 a quoted string without an end", "x=\"a, max-age=3600", fresh: false),
    Case("§5.2 the name as the end of another", "x-max-age=3600", fresh: false),
    Case("§4.2.1 the same twice", "max-age=3600, max-age=3600", fresh: true),
    Case("§4.2.1 two that differ", "max-age=3600, max-age=7200", fresh: false),
    Case("§5.2.2.10 s-maxage is not for a private cache", "s-maxage=3600", fresh: false),
    Case("§5.2.2.10 and does not shorten", "s-maxage=1, max-age=3600", fresh: true),
    Case("§5.2.2.7 private is for this cache", "private, max-age=3600", fresh: true),
    Case("§5.2.2.4 no-cache", "no-cache, max-age=3600", fresh: false),
    Case("§5.2.2.4 no-cache with fields", "no-cache=\"set-cookie\", max-age=3600", fresh: false),
    Case("§5.2.2.4 no-cache in any case", "max-age=3600, No-Cache", fresh: false),
    Case("§5.2.2.4 what may be no-cache counts as it", "x=\"a, no-cache\", max-age=3600", fresh: false),
    Case("§5.2.2.2 must-revalidate is about stale ones", "must-revalidate, max-age=3600", fresh: true),
    Case("§5.2.2.8 proxy-revalidate is not for this cache", "proxy-revalidate, max-age=3600", fresh: true),
    Case("§5.2.3 immutable alone names no lifetime", "immutable", fresh: false),
    Case("RFC 8246 with one, it is fresh for as long", "immutable, max-age=3600", later: 3601, fresh: false),
  ]

  private static let expiring = [
    Case("§5.3 Expires", expires: inAnHour, fresh: true),
    Case("§5.3 Expires has passed", expires: anHourAgo, fresh: false),
    Case("§4.2.1 Expires is measured from Date", expires: inAnHour, date: anHourAgo, later: 0, fresh: true),
    Case("§5.3 zero is in the past", expires: "0", fresh: false),
    Case("§5.3 so is what is no date", expires: "soon", fresh: false),
    Case("§5.3 two of them are no date", expires: "\(inAnHour), \(inAnHour)", fresh: false),
    Case("§5.3 max-age is stronger, when longer", "max-age=3600", expires: anHourAgo, fresh: true),
    Case("§5.3 max-age is stronger, when shorter", "max-age=1", expires: inAnHour, fresh: false),
    Case("§4.2.1 also when malformed", "max-age=soon", expires: inAnHour, fresh: false),
    Case("§5.3 s-maxage is not", "s-maxage=1", expires: inAnHour, fresh: true),
    Case("§4.2 without Date, when it was asked for", expires: inAnHour, date: nil, fresh: true),
    Case("§4.2 with a Date that is none, the same", expires: inAnHour, date: "now", fresh: true),
    Case("RFC 9110 §5.6.7 RFC 850's form", expires: "Tuesday, 14-Nov-23 23:13:20 GMT", fresh: true),
    Case("RFC 9110 §5.6.7 asctime's form", expires: "Tue Nov 14 23:13:20 2023", fresh: true),
    Case("RFC 9110 §5.6.7 another zone", expires: "Tue, 14 Nov 2023 23:13:20 AEST", fresh: false),
    Case("RFC 9110 §5.6.7 zone in small letters", expires: "Tue, 14 Nov 2023 23:13:20 gmt", fresh: false),
    Case("RFC 9110 §5.6.7 without its comma", expires: "Tue 14 Nov 2023 23:13:20 GMT", fresh: false),
    Case("RFC 9110 §5.6.7 one digit for the hour", expires: "Tue, 14 Nov 2024 3:13:20 GMT", fresh: false),
    Case("RFC 9110 §5.6.7 dashes", expires: "Tue, 14-Nov-2023 23:13:20 GMT", fresh: false),
    Case("RFC 9110 §5.6.7 two blanks", expires: "Tue, 14  Nov  2023 23:13:20 GMT", fresh: false),
  ]

  private static let aging = [
    Case("§4.2.3 Age", "max-age=3600", age: "3500", fresh: true),
    Case("§4.2.3 Age and the time since", "max-age=3600", age: "3500", later: 100, fresh: false),
    Case("§4.2.3 Age is more than the lifetime", "max-age=3600", age: "7200", fresh: false),
    Case("§4.2.3 also of Expires", expires: inAnHour, age: "7200", fresh: false),
    Case("§1.2.2 Age beyond counting", "max-age=3600", age: "99999999999999999999", fresh: false),
    Case("§5.1 the first of two", "max-age=3600", age: "0, 7200", fresh: true),
    Case("§5.1 the first of two, when it is longer", "max-age=3600", age: "7200, 0", fresh: false),
    Case("§5.1 one that is none is ignored", "max-age=3600", age: "old", fresh: true),
    Case("§5.1 a negative one is ignored", "max-age=3600", age: "-7200", fresh: true),
    Case("§5.1 a fraction is ignored", "max-age=3600", age: "7200.0", fresh: true),
    Case("§4.2.3 the time since Date", "max-age=3600", date: anHourAgo, fresh: false),
    Case("§4.2.3 a Date ahead of the clock", "max-age=3600", date: inAnHour, fresh: true),
    Case("§4.2.3 which makes it no younger", "max-age=3600", date: inAnHour, later: 3700, fresh: false),
    Case("§4.2.3 the clock was set back since", "max-age=3600", later: -1, fresh: false),
  ]

  private static let guessing = [
    Case("§4.2.2 a tenth, where asked for", lastModified: hundredHoursAgo, guesses: true, fresh: true),
    Case("§4.2.2 not unasked", lastModified: hundredHoursAgo, fresh: false),
    Case(
      "§4.2.2 and no more than a tenth", lastModified: hundredHoursAgo, guesses: true, later: 36_001,
      fresh: false),
    Case(
      "§4.2.2 a week at most", lastModified: "Mon, 14 Nov 1994 22:13:20 GMT", guesses: true,
      later: Freshness.longestGuess + 1, fresh: false),
    Case("§4.2.2 without Last-Modified", guesses: true, fresh: false),
    Case("§4.2.2 with one of the future", lastModified: inAnHour, guesses: true, fresh: false),
    Case("§4.2.2 with one that is none", lastModified: "then", guesses: true, fresh: false),
    Case(
      "§4.2.2 what is named is stronger", "max-age=1", lastModified: hundredHoursAgo, guesses: true,
      fresh: false),
    Case(
      "§4.2.2 a no-cache is stronger", "no-cache", lastModified: hundredHoursAgo, guesses: true, fresh: false),
    Case(
      "RFC 8246 immutable says that a guess is good", "immutable", lastModified: hundredHoursAgo, fresh: true),
    Case("§4.2.2 203", lastModified: hundredHoursAgo, status: 203, guesses: true, fresh: true),
    Case("§4.2.2 204", lastModified: hundredHoursAgo, status: 204, guesses: true, fresh: true),
    Case("§4.2.2 206", lastModified: hundredHoursAgo, status: 206, guesses: true, fresh: true),
    Case("§4.2.2 not 201", lastModified: hundredHoursAgo, status: 201, guesses: true, fresh: false),
    Case("§4.2.2 nor 299", lastModified: hundredHoursAgo, status: 299, guesses: true, fresh: false),
    Case("§4.2.1 299 with a lifetime", "max-age=3600", status: 299, fresh: true),
    Case("what a redirect led to", "max-age=3600", isRedirected: true, fresh: false),
    Case(
      "what a redirect led to is not guessed", lastModified: hundredHoursAgo, isRedirected: true,
      guesses: true, fresh: false),
  ]

  @Test(arguments: parsing + expiring + aging + guessing) func isFresh(row: Case) {
    #expect(row.freshness.isFresh == row.isFresh)
    #expect((row.freshness.use(for: RequestDirectives()) == .fresh) == row.isFresh)
  }

  // MARK: What the request says

  struct Request: Sendable, CustomTestStringConvertible {
    var testDescription: String
    var answer: String
    var request: String?
    var pragma: String?
    var age: Int64
    var use: CacheLookup.Basis?

    init(
      _ what: String, _ answer: String, request: String?, pragma: String? = nil, age: Int64,
      _ use: CacheLookup.Basis?
    ) {
      testDescription = what
      (self.answer, self.request, self.pragma, self.age, self.use) = (answer, request, pragma, age, use)
    }
  }

  private static let requests = [
    Request("§5.2.1.4 no-cache", "max-age=3600", request: "no-cache", age: 1, nil),
    Request("§5.4 Pragma", "max-age=3600", request: nil, pragma: "no-cache", age: 1, nil),
    Request(
      "§5.4 Pragma beside Cache-Control", "max-age=3600", request: "foo", pragma: "no-cache", age: 1, .fresh),
    Request("§5.2.1.1 max-age of nothing", "max-age=3600", request: "max-age=0", age: 1, nil),
    Request("§5.2.1.1 younger than max-age", "max-age=3600", request: "max-age=100", age: 100, .fresh),
    Request("§5.2.1.1 older than max-age", "max-age=3600", request: "max-age=100", age: 101, nil),
    Request("§5.2.1.1 a malformed one", "max-age=3600", request: "max-age=soon", age: 1, nil),
    Request("§5.2.1.3 fresh for long enough", "max-age=3600", request: "min-fresh=600", age: 3000, .fresh),
    Request("§5.2.1.3 not for long enough", "max-age=3600", request: "min-fresh=601", age: 3000, nil),
    Request("§5.2.1.3 a malformed one", "max-age=3600", request: "min-fresh=x", age: 1, nil),
    Request("§5.2.1.2 stale for less", "max-age=3600", request: "max-stale=60", age: 3660, .stale),
    Request("§5.2.1.2 stale for more", "max-age=3600", request: "max-stale=60", age: 3661, nil),
    Request("§5.2.1.2 for however long", "max-age=3600", request: "max-stale", age: 1 << 30, .stale),
    Request("§5.2.1.2 a malformed one", "max-age=3600", request: "max-stale=x", age: 3660, nil),
    Request("§5.2.1.2 where no lifetime is named", "public", request: "max-stale=60", age: 60, .stale),
    Request(
      "§5.2.1.2 with max-age", "max-age=3600", request: "max-stale=60, max-age=3599", age: 3650, nil),
    Request(
      "§5.2.2.2 must-revalidate", "max-age=3600, must-revalidate", request: "max-stale", age: 3601, nil),
    Request("§5.2.2.4 no-cache of the answer", "no-cache", request: "max-stale", age: 1, nil),
  ]

  @Test(arguments: requests) func use(row: Request) {
    let freshness = Self.answer(row.answer, age: row.age)
    #expect(freshness.use(for: RequestDirectives(cacheControl: row.request, pragma: row.pragma)) == row.use)
  }

  @Test func theClockWasSetBack() {
    #expect(
      Self.answer("max-age=3600", age: -5).use(for: RequestDirectives(cacheControl: "max-stale")) == nil)
  }

  private static func answer(_ control: String, age: Int64) -> Freshness {
    Freshness(
      FreshnessFields(cacheControl: control), Validator(date: date), status: 200, isRedirected: false,
      askedAt: asked, at: asked + age, guesses: false)
  }

  // MARK: Where the server fails

  @Test(arguments: [
    ("max-age=60", nil, 100, false),
    ("max-age=60, stale-if-error=60", nil, 120, true),
    ("max-age=60, stale-if-error=60", nil, 121, false),
    ("max-age=60, stale-if-error", nil, 100, false),
    ("max-age=60, stale-if-error=60, must-revalidate", nil, 100, false),
    ("max-age=60, stale-if-error=60, no-cache", nil, 100, false),
    ("stale-if-error=60", nil, 60, true),
    ("max-age=60", "stale-if-error=60", 120, true),
    ("max-age=60, stale-if-error=60", "no-cache", 100, false),
  ])
  func mayStandIn(answer: String, request: String?, age: Int64, stands: Bool) {
    #expect(
      Self.answer(answer, age: age).mayStandIn(for: RequestDirectives(cacheControl: request)) == stands)
  }

  @Test(arguments: [
    (DownloadError(.status, cause: .http(status: 500)), true),
    (DownloadError(.status, cause: .http(status: 503)), true),
    (DownloadError(.status, cause: .http(status: 522)), true),
    (DownloadError(.status, cause: .http(status: 526)), false),
    (DownloadError(.status, cause: .http(status: 404)), false),
    (DownloadError(.status, cause: .http(status: 501)), false),
    (DownloadError(.connect), true), (DownloadError(.resolve), true), (DownloadError(.stalled), true),
    (DownloadError(.certificate), false), (DownloadError(.pinnedKey), false), (DownloadError(.disk), false),
    (DownloadError(.cancelled), false), (DownloadError(.digest), false),
  ])
  func serverFailures(error: DownloadError, counts: Bool) {
    #expect(Freshness.isServerFailure(error) == counts)
  }

  @Test func untilWhen() {
    func end(_ control: String?, date: String? = Self.date, at later: Int64 = 60) -> Int64? {
      let row = CacheRow(
        key: RowKey(address: "a", directory: "/d", requested: ""), name: "x", wanted: "x",
        identity: FileIdentity(device: 1, inode: 2, size: 3, modified: 4), changed: ChangeTime(number: 5),
        validator: Validator(date: date),
        fetchedAt: Self.asked, freshness: FreshnessFields(cacheControl: control))
      return Freshness.end(of: row, at: Self.asked + later).map { $0 - Self.asked }
    }
    #expect(end("max-age=3600") == 3600)
    #expect(end("max-age=3600", at: 9000) == 3600)
    #expect(end("max-age=3600", date: Self.anHourAgo) == 0)
    #expect(end("max-age=3600, no-cache") == nil)
    #expect(end(nil) == nil)
    #expect(end("max-age=3600", at: -1) == nil)
  }

  // MARK: What a 304 renews (§4.3.4)

  @Test func a304Renews() {
    var row = CacheRow(
      key: RowKey(address: "http://h/x", directory: "/d", requested: ""), name: "x", wanted: "x",
      identity: FileIdentity(device: 1, inode: 2, size: 3, modified: 4), changed: ChangeTime(number: 5),
      validator: Validator(etag: "\"v\"", lastModified: Self.anHourAgo, date: Self.date),
      fetchedAt: Self.asked, status: 200,
      freshness: FreshnessFields(cacheControl: "max-age=60", age: "50", vary: "Accept"))
    let later = Self.asked + 7200
    row = row.renewed(
      by: ResponseHead(status: 304, fields: ["Date": "Wed, 15 Nov 2023 00:13:20 GMT"]), askedAt: later,
      digest: nil)
    #expect(row.freshness == FreshnessFields(cacheControl: "max-age=60", vary: "Accept"))
    #expect(row.validator.etag == "\"v\"")
    #expect(Freshness(of: row, at: later + 59, guesses: false).isFresh)
    #expect(!Freshness(of: row, at: later + 60, guesses: false).isFresh)
    let forbidden = row.renewed(
      by: ResponseHead(status: 304, fields: ["Cache-Control": "no-store, max-age=60"]), askedAt: later,
      digest: nil)
    #expect(!Freshness(of: forbidden, at: later, guesses: true).isFresh)
    #expect(!forbidden.mayAnswer)
  }

  /// What was read of the row before counts only where it says the same in all that matters.
  @Test func rowsOneAfterAnotherAreReadAsEachByItself() {
    let row = RowBatchTests.row("x")
    var rows = [row]
    func add(_ change: (inout CacheRow.Fields) -> Void) {
      var other = row
      other.change(change)
      rows.append(other)
    }
    add { $0.freshness = FreshnessFields() }
    add { $0.freshness.cacheControl = "max-age=9, no-cache" }
    add { $0.freshness = FreshnessFields(cacheControl: "immutable") }
    add {
      ($0.freshness, $0.validator.lastModified) = (FreshnessFields(cacheControl: "immutable"), Self.stamp(9))
    }
    add { $0.freshness = FreshnessFields(expires: Self.stamp(40)) }
    add { ($0.freshness, $0.validator.date) = (FreshnessFields(expires: Self.stamp(40)), Self.stamp(30)) }
    add { $0.freshness.age = "5" }
    add { $0.effectiveURL = "http://elsewhere/x" }
    add { $0.fetchedAt = 20 }
    add { $0.status = 500 }
    let reader = FreshnessReader()
    for (one, other) in rows.flatMap({ one in rows.map { (one, $0) } }) {
      for (now, guesses) in [(30, false), (30, true), (31, true)] as [(Int64, Bool)] {
        for row in [one, other, other] {
          #expect(
            reader.freshness(of: row, at: now, guesses: guesses)
              == Freshness(of: row, at: now, guesses: guesses))
        }
      }
    }
  }

  private static func stamp(_ second: Int) -> String {
    "Thu, 01 Jan 1970 00:00:\(second < 10 ? "0" : "")\(second) GMT"
  }
}

extension Freshness {
  init(
    _ fields: FreshnessFields, _ validator: Validator, status: Int?, isRedirected: Bool, askedAt: Int64,
    at now: Int64, guesses: Bool
  ) {
    let row = CacheRow(
      key: RowKey(address: "http://host/x", directory: "/", requested: ""), name: "x", wanted: "x",
      identity: FileIdentity(device: 1, inode: 2, size: 3, modified: 4), changed: ChangeTime(number: 5),
      validator: validator, fetchedAt: askedAt, status: status, freshness: fields,
      effectiveURL: isRedirected ? "http://elsewhere/x" : nil)
    self.init(of: row, at: now, guesses: guesses)
  }
}
