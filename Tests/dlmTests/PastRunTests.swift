import DownloadModel
import Glibc
import SystemPackage
import TestSupport
import Testing

@testable import dlm

@Suite("The runs of a folder, one after the other")
struct PastRunTests {
  private let folder = try? TemporaryFolder()

  private func run(
    _ index: Int, mode: DownloadMode = .parallel, list: String = "abc", fetched: Int = 36, jobs: Int = 16,
    adapts: Bool = true, seconds: Double = 1.5
  ) -> PastRun {
    PastRun(
      command: index.isMultiple(of: 2) ? .get : .compare, sources: ["/home/a b/urls.txt"], mode: mode,
      adaptsJobs: adapts,
      run: RunHistory.Run(
        listDigest: list, jobs: jobs, fetched: fetched, transferredBytes: 1000, seconds: seconds,
        endedAt: 1_763_816_400_000 + Int64(index) * 60_000))
  }

  @Test("what is added is what is read, in that order; runs that fetched nothing are not")
  func addedIsRead() throws {
    let past = PastRuns(FilePath(try #require(folder).path).appending("x.past"))
    #expect(past.load().isEmpty)
    let runs = (0..<5).map { run($0, mode: DownloadMode.allCases[$0 % 3]) }
    try past.append([runs[0], run(9, fetched: 0), runs[1]])
    try past.append(Array(runs[2...]))
    #expect(past.load() == runs)
  }

  @Test("only this user can read it")
  func isPrivate() throws {
    let path = FilePath(try #require(folder).path).appending("x.past")
    try PastRuns(path).append([run(1)])
    var status = stat()
    #expect(stat(path.string, &status) == 0 && status.st_mode & 0o777 == 0o600)
  }

  @Test("the newest half stays of a file that grew too long")
  func isBounded() throws {
    let path = FilePath(try #require(folder).path).appending("x.past")
    let past = PastRuns(path)
    let all = (0..<1200).map { run($0) }
    for start in stride(from: 0, to: all.count, by: 50) { try past.append(Array(all[start..<(start + 50)])) }
    let kept = past.load()
    #expect(kept == all.suffix(kept.count) && kept.count > 100 && kept.count < 600)
    var status = stat()
    #expect(stat(path.string, &status) == 0 && status.st_size <= 2 * PastRuns.longestFile)
  }

  @Test("torn lines, other formats and other events say nothing")
  func otherLines() {
    let text = PastRunLines.text([run(1), run(2)])
    let torn =
      text.dropLast(10)
      + Array("\n1 void x .\n2 ran get later=format .\n1 ran teleport mode=parallel .\n".utf8)
    #expect(PastRunLines.runs(Array(torn)) == [run(1)])
    #expect(RunEvents(RunEventLines.events(text)) == RunEvents([]))
  }

  @Test("alike is what did the same work in the same way")
  func alike() {
    #expect(run(1).isLike(run(2, jobs: 3)))
    #expect(!run(1).isLike(run(2, mode: .sequential)))
    #expect(!run(1).isLike(run(2, adapts: false)))
    #expect(!run(1, adapts: false).isLike(run(2, jobs: 3, adapts: false)))
    #expect(!run(1).isLike(run(2, list: "other")))
  }

  @Test(arguments: [
    ([], ""), ([0], ""), ([1], "█"), ([1, 2, 4, 8], "▂▃▅█"), ([8, 0.1, 0.1], "█▁▁"),
  ])
  func sparks(values: [Double], text: String) { #expect(HistoryMessages.sparks(values) == text) }

  @Test("a table a list, the one that was run last at the end")
  func tables() {
    let runs = [
      run(1, list: "a"), run(2, list: "b"), run(3, list: "a", seconds: 0.75),
      run(4, mode: .sequential, list: "a"),
    ]
    let lines = HistoryMessages(runs, folder: "/home/a b", most: 2).lines
    #expect(lines.count == 2 + 1 + 1 + 2 + 1 + 2 + 1)
    #expect(lines[0] == "urls.txt" && lines[3].isEmpty && lines[4] == "urls.txt")
    #expect(lines.contains("(1 earlier)"))
    #expect(lines.last == "parallel: 2 runs of the same work, 750 ms to 1.50 s, the last 750 ms  █▅")
  }

  @Test("from the command line: runs of get and compare, as text and as JSON, of one list or all")
  func fromOutside() async throws {
    let origin = try FaultyOrigin()
    defer { origin.stop() }
    let place = try Workplace()
    for index in 0..<3 { origin.route("/f\(index)", .file([UInt8(index), 1])) }
    _ = try place.list((0..<3).map { origin.url("/f\($0)") })
    let none = try await place.dlm("history")
    #expect(none.status == 66 && none.errorText.contains("no run in this folder"), "\(none.errorText)")
    #expect(try await place.dlm("get", "urls.txt", "-d", "out").status == 0)
    // Nothing is fetched, and nothing measured.
    #expect(try await place.dlm("get", "urls.txt", "-d", "out").status == 0)
    #expect(try await place.dlm("compare", "urls.txt", "--runs", "2", "--mode", "parallel").status == 0)
    let text = try await place.dlm("history")
    #expect(text.status == 0 && text.outputText.contains("urls.txt\n"), "\(text.outputText)")
    let json = try await place.dlm("history", "urls.txt", "--json")
    let lines = json.outputText.split(separator: "\n")
    #expect(lines.count == 3, "\(json.outputText)")
    #expect(lines.count { $0.contains("\"command\":\"compare\"") } == 2)
    let other = try await place.dlm("history", "other.txt")
    #expect(other.status == 66 && other.errorText.contains("other.txt"), "\(other.errorText)")
  }
}
