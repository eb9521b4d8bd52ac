import DownloadModel
import Testing

@testable import TerminalProgress

extension SizeTrend {
  /// After files of these sizes.
  init(_ sizes: [Double]) {
    self.init()
    var tally = ProgressTally()
    for size in sizes {
      tally.fetched += 1
      tally.finishedBytes += Int64(size)
      take(tally)
    }
  }
}

@Suite("The run as a whole")
struct RunProgressTests {
  private func file(_ position: Int64, of total: Int64?) -> FileProgress {
    FileProgress(position: position, start: 0, total: total)
  }

  private func progress(_ sample: ProgressSample, _ active: [FileProgress]) -> RunProgress {
    RunProgress(sample.tally, active: active)
  }

  @Test("by bytes when every size is known")
  func bytes() {
    let run = progress(
      Scene.sample(listed: 4, fetched: 1, failed: 1, finishedBytes: 100),
      [file(50, of: 300), file(0, of: 600)])
    #expect(run.bytes == 150)
    #expect(run.totalBytes == 1000)
    #expect(run.remaining == 850)
    #expect(run.fraction == 0.15)
  }

  @Test("sizes that are unknown are the mean of the known ones")
  func mean() {
    let run = progress(
      Scene.sample(listed: 10, fetched: 4, finishedBytes: 400), [file(50, of: 100), file(7, of: nil)])
    #expect(run.unknownSizes == 5)
    #expect(run.queued == 4)
    #expect(run.running == 2)
    #expect(run.remaining == 50 + 5 * 100 - 7)
    #expect(run.totalBytes == 1000)
    #expect(run.fraction == 0.457)
  }

  @Test(
    "percent and bytes are of one quantity, from the first size on",
    arguments: [
      // Six equal files, three at once: 0 % was shown at 40 % of the bytes.
      (Scene.sample(listed: 6), [(80, 100), (80, 100), (80, 100)], 600, 0.4),
      // One of 38 MiB and 60 small ones: 98 % was shown with nine tenths to come.
      (Scene.sample(listed: 61, fetched: 60, finishedBytes: 600), [(3000, 39_400)], 40_000, 0.09),
      (Scene.sample(listed: 61, fetched: 30, finishedBytes: 300), [(9700, 39_700)], 78_709, 0.13),
      // Four known, one unknown, one 404: 16 % was shown at 80 %.
      (Scene.sample(listed: 6, failed: 1), [(80, 100), (80, 100), (80, 100), (80, 100), (80, nil)], 500, 0.8),
      // As many of those to come fail as have failed.
      (Scene.sample(listed: 16, fetched: 4, failed: 4, finishedBytes: 400), [], 800, 0.5),
      // Nothing is known of any size, or there is none: files are counted.
      (Scene.sample(listed: 4), [(80, nil), (9, nil)], nil, 0),
      (Scene.sample(listed: 4, failed: 3), [], nil, 0.75),
      (Scene.sample(listed: 4, fetched: 2), [], nil, 0.5),
      (Scene.sample(listed: 1), [(80, nil)], nil, nil),
    ] as [(ProgressSample, [(Int64, Int64?)], Int64?, Double?)])
  func quantity(sample: ProgressSample, active: [(Int64, Int64?)], total: Int64?, fraction: Double?) {
    let run = progress(sample, active.map { file($0, of: $1) })
    #expect(run.totalBytes == total)
    #expect(run.fraction.map { ($0 * 100).rounded() } == fraction.map { $0 * 100 })
  }

