import DownloadModel
import Synchronization
import SystemPackage
import TestSupport
import Testing

@testable import dlm

@Suite("What the reader of lists makes of its sources")
struct ListReaderTests {
  /// What came of the sources, for a comparison.
  private struct Outcome: Equatable, CustomStringConvertible {
    var requests: [String] = []
    var rejected: [String] = []
    var isWhole = true

    var description: String { "\(requests) without \(rejected), \(isWhole ? "whole" : "broken off")" }
  }

  private static func outcome(of reader: ListReader, _ rejected: borrowing Lock<[Rejection]>) async -> Outcome {
    let requests = await reader.all().map { request in
      var text = "\(request.id) \(request.address.key.dropFirst("http://".count))"
      if request.isFirst { text += " first" }
      if let size = request.expectedSize { text += " \(size)" }
      if request.isRepeat { text += " again" }
      return request.nameNumber > 0 ? text + " #\(request.nameNumber)" : text
    }
    let reasons = rejected.withLock { $0 }.map { rejection in
      rejection.line.map { "\($0): \(rejection.reason)" } ?? "\(rejection.reason)"
    }
    return Outcome(requests: requests, rejected: reasons, isWhole: await reader.isWhole)
  }

  /// With the user's URL as its mirror.
  @Test(arguments: [true, false]) func ftpOverHTTPS(prefers: Bool) async throws {
    var form = ListForm()
    form.prefersHTTPS = prefers
    let said = Lock<[String]>([])
    let place = try TestSupport.TemporaryFolder()
    let list = try place.write(Array("ftp://ftp.gnu.org/x\n".utf8), to: "list")
    let reader = ListReader(
      [.address("ftp://ftp.gnu.org/y"), .list(path: list)], RequestMarks(form: form),
      onFormat: { text in said.withLock { $0.append(text) } })
    let all = await reader.all()
    let ftp = ["ftp://ftp.gnu.org/y", "ftp://ftp.gnu.org/x"]
    #expect(all.map(\.address.key) == (prefers ? ftp.map { "https" + $0.dropFirst(3) } : ftp))
    #expect(all.flatMap { $0.mirrors.map(\.key) } == (prefers ? ftp : []))
    #expect(said.withLock { $0.count } == (prefers ? 1 : 0))
  }

  /// A source is an address, or the text of a list file; nil for one that is not there.
  private static let cases: [(sources: [String?], Outcome)] = [
    ([], Outcome()),
    ([""], Outcome()),
    (["# nothing\n\n"], Outcome()),
    (["http://h/a\nhttp://h/b"], Outcome(requests: ["0 h/a", "1 h/b"])),
    // An address between two lists, in the order in which they are named.
    (["http://h/a\n", "@http://h/b", "http://h/c\n"], Outcome(requests: ["0 h/a", "1 h/b", "2 h/c"])),
    // Names and addresses are counted over all sources.
    (
      ["http://h/x/f\nhttp://h/y/f\n", "http://h/x/f\n"],
      Outcome(requests: ["0 h/x/f", "1 h/y/f #1", "2 h/x/f again"])
    ),
    (
      ["http://h/a\tfirst=yes\tsize=5\nhttp://h/b.pdf\nhttp://h/c.pdf\tfirst=no\n"],
      Outcome(requests: ["0 h/a first 5", "1 h/b.pdf first", "2 h/c.pdf"])
    ),
    (
      ["nonsense\nhttp://h/a\n"],
      Outcome(requests: ["0 h/a"], rejected: ["1: \(Rejection.Reason.malformed(.noScheme))"])
    ),
    (["@nonsense"], Outcome(rejected: ["\(Rejection.Reason.malformed(.noScheme))"])),
    // Of what is no list, nothing is told line by line, and what came before it stays.
    (["<html>\n"], Outcome(rejected: ["\(Rejection.Reason.noList(.page))"], isWhole: false)),
    (
      ["http://h/a\n", String(repeating: "nonsense\n", count: 20)],
      Outcome(
        requests: ["0 h/a"], rejected: ["\(Rejection.Reason.noList(.lines(ListDoubt.mostAtStart)))"], isWhole: false)
    ),
    // The others go on.
    (
      [nil, "http://h/a\n"],
      Outcome(requests: ["0 h/a"], rejected: ["\(Rejection.Reason.unreadable(errno: 2))"], isWhole: false)
    ),
  ]

