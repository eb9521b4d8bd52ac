import DownloadModel
import Testing

@testable import DownloadScheduling

@Suite("How many files at a time, where the user leaves it open")
struct AdaptiveConcurrencyTests {
  /// A run of equal files, of which `rate` says how many a second so many at a time bring.
  /// - Returns: the limit after each file.
  private func run(_ files: Int, ceiling: Int = 64, rate: (Int) -> Double) -> [Int] {
    var concurrency = AdaptiveConcurrency(ceiling: ceiling)
    var limits: [Int] = []
    var time = 0.0
    for file in 1...files {
      time += 1 / rate(concurrency.limit)
      concurrency.ended(files: file, isFull: true, at: .seconds(time), received: Int64(file) * 1000)
      limits.append(concurrency.limit)
    }
    return limits
  }

  @Test func latencyIsHidden() {
    // Fifty milliseconds a file, as many as are asked: the more the better.
    let limits = run(500) { Double($0) * 20 }
    #expect(limits.last == 64)
    #expect(limits[23] == 48, "doubled as soon as the first have ended")
    #expect(limits.firstIndex(of: 64).map { $0 < 160 } == true)
  }

  @Test func aServerThatGivesNoMoreIsLeftAlone() {
    let limits = run(500) { _ in 300 }
    #expect(limits.last == 24)
    #expect(limits.max() == 48)
  }

  @Test func asFarAsItHelps() {
    #expect(run(500) { min(Double($0), 50) * 20 }.last == 48)
  }

  @Test func neverMoreThanAllowed() {
    #expect(run(300, ceiling: 20) { Double($0) * 20 }.max() == 20)
    #expect(run(300, ceiling: 3) { Double($0) * 20 }.max() == 3)
  }

  /// What is not used says nothing.
  @Test func aShortListChangesNothing() {
    var concurrency = AdaptiveConcurrency(ceiling: 64)
    for file in 1...40 { concurrency.ended(files: file, isFull: false, at: .seconds(file), received: 0) }
    #expect(concurrency.limit == 24)
  }

  @Test func troubleTakesItBack() {
    var concurrency = AdaptiveConcurrency(ceiling: 64)
    for file in 1...24 {
      concurrency.ended(files: file, isFull: true, at: .milliseconds(file), received: 0)
    }
    #expect(concurrency.limit == 48)
    concurrency.failed(at: .seconds(1))
    #expect(concurrency.limit == 24)
    // After a rest it looks whether more is good again.
    for file in 25...27 { concurrency.ended(files: file, isFull: true, at: .seconds(2), received: 0) }
    #expect(concurrency.limit == 24)
    for file in 28...38 { concurrency.ended(files: file, isFull: true, at: .seconds(file), received: 0) }
    #expect(concurrency.limit > 24)
  }

  /// Fourteen that broke together once took a run from 24 files at a time to one.
  @Test func onceARound() {
    var concurrency = AdaptiveConcurrency(ceiling: 64)
    for _ in 0..<14 { concurrency.failed(at: .seconds(1)) }
    #expect(concurrency.limit == 12)
    for _ in 0..<10 { concurrency.failed(at: .seconds(1)) }
    #expect(concurrency.limit == 12, "of the 24 that were under way")
    concurrency.failed(at: .seconds(2))
    #expect(concurrency.limit == 6)
    for file in 1...11 { concurrency.ended(files: file, isFull: false, at: .seconds(2), received: 0) }
    concurrency.failed(at: .seconds(2))
    #expect(concurrency.limit == 3)
  }
}

extension AdaptiveConcurrency {
  /// A file ended, and what the number brings is measured where it asks for that.
  fileprivate mutating func ended(files: Int, isFull: Bool, at now: Duration, received: Int64) {
    if ended(files: files, isFull: isFull) { measure(files: files, at: now, received: received) }
  }
}