  @Test(
    "sizes that lists or the last run gave count as known, as far as they fit",
    arguments: [
      (ExpectedSizes(files: 10, bytes: 3000), 2500), (ExpectedSizes(files: 9, bytes: 2700), 2500),
      // Half of them: the others are like them.
      (ExpectedSizes(files: 5, bytes: 1500), 2500),
      // The files have grown.
      (ExpectedSizes(files: 10, bytes: 500), 500),
    ] as [(ExpectedSizes, Int64)])
  func remembered(expected: ExpectedSizes, remaining: Int64) {
    var sample = Scene.sample(listed: 10, fetched: 4, finishedBytes: 400)
    sample.tally.expected = expected
    let run = progress(sample, [file(100, of: 100)])
    #expect(run.remaining == remaining && run.totalBytes == remaining + 500 && run.unknownSizes == 5)
  }

  @Test("a file of unknown size is as large as those that had more, and else by half larger than it is")
  func unknown() {
    let sample = Scene.sample(listed: 4, fetched: 2, finishedBytes: 400)
    let trend = SizeTrend([100, 300])
    let run = RunProgress(sample.tally, active: [file(150, of: nil), file(500, of: nil)], trend: trend)
    #expect(run.remaining == 150 + 250)
  }

  /// What the fullest of the places has, by their mean.
  @Test(
    "how uneven the rest of a run is",
    arguments: [
      ([], 0, [], 1), ([100], 0, [], 1), ([100, 100], 0, [], 1), ([300, 100], 0, [], 1.5),
      // 100 | 300 becomes 300 | 300.
      ([300, 100], 1, [200], 1),
      // 10 | 10, then 100 to the first, 300 to the second.
      ([10, 10], 2, [100, 300], 1.48), ([10, 10], 100, [100, 300], 1), ([0, 0], 1, [], 1),
    ] as [([Int64], Int, [Double], Double)])
  func imbalance(rests: [Int64], queued: Int, sizes: [Double], expected: Double) {
    // All that was done was as large as what is to come.
    let done = sizes.count * 1000
    var sample = Scene.sample(listed: done + rests.count + queued, fetched: done)
    sample.tally.expected = ExpectedSizes(
      files: sample.tally.listed,
      bytes: rests.reduce(0, +) + Int64(Double(queued) * sizes.reduce(0, +) / Double(max(1, sizes.count))))
    let run = RunProgress(sample.tally, active: rests.map { file(0, of: $0) }, trend: SizeTrend(sizes))
    #expect(abs(run.imbalance - expected) < 0.02, "\(run.imbalance)")
  }

  @Test("neither while the list is still being read")
  func unread() {
    let run = progress(Scene.sample(listed: 2, complete: false), [file(1, of: 2), file(1, of: 2)])
    #expect(run.fraction == nil)
    #expect(run.totalBytes == nil)
  }

  @Test("a refused line failed but never was a file to wait for")
  func rejected() {
    var sample = Scene.sample(listed: 2, failed: 3)
    sample.tally.rejected = 3
    let run = progress(sample, [file(0, of: 5)])
    #expect(run.queued == 1)
    #expect(run.fraction == 0)
  }

  @Test("nothing at all is no division by zero")
  func nothing() {
    #expect(progress(Scene.sample(), []).fraction == nil)
    #expect(progress(Scene.sample(listed: 1), [file(0, of: 0)]).fraction == 1)
    #expect(progress(Scene.sample(listed: 1), [file(9, of: nil)]).fraction == nil)
  }

  @Test("the bar goes back where an estimate is refuted, and not for a mean that changes a little")
  func steps() {
    var total = RunTotal()
    func fraction(_ fetched: Int, _ bytes: Int64, _ active: [FileProgress]) -> Double? {
      let sample = Scene.sample(listed: 4, fetched: fetched, finishedBytes: bytes)
      return total.update(sample, active: active, at: .seconds(fetched)).progress.fraction
    }
    #expect(fraction(2, 20, []) == 0.5)
    #expect(fraction(2, 20, [file(0, of: 11)]) == 0.5)
    #expect(fraction(2, 20, [file(0, of: 160)]) == 20.0 / 240)
    #expect(fraction(3, 180, []) == 0.75)
  }

