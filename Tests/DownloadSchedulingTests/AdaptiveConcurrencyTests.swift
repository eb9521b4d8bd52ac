import DownloadModel
import TestSupport
import Testing

@testable import DownloadScheduling

@Suite("How many files at a time, where the user leaves it open")
struct AdaptiveConcurrencyTests {
  /// A run of equal files, after whose opening `rate` says how many a second so many at a time bring.
  /// - Parameters:
  ///   - answer: how long the first file takes; meanwhile the run is full, and asks as often as it is told to.
  ///   - known: whether the number of files is known.
  /// - Returns: the limit after each file, and what was found out.
  private func run(
    _ files: Int, ceiling: Int = 64, answer: Duration = .milliseconds(1), received: Int64 = 0,
    known: Bool = true, rate: (Int) -> Double
  ) -> (limits: [Int], concurrency: AdaptiveConcurrency, took: Double) {
    var concurrency = AdaptiveConcurrency(ceiling: ceiling)
    var now = Duration.zero
    while let next = concurrency.wait(at: now, received: received), next < answer { now = next }
    var limits: [Int] = []
    var time = answer / .seconds(1)
    for file in 1...files {
      if file > 1 { time += 1 / rate(concurrency.limit) }
      let left = max(0, files - file - concurrency.limit)
      concurrency.ended(
        files: file, isFull: left > 0, at: .seconds(time), received: Int64(file) * 1000,
        left: known ? left : nil)
      limits.append(concurrency.limit)
    }
    return (limits, concurrency, time)
  }

  // MARK: Before anything has ended

  /// How long the first file takes, whether bytes of it come, and how many at a time are asked for meanwhile.
  @Test(
    arguments: [
      (3, false, 2), (4, false, 4), (7, false, 8), (10, false, 16), (13, false, 32), (16, false, 64),
      (500, false, 64),
      // Where bytes come, the files are long and not far away: nothing is gained by haste.
      (4, true, 4), (7, true, 8), (12, true, 8), (13, true, 16), (25, true, 24), (5000, true, 24),
    ])
  func opening(milliseconds: Int, isAnswered: Bool, limit: Int) {
    var concurrency = AdaptiveConcurrency(ceiling: 64)
    var (now, calls) = (Duration.zero, 0)
    let received: Int64 = isAnswered ? 1 : 0
    while let next = concurrency.wait(at: now, received: received), next < .milliseconds(milliseconds) {
      #expect(next > now, "it would be asked without a pause")
      (now, calls) = (next, calls + 1)
    }
    #expect(concurrency.limit == limit)
    #expect(calls < 10)
    #expect(concurrency.lesson == (limit == 64 ? .slowAnswers : .nothing))
  }

