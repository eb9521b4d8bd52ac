import DownloadModel
import Testing

@testable import Comparing

@Suite("Why the modes came out as they did")
struct ExplanationTests {
  private func explanations(_ network: SimulatedRun, width: Int = 16) -> [Explanation] {
    let runs = (1...3).flatMap { round in
      [
        network.measured(.sequential, width: 1, round: round),
        network.measured(.parallel, width: width, round: round),
      ]
    }
    return Explanation.all(ComparisonReport(measurements: runs))
  }

  @Test("far away: files wait together")
  func farAway() {
    // 40 ms of 40 + 2.5.
    let all = explanations(SimulatedRun(files: 64, size: 10_000))
    guard all.count == 1, case .sideBySide(let waiting, let rate)? = all.first else {
      Issue.record("\(all)")
      return
    }
    #expect(abs(waiting - 40 / 42.5) < 1e-6 && abs(rate - 4e6) < 1)
  }

  @Test("slow connections: each brings its own")
  func slowConnections() {
    let all = explanations(SimulatedRun(files: 64, size: 4_000_000, latency: .milliseconds(10)))
    guard all.count == 1, case .sideBySide(let waiting, let rate)? = all.first else {
      Issue.record("\(all)")
      return
    }
    #expect(waiting < 0.02 && abs(rate - 4e6) < 1)
  }

  @Test("one line for all: no gain, and its rate")
  func sharedLine() {
    let all = explanations(SimulatedRun(files: 64, size: 1_000_000, latency: .milliseconds(1), line: 4e6))
    guard all.count == 1, case .sharedLine(let rate)? = all.first else {
      Issue.record("\(all)")
      return
    }
    #expect(abs(rate - 4e6) < 0.1e6)
  }

  @Test("a server of few workers is named by what it answers", arguments: [1, 3, 5])
  func busyServer(workers: Int) {
    let all = explanations(SimulatedRun(files: 80, workers: workers))
    #expect(all.last == .busyServer(answers: workers), "\(all)")
    #expect(all.count == (workers == 1 ? 1 : 2))
  }

  /// Of 51 files over a line of 50 ms, each on a connection of its own, whose first answer takes two round trips, was
  /// said that the server answers about 24 at once.
  @Test("fresh connections are no busy server", arguments: [51, 60, 200])
  func freshConnections(files: Int) {
    let run = SimulatedRun(files: files, latency: .milliseconds(50), opening: .milliseconds(50))
    let all = explanations(run, width: min(files, 64))
    guard all.count == 1, case .sideBySide? = all.first else {
      Issue.record("\(all)")
      return
    }
    var few = run
    few.workers = 3
    guard case .busyServer? = explanations(few, width: min(files, 64)).last else {
      Issue.record("\(explanations(few))")
      return
    }
  }

  /// A listen queue of five: what does not fit into it is tried again by the kernel a second later, and
  /// sequential is the fastest.
  @Test("connections that are not taken are named")
  func slowConnecting() {
    let one = SimulatedRun(files: 80, latency: .milliseconds(1)).measured(.sequential, width: 1)
    var details = SimulatedRun(files: 80, latency: .milliseconds(1)).measured(.parallel, width: 16).details
    for index in details.transfers.indices {
      details.transfers[index].connected = .milliseconds(900)
      details.transfers[index].firstByte = .milliseconds(901)
      details.transfers[index].end = .milliseconds(910)
    }
    let many = RunMeasurement(
      mode: .parallel, round: 1, wall: .seconds(3), files: 80, bytes: one.bytes,
      details: details)
    let all = Explanation.all(ComparisonReport(measurements: [one, many]))
    guard all.count == 1, case .slowConnecting(let time)? = all.first else {
      Issue.record("\(all)")
      return
    }
    #expect(time > .milliseconds(300))
  }

  @Test("what was learnt of a host goes before what can be guessed")
  func hostLimit() {
    var wide = SimulatedRun(files: 80, workers: 3).measured(.parallel, width: 16).details
    wide.hostLimits = ["host:80": 3, "other:80": 40]
    let one = SimulatedRun(files: 80, workers: 3).measured(.sequential, width: 1)
    let many = RunMeasurement(
      mode: .parallel, round: 1, wall: one.wall / 3, files: 80, bytes: one.bytes,
      details: wide)
    let all = Explanation.all(ComparisonReport(measurements: [one, many]))
    #expect(all.last == .hostLimit(host: "host:80", connections: 3))
  }

  @Test("runs of which no more is known than their times explain nothing")
  func withoutDetails() {
    let report = ComparisonReport(
      measurements: measured(.sequential, milliseconds: [900]) + measured(.parallel, milliseconds: [100]))
    #expect(Explanation.all(report).isEmpty)
  }

