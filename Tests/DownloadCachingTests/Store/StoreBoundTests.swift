import Testing

@testable import DownloadCaching

@Suite("What goes when store or index are too large")
struct StoreBoundTests {
  @Test(
    arguments: [
      (nil, 10 << 30), (1 << 50, 10 << 30), (100 << 30, 10 << 30), (99 << 30, 99 << 30 / 10), (0, 0),
    ] as [(Int64?, Int64)])
  func theUsualBound(disk: Int64?, bound: Int64) { #expect(StoreKeeper.Bound.usual(disk: disk) == bound) }

  @Test(arguments: [(0, 0), (1, 4096), (4096, 4096), (4097, 8192), (-1, 0)] as [(Int64, Int64)])
  func blocks(length: Int64, cost: Int64) { #expect(StoreKeeper.Bound.cost(of: length) == cost) }

  /// Lengths in blocks, least recently used first, and how many of them go at a bound of so many blocks.
  @Test(
    arguments: [
      ([], 10, 0),
      ([1, 1, 1], 3, 0),
      // To nine tenths, in one batch.
      (Array(repeating: 1, count: 100), 100, 0),
      (Array(repeating: 1, count: 101), 100, 11),
      (Array(repeating: 1, count: 200), 100, 110),
      // The oldest goes, however large or small it is.
      ([1, 50, 60], 100, 2),
      ([50, 1, 60], 100, 1),
      // One that alone is more than all.
      ([500], 100, 1),
      ([500, 1], 100, 1),
      ([1, 500], 100, 2),
    ] as [([Int64], Int64, Int)])
  func leastRecentlyUsed(blocks: [Int64], bound: Int64, gone: Int) {
    let lengths = blocks.map { $0 * 4096 }
    let total = lengths.reduce(0, +)
    let count = StoreKeeper.Bound.evicted(lengths, total: total, bound: bound * 4096)
    #expect(count == gone)
    #expect(lengths.dropFirst(count).reduce(0, +) <= bound * 4096)
  }

  @Test(
    arguments: [
      (0, 100, 10, 0), (1000, 100, 100, 0), (1000, 200, 100, 550), (1000, 101, 100, 109), (5, 1000, 1, 5),
    ] as [(Int, Int64, Int64, Int)])
  func rowsThatGo(rows: Int, bytes: Int64, bound: Int64, gone: Int) {
    #expect(CacheIndex.surplus(rows: rows, bytes: bytes, bound: bound) == gone)
  }
}