  /// Lanes that ask too early, or again and again, change nothing.
  @Test func onlyTimeOpens() {
    var concurrency = AdaptiveConcurrency(ceiling: 64)
    for _ in 0..<100 { #expect(concurrency.wait(at: .seconds(9), received: 0) == .milliseconds(9003)) }
    #expect(concurrency.limit == 2)
    _ = concurrency.ended(files: 1, isFull: false)
    #expect(!concurrency.isOpening)
    #expect(concurrency.wait(at: .seconds(10), received: 0) == nil)
    #expect(concurrency.limit == 2)
  }

  @Test func neverMoreThanAllowed() {
    for ceiling in [1, 2, 3, 20] {
      for answer in [1, 50] {
        let (limits, _, _) = run(300, ceiling: ceiling, answer: .milliseconds(answer)) { Double($0) * 20 }
        #expect(limits.max() == ceiling)
      }
    }
    #expect(!AdaptiveConcurrency(ceiling: 1).isOpening, "no clock is read for one file at a time")
  }

  // MARK: What more at a time brings

  /// Fifty milliseconds a file, as many as are asked: the more the better, and at once.
  @Test func latencyIsHidden() {
    let (limits, concurrency, took) = run(500, answer: .milliseconds(50)) { Double($0) * 20 }
    #expect(limits.allSatisfy { $0 == 64 })
    #expect(concurrency.lesson == .slowAnswers)
    #expect(took < 0.05 + 500 / 64 * 0.05 * 1.05)
  }

  /// Ten thousand small files a second, as measured on one machine in two of its phases: within a tenth of
  /// the best. With a tenth asked for as a gain, the second stayed at 32, and 9 % behind 64.
  @Test(arguments: [
    ([2: 11_600.0, 4: 15_900, 8: 19_600, 16: 23_700, 32: 26_000, 64: 26_700], 32),
    ([2: 10_000.0, 4: 14_500, 8: 18_400, 16: 21_900, 32: 24_200, 64: 26_600], 64),
  ])
  func aNearServer(measured: [Int: Double], last: Int) {
    let (limits, concurrency, took) = run(10_000) { limit in
      let below = measured.keys.filter { $0 <= limit }.max() ?? 2
      return measured[below] ?? 0
    }
    #expect(limits.last == last)
    #expect(took < 10_000 / (measured[64] ?? 0) * 1.1)
    switch concurrency.lesson {
    case .noGain(64, 32, let gain): #expect(last == 32 && (1.02...1.03).contains(gain))
    case .allowed(let gain): #expect(last == 64 && (1.05...1.1).contains(gain))
    case let other: Issue.record("\(other)")
    }
  }

  @Test func asFarAsItHelps() {
    #expect(run(5000) { min(Double($0), 50) * 2000 }.limits.last == 64, "a quarter more than 32 brings")
    #expect(run(5000) { min(Double($0), 33) * 2000 }.limits.last == 32, "a thirtieth more is not worth it")
    #expect(run(5000) { min(Double($0), 9) * 2000 }.limits.last == 16, "an eighth more is")
  }

  @Test func aServerThatGivesNoMoreIsLeftAlone() {
    let (limits, concurrency, _) = run(3000) { _ in 3000 }
    #expect(limits.last == 2)
    #expect(limits.max() == 4)
    #expect(limits.count { $0 > 2 } < 200, "it tries again, each time after a longer rest")
    guard case .noGain(4, 2, let gain) = concurrency.lesson else { return #expect(Bool(false)) }
    #expect((0.9...1.05).contains(gain))
  }

  /// Two hundred files of a server whose queue holds five connections, half a millisecond each, give or take:
  /// with eight at a time one of them would wait a second. A tenth more of ten files is no gain.
  @Test func chanceIsNoGain() {
    var wide = 0
    for seed in 0..<200 {
      var random = SplitMix64(seed: UInt64(seed))
      let (limits, _, _) = run(200) { _ in 2000 * Double.random(in: 0.7...1.3, using: &random) }
      if limits.contains(where: { $0 > 4 }) { wide += 1 }
    }
    #expect(wide < 20, "\(wide) of 200")
  }

  /// Three workers, each bound to its connection: a fourth connection would wait until one of them closes. In
  /// what is left that costs more than it could gain.
  @Test func littleIsLeft() {
    let (limits, concurrency, _) = run(59) { min(Double($0), 3) * 1250 }
    #expect(limits.allSatisfy { $0 == 2 })
    #expect(concurrency.lesson == .littleWasLeft)
    #expect(
      run(59, known: false) { min(Double($0), 3) * 1250 }.limits.max() ?? 0 > 2, "nobody knows how much")
  }

  /// What is not used says nothing.
  @Test func aShortListChangesNothing() {
    var concurrency = AdaptiveConcurrency(ceiling: 64)
    for file in 1...40 { concurrency.ended(files: file, isFull: false, at: .seconds(file), received: 0) }
    #expect(concurrency.limit == 2)
    #expect(concurrency.lesson == .nothing)
  }

  // MARK: Transfers that break

  /// One that takes as many as are allowed, after answers that were late.
  private var wide: AdaptiveConcurrency {
    var concurrency = AdaptiveConcurrency(ceiling: 24)
    var now = Duration.zero
    while let next = concurrency.wait(at: now, received: 0) { now = next }
    return concurrency
  }

  @Test func troubleTakesItBack() {
    var concurrency = wide
    #expect(concurrency.limit == 24)
    concurrency.failed(at: .seconds(1))
    #expect(concurrency.limit == 12)
    #expect(concurrency.lesson == .broke)
    // After a rest it looks whether more is good again.
    for file in 1...40 {
      concurrency.ended(files: file, isFull: true, at: .milliseconds(2000 + 10 * file), received: 0)
    }
    #expect(concurrency.limit == 12)
    for file in 41...80 {
      concurrency.ended(files: file, isFull: true, at: .milliseconds(6000 + 10 * file), received: 0)
    }
    #expect(concurrency.limit > 12)
  }

  /// Fourteen that broke together once took a run from 24 files at a time to one.
  @Test func onceARound() {
    var concurrency = wide
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
  fileprivate mutating func ended(
    files: Int, isFull: Bool, at now: Duration, received: Int64, left: Int? = nil
  ) {
    if ended(files: files, isFull: isFull) { measure(files: files, at: now, received: received, left: left) }
  }
}
