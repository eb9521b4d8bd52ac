import DownloadModel
import Testing

@testable import DownloadCaching

@Suite("What is done about a request, by what is known of its files")
struct CacheLookupTests {
  private static func row(_ directory: String, validator: Validator = Validator(etag: "\"v1\"")) -> CacheRow {
    CacheRow(
      key: RowKey(address: "http://h/x", scope: "", directory: directory, requested: ""), name: "x",
      wanted: "x",
      identity: FileIdentity(device: 1, inode: 2, size: 3, modified: 4), validator: validator, fetchedAt: 0,
      freshness: FreshnessFields())
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
    let othersAnswer = KnownFiles(.known(own), own: own, selected: (false, true))
    let version = KnownVersion(validator: Validator(etag: "\"v1\""))
    func failure(_ detail: String) -> CacheLookup {
      .fail(DownloadError(.cache, cause: .detail(detail), activity: "answering offline"))
    }
    return [
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
        testDescription: "just fetched by another process", known: mine, question: Question(cameSecond: true),
        expected: .hit(own, nil)),
      Case(
        testDescription: "fetched by another process for another request", known: othersAnswer,
        question: Question(cameSecond: true), expected: .ask(KnownVersion(own, isSelected: false))),
      Case(
        testDescription: "offline", known: mine, question: Question(isOffline: true), expected: .hit(own, nil)
      ),
      Case(
        testDescription: "offline, elsewhere", known: theirs, question: Question(isOffline: true),
        expected: .copy(other)),
      Case(
        testDescription: "offline, nothing", known: .nothing, question: Question(isOffline: true),
        expected: failure("not on disk")),
      Case(
        testDescription: "offline, for another request", known: othersAnswer,
        question: Question(isOffline: true),
        expected: failure("what is on disk was the answer to a request with other header lines")),
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
}
