/// How much of the disk the store may take, and what goes when it takes more. Pure.
enum StoreBound {
  /// 10 GiB, or a tenth of the disk if that is less.
  /// - Parameter disk: bytes that the file system has; nil where it does not tell.
  static func usual(disk: Int64?) -> Int64 { min(10 << 30, disk.map { $0 / 10 } ?? .max) }

  /// What an entry counts: its length in blocks of 4 KiB, as `du` counts a file. A clone shares its blocks with the
  /// user's file and counts all the same, since nothing says when that file goes and the blocks are the store's alone.
  static func cost(of length: Int64) -> Int64 { (max(0, length) + 4095) / 4096 * 4096 }

  /// As SQLite computes it.
  static let costInSQL = "(\(CacheSchema.size) + 4095) / 4096 * 4096"

  /// How full the store is left: a tenth below its bound, so that entries go in batches and not one for each that
  /// comes.
  static func rest(of bound: Int64) -> Int64 { bound - bound / 10 }

  /// How many entries go, those first that were used least recently.
  /// - Parameters:
  ///   - lengths: of the entries in the order of their last use.
  ///   - total: what all entries together count.
  static func evicted(_ lengths: some Sequence<Int64>, total: Int64, bound: Int64) -> Int {
    guard total > bound else { return 0 }
    var (count, left) = (0, total)
    for length in lengths where left > rest(of: bound) {
      left -= cost(of: length)
      count += 1
    }
    return count
  }
}

/// How large the index may become, and how many rows go when it becomes larger. Pure.
enum IndexBound {
  /// Some three million files. More than anyone fetches again, and a disk's worth of seconds for what has to read all
  /// of it (`dlm cache verify`).
  static let bytes: Int64 = 1 << 30

  /// How many rows go so that a tenth of the bound is free again.
  static func surplus(rows: Int, bytes: Int64, bound: Int64) -> Int {
    guard bytes > bound, rows > 0 else { return 0 }
    let rest = Double(bound) * 0.9 / Double(bytes)
    return min(rows, rows - Int(Double(rows) * rest))
  }
}