  @Test(arguments: cases.indices) func table(index: Int) async throws {
    let (sources, expected) = Self.cases[index]
    let folder = try TestSupport.TemporaryFolder()
    let named = try sources.enumerated().map { place, source in
      guard let source else { return Source(folder.path("missing")) }
      if source.hasPrefix("@") { return Source.address(String(source.dropFirst())) }
      return Source(try folder.write(Array(source.utf8), to: "\(place).txt"))
    }
    let rejected = Lock<[Rejection]>([])
    let reader = ListReader(
      named, RequestMarks(first: [NamePattern("*.pdf")]), onReject: { one in rejected.withLock { $0.append(one) } })
    let outcome = await Self.outcome(of: reader, rejected)
    #expect(outcome == expected)
  }

  /// A last line without its end is left out while more of it may come.
  @Test(arguments: [(false, ["0 h/a", "1 h/b"]), (true, ["0 h/a"])]) func wholeLines(only: Bool, expected: [String])
    async throws
  {
    let folder = try TestSupport.TemporaryFolder()
    let list = Source(try folder.write(Array("http://h/a\nhttp://h/b".utf8), to: "list"))
    let outcome = await Self.outcome(of: ListReader([list], wantsWholeLines: only), Lock([]))
    #expect(outcome.requests == expected)
  }

  /// The digest is of the addresses in their order, whatever else the lists say and wherever they are divided.
  @Test(arguments: [
    (["http://h/a\nhttp://h/b\n"], true), (["# x\nhttp://h/a\tfirst=yes\n", "http://h/b"], true),
    (["http://h/b\nhttp://h/a\n"], false), (["http://h/a\n"], false),
  ]) func digests(lists: [String], isSame: Bool) async throws {
    let folder = try TestSupport.TemporaryFolder()
    let sources = try lists.enumerated().map { Source(try folder.write(Array($1.utf8), to: "\($0)")) }
    let other = await ListReader.digest(of: [.address("http://h/a"), .address("http://h/b")])
    #expect((await ListReader.digest(of: sources) == other) == isSame)
  }

  /// What the caller is told after each block, at last.
  @Test func readings() async throws {
    let folder = try TestSupport.TemporaryFolder()
    let list = Source(try folder.write(Array("http://h/a\n".utf8), to: "list"))
    let last = Lock<ListReader.Reading?>(nil)
    for (sources, isWhole) in [([list], true), ([list, Source(folder.path("missing"))], false)] {
      _ = await ListReader(sources, onRead: { reading in last.withLock { $0 = reading } }).all()
      let reading = try #require(last.withLock { $0 })
      #expect(reading.count == 1 && !reading.isKept && !reading.spooledLogins)
      #expect(reading.listDigest == (isWhole ? await ListReader.digest(of: [list]) : nil))
    }
  }

  /// What the bar goes by before anything is asked for.
  @Test func sizesOfTheList() async throws {
    let feed = ProgressFeed()
    let folder = try TestSupport.TemporaryFolder()
    let text = "http://h/a\tsize=12\nhttp://h/b\nhttp://h/c\tsize=1K\n"
    _ = await ListReader([Source(try folder.write(Array(text.utf8), to: "list"))], feed: feed).all()
    #expect(feed.tally.expected == ExpectedSizes(files: 2, bytes: 1036))
  }

  @Test func anInterruptedReaderEnds() async throws {
    let reader = ListReader([.address("http://h/a"), .address("http://h/b")])
    reader.stop()
    #expect(await reader.all().isEmpty)
    #expect(await !reader.isWhole)
  }
}
