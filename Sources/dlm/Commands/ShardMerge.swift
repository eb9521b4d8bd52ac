import DownloadModel
import FoundationEssentials
import Glibc
import TerminalProgress

/// Reports of one list, added up: for the whole list, listed = done + failed + left + missing.
struct ShardMerge {
  typealias Named = (path: String, report: ShardReport)

  /// One report for each shard, in their order.
  let kept: [Named]
  /// `nil` without any report.
  let split: ShardReport.Share?
  private(set) var missing: [ClosedRange<Int>] = []
  private(set) var troubles: [String] = []
  /// Shards that must run again.
  private(set) var again: [String] = []

  /// - Parameter reports: `nil` for a file that is not a report of a shard.
  init(_ reports: [(path: String, report: ShardReport?)]) {
    let read: [Named] = reports.compactMap { path, report in report.map { (path, $0) } }
    // The list of most reports.
    let counts = Dictionary(read.filter { $0.report.files != nil }.map { ($0.report.split, 1) }, uniquingKeysWith: +)
    split = counts.max { ($0.value, $1.key.list) < ($1.value, $0.key.list) }?.key
    (kept, troubles) = Self.choose(read, of: split)
    troubles += reports.filter { $0.report == nil }.map {
      access($0.path, R_OK) == 0
        ? "\($0.path) is not what --summary-json wrote of a run with --shard"
        : "\($0.path) cannot be read: \(String(cString: strerror(errno)))"
    }
    guard let split else { return }
    var next = 1
    for (_, report) in kept {
      if report.shard.first > next { missing.append(next...report.shard.first - 1) }
      next = max(next, report.shard.last + 1)
    }
    if next <= split.of { missing.append(next...split.of) }
    for numbers in missing { repeatShard(numbers, numbers.count == 1 ? "has no report" : "have no reports") }
    for (path, report) in kept { check(report, path) }
    if again.isEmpty, listed != split.lines {
      troubles.append(
        "the list has \(Quantity.count(split.lines)) lines, and its shards together \(Quantity.count(listed))")
    }
  }

  /// - Returns: one report for each shard, in their order, and messages about the others.
  private static func choose(_ read: [Named], of split: ShardReport.Share?) -> (kept: [Named], troubles: [String]) {
    var kept = [Named]()
    var troubles = [String]()
    // If two cover a shard, the one that did more counts.
    for one in read.sorted(by: { $0.report.done > $1.report.done }) {
      if one.report.files == nil {
        // It knows only the part of the list that it read.
        troubles.append("\(one.path) is of a run that did not read its list to the end, and is skipped")
      } else if one.report.split != split {
        let what = one.report.split.list != split?.list ? "list" : "split of the list"
        troubles.append("\(one.path) is of another \(what), and is skipped")
      } else if let other = kept.first(where: { $0.report.numbers.overlaps(one.report.numbers) }) {
        troubles.append("\(one.path) has what \(other.path) has too, and is skipped")
      } else {
        kept.append(one)
      }
    }
    return (kept.sorted { $0.report.shard.first < $1.report.shard.first }, troubles)
  }

  private mutating func check(_ report: ShardReport, _ path: String) {
    let all = report.listed
    let ended = report.done + report.failed + report.left
    if all != ended {
      repeatShard(
        report.numbers, "has \(Quantity.count(all)) lines, and has results of \(Quantity.count(ended)) (\(path))")
    } else if report.left > 0 {
      repeatShard(report.numbers, "has \(Quantity.files(report.left)) left to do (\(path))")
    }
  }

  private mutating func repeatShard(_ numbers: ClosedRange<Int>, _ why: String) {
    let name = "\(ShardArgument.these(numbers, of: split?.of ?? 0))"
    let unit = split?.by == .host ? " --shard-by host" : ""
    again.append("\(numbers.count == 1 ? "shard" : "shards") \(name) \(why)")
    troubles.append("\(again.last ?? ""): dlm get LIST --shard \(name)\(unit)")
  }

  private func sum(_ count: (ShardReport) -> Int) -> Int { kept.reduce(0) { $0 + count($1.report) } }
  private var listed: Int { sum(\.listed) }
  private var unlisted: Int { max(0, (split?.lines ?? 0) - listed) }

  var line: String {
    guard let split else { return "nothing to add up" }
    var parts = ["\(Quantity.count(sum(\.done))) of \(Quantity.files(split.lines)) done"]
    for (count, word) in [(sum(\.failed), "failed"), (sum(\.left), "left to do"), (unlisted, "missing")] where count > 0
    {
      parts.append("\(Quantity.count(count)) \(word)")
    }
    return parts.joined(separator: ", ") + "; \(kept.count) reports of \(Quantity.count(split.of, "shard", "shards"))"
  }

  var json: JSONValue {
    JSONValue([
      "list": split?.list, "lines": split?.lines, "shards": split?.of, "reports": kept.count,
      "done": sum(\.done), "failed": sum(\.failed), "failedForGood": sum(\.failedForGood),
      "left": sum(\.left), "missing": unlisted,
      "missingShards": missing.map { [$0.lowerBound, $0.upperBound] },
    ])
  }

  /// The exit status like that of one run: 75 if a retry may complete the rest.
  var status: ExitStatus {
    if split == nil { return .sourceUnreadable }
    if sum(\.failedForGood) > 0 { return .failed }
    if sum(\.failed) + unlisted > 0 || !again.isEmpty { return .tryAgain }
    return troubles.isEmpty ? .success : .failed
  }
}
