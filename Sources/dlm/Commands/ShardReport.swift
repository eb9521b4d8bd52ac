import FoundationEssentials

/// The part of `--summary-json` of a run with `--shard` that is added up.
struct ShardReport: Decodable {
  struct Share: Decodable, Hashable {
    let list: String
    let by: Shard.Unit
    let lines, of, function: Int
    var first, last: Int
    var byLine: [String]?
  }

  let shard: Share
  /// Lines that are URLs; `nil` if the list was not read to its end.
  let files: Int?
  /// Failures include the rejected lines.
  let done, failed, failedForGood, rejected, cancelled, notBegun: Int
  /// The file of `--failed`.
  let failedList: String?

  /// The properties that all reports of one list share.
  var split: Share {
    var split = shard
    split.first = 0
    split.last = 0
    split.byLine = split.byLine ?? []
    return split
  }
  /// Lines of the list that belong to this shard.
  var listed: Int { (files ?? 0) + rejected }
  /// Files that must run again, beside the failures.
  var left: Int { cancelled + notBegun }
  var numbers: ClosedRange<Int> { shard.first...shard.last }

  var isPossible: Bool {
    let counts = [shard.lines, files ?? 0, done, failed, failedForGood, rejected, cancelled, notBegun]
    return 1...1 << 40 ~= shard.of && 1...shard.of ~= shard.first && shard.first...shard.of ~= shard.last
      && counts.allSatisfy { 0...1 << 40 ~= $0 }
  }
}
