import ArgumentParser
import DownloadModel
import Testing

@testable import dlm

@Suite("Words and statuses at the end of a run are functions of what happened")
struct MessagesTests {
  private let temporary = DownloadError(.reset, address: "http://a/1", isTransient: true)
  private let permanent = DownloadError(.status, cause: .http(status: 404), address: "http://a/2")
  private let bad = Rejection(list: "urls.txt", line: 7, text: "x", reason: .malformed(.noScheme))
  private let unreadable = Rejection(list: "urls.txt", line: nil, text: "", reason: .unreadable(errno: 2))

  @Test func exitStatus() {
    func status(_ failures: [DownloadError], _ rejections: [Rejection] = []) -> Int32 {
      ExitStatus(failures: failures, rejections: rejections).rawValue
    }
    #expect(status([]) == 0)
    #expect(status([temporary]) == 75)
    #expect(status([temporary, permanent]) == 1)
    #expect(status([temporary], [bad]) == 1)
    #expect(status([permanent], [unreadable]) == 66)
    #expect(status([permanent, DownloadError(.diskFull)], [unreadable]) == 74)
    #expect(status([DownloadError(.folder), DownloadError(.diskFull)]) == 73)
    #expect(ExitStatus(signal: 2).rawValue == 130)
    #expect(ExitStatus(signal: 15).rawValue == 143)
    #expect(ExitStatus(signal: 1).rawValue == 129)
  }

  /// What became of the files comes first, then what is written behind them.
  @Test func exitStatusOfAWholeRun() {
    func status(
      _ failures: [DownloadError] = [], hasKeptAll: Bool = true, isAsHere: Bool = true,
      hasLostData: Bool = false
    ) -> Int32 {
      var report = report(failures)
      report.verdict = RepeatVerdict(missing: isAsHere ? [] : [.init(address: "http://h/a", path: "a")])
      return ExitStatus(report, hasKeptAll: hasKeptAll, hasLostData: hasLostData).rawValue
    }
    #expect(status() == 0)
    #expect(status([temporary], hasKeptAll: false, isAsHere: false, hasLostData: true) == 75)
    #expect(status(hasKeptAll: false, isAsHere: false) == 74)
    #expect(status(isAsHere: false, hasLostData: true) == 1)
    #expect(status(hasLostData: true) == 74)
  }

  private func report(_ failures: [DownloadError] = [], signal: Int32? = nil) -> RunReport {
    var tally = ProgressTally()
    (tally.listed, tally.fetched, tally.finishedBytes, tally.failed) = (1000, 1000, 64 << 20, failures.count)
    return RunReport(
      mode: .parallel, jobs: 16, tally: tally, received: 64 << 20, elapsed: .seconds(4), failures: failures,
      rejections: [], signal: signal)
  }

