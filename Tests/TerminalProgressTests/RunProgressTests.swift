import DownloadModel
import Testing

@testable import TerminalProgress

@Suite("The run as a whole")
struct RunProgressTests {
  private func file(_ position: Int64, of total: Int64?) -> FileProgress {
    FileProgress(position: position, start: 0, total: total)
  }

  private func progress(_ sample: ProgressSample, rejected: Int = 0, _ active: [FileProgress]) -> RunProgress
  {
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
    #expect(run.fractionOfBytes == 0.15)
    #expect(!run.isLowerBound)
  }

  @Test("by files, unfinished ones in part, while sizes are unknown")
  func files() {
    let run = progress(Scene.sample(listed: 10, fetched: 4), [file(50, of: 100), file(7, of: nil)])
    #expect(run.fractionOfBytes == nil)
    #expect(run.fractionOfFiles == 0.45)
    #expect(run.unknownSizes == 5)
    #expect(run.queued == 4)
    #expect(run.remaining == 50)
    #expect(run.isLowerBound)
  }

  @Test("neither while the list is still being read")
  func unread() {
    let run = progress(Scene.sample(listed: 2, complete: false), [file(1, of: 2), file(1, of: 2)])
    #expect(run.fractionOfBytes == nil)
    #expect(run.fractionOfFiles == nil)
    #expect(run.isLowerBound)
  }

  @Test("a refused line failed but never was a file to wait for")
  func rejected() {
    let run = progress(Scene.sample(listed: 2, failed: 3), rejected: 3, [file(0, of: 5)])
    #expect(run.queued == 1)
    #expect(run.fractionOfFiles == 0)
  }

  @Test("nothing at all is no division by zero")
  func nothing() {
    #expect(progress(Scene.sample(), []).fractionOfBytes == 1)
    #expect(progress(Scene.sample(), []).fractionOfFiles == nil)
    #expect(progress(Scene.sample(listed: 1), [file(0, of: 0)]).fractionOfBytes == 1)
  }

  @Test("once files had to wait, the bar stays with files: it does not jump back for a large last one")
  func basis() throws {
    var total = RunTotal()
    let small = file(10, of: 10)
    let first = total.update(Scene.sample(listed: 4, fetched: 2), active: [small], at: .seconds(1))
    #expect(first.fraction == 0.75)
    let last = total.update(
      Scene.sample(listed: 4, fetched: 3, finishedBytes: 30), active: [file(0, of: 100_000)], at: .seconds(2))
    #expect(last.fraction == 0.75)
    #expect(last.progress.totalBytes == 100_030)
  }

  @Test("speed is what came over the network")
  func speed() {
    var total = RunTotal()
    _ = total.update(Scene.sample(received: 0, listed: 1), active: [file(5000, of: 9000)], at: .seconds(1))
    let sum = total.update(
      Scene.sample(received: 2000, listed: 1), active: [file(7000, of: 9000)], at: .seconds(2))
    #expect(sum.rate.rounded() == 1000)
    #expect(sum.timeLeft.map { $0.inSeconds.rounded() } == 2)
  }

  /// Six fast files were done and one slow one had eight seconds to go: the total said three.
  @Test("the run does not end before its last file")
  func lastFile() {
    var total = RunTotal()
    _ = total.update(Scene.sample(received: 0, listed: 1), active: [file(5000, of: 9000)], at: .seconds(1))
    let sum = total.update(
      Scene.sample(received: 2000, listed: 1), active: [file(7000, of: 9000)], longest: .seconds(8),
      at: .seconds(2))
    #expect(sum.timeLeft == .seconds(8))
    let first = total.update(Scene.sample(listed: 1), active: [], longest: .seconds(1), at: .seconds(3))
    #expect(first.timeLeft == .seconds(1))
  }
}
