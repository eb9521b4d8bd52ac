import DownloadModel
import Glibc
import TestSupport
import Testing

@testable import dlm

@Suite("Lists that can be read at once are counted ahead")
struct ListCountTests {
  private static func lines(_ count: Int) -> String {
    (0..<count).map { "http://h/\($0)\($0.isMultiple(of: 2) ? "\tsize=10" : "")" }.joined(separator: "\n")
  }

  @Test("how many files there are, and the sizes that lines give")
  func count() async throws {
    let folder = try TemporaryFolder()
    try folder.write(Self.lines(6000) + "\n# a comment\n\nnonsense\n", to: "urls.txt")
    try folder.write("url,bytes\nhttp://h/a,7\nhttp://h/b,8\n", to: "table.csv")
    let sources = ["urls.txt", "table.csv"].map { Source.list(path: "\(folder.path)/\($0)") }
    let feed = ProgressFeed()
    await ListCount(sources: sources + [.address("http://h/c")], marks: RequestMarks()).run(feed)
    #expect(feed.tally.listed == 6003 && feed.tally.listIsComplete)
    #expect(feed.tally.expected.files >= 3000)
    #expect(feed.tally.failed == 0, "a line that is wrong is told once, by the run")
  }

  @Test("only the lines of its own shard")
  func shard() async throws {
    let folder = try TemporaryFolder()
    try folder.write(Self.lines(600), to: "urls.txt")
    let source = Source.list(path: "\(folder.path)/urls.txt")
    var counts: [Int] = []
    for shard in 1...3 {
      var form = ListForm()
      form.shard = Shard(numbers: shard...shard, count: 3)
      let feed = ProgressFeed()
      await ListCount(sources: [source], marks: RequestMarks(form: form)).run(feed)
      counts.append(feed.tally.listed)
    }
    #expect(counts.reduce(0, +) == 600 && counts.allSatisfy { $0 > 100 })
  }

  @Test("a pipe, a list at a URL, and one that is no list stay without an end")
  func openEnded() async throws {
    let folder = try TemporaryFolder()
    try folder.write(Self.lines(10), to: "urls.txt")
    try folder.write("<html>\n", to: "page.txt")
    #expect(mkfifo("\(folder.path)/pipe", 0o600) == 0)
    let good = Source.list(path: "\(folder.path)/urls.txt")
    let others: [Source] = [
      .standardInput, .listAt("https://h/list"), .list(path: "\(folder.path)/pipe"),
      .list(path: "\(folder.path)/page.txt"), .list(path: "\(folder.path)/none.txt"),
    ]
    for other in others {
      let feed = ProgressFeed()
      await ListCount(sources: [good, other], marks: RequestMarks()).run(feed)
      #expect(feed.tally.listed == 0 && !feed.tally.listIsComplete, "\(other)")
    }
  }

  @Test("a list that was read to its end meanwhile is not counted")
  func isRead() async throws {
    let folder = try TemporaryFolder()
    try folder.write(Self.lines(10), to: "urls.txt")
    let feed = ProgressFeed()
    feed.listed(9, complete: true)
    await ListCount(sources: [.list(path: "\(folder.path)/urls.txt")], marks: RequestMarks()).run(feed)
    #expect(feed.tally.listed == 9)
  }
}
