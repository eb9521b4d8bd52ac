import DownloadModel
import Glibc
import SystemPackage
import TestSupport
import Testing

@testable import dlm

@Suite("The runs of a folder, one after the other")
struct PastRunTests {
  private func run(
    _ index: Int, mode: DownloadMode = .parallel, list: String = "abc", fetched: Int = 36, jobs: Int = 16,
    adapts: Bool = true, seconds: Double = 1.5
  ) -> PastRun {
    PastRun(
      command: index.isMultiple(of: 2) ? .get : .compare, sources: ["/home/a b/urls.txt"], mode: mode,
      adaptsJobs: adapts, listDigest: list, jobs: jobs, fetched: fetched, transferredBytes: 1000,
      seconds: seconds, endedAt: 1_763_816_400_000 + Int64(index) * 60_000)
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

  @Test("one table, the newest run last, and how equal work has moved")
  func table() {
    let runs = [
      run(1, list: "a"), run(2, list: "b"), run(3, list: "a", seconds: 0.75),
      run(4, mode: .sequential, list: "a"),
    ]
    let lines = HistoryMessages(runs: runs, folder: "/home/a b", isPiped: { _ in false }, most: 2).lines
    #expect(lines.count == 1 + 1 + 2 + 1 + 1)
    #expect(lines[0] == "WHEN              MODE             FILES   FETCHED     TIME  WHAT")
    #expect(lines[1] == "(2 earlier)")
    #expect(lines[2].hasSuffix("parallel           36    1000 B   750 ms  urls.txt, compare"), "\(lines[2])")
    #expect(lines[3].hasSuffix("sequential         36    1000 B   1.50 s  urls.txt"), "\(lines[3])")
    #expect(lines.last == "urls.txt, parallel: 2 runs of the same work, 750 ms to 1.50 s, the last 750 ms  █▅")
  }

  /// A single address once had a table of its own, and a pipe the name of dlm's file.
  @Test(
    "says what was fetched, in full where there is room",
    arguments: [
      (["/home/urls.txt"], 80, "urls.txt"), (["http://h/a-long-folder/of-files/disk.iso"], 80, "disk.iso"),
      (["http://h/a-long-folder/of-files/disk.iso"], 120, "http://h/a-long-folder/of-files/disk.iso"),
      (["http://h/a-long-folder/of-files/disk.iso"], nil, "http://h/a-long-folder/of-files/disk.iso"),
      (["http://h/1", "http://h/2", "http://h/3"], nil, "http://h/1 and 2 more"),
      (["/state/runs/x.list"], 80, "a list from a pipe"), (["/dev/fd/63"], 80, "a list from a pipe"),
      (["/dev/stdin"], nil, "a list from a pipe"), (["/proc/self/fd/0"], nil, "a list from a pipe"),
      ([], 20, "a list from a pipe"),
      (["https://h/f?X-Amz-Signature=sEcret"], nil, "'https://h/f?X-Amz-Signature=…'"),
    ] as [([String], Int?, String)])
  func what(sources: [String], columns: Int?, name: String) throws {
    var past = run(2)
    past.sources = sources
    let messages = HistoryMessages(
      runs: [past], folder: "/home", isPiped: { $0 == "/state/runs/x.list" }, most: 9, columns: columns)
    #expect(try #require(messages.lines.last).hasSuffix("1.50 s  \(name)"), "\(messages.lines)")
  }

  /// Rows of `compare` lost their columns, since one with a name of sixteen characters was broken.
  @Test("a row of a comparison fits into 80 columns")
  func comparison() {
    var past = run(1)
    past.sources = ["/home/list_of_my_samples_in_2026.txt"]
    let runs = [past, run(2, mode: .asyncLet)]
    let lines = HistoryMessages(runs: runs, folder: "/home", isPiped: { _ in false }, most: 9, columns: 80).lines
    #expect(lines.contains { $0.contains("…") && $0.hasSuffix(", compare") }, "\(lines)")
    #expect(lines.allSatisfy { $0.count < 80 }, "\(lines)")
  }

  @Test("for programs: the newest, without what signs an address")
  func json() {
    var signed = (0..<3).map { run($0) }
    signed[2].sources = ["https://h/a?X-Amz-Signature=sEcret&n=1", "/home/urls.txt"]
    let messages = HistoryMessages(
      runs: signed + [run(7, list: "other")], folder: "/", isPiped: { _ in false }, most: 2)
    let lines = messages.json.map(\.text)
    #expect(lines.count == 2 && lines.allSatisfy { $0.hasPrefix("{") && $0.hasSuffix("}") })
    #expect(
      lines[0].contains(#""sources":["https://h/a?X-Amz-Signature=…&n=1","/home/urls.txt"]"#), "\(lines)")
    #expect(!lines.joined().contains("sEcret"))
  }

  /// A list with a dead link is one that was run; both commands once left it out.
  @Test("from the command line: runs of get and compare, as text and as JSON, of one list or all")
  func fromOutside() async throws {
    let origin = try FaultyOrigin()
    defer { origin.stop() }
    let place = try Workplace()
    for index in 0..<3 { origin.route("/f\(index)", .file([UInt8(index), 1])) }
    origin.route("/dead", .status(404))
    _ = try place.list((0..<3).map { origin.url("/f\($0)") } + [origin.url("/dead")])
    let none = try await place.dlm("history")
    #expect(none.status == 66 && none.errorText.contains("no finished run in this folder"), "\(none.errorText)")
    #expect(try await place.dlm("get", "urls.txt", "-d", "out").status == 1)
    // Nothing is fetched, and nothing measured.
    #expect(try await place.dlm("get", "urls.txt", "-d", "out").status == 1)
    #expect(try await place.dlm("compare", "urls.txt", "--runs", "2", "--mode", "parallel").status == 1)
    let text = try await place.dlm("history")
    #expect(text.status == 0 && text.outputText.contains("  urls.txt, 1 failed\n"), "\(text.outputText)")
    #expect(
      text.outputText.split(separator: "\n").count { $0.hasSuffix(", 1 failed") } == 3, "\(text.outputText)")
    let json = try await place.dlm("history", "urls.txt", "--json")
    let lines = json.outputText.split(separator: "\n")
    #expect(lines.count == 3, "\(json.outputText)")
    #expect(lines.count { $0.contains("\"command\":\"compare\"") } == 2)
    let newest = try await place.dlm("history", "--json", "-n", "1")
    #expect(newest.outputText.split(separator: "\n") == lines.suffix(1), "\(newest.outputText)")
    let other = try await place.dlm("history", "other.txt")
    #expect(other.status == 66 && other.errorText.contains("other.txt"), "\(other.errorText)")
  }
}
