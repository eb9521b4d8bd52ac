import DownloadModel
import FileReceiving
import Synchronization

/// How much of the disk the store may take, and what goes when it takes more.
enum StoreBound {
  /// 10 GiB, or a tenth of the disk if that is less.
  /// - Parameter disk: bytes that the file system has; nil where it does not tell.
  static func usual(disk: Int64?) -> Int64 { min(10 << 30, disk.map { $0 / 10 } ?? .max) }

  /// What an entry counts: blocks of 4 KiB, as in `du` and `CacheSchema.storedTotal`; also a clone, since nothing says
  /// when the user's file goes.
  static func cost(of length: Int64) -> Int64 { (max(0, length) + 4095) / 4096 * 4096 }

  /// A tenth below the bound, so that entries go in batches.
  static func rest(of bound: Int64) -> Int64 { bound - bound / 10 }

  /// How many entries go, those first that were used least recently.
  /// - Parameter lengths: of the entries in the order of their last use.
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
