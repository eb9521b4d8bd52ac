/// Lines of each host of a list, in bounded memory: Misra and Gries' counts. With more hosts than the bound, each count
/// is too low by less than an eighth of the limit of `tooMany` (up to 65,536 shards); equal lists give equal counts.
struct HostCounts {
  let shards: Int
  var lines = 0
  var counts: [String: Int] = [:]

  mutating func add(_ host: String?) {
    lines += 1
    if let host { counts[host, default: 0] += 1 }
    if counts.count > 4 * max(4, min(shards, 1 << 16)) { counts = counts.compactMapValues { $0 > 1 ? $0 - 1 : nil } }
  }

  /// Hosts with more than one line, and with more than twice a shard's lines; with two or three shards, more than half
  /// of all.
  var tooMany: Set<String> { Set(counts.filter { $0.value > max(1, 2 * lines / max(4, shards)) }.keys) }
}
