/// How much of the disk the store may take, and which entries it evicts.
enum StoreBound {
  /// 10 GiB, or a tenth of the disk if that is less.
  /// - Parameter disk: size of the file system in bytes; `nil` if unknown.
  static func usual(disk: Int64?) -> Int64 { min(10 << 30, disk.map { $0 / 10 } ?? .max) }

  /// The counted bytes of an entry: blocks of 4 KiB, as in `du` and `CacheSchema.storedTotal`. A clone counts too,
  /// because the user's file may be removed at any time.
  static func cost(of length: Int64) -> Int64 { (max(0, length) + 4095) / 4096 * 4096 }

  /// A tenth below the bound, so that entries are evicted in batches.
  static func rest(of bound: Int64) -> Int64 { bound - bound / 10 }

  /// The number of entries to evict, the least recently used first.
  /// - Parameter lengths: of the entries, the least recently used first.
  static func evicted(_ lengths: some Sequence<Int64>, total: Int64, bound: Int64) -> Int {
    guard total > bound else { return 0 }
    var count = 0
    var left = total
    for length in lengths where left > rest(of: bound) {
      left -= cost(of: length)
      count += 1
    }
    return count
  }
}