  @Test("few files: the last of them counts for too much to blame anybody", arguments: [2, 15, 16, 17, 31])
  func fewFiles(files: Int) {
    let all = explanations(SimulatedRun(files: files))
    #expect(all.count == 1)
  }

  @Test("nearly as many at a time as there are files: few workers are named all the same")
  func fewWorkersForFewFiles() {
    let all = explanations(SimulatedRun(files: 60, workers: 3), width: 41)
    #expect(all.last == .busyServer(answers: 3), "\(all)")
  }
}

@Suite("The way of a file through a run")
struct FileTimelineTests {
  private func times(
    _ address: String, begin: Int, end: Int, _ change: (inout TransferTimes) -> Void = { _ in }
  )
    -> TransferTimes
  {
    var times = TransferTimes(
      address: address, begin: SimulatedRun.start + UInt64(begin) * 1_000_000, end: .milliseconds(end - begin)
    )
    change(&times)
    return times
  }

  private func spans(_ file: FileTimeline) -> [String] {
    file.spans.map { "\($0.phase) \(Int($0.begin / .milliseconds(1)))-\(Int($0.end / .milliseconds(1)))" }
  }

  @Test("each phase, where it happened")
  func phases() {
    let new = times("a", begin: 10, end: 100) { times in
      (times.lookedUp, times.connected) = (.milliseconds(5), .milliseconds(15))
      (times.secured, times.firstByte) = (.milliseconds(30), .milliseconds(60))
    }
    let reused = times("b", begin: 0, end: 50) { $0.firstByte = .milliseconds(20) }
    let details = RunDetails(
      transfers: [new, reused], since: SimulatedRun.start,
      ends: ["a": .milliseconds(102), "b": .milliseconds(50)])
    let files = FileTimeline.all(details)
    #expect(files.map(\.address) == ["b", "a"])
    #expect(spans(files[0]) == ["waiting 0-20", "receiving 20-50"])
    #expect(
      spans(files[1]) == [
        "queued 0-10", "lookingUp 10-15", "connecting 15-25", "securing 25-40", "waiting 40-70",
        "receiving 70-100", "finishing 100-102",
      ])
    #expect(files[1].begin == .milliseconds(10) && files[1].end == .milliseconds(102))
    let shares = TimeShares(files)
    #expect(shares[.waiting] == .milliseconds(50) && shares[.queued] == .milliseconds(10))
    #expect(shares.ofFiles == .milliseconds(142))
    #expect(shares[.waiting] + shares[.receiving] == .milliseconds(110))
  }

  @Test("an attempt that failed, a pause, and another")
  func retries() {
    let failed = times("a", begin: 0, end: 30) { ($0.hasFailed, $0.status) = (true, 503) }
    let again = times("a", begin: 80, end: 100) { $0.firstByte = .milliseconds(5) }
    let files = FileTimeline.all(
      RunDetails(transfers: [again, failed], since: SimulatedRun.start, ends: ["a": .milliseconds(100)]))
    #expect(spans(files[0]) == ["waiting 0-30", "queued 30-80", "waiting 80-85", "receiving 85-100"])
    #expect(!files[0].hasFailed)
  }

  @Test("further segments are no rows of their own, and their bytes are the file's")
  func segments() {
    let first = times("a", begin: 0, end: 30) { ($0.firstByte, $0.bytes) = (.milliseconds(10), 700) }
    let segment = times("a", begin: 12, end: 60) {
      ($0.isSegment, $0.firstByte, $0.bytes) = (true, .milliseconds(10), 400)
    }
    var details = RunDetails(
      transfers: [first, segment], since: SimulatedRun.start, ends: ["a": .milliseconds(61)])
    #expect(FileTimeline.all(details).map(\.bytes) == [1100])
    // Where the two meet, some bytes came twice.
    details.bytes["a"] = 1000
    let files = FileTimeline.all(details)
    #expect(files.map(\.bytes) == [1000])
    #expect(spans(files[0]) == ["waiting 0-10", "receiving 10-30", "finishing 30-61"])
  }

  @Test func aFileThatNeverEndedHasFailed() {
    let files = FileTimeline.all(
      RunDetails(transfers: [times("a", begin: 0, end: 30)], since: SimulatedRun.start))
    #expect(files[0].hasFailed && spans(files[0]) == ["waiting 0-30"])
  }

  @Test("a staircase: sequential files come one behind the other")
  func staircase() {
    let run = SimulatedRun(files: 10).measured(.sequential, width: 1)
    let files = FileTimeline.all(run.details)
    #expect(files.count == 10)
    for (before, file) in zip(files, files.dropFirst()) { #expect(file.begin == before.end) }
    #expect(run.details.connections == 1 && run.details.requests == 10)
    #expect(run.details.timeToFirstByte == .milliseconds(40))
  }
}
