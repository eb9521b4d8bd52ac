import DownloadModel
import Foundation
import TestSupport
import Testing

@testable import dlm

/// Sums and negations of these once ended the whole run by SIGILL.
@Suite("Numbers from outside are bounded where they are read (HTTP rule 51)")
struct OutsideNumbersTests {
  static let numbers = [Int64.min, .min + 1, -1, 0, 1, .max - 1, .max]

  /// A list for each number, and for one that no integer holds.
  private static func lists(_ number: String) -> [(name: String, text: String)] {
    let sum = String(repeating: "0", count: 32)
    return [
      ("lines.txt", "http://h/a\tsize=\(number)\nhttp://h/b\tsize=\(number)\n"),
      ("units.txt", "http://h/a\tsize=\(number)K\n"),
      ("t.csv", "url,bytes\nhttp://h/c,\(number)\nhttp://h/d,\(number)\n"),
      ("fetch.txt", "http://h/e \(number) e\nhttp://h/f \(number) f\n"),
      ("apt.txt", "'http://h/g' g \(number)\n"),
      (
        "f.meta4",
        "<metalink><file name='m'><size>\(number)</size><url priority='\(number)'>http://h/m</url>"
          + "<url preference='\(number)'>http://g/m</url></file><file name='p'><pieces type='md5' length='\(number)'>"
          + "<hash piece='0'>\(sum)</hash><hash piece='1'>\(sum)</hash></pieces><url>http://h/p</url></file></metalink>"
      ),
      (
        "feed.rss",
        "<rss><channel><item><enclosure url='http://h/r' length='\(number)'/></item>"
          + "<item><enclosure url='http://h/s' length='\(number)'/></item></channel></rss>"
      ),
    ]
  }

  @Test(arguments: numbers.map(String.init) + ["9223372036854775808", "1e400", "-0"], [[], ["--progress", "json"]])
  func inLists(number: String, options: [String]) async throws {
    let place = try Workplace()
    let lists = Self.lists(number)
    for (name, text) in lists { _ = try place.folder.write(Array(text.utf8), to: "work/\(name)") }
    for list in [lists.map(\.name)] + lists.map({ [$0.name] }) {
      let run = try await place.start(
        ["get", "--dry-run", "--offline", "--list", "--size-field", "bytes"] + options + list
      ).waitForExit()
      #expect([0, 1, 74].contains(run.status), "\(number) \(list): \(run.status) \(run.errorText)")
    }
  }

  @Test(arguments: numbers + [10_000, 10_001])
  func inOptions(number: Int64) async throws {
    let place = try Workplace()
    _ = try place.list(["http://127.0.0.1:9/x"])
    let bounded = ["--jobs", "--per-host", "--segments"]
    let others = ["--retries", "--max-age", "--max-stale", "--max-filesize", "--limit-rate", "--max-time", "--grace"]
    for option in bounded + others {
      let run = try await place.start(["get", "urls.txt", "--dry-run", "--offline", "\(option)=\(number)"])
        .waitForExit()
      #expect([0, 64].contains(run.status), "\(option)=\(number): \(run.status) \(run.errorText)")
      if bounded.contains(option) { #expect((run.status == 0) == (1...10_000).contains(number), "\(option)=\(number)") }
      if bounded.contains(option), number > 10_000 {
        #expect(run.errorText.contains("\(option) \(number) is too many: give at most 10000"), "\(run.errorText)")
      }
    }
    for option in ["--runs", "--warmup"] {
      let run = try await place.start(["compare", "urls.txt", "\(option)=\(number)", "--jobs=99999"]).waitForExit()
      #expect(run.status == 64, "\(option)=\(number): \(run.status) \(run.errorText)")
    }
    let table = try place.folder.write(Array("http://h/a,b\n".utf8), to: "work/t.csv")
    let column = try await place.dlm(
      "get", table, "--dry-run", "--offline", "--list-format", "csv", "--url-field=\(number)")
    #expect([0, 66].contains(column.status), "\(column.status) \(column.errorText)")
    _ = try place.folder.write(Array("jobs = \(number)\n".utf8), to: "work/.dlm.conf")
    let folder = try await place.dlm("get", "urls.txt", "--dry-run", "--offline")
    #expect([0, 64].contains(folder.status), "jobs = \(number): \(folder.status) \(folder.errorText)")
  }

  @Test(arguments: numbers)
  func inTheEnvironment(number: Int64) throws {
    let slurm = ["SLURM_ARRAY_TASK_ID", "SLURM_ARRAY_TASK_MIN", "SLURM_ARRAY_TASK_STEP", "SLURM_ARRAY_TASK_COUNT"]
    let grid = ["SGE_TASK_ID", "SGE_TASK_FIRST", "SGE_TASK_STEPSIZE", "SGE_TASK_LAST"]
    for names in [slurm, grid, ["AWS_BATCH_JOB_ARRAY_INDEX", "AWS_BATCH_JOB_ARRAY_SIZE"]] {
      for name in names {
        for rest in Self.numbers + [3] {
          var environment = Dictionary(uniqueKeysWithValues: names.map { ($0, "\(rest)") })
          environment[name] = "\(number)"
          for argument in ["auto", "auto/20"] {
            let shard = try? ShardArgument(argument: argument)?.shard(by: .line, environment)
            if let shard { #expect(shard.numbers.lowerBound >= 1 && shard.numbers.upperBound <= shard.count) }
          }
        }
      }
    }
  }

  @Test func sums() {
    var sizes = ExpectedSizes()
    for number in Self.numbers { sizes.add(number) }
    #expect(sizes == ExpectedSizes(files: Self.numbers.count, bytes: .max))
  }

  /// Of reports and of the history, which other programs may write.
  @Test(arguments: numbers.map(String.init) + ["1e400", "0.5"])
  func inReports(number: String) async throws {
    let place = try Workplace()
    let names = ["lines", "of", "first", "last", "function"]
    for name in names + ["files", "done", "failed", "cancelled", "notBegun"] {
      func value(_ other: String) -> String { other == name ? number : "1" }
      let share = names.map { "\"\($0)\":\(value($0))" }.joined(separator: ",")
      let counts = ["files", "done", "failed", "failedForGood", "rejected", "cancelled", "notBegun"]
      let report =
        "{\"shard\":{\"list\":\"x\",\"by\":\"line\",\(share)},"
        + counts.map { "\"\($0)\":\(value($0))" }.joined(separator: ",") + "}"
      _ = try place.folder.write(Array(report.utf8), to: "work/r.json")
      let run = try await place.dlm("merge", "r.json", "r.json")
      #expect([0, 1, 66, 75].contains(run.status), "\(name)=\(number): \(run.status) \(run.errorText)")
    }
  }
}
