import ArgumentParser
import DownloadModel
import FoundationEssentials
import Glibc
import SystemPackage
import TerminalProgress

struct MergeCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "merge", abstract: "Add up the summaries of runs that each downloaded one shard of a list.",
    discussion: """
      EXAMPLES
        dlm get urls.txt --shard 3/20 --summary-json 3.json --failed 3.txt
        dlm merge *.json --again again.txt

      Reads the files that --summary-json wrote in each run with --shard, checks that each line of the list is done, \
      failed or missing exactly once, and names the shards where that is not so.
      """)

  @Argument(help: .value("report", "Files that --summary-json wrote."), completion: .file()) var reports: [String]
  @Option(help: .value("file|-", "Write what failed in any of them as a list for dlm get."), completion: .file())
  var again: String?
  @Flag(help: "As JSON.") var json = false

  func run() throws {
    let file = try again.map { try OutputFile($0, option: "--again") }
    let merge = ShardMerge(reports.map { ($0, Self.report(at: $0)) })
    var troubles = merge.troubles
    let (list, unread) = Self.failures(of: merge)
    troubles += unread.map { "its failures cannot be read: \($0)" }
    StandardError.say(troubles.map { "dlm: \($0)" })
    let untold = file?.keep(list) ?? []
    StandardError.say(untold)
    try json ? StandardOutput.say(json: [merge.json]) : StandardOutput.say([merge.line])
    let status = untold.isEmpty ? merge.status : .diskFailed
    if status != .success || !unread.isEmpty { throw status == .success ? ExitStatus.failed : status }
  }

  private static func report(at path: String) -> ShardReport? {
    let text = FileManager.default.contents(atPath: path)
    let decoder = JSONDecoder()
    decoder.keyDecodingStrategy = .convertFromSnakeCase
    let report = text.flatMap { try? decoder.decode(ShardReport.self, from: $0) }
    return report?.isPossible == true ? report : nil
  }

  /// The lists of what failed, and those that could not be read. Another user may have written a report, so only a
  /// file beside it is read, whatever folder it names.
  private static func failures(of merge: ShardMerge) -> (list: String, unread: [String]) {
    var list = merge.again.map { "# \($0)\n" }.joined()
    var unread = [String]()
    for (path, report) in merge.kept where report.failed > 0 {
      guard let name = report.failedList else {
        unread.append("\(path) names none: dlm get with --failed writes them")
        continue
      }
      if let text = text(of: name, beside: FilePath(path)) {
        list += String(utf8: text)
      } else {
        unread.append("\(path) names \(name); put that list beside the report")
      }
    }
    if list.isEmpty { list = unread.isEmpty ? "# nothing failed\n" : "# what failed could not be read\n" }
    return (list, unread)
  }

  /// - Returns: nil for what is no regular file, hidden, or longer than a list can be.
  private static func text(of path: String, beside report: FilePath) -> [UInt8]? {
    guard let name = FilePath(path).lastComponent?.string, name.unicodeScalars.first != ".",
      let text = FileDescriptor.bytes(of: report.folder.appending(name), upTo: WholeText.limit, .noFollow)
    else { return nil }
    return text.count > WholeText.limit ? nil : text
  }
}

/// What `--summary-json` writes of a run with `--shard`, as far as it is added up.
struct ShardReport: Decodable, Equatable {
  struct Share: Decodable, Hashable {
    let list: String
    let by: Shard.Unit
    let lines, of, function: Int
    var first, last: Int
    var byLine: [String]?
  }

  let shard: Share
  /// Lines that are addresses; nil where the list was not read to its end.
  let files: Int?
  /// What failed counts the lines that were rejected.
  let done, failed, failedForGood, rejected, cancelled, notBegun: Int
  /// What `--failed` named.
  let failedList: String?

  /// What all reports of one list have alike.
  var split: Share {
    var split = shard
    split.first = 0
    split.last = 0
    split.byLine = split.byLine ?? []
    return split
  }
  /// Lines of the list that are this shard's.
  var listed: Int { (files ?? 0) + rejected }
  /// What is to be done again beside what failed.
  var left: Int { cancelled + notBegun }
  var numbers: ClosedRange<Int> { shard.first...shard.last }

  var isPossible: Bool {
    let counts = [shard.lines, files ?? 0, done, failed, failedForGood, rejected, cancelled, notBegun]
    return 1...1 << 40 ~= shard.of && 1...shard.of ~= shard.first && shard.first...shard.of ~= shard.last
      && counts.allSatisfy { 0...1 << 40 ~= $0 }
  }
}

/// Reports of one list, added up: for the whole list, listed = done + failed + left + missing.
struct ShardMerge {
  typealias Named = (path: String, report: ShardReport)

  /// A report a shard, in their order.
  let kept: [Named]
  /// Nil without any report.
  let split: ShardReport.Share?
  private(set) var missing: [ClosedRange<Int>] = []
  private(set) var troubles: [String] = []
  /// What is to be run again.
  private(set) var again: [String] = []

  /// - Parameter reports: nil for what is no report of a shard.
  init(_ reports: [(path: String, report: ShardReport?)]) {
    let read: [Named] = reports.compactMap { path, report in report.map { (path, $0) } }
    // The list that most are of.
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

  /// - Returns: a report a shard, in their order, and what is said of the others.
  private static func choose(_ read: [Named], of split: ShardReport.Share?) -> (kept: [Named], troubles: [String]) {
    var kept = [Named]()
    var troubles = [String]()
    // Of two that have a shard, the one that did more counts.
    for one in read.sorted(by: { $0.report.done > $1.report.done }) {
      if one.report.files == nil {
        // It knows no more of the list than it read.
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

  /// As that of one run: 75 where all that is not done may be done by trying again.
  var status: ExitStatus {
    if split == nil { return .sourceUnreadable }
    if sum(\.failedForGood) > 0 { return .failed }
    if sum(\.failed) + unlisted > 0 || !again.isEmpty { return .tryAgain }
    return troubles.isEmpty ? .success : .failed
  }
}
