import DownloadModel
import Synchronization
import TerminalProgress

/// Lines of each host of a list, in memory that does not grow with it: Misra and Gries' counts. With more hosts than
/// there is room for, each is too low by less than an eighth of what is too much (up to 65,536 shards); the same for
/// equal lists.
struct HostCounts {
  let shards: Int
  var lines = 0
  var counts: [String: Int] = [:]

  mutating func add(_ host: String?) {
    lines += 1
    if let host { counts[host, default: 0] += 1 }
    if counts.count > 4 * max(4, min(shards, 1 << 16)) { counts = counts.compactMapValues { $0 > 1 ? $0 - 1 : nil } }
  }

  /// Those with more than one line, and than twice a shard's lines; of two or three shards, than half of all.
  var tooMany: Set<String> { Set(counts.filter { $0.value > max(1, 2 * lines / max(4, shards)) }.keys) }
}