  @Test func aGoodRunIsOneLine() {
    #expect(
      SummaryMessages(report(), comparedWith: nil, again: "dlm get urls.txt").lines
        == ["1,000 files, 64.0 MiB in 4.0 s (16.0 MiB/s), parallel, 16 at a time"])
  }

  /// `-q` leaves out what went well and no more.
  @Test func aQuietRunThatWasInterruptedSaysHowToGoOn() {
    let quiet = SummaryMessages(report(signal: 2), comparedWith: nil, again: "dlm get urls.txt").quietLines
    #expect(quiet == ["Interrupted: 1,000 of 1,000 done; to go on: dlm get urls.txt"])
    #expect(SummaryMessages(report(), comparedWith: nil, again: "dlm get urls.txt").quietLines.isEmpty)
  }

  /// It said "0 files, 0 B in 2.1 s (3.5 MiB/s)" beside "7.5 MiB kept".
  @Test func aRunThatWasBrokenOffSaysWhatCame() {
    var report = report(signal: 2)
    (report.tally.fetched, report.tally.finishedBytes) = (0, 0)
    (report.tally.cancelled, report.tally.keptBytes) = (16, 60 << 20)
    #expect(
      SummaryMessages(report, comparedWith: nil, again: "dlm get urls.txt").lines == [
        "0 files, 64.0 MiB received in 4.0 s (16.0 MiB/s), parallel, 16 at a time",
        "Interrupted: 0 of 1,000 done, 16 begun, 60.0 MiB kept; to go on: dlm get urls.txt",
      ])
  }

  @Test func aRunThatFoundOutHowManySaysTheMost() {
    var report = report()
    (report.adaptsJobs, report.jobs) = (true, 36)
    let lines = SummaryMessages(report, comparedWith: nil, again: "").lines
    #expect(lines == ["1,000 files, 64.0 MiB in 4.0 s (16.0 MiB/s), parallel, up to 36 at once"])
  }

  /// What a run in mode auto says of its choice: a line below the first, and a word in JSON.
  @Test(
    arguments: [
      (.nothing, 1, "one after the other: there was no more to do at a time", "too-short"),
      (.nothing, 2, "a task group of up to 2: the list was over before more could show a gain", "too-short"),
      (
        .littleWasLeft, 2, "a task group of up to 2: more would not have paid for what was left",
        "little-was-left"
      ),
      (
        .allowed(gain: 1.456), 64,
        "a task group of up to 64: as many as may be, which brought 1.46 times what half as many did",
        "as-many-as-allowed"
      ),
      (
        .noGain(from: 64, limit: 32, gain: 1.02), 64,
        "a task group of 32: 64 at a time brought no more (1.02 times)", "no-gain"
      ),
      (
        .noGain(from: 64, limit: 32, gain: 1.08), 64,
        "a task group of 32: 64 at a time brought 1.08 times as much, which may be chance", "no-gain"
      ),
      (.gained(1.9), 8, "a task group of up to 8: the last doubling brought 1.90 times as much", "gained"),
      (
        .slowAnswers, 64,
        "a task group of up to 64: answers took their time, so as many as may be were asked for at once",
        "slow-answers"
      ),
      (.broke, 12, "a task group of up to 12: transfers broke, so it took fewer", "transfers-broke"),
    ] as [(WidthLesson, Int, String, String)])
  func autoSaysWhy(lesson: WidthLesson, atOnce: Int, text: String, word: String) {
    var report = report()
    (report.mode, report.adaptsJobs, report.jobs, report.lesson) = (.auto, true, atOnce, lesson)
    let lines = SummaryMessages(report, comparedWith: nil, again: "").lines
    #expect(
      lines == [
        "1,000 files, 64.0 MiB in 4.0 s (16.0 MiB/s), auto, up to \(atOnce) at once",
        "  auto chose \(text)",
      ])
    #expect(LessonMessages.word(lesson) == word)
  }

  /// "Unchanged" was said of files that had been fetched whole.
  @Test func whatCameAndStoodHereAlreadyIsSaid() {
    var report = report()
    (report.tally.sameAsHere, report.tally.withoutContent, report.tally.transferredBytes) = (3, 1, 64 << 20)
    #expect(
      SummaryMessages(report, comparedWith: nil, again: "").lines.last
        == "  1,000 fetched (64.0 MiB), 3 of them the same as what was here, 1 empty (204 No Content)")
  }

  /// HTTP rule 42; by bytes.
  @Test func linesThatAreNotTheUsersAreKnownByTheirName() {
    for line in ["Range: x", "RANGE:x", "range ;", "Range:\u{301}x", "proxy-authorization:x"] {
      #expect(HeaderArgument(argument: line).refusal != nil, "\(line)")
    }
    for line in ["X-Range: x", "Host: x", "Accept: x", "Cookie: Range: x"] {
      #expect(HeaderArgument(argument: line).refusal == nil, "\(line)")
    }
  }

  @Test func failuresAreGroupedByCauseWithTheirAddresses() {
    let lines = SummaryMessages(
      report([
        temporary, permanent,
        DownloadError(.reset, cause: .detail("x"), address: "http://a/3", isTransient: true),
      ]),
      comparedWith: nil, again: "dlm get urls.txt"
    ).lines
    #expect(lines.contains { $0.hasPrefix("2 × the server broke off") })
    #expect(lines.contains("    http://a/1") && lines.contains("    http://a/3"))
    #expect(lines.contains { $0.hasPrefix("1 × the server answered 404 Not Found") })
    #expect(lines.last?.contains("dlm get urls.txt") == true)
  }

  /// A `where` in Swift is for the last pattern of a case only: so a plain 429 "asked to be left alone for 0
  /// s".
  @Test(arguments: [429, 503])
  func busyServers(status: Int) {
    func remedy(_ pause: Duration?) -> String? {
      FailureMessages(
        DownloadError(.status, cause: .http(status: status), isTransient: true, retryAfter: pause)
      )
      .remedy
    }
    #expect(remedy(nil)?.hasPrefix("it is busy") == true)
    #expect(remedy(.seconds(5))?.hasPrefix("it is busy") == true)
    #expect(remedy(.seconds(3600))?.hasPrefix("it asks to be left alone for 1") == true)
  }

  @Test func runsAreComparedOnlyWhenTheyDidTheSameWork() {
    let then = PastRun(
      mode: .sequential, listDigest: "d", jobs: 1, fetched: 1000, transferredBytes: 64 << 20, seconds: 12,
      endedAt: 0)
    let fair = RunTimes.Comparison(run: then, isFair: true)
    #expect(
      SummaryMessages(report(), comparedWith: fair, again: "").lines.last
        == "The same list in mode sequential took 12.0 s: this run was 3.0 times as fast.")
    let tie = RunTimes.Comparison(
      run: PastRun(
        mode: .asyncLet, listDigest: "d", jobs: 1, fetched: 1000, transferredBytes: 64 << 20, seconds: 4.1,
        endedAt: 0),
      isFair: true)
    #expect(
      SummaryMessages(report(), comparedWith: tie, again: "").lines.last
        == "The same list in mode async-let took 4.1 s: a tie.")
    let unfair = RunTimes.Comparison(run: then, isFair: false)
    #expect(
      SummaryMessages(report(), comparedWith: unfair, again: "").lines.last?.contains("cannot be compared")
        == true)
  }

  /// What is remembered, and what is given again, becomes the command it was.
  @Test func optionsAreRebuilt() throws {
    let line = [
      "-m", "task-group", "--directory=-odd", "-j", "4", "--per-host", "auto", "-s", "3", "--limit-rate",
      "1.5M", "--retries",
      "0", "--retry-max-time", "1.5", "--connect-timeout", "2", "--stall-timeout", "3", "--user-agent", "a b",
      "--insecure", "--http2", "--on-conflict", "skip", "--no-cache", "--fsync", "--remote-time",
      "--no-content-disposition",
      "--checksums", "SUMS", "--require-proof", "length", "--proxy", "http://p:1",
    ]
    let lasting = RememberedOptions(try GetCommand.parse(line)).lasting
    #expect(RememberedOptions(try GetCommand.parse(lasting)).lasting == lasting)
    #expect(lasting.contains("--directory=-odd") && lasting.contains("--limit-rate=1572864"))
    let now = RememberedOptions(
      try GetCommand.parse(["-j", "9", "-q", "--refresh", "-H", "A: b", "--proxy", "http://u:p@h"]))
    #expect(now.lasting == ["--jobs=9"])
    #expect(now.withheld == [.header(name: "A"), .proxy])
    let both = try GetCommand.parse(lasting + now.typed)
    #expect(both.connection.jobs == Jobs(argument: "9") && both.connection.proxy == "http://u:p@h")
    #expect(both.display.quiet && both.output.refresh && both.output.directory == "-odd")
  }

  /// Said before everything is fetched again; "about" what is known, or what it would be one file after the
  /// other.
  @Test(
    arguments: [
      (.sequential, .parallel, nil, "one by one, to compare with parallel (12.3 s): about 3 min"),
      (.sequential, .parallel, 40, "one by one, to compare with parallel (12.3 s): about 40 s"),
      (
        .parallel, .sequential, nil, "in mode parallel, to compare with sequential (12.3 s): 12 s at the most"
      ),
      (.asyncLet, .parallel, nil, "in mode async-let, to compare with parallel (12.3 s): about 12 s"),
    ] as [(DownloadMode, DownloadMode, Double?, String)])
  func aRepeatIsAnnounced(mode: DownloadMode, other: DownloadMode, own: Double?, words: String) {
    func run(_ seconds: Double) -> PastRun {
      PastRun(
        mode: other, listDigest: "d", jobs: 16, fetched: 1000, transferredBytes: 1, seconds: seconds,
        endedAt: 0)
    }
    let plan = RepeatPlan(
      mode: mode, other: other, otherRun: run(12.3), ownRun: own.map(run), list: "urls.txt")
    #expect(RepeatMessages.announcement(plan).first == "urls.txt again, \(words)")
    let unknown = RepeatPlan(mode: mode, other: other, otherRun: nil, ownRun: nil, list: "urls.txt")
    #expect(
      RepeatMessages.announcement(unknown).first?.hasSuffix(
        "\(other.rawValue), of which no time is known yet")
        == true)
  }

  @Test func wordsAreQuoted() {
    #expect(CommandLineText.quoted("my list.txt") == "'my list.txt'")
    #expect(CommandLineText.quoted("it's") == "'it'\\''s'")
    #expect(CommandLineText.quoted("") == "''")
  }
}
