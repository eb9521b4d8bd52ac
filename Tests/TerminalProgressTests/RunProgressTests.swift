import DownloadModel
import Testing

@testable import TerminalProgress

@Suite("The run as a whole")
struct RunProgressTests {
  private func file(_ position: Int64, of total: Int64?) -> FileProgress {
    FileProgress(position: position, start: 0, total: total)
  }

  private func progress(_ sample: ProgressSample, rejected: Int = 0, _ active: [FileProgress]) -> RunProgress {
    RunProgress(sample.tally, rejected: rejected, active: active)
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

  @Test("no part of the whole is claimed while sizes are unknown")
  func files() {
    let run = progress(Scene.sample(listed: 10, fetched: 4), [file(50, of: 100), file(7, of: nil)])
    #expect(run.fraction == nil)
    #expect(run.unknownSizes == 5)
    #expect(run.queued == 4)
    #expect(run.running == 2)
    #expect(run.remaining == 50)
    #expect(run.totalBytes == nil)
  }

  @Test("neither while the list is still being read")
  func unread() {
    let run = progress(Scene.sample(listed: 2, complete: false), [file(1, of: 2), file(1, of: 2)])
    #expect(run.fraction == nil)
    #expect(run.totalBytes == nil)
  }

  @Test("a refused line failed but never was a file to wait for")
  func rejected() {
    let run = progress(Scene.sample(listed: 2, failed: 3), rejected: 3, [file(0, of: 5)])
    #expect(run.queued == 1)
    #expect(run.fraction == nil)
  }

  @Test("nothing at all is no division by zero")
  func nothing() {
    #expect(progress(Scene.sample(), []).fraction == nil)
    #expect(progress(Scene.sample(listed: 1), [file(0, of: 0)]).fraction == 1)
  }

  /// 98 % stood beside 4.9 of 38.3 MiB: the bar had gone by files.
  @Test("bar, percentage and bytes are of one thing, whatever waited before")
  func basis() throws {
    var total = RunTotal()
    let small = file(10, of: 10)
    let first = total.update(Scene.sample(listed: 4, fetched: 2), active: [small], at: .seconds(1))
    #expect(first.progress.fraction == nil)
    #expect(first.progress.totalBytes == nil)
    let last = total.update(
      Scene.sample(listed: 4, fetched: 3, finishedBytes: 30), active: [file(30, of: 270)], at: .seconds(2))
    #expect(last.progress.fraction == 0.2)
    #expect(last.progress.bytes == 60)
    #expect(last.progress.totalBytes == 300)
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
    #expect(later.timeLeft.map { $0.inSeconds.rounded() } == 2)
  }

  /// One file of several had stalled, and the total counted down to an end that nobody knew of.
  @Test("with a file that stalls, the time is only a bound")
  func stalledFile() {
    var total = RunTotal()
    for second in 1...4 {
      let position = Int64(2000 * second)
      let sum = total.update(
        Scene.sample(received: position, listed: 1), active: [file(position, of: 9000)],
        hasStalled: second == 4, at: .seconds(second))
      #expect(sum.isBound == (second == 4))
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
    #expect(sum.timeLeft == .seconds(8))
    let first = total.update(Scene.sample(listed: 1), active: [], longest: .seconds(1), at: .seconds(5))
    #expect(first.timeLeft == .seconds(1))
  }
}
