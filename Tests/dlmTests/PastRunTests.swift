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

  @Test("a table a list, the one that was run last at the end")
  func tables() {
    let runs = [
      run(1, list: "a"), run(2, list: "b"), run(3, list: "a", seconds: 0.75),
      run(4, mode: .sequential, list: "a"),
    ]
    let lines = HistoryMessages(runs: runs, folder: "/home/a b", most: 2).lines
    #expect(lines.count == 2 + 1 + 1 + 2 + 1 + 2 + 1)
    #expect(lines[0] == "urls.txt" && lines[3].isEmpty && lines[4] == "urls.txt")
    #expect(lines.contains("(1 earlier)"))
    #expect(lines.last == "parallel: 2 runs of the same work, 750 ms to 1.50 s, the last 750 ms  █▅")
  }

  @Test("for programs: the newest of each list, without what signs an address")
  func json() {
    var signed = (0..<3).map { run($0) }
    signed[2].sources = ["https://h/a?X-Amz-Signature=sEcret&n=1", "/home/urls.txt"]
    let text = HistoryMessages(runs: signed + [run(7, list: "other")], folder: "/", most: 2).json
    let lines = text.split(separator: "\n")
    #expect(lines.count == 3 && lines.allSatisfy { $0.hasPrefix("{") && $0.hasSuffix("}") })
    #expect(
      lines[1].contains(#""sources":["https://h/a?X-Amz-Signature=…&n=1","/home/urls.txt"]"#), "\(text)")
    #expect(!text.contains("sEcret"))
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
    #expect(none.status == 66 && none.errorText.contains("no run in this folder"), "\(none.errorText)")
    #expect(try await place.dlm("get", "urls.txt", "-d", "out").status == 1)
    // Nothing is fetched, and nothing measured.
    #expect(try await place.dlm("get", "urls.txt", "-d", "out").status == 1)
    #expect(try await place.dlm("compare", "urls.txt", "--runs", "2", "--mode", "parallel").status == 1)
    let text = try await place.dlm("history")
    #expect(text.status == 0 && text.outputText.contains("urls.txt\n"), "\(text.outputText)")
    #expect(
      text.outputText.split(separator: "\n").count { $0.hasSuffix("  1 failed") } == 3, "\(text.outputText)")
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
