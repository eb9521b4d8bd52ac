import DownloadModel
import Testing

@testable import DownloadCaching
@testable import FileReceiving

@Suite("What is done about a request, by what is known of its files")
struct CacheLookupTests {
  private static func row(
    _ directory: String, validator: Validator = Validator(etag: "\"v1\""), lifetime: String? = nil,
    effectiveURL: String? = nil
  ) -> CacheRow {
    CacheRow(
      key: RowKey(address: "http://h/x", directory: directory, requested: ""), name: "x",
      wanted: "x",
      identity: FileIdentity(device: 1, inode: 2, size: 3, modified: 4),
      changed: ChangeTime(number: 5), validator: validator, fetchedAt: 0,
      freshness: FreshnessFields(cacheControl: lifetime), effectiveURL: effectiveURL)
  }

  private static let own = row("/here")
  private static let other = row("/there")

  struct Case: Sendable, CustomTestStringConvertible {
    var testDescription: String
    var known: KnownFiles
    var question = CacheLookup.Question()
    var expected: CacheLookup
  }

  static let cases: [Case] = {
    typealias Question = CacheLookup.Question
    let mine = KnownFiles(.known(own), own: own)
    let theirs = KnownFiles(.known(nil), elsewhere: other)
    let othersAnswer = KnownFiles(.known(own), own: own, ownReuse: .byStrongTag)
    let version = KnownVersion(validator: Validator(etag: "\"v1\""))
    func failure(_ detail: String) -> CacheLookup {
      .fail(DownloadError(.cache, cause: .detail(detail), activity: "answering offline"))
    }
    let fresh = row("/here", lifetime: "max-age=10")
    let freshThere = row("/there", lifetime: "max-age=10")
    let freshHere = KnownFiles(.known(fresh), own: fresh)
    let freshElsewhere = KnownFiles(.known(nil), elsewhere: freshThere)
    let othersFresh = KnownFiles(.known(fresh), own: fresh, ownReuse: .byStrongTag)
    let led = row("/here", lifetime: "max-age=10", effectiveURL: "http://h/y")
    let stale = RequestDirectives(cacheControl: "max-stale=60")
    return [
      Case(
        testDescription: "fresh", known: freshHere, question: Question(now: 9), expected: .hit(fresh, .fresh)),
      Case(
        testDescription: "no longer fresh", known: freshHere, question: Question(now: 10),
        expected: .ask(version)),
      Case(
        testDescription: "fresh elsewhere", known: freshElsewhere, question: Question(now: 9),
        expected: .copy(freshThere, .fresh)),
      Case(
        testDescription: "fresh, offline", known: freshHere, question: Question(now: 9, isOffline: true),
        expected: .hit(fresh, .fresh)),
      Case(
        testDescription: "fresh, --refresh", known: freshHere, question: Question(now: 9, refreshes: true),
        expected: .ask(nil)),
      Case(
        testDescription: "fresh, --revalidate", known: freshHere,
        question: Question(now: 9, directives: RequestDirectives(cacheControl: "no-cache")),
        expected: .ask(version)),
      Case(
        testDescription: "fresh, but the answer to another request (§4.1)", known: othersFresh,
        question: Question(now: 9), expected: .ask(KnownVersion(fresh, isSelected: false))),
      Case(
        testDescription: "fresh, with another checksum", known: freshHere,
        question: Question(now: 9, hasDigest: false), expected: .ask(nil)),
      Case(
        testDescription: "fresh, but only a checksum is proof enough", known: freshHere,
        question: Question(now: 9, requiredProof: .digest), expected: .ask(version)),
      Case(
        testDescription: "fresh behind a redirect", known: KnownFiles(.known(led), own: led),
        question: Question(now: 9), expected: .ask(KnownVersion(led, isSelected: true))),
      Case(
        testDescription: "stale, --max-stale", known: freshHere,
        question: Question(now: 70, directives: stale), expected: .hit(fresh, .stale)),
      Case(
        testDescription: "stale for longer, --max-stale", known: freshHere,
        question: Question(now: 71, directives: stale), expected: .ask(version)),
      Case(
        testDescription: "only-if-cached (§5.2.1.7)", known: mine,
        question: Question(directives: RequestDirectives(cacheControl: "only-if-cached")),
        expected: .hit(own, .offline)),
      Case(testDescription: "nothing is known", known: .nothing, expected: .ask(nil)),
      Case(testDescription: "the index was not asked", known: .notAsked, expected: .ask(nil)),
      Case(testDescription: "its own file", known: mine, expected: .ask(version)),
      Case(testDescription: "a file elsewhere", known: theirs, expected: .ask(version)),
      Case(
        testDescription: "--refresh", known: mine, question: Question(refreshes: true), expected: .ask(nil)),
      Case(
        testDescription: "without a validator",
        known: KnownFiles(.known(nil), own: row("/here", validator: Validator())), expected: .ask(nil)),
      Case(
        testDescription: "with its checksum", known: mine, question: Question(hasDigest: true),
        expected: .hit(own, .digest)),
      Case(
        testDescription: "with its checksum, --refresh", known: mine,
        question: Question(hasDigest: true, refreshes: true), expected: .ask(nil)),
      Case(
        testDescription: "with another checksum", known: mine, question: Question(hasDigest: false),
        expected: .ask(nil)),
      Case(
        testDescription: "just fetched by another process", known: mine, question: Question(before: .nothing),
        expected: .hit(own, .justFetched)),
      Case(
        testDescription: "the other process failed", known: mine, question: Question(before: mine),
        expected: .ask(version)),
      Case(
        testDescription: "just fetched by another process into its folder", known: theirs,
        question: Question(before: .nothing), expected: .copy(other, .justFetched)),
      Case(
        testDescription: "fetched by another process since this run began", known: mine,
        question: Question(now: 9, began: RunStart(seconds: own.fetchedAt, stamp: own.identity.modified - 1)),
        expected: .hit(own, .justFetched)),
      Case(
        testDescription: "the same, into its folder", known: theirs,
        question: Question(now: 9, began: RunStart(seconds: other.fetchedAt, stamp: -1)),
        expected: .copy(other, .justFetched)),
      Case(
        testDescription: "written at the tick at which this run began", known: mine,
        question: Question(now: 9, began: RunStart(seconds: own.fetchedAt, stamp: own.identity.modified)),
        expected: .ask(version)),
      Case(
        testDescription: "copied since, but asked for before", known: mine,
        question: Question(now: 9, began: RunStart(seconds: own.fetchedAt + 1, stamp: -1)),
        expected: .ask(version)),
      Case(
        testDescription: "asked for in the future", known: mine,
        question: Question(now: -1, began: RunStart(seconds: 0, stamp: -1)),
        expected: .ask(version)),
      Case(
        testDescription: "fetched since, --refresh", known: mine,
        question: Question(now: 9, began: RunStart(seconds: 0, stamp: -1), refreshes: true),
        expected: .ask(nil)),
      Case(
        testDescription: "fetched by another process for another request", known: othersAnswer,
        question: Question(before: .nothing), expected: .ask(KnownVersion(own, isSelected: false))),
      Case(
        testDescription: "offline", known: mine, question: Question(isOffline: true),
        expected: .hit(own, .offline)
      ),
      Case(
        testDescription: "offline, elsewhere", known: theirs, question: Question(isOffline: true),
        expected: .copy(other, .offline)),
      Case(
        testDescription: "offline, nothing", known: .nothing, question: Question(isOffline: true),
        expected: failure("not in the cache")),
      Case(
        testDescription: "offline, for another request", known: othersAnswer,
        question: Question(isOffline: true),
        expected: failure(
          "the cache has it for another login, certificate or header, or from an unverified server"
        )
      ),
      Case(
        testDescription: "offline, with another checksum", known: mine,
        question: Question(hasDigest: false, isOffline: true),
        expected: .fail(
          DownloadError(
            .digest, cause: .detail("the file on disk has another checksum"), path: "/here/x",
            activity: "answering offline"))),
    ]
  }()

  @Test(arguments: cases) func decide(row: Case) {
    #expect(CacheLookup.decide(row.known, row.question) == row.expected)
  }

  /// So the cache looks no further once the own file is the answer.
  @Test("what is known of other folders changes no hit", arguments: cases) func hitsStay(row: Case) {
    guard let own = row.known.own else { return }
    let alone = CacheLookup.decide(
      KnownFiles(.known(own), own: own, ownReuse: row.known.ownReuse), row.question)
    guard case .hit = alone else { return }
    for lifetime in [nil, "max-age=1000", "no-cache"] {
      for fetchedAt: Int64 in [0, 9, 100] {
        var other = Self.row("/there", lifetime: lifetime)
        other.fields.fetchedAt = fetchedAt
        let both = KnownFiles(.known(own), own: own, elsewhere: other, ownReuse: row.known.ownReuse)
        #expect(CacheLookup.decide(both, row.question) == alone)
      }
    }
  }
}
