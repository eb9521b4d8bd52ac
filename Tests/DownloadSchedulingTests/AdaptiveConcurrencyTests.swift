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
      (5, false, 2), (6, false, 4), (8, false, 8), (9, false, 16), (10, false, 64), (500, false, 64),
      // Where bytes come, the files are long and not far away: nothing is gained by haste.
      (5, true, 2), (6, true, 4), (11, true, 8), (20, true, 8), (21, true, 16), (41, true, 24), (5000, true, 24),
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
    for _ in 0..<100 { #expect(concurrency.wait(at: .seconds(9), received: 0) == .milliseconds(9005)) }
    #expect(concurrency.limit == 2)
    _ = concurrency.ended(files: 1, isFull: false)
    #expect(concurrency.isOpening, "what ends while more could begin says nothing")
    for file in 2...9 { _ = concurrency.ended(files: file, isFull: true) }
    #expect(!concurrency.isOpening)
    #expect(concurrency.wait(at: .seconds(10), received: 0) == nil)
    #expect(concurrency.limit == 2)
  }

  /// Found by reading: after one small file, as of checksums, a hundred large ones from slow hosts went two at a time.
  @Test func oneSmallFileBeforeLargeOnes() {
    var concurrency = AdaptiveConcurrency(ceiling: 64)
    _ = concurrency.wait(at: .zero, received: 0)
    _ = concurrency.ended(files: 1, isFull: true)
    #expect(concurrency.limit == 2)
    var now = Duration.milliseconds(4)
    while let next = concurrency.wait(at: now, received: 100), next < .seconds(1) { now = next }
    #expect(concurrency.limit == 24)
  }

  /// Existing files before the first download: the time that they take is no silence of its host.
  @Test func whatIsAnsweredFromTheDiskIsNoSilence() {
    var run = RunLimiter(widths: [64], adaptive: AdaptiveConcurrency(ceiling: 64))
    var now = Duration.zero
    for _ in 0..<2 { run.begin(0) }
    for _ in 0..<1000 {
      _ = run.wait(at: now, received: 0)
      now += .milliseconds(1)
      let measures = run.learn(false, brokenAt: nil, hasMore: true)
      #expect(!measures)
    }
    #expect(run.adaptive?.limit == 2 && run.isOpening)
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

  /// All that a loop's turn brings ends before the next begin: with a near server the limit was never reached at an
  /// end, nothing was measured any more, and the number stayed at what the first files had found.
  /// Where the list brings no more at a time, they say nothing of the width.
  @Test(arguments: [(true, 64), (false, 2)])
  func filesThatEndTogether(hasMore: Bool, limit: Int) {
    var run = RunLimiter(widths: [64], adaptive: AdaptiveConcurrency(ceiling: 64))
    for turn in 1...400 {
      while run.spare > 0 { run.begin(0) }
      for _ in 0..<run.total {
        if run.learn(true, brokenAt: nil, hasMore: hasMore) {
          run.measure(at: .milliseconds(turn), received: Int64(turn), left: nil)
        }
        run.end(0)
      }
    }
    #expect(run.adaptive?.limit == limit, "each turn brings as many as are in flight")
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
    #expect(limits.last == 1, "one at a time brings as much")
    #expect(limits.max() == 4)
    #expect(limits.count { $0 > 1 } < 450, "it tries again, each time after a longer rest")
    guard case .noGain(2, 1, let gain) = concurrency.lesson else { return #expect(Bool(false)) }
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

  // MARK: Servers, simulated with all that is in flight

  /// A server whose goodput grows up to a width, and no more beyond: found from below, and kept.
  @Test(arguments: [3, 6, 12, 24])
  func thePlateauIsFound(from width: Int) {
    let run = SimulatedRun(files: 4000) { inFlight, _ in Double(min(inFlight, width)) * 500 }
    #expect(width...2 * width ~= run.limit, "\(run.limit) at the end")
    #expect(run.share(of: 1...2 * width) > 0.7, "it is wider for a short time, where it tries")
    #expect(run.time < 4000 / 500 / Double(width) * 1.2)
  }

  /// With more than ten at a time all are slower.
  @Test func aServerThatCollapses() {
    let run = SimulatedRun(files: 4000) { inFlight, _ in inFlight > 10 ? 1000 : Double(min(inFlight, 8)) * 500 }
    #expect(run.limit == 8)
    #expect(run.share(of: 8...10) > 0.7)
    #expect(run.time < 1.3)
  }

  /// It answers late because so many ask, as if it were distant. After some seconds fewer are tried.
  @Test func oneThatCollapsesFromTheStart() {
    let run = SimulatedRun(files: 4000, latency: 0.02) { inFlight, _ in inFlight > 10 ? 100 : 500 }
    #expect(run.widest == 64)
    #expect(4...16 ~= run.limit)
    #expect(run.time < 22, "with 64 it takes 40 s")
  }

  /// Nine of ten files are small, and the large ones fill the line.
  @Test func smallAndLargeFiles() {
    let run = SimulatedRun(files: 1000, latency: 0.002, most: 5e6, size: { $0 < 0.9 ? 4096 : 1e6 }) { _, _ in 50e6 }
    #expect(10...64 ~= run.limit)
    #expect(run.time < 100e6 / 50e6 * 1.5)
  }

  /// Seconds of silence: as many as are allowed, and no try with fewer, which would cost seconds.
  @Test func aVerySlowServer() {
    let run = SimulatedRun(files: 500, latency: 3) { _, _ in 1e6 }
    #expect(run.share(of: 64...64) > 0.99)
    #expect(run.time < 500 / 64 * 3 * 1.3)
  }

  /// After three seconds a server takes fewer at a time, or is slower for more than it takes, or it takes more.
  @Test(arguments: [(32, 4, false, 4...8), (32, 4, true, 4...8), (4, 32, false, 32...64)])
  func aPlateauThatDrifts(from before: Int, to after: Int, collapses: Bool, last: ClosedRange<Int>) {
    let run = SimulatedRun(files: 8000) { inFlight, time in
      let width = time < 3 ? before : after
      return collapses && time > 3 && inFlight > 2 * width ? 100 : Double(min(inFlight, width)) * 50
    }
    #expect(last ~= run.limit, "\(run.limit) at the end")
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

/// A whole run against a server without a network: files answer after a latency, give or take, and then share what
/// the server brings with so many in flight.
private struct SimulatedRun {
  private struct Transfer {
    let answers: Double
    var left: Double
  }

  private(set) var concurrency = AdaptiveConcurrency(ceiling: 64)
  private(set) var time = 0.0
  private(set) var widest = 0
  private var times: [Int: Double] = [:]
  private var transfers: [Transfer] = []
  private var received = 0.0

  var limit: Int { concurrency.limit }

  /// The part of the time in which the limit was one of these.
  func share(of limits: ClosedRange<Int>) -> Double {
    times.filter { limits ~= $0.key }.map(\.value).reduce(0, +) / time
  }

  /// - Parameters:
  ///   - most: what one transfer gets at most.
  ///   - size: bytes of a file, by a random number; nil for files that are all small.
  ///   - capacity: what all together get with so many in flight, a second: bytes, or files where these are small.
  init(
    files: Int, latency: Double = 0, most: Double = .infinity, size: ((Double) -> Double)? = nil,
    capacity: (_ inFlight: Int, _ time: Double) -> Double
  ) {
    var (random, begun, ended, due) = (SplitMix64(seed: 1), 0, 0, Double?.none)
    while ended < files {
      while transfers.count < limit, begun < files {
        let factor = Double.random(in: 0.7...1.3, using: &random)
        let size = size.map { $0(.random(in: 0..<1, using: &random)) } ?? factor
        transfers.append(Transfer(answers: time + latency * factor, left: size))
        begun += 1
        due = concurrency.wait(at: .seconds(time), received: Int64(received)).map { $0 / .seconds(1) + 1e-9 }
      }
      pass(until: due, capacity(transfers.count, time), most, bytes: size == nil ? 1000 : 1)
      if let time = due, time <= self.time {
        due = concurrency.wait(at: .seconds(self.time), received: Int64(received)).map { $0 / .seconds(1) + 1e-9 }
      }
      while let index = transfers.firstIndex(where: { $0.left < 1e-6 }) {
        let isFull = transfers.count >= limit
        transfers.remove(at: index)
        (ended, due) = (ended + 1, nil)
        concurrency.ended(
          files: ended, isFull: isFull, at: .seconds(time), received: Int64(received), left: files - begun)
      }
    }
  }

  /// Goes on to the next answer or end, or until that time.
  private mutating func pass(until due: Double?, _ capacity: Double, _ most: Double, bytes: Double) {
    let answered = transfers.indices.filter { transfers[$0].answers <= time }
    let rate = min(most, capacity / Double(max(1, answered.count)))
    var next = due ?? .infinity
    for transfer in transfers {
      next = min(next, transfer.answers > time ? transfer.answers : time + transfer.left / rate)
    }
    let moved = rate * (next - time)
    for index in answered { transfers[index].left -= moved }
    received += moved * Double(answered.count) * bytes
    times[limit, default: 0] += next - time
    (time, widest) = (next, max(widest, limit))
  }
}