  @Test("rows and total begin to count with their first byte, so that their rates add up")
  func sum() throws {
    var (rows, total) = (ActiveRows(glyphs: .unicode), RunTotal())
    let files = [try Scene.active(1, of: 90_000_000), try Scene.active(2, of: 50_000_000)]
    var received: Int64 = 0
    for tick in 0...400 {
      let now = Duration.milliseconds(50 * tick)
      if tick > 200 {
        for (file, count) in zip(files, [40_000, 10_000]) {
          file.meter.add(count)
          received += Int64(count)
        }
      }
      rows.update(files, retries: [:], at: now, lines: 9)
      let sum = total.update(
        Scene.sample(received: received, listed: 2), active: rows.all.map(\.progress), at: now)
      guard tick > 210 else { continue }
      let rates = rows.all.reduce(0) { $0 + $1.rate.rate(at: now) }
      #expect(abs(rates - sum.rate) < sum.rate / 100, "\(now): \(rates), \(sum.rate)")
    }
  }

  @Test("speed is what came over the network")
  func speed() {
    var total = RunTotal()
    _ = total.update(Scene.sample(received: 0, listed: 1), active: [file(5000, of: 9000)], at: .seconds(1))
    let sum = total.update(
      Scene.sample(received: 2000, listed: 1), active: [file(7000, of: 9000)], at: .seconds(2))
    #expect(sum.rate.rounded() == 2000)
    #expect(sum.timeLeft == nil)
    let later = total.update(
      Scene.sample(received: 2000, listed: 1), active: [file(7000, of: 9000)], at: .seconds(3))
    #expect(later.timeLeft.map { $0.inSeconds.rounded() } == 1)
  }

  /// One file of several had stalled, and the total counted down to an end that nobody knew of.
  @Test("with a file that stalls, the time is an estimate")
  func stalledFile() {
    var total = RunTotal()
    for second in 1...4 {
      let position = Int64(2000 * second)
      let sum = total.update(
        Scene.sample(received: position, listed: 1), active: [file(position, of: 9000)],
        hasStalled: second == 4, at: .seconds(second))
      #expect(sum.isEstimate == (second == 4))
    }
  }

  /// Six fast files were done and one slow one had eight seconds to go: the total said three.
  @Test("the run does not end before its last file")
  func lastFile() {
    var total = RunTotal()
    _ = total.update(Scene.sample(received: 0, listed: 1), active: [file(5000, of: 9000)], at: .seconds(1))
    let sum = total.update(
      Scene.sample(received: 2000, listed: 1), active: [file(7000, of: 9000)], longest: .seconds(8),
      at: .seconds(4))
    // As its own row says.
    #expect(sum.timeLeft == .seconds(8))
  }

  /// `~0:01` stood beside `next in 4 s`.
  @Test("the run does not end before what waits is asked again")
  func wait() {
    var total = RunTotal()
    for second in 1...4 {
      let sum = total.update(
        Scene.sample(received: Int64(2000 * second), listed: 1), active: [file(Int64(2000 * second), of: 9000)],
        wait: .seconds(7), at: .seconds(second))
      if second == 4 { #expect(sum.timeLeft == .seconds(7)) }
    }
  }

  /// 766 KiB/s were shown where 490 were true, 18 s after a stall.
  @Test(
    "the rate follows a change within three seconds", arguments: [(4_000_000, 490_000), (0, 490_000), (490_000, 0)])
  func change(before: Int64, after: Int64) {
    var (total, received) = (RunTotal(), Int64(0))
    for tick in 1...1300 {
      received += (tick <= 200 ? 1_000_000 : tick <= 1200 ? before : after) / 20
      let sum = total.update(
        Scene.sample(received: received, listed: 1), active: [file(received, of: nil)], at: .milliseconds(50 * tick))
      if tick >= 1260 { #expect(abs(sum.rate - Double(after)) <= 1, "\(tick)") }
    }
  }
}
