import DownloadModel
import FoundationEssentials
import Glibc
import TerminalProgress

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
