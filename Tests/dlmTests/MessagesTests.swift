import ArgumentParser
import DownloadModel
import FileReceiving
import TestSupport
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
    // Whatever may pass is "again" for what started dlm; one that may not is not.
    let (slow, gone) = (DownloadError(.tookTooLong), DownloadError(.status, cause: .http(status: 404)))
    var throttled = ResponseHead(status: 403, fields: [:])
    throttled.isRefusal = true
    func list(_ status: Int) -> Rejection {
      let why = ResponseHead(status: status, fields: [:]).failure(now: 0)
      return Rejection(list: "http://h/l", line: nil, text: "", reason: .unfetched(why))
    }
    #expect(status([slow]) == 75, "what has come is kept")
    #expect(status([throttled.failure(now: 0), .skipped]) == 75)
    #expect(status([gone.after([temporary, gone])]) == 75, "one of its addresses may")
    #expect(status([gone.after([gone, gone])]) == 1)
    #expect(status([temporary], [list(503)]) == 75)
    #expect(status([temporary], [list(404)]) == 66 && status([], [list(503), list(526)]) == 66)
    #expect(status([], [list(503), bad]) == 1)
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
    #expect(status([temporary], hasKeptAll: false, hasLostData: true) == 75)
    #expect(status([temporary], isAsHere: false) == 1, "other bytes do not pass")
    #expect(status(hasKeptAll: false, isAsHere: false) == 74)
    #expect(status(isAsHere: false, hasLostData: true) == 1)
    #expect(status(hasLostData: true) == 74)
  }

  private func report(_ failures: [DownloadError] = [], signal: Int32? = nil) -> RunReport {
    var tally = ProgressTally()
    (tally.listed, tally.fetched, tally.failed) = (1000, 1000, failures.count)
    (tally.finishedBytes, tally.bodyBytes) = (64 << 20, 64 << 20)
    return RunReport(
      mode: .parallel, jobs: 16, tally: tally, received: 64 << 20, elapsed: .seconds(4), failures: failures,
      rejections: [], signal: signal)
  }

  /// `-o -`, or a run that is only compared.
  @Test func nothingIsKeptOfAScratchFolder() {
    let digest = DownloadError(.digest, address: "http://a/2", path: "/tmp/dlm-1/b.corrupt")
    for (isRepeat, remedy) in [(false, "again: what can be resumed is saved"), (true, "again")] {
      let lines = SummaryMessages(report: report([temporary, digest]), isRepeat: isRepeat).failureLines
      #expect(lines.contains("  run the same command " + remedy))
      #expect(lines.contains { $0.contains("b.corrupt") } != isRepeat, "\(lines)")
    }
  }

  @Test func aGoodRunIsOneLine() {
    #expect(
      SummaryMessages(report: report(), again: "dlm get urls.txt").lines
        == ["1,000 files, 64.0 MiB in 4.0 s (16.0 MiB/s), parallel, 16 at once"])
  }

  /// `-q` leaves out what went well and no more.
  @Test func aQuietRunThatWasInterruptedSaysHowToGoOn() {
    let quiet = SummaryMessages(report: report(signal: 2), again: "dlm get urls.txt").quietLines
    #expect(quiet == ["Interrupted: 1,000 of 1,000 files done. Resume with:", "    dlm get urls.txt"])
    #expect(SummaryMessages(report: report(), again: "dlm get urls.txt").quietLines.isEmpty)
  }

  /// It said "0 files, 0 B in 2.1 s (3.5 MiB/s)" beside "7.5 MiB kept".
  @Test func aRunThatWasBrokenOffSaysWhatCame() {
    var report = report(signal: 2)
    (report.tally.fetched, report.tally.finishedBytes, report.tally.bodyBytes) = (0, 0, 0)
    (report.tally.cancelled, report.tally.keptBytes) = (16, 60 << 20)
    #expect(
      SummaryMessages(report: report, again: "dlm get urls.txt").lines == [
        "0 files, 64.0 MiB received in 4.0 s (16.0 MiB/s), parallel, 16 at once",
        "Interrupted: 0 of 1,000 files done, 60.0 MiB of the next 16 saved. Resume with:", "    dlm get urls.txt",
      ])
  }

  /// It said "3.5 MiB in 0.2 s (476 B/s)" of existing files, and "0 B in 13.1 s (297 KiB/s)" of a file that failed.
  @Test(
    arguments: [
      (64, 64, 65, "64.0 MiB in 4.0 s (16.0 MiB/s)"),
      (64, 3, 3, "64.0 MiB, 3.0 MiB of it downloaded in 4.0 s (768 KiB/s)"),
      (64, 0, 0, "64.0 MiB in 4.0 s"), (64, 0, 1, "64.0 MiB in 4.0 s"),
      (0, 0, 4, "4.0 MiB received in 4.0 s (1.0 MiB/s)"),
      (0, 0, 0, "0 B in 4.0 s"),
    ] as [(Int64, Int64, Int64, String)])
  func theRateIsOfTheBytesBeforeIt(finished: Int64, fetched: Int64, received: Int64, amount: String) {
    var report = report()
    (report.tally.finishedBytes, report.tally.bodyBytes) = (finished << 20, fetched << 20)
    report.received = received << 20
    #expect(
      SummaryMessages(report: report).headline
        == "1,000 files, \(amount), parallel, 16 at once")
  }

  @Test func whereNothingHasChangedThatIsAll() {
    var report = report()
    (report.tally.fetched, report.tally.bodyBytes, report.tally.unchanged) = (0, 0, 1000)
    #expect(SummaryMessages(report: report).lines == ["up to date: 1,000 files, 64.0 MiB"])
    report.tally.fresh = 1
    #expect(SummaryMessages(report: report).lines.last == "  1 fresh, 1,000 unchanged")
    report.tally.failed = 1
    #expect(SummaryMessages(report: report).headline.hasPrefix("1,001 files, 64.0 MiB in 4.0 s"))
    // One at a time is no number of files at once.
    (report.adaptsJobs, report.jobs, report.width) = (true, 1, RunWidth(peak: 1, lesson: nil, connections: 32))
    #expect(SummaryMessages(report: report).headline.contains(", parallel over 32 connections"))
  }

  @Test func aRunThatFoundOutHowManySaysTheMost() {
    var report = report()
    (report.adaptsJobs, report.jobs) = (true, 36)
    let lines = SummaryMessages(report: report).lines
    #expect(lines == ["1,000 files, 64.0 MiB in 4.0 s (16.0 MiB/s), parallel, up to 36 at once"])
  }

  /// What a run in mode auto says of its choice: a line below the first, and a word in JSON.
  @Test(
    arguments: [
      (.nothing, 1, "one at a time: there were no more files", "too-short"),
      (.nothing, 2, "up to 2 at once: too few files to try more", "too-short"),
      (
        .littleWasLeft, 2, "up to 2 at once: too little was left for more to help",
        "little-was-left"
      ),
      (
        .allowed(gain: 1.456), 64,
        "up to 64 at once: the most allowed, 1.46 times as fast as half as many",
        "as-many-as-allowed"
      ),
      (
        .noGain(from: 64, limit: 32, gain: 1.02), 64,
        "32 at once: 64 at once were no faster (1.02 times)", "no-gain"
      ),
      (
        .noGain(from: 64, limit: 32, gain: 1.08), 64,
        "32 at once: 64 at once were 1.08 times as fast, which may be chance", "no-gain"
      ),
      (.gained(1.9), 8, "up to 8 at once: the last doubling was 1.90 times as fast", "gained"),
      (
        .slowAnswers, 64,
        "up to 64 at once: answers were slow, so it used the most allowed",
        "slow-answers"
      ),
      (.broke, 12, "up to 12 at once: transfers failed, so it used fewer", "transfers-broke"),
    ] as [(WidthLesson, Int, String, String)])
  func autoSaysWhy(lesson: WidthLesson, atOnce: Int, text: String, word: String) {
    var report = report()
    (report.mode, report.adaptsJobs, report.jobs, report.width.lesson) = (.auto, true, atOnce, lesson)
    let lines = SummaryMessages(report: report).lines
    #expect(
      lines == [
        "1,000 files, 64.0 MiB in 4.0 s (16.0 MiB/s), auto\(atOnce > 1 ? ", up to \(atOnce) at once" : "")",
        "  auto used \(text)",
      ])
    #expect(LessonMessages.word(lesson) == word)
  }

  /// "Unchanged" was said of files that had been fetched whole.
  @Test func whatCameAndStoodHereAlreadyIsSaid() {
    var report = report()
    (report.tally.sameAsHere, report.tally.withoutContent) = (3, 1)
    #expect(
      SummaryMessages(report: report).lines.last
        == "  1,000 downloaded (64.0 MiB), 3 of them identical to the existing file, 1 empty (204 No Content)")
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
      report: report([
        temporary, permanent,
        DownloadError(.reset, cause: .detail("x"), address: "http://a/3", isTransient: true),
      ]),
      again: "dlm get urls.txt"
    ).lines
    #expect(lines.contains { $0 == "dlm: 2 files: the server closed the connection" })
    #expect(lines.contains("    http://a/1") && lines.contains("    http://a/3"))
    #expect(lines.contains { $0 == "dlm: 404 Not Found" })
    #expect(lines.last?.contains("dlm get urls.txt") == true)
  }

  /// A remedy that fits, and the command only where it may do better than it did.
  @Test(
    arguments: [
      (DownloadError(.certificate, cause: .certificate(.expired, message: "")), "has expired", "clock", false),
      (.init(.certificate, cause: .certificate(.notYetValid, message: "")), "is not valid yet", "clock", false),
      (.init(.certificate, cause: .certificate(.otherHost, message: "")), "is for another host", "URL", false),
      (.init(.certificate, cause: .certificate(.selfSigned, message: "")), "is self-signed", "--cacert FILE", false),
      (.init(.certificate, cause: .certificate(.unknownIssuer, message: "")), "unknown issuer", "--cacert FILE", false),
      (.init(.certificate, cause: .certificate(.revoked, message: "")), "was revoked", "do not trust", false),
      (.init(.certificate, cause: .certificate(.other, message: "why")), "was refused: why", "skips this check", false),
      (.init(.status, cause: .http(status: 404)), "404 Not Found", "check the URL", false),
      (.init(.status, cause: .http(status: 500), isTransient: true), "500 Internal", "try again later", true),
      (.init(.status, cause: .http(status: 451)), "451 Unavailable", "owner", false),
      (
        .init(.digest, cause: .detail("expected md5:0, got 1"), path: "f.rejected"),
        "checksum mismatch: expected md5:0, got 1",
        "saved as f.rejected", false
      ),
      (
        .init(.cache, cause: .detail("not in the cache"), activity: "answering offline"), "not in the cache",
        "without --offline", true
      ),
      (.init(.redirect, cause: .detail("more than 20 in a row")), "more than 20", "form a loop", false),
      (.init(.redirect, cause: .detail("from https to http://h/")), "from https", "download that URL instead", false),
      (.init(.diskFull, cause: .errno(28)), "the disk is full", "free space", true),
      (
        .init(.tls, cause: .curl(code: 35, message: "OpenSSL/3: error:0A:SSL routines::wrong version number")),
        "no secure connection: wrong version number", "check that this is an https server", false
      ),
    ] as [(DownloadError, String, String, Bool)])
  func aFailureHasThreeLines(error: DownloadError, what: String, remedy: String, isWorthRepeating: Bool) {
    var report = report([error.of(address)])
    report.tally.listed = 2
    let lines = SummaryMessages(report: report, again: "dlm get x", note: "a note").lines
    #expect(lines[0].hasPrefix("dlm: ") && lines[0].contains(what), "\(lines)")
    #expect(lines[1] == "    http://h/f")
    #expect(lines[2].hasPrefix("  ") && lines[2].contains(remedy), "\(lines)")
    #expect(lines[3].hasPrefix("1,000 files, "), "the summary is last")
    let again = ["To try again (complete files are not downloaded again; a note):", "    dlm get x"]
    #expect(Array(lines.dropFirst(4)) == (isWorthRepeating ? again : []))
  }

  /// At a terminal of 80 columns, whatever the algorithm; else both are whole.
  @Test(arguments: [(ContentDigest.Algorithm.sha512, 128), (.sha256, 64), (.md5, 32)])
  func aWrongChecksumFitsIntoALine(algorithm: ContentDigest.Algorithm, digits: Int) {
    let (wanted, got) = (String(repeating: "3f", count: digits / 2), String(repeating: "9c", count: digits / 2))
    let detail = "expected \(algorithm):\(wanted), got \(got)"
    var report = report([DownloadError(.digest, cause: .detail(detail), path: "f.rejected").of(address)])
    report.tally.listed = 2
    let whole = SummaryMessages(report: report).failureLines
    #expect(whole.first == "dlm: checksum mismatch: \(detail)")
    let short = SummaryMessages(report: report, shortens: true).failureLines
    #expect(short.first == "dlm: checksum mismatch: expected \(algorithm):3f3f3…f3f3f, got 9c9c9…c9c9c")
    #expect(short.count == 3 && short.allSatisfy { $0.count < 80 })
    #expect(short.dropFirst() == whole.dropFirst())
  }

  private let address: Address

  init() throws { address = try Address("http://h/f") }

  @Test func anEmptyListIsNamed() {
    var report = report()
    report.tally.listed = 0
    func lines(_ lists: String...) -> [String] {
      SummaryMessages(report: report, again: "", lists: lists).lines
    }
    #expect(lines("urls.txt") == ["dlm: urls.txt has no URLs"])
    #expect(lines("a.txt", "standard input") == ["dlm: a.txt, standard input have no URLs"])
    report.rejections = [unreadable]
    #expect(
      lines("urls.txt")
        == ["dlm: urls.txt cannot be read: No such file or directory; check its name"])
  }

  @Test(
    arguments: [
      (.malformed(.noScheme), "\"x\" is not a URL: it does not start with http:// or https://; fix or remove it"),
      (
        .malformed(.unsupportedScheme("ftp")),
        "\"x\": dlm downloads over http, https, ftp, ftps, ftpes, sftp, scp, s3, file only; fix or remove it"
      ),
    ] as [(Rejection.Reason, String)])
  func aBadLine(reason: Rejection.Reason, words: String) {
    let line = Rejection(list: "urls.txt", line: 7, text: "x", reason: reason)
    #expect(RejectionMessages(line).said == "dlm: urls.txt:7: " + words)
    // What was typed has no line, and nothing to be removed from.
    let typed = Rejection(list: "command line", line: nil, text: "x", reason: reason)
    #expect(RejectionMessages(typed).said == "dlm: " + words.replacing("; fix or remove it", with: ""))
  }

  @Test func theParsersMistakesHaveTheSameVoice() {
    let text = """
      Error: Unknown option '--mdoe'
      Help:  --jobs <N|auto>  Files at once.
      Usage: dlm get [<options>] [<source> ...]
        See 'dlm get --help' for more information.
      """
    #expect(
      UsageMessages.lines(ofParser: text) == [
        "dlm: unknown option '--mdoe'", "  --jobs <N|auto>  Files at once.",
      ])
    #expect(UsageMessages.mistake("DLM_JOBS: no.") == "dlm: DLM_JOBS: no")
    #expect(UsageMessages.withoutSecrets("'fancy'", ["--progress", "fancy"]) == "'fancy'")
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
    #expect(remedy(nil)?.hasPrefix("the server is busy") == true)
    #expect(remedy(.seconds(5))?.hasPrefix("the server is busy") == true)
    #expect(remedy(.seconds(3600))?.hasPrefix("the server asks clients to wait 1") == true)
  }

  @Test func runsAreComparedOnlyWhenTheyDidTheSameWork() {
    let then = PastRun(
      mode: .sequential, listDigest: "d", jobs: 1, fetched: 1000, transferredBytes: 64 << 20, seconds: 12,
      endedAt: 0)
    let fair = RunTimes.Comparison(run: then)
    #expect(
      SummaryMessages(report: report(), comparison: fair, again: "").lines.last
        == "The same list in mode sequential took 12.0 s: this run was 3.0 times as fast.")
    let tie = RunTimes.Comparison(
      run: PastRun(
        mode: .asyncLet, listDigest: "d", jobs: 1, fetched: 1000, transferredBytes: 64 << 20, seconds: 4.1,
        endedAt: 0))
    #expect(
      SummaryMessages(report: report(), comparison: tie, again: "").lines.last
        == "The same list in mode async-let took 4.1 s: a tie.")
    var waited = then
    waited.waited = 2
    let runs: [(PastRun.Obstacle, PastRun, String)] = [
      (.otherWork, then, "that run downloaded 64.0 MiB"), (.sameStrategy, then, "both modes run a task group"),
      (.waited, waited, "that run waited 2.0 s for a busy server"),
    ]
    for (obstacle, run, reason) in runs {
      let unfair = RunTimes.Comparison(run: run, obstacle: obstacle)
      let line = SummaryMessages(report: report(), comparison: unfair, again: "").lines.last
      let start =
        "The same list in mode sequential took 12.0 s; not comparable: \(reason). dlm compare --mode sequential"
      #expect(line?.hasPrefix(start) == true, "\(line ?? "")")
    }
  }

  /// What is remembered, and what is given again, becomes the command it was.
  @Test func optionsAreRebuilt() throws {
    let line = [
      "-m", "task-group", "--directory=-odd", "-j", "4", "--per-host", "auto", "-s", "3", "--limit-rate",
      "1.5M", "--retries",
      "0", "--retry-on", "403", "--retry-on", "h=5xx", "--retry-max-time", "1.5", "--connect-timeout", "2",
      "--stall-timeout", "3", "--user-agent", "a b",
      "--insecure", "--http2", "--on-conflict", "skip", "--no-cache", "--fsync", "--remote-time",
      "--no-content-disposition",
      "--checksums", "SUMS", "--require-proof", "length", "--proxy", "",
    ]
    let lasting = RememberedOptions(try GetCommand.parse(line)).lasting
    #expect(RememberedOptions(try GetCommand.parse(lasting)).lasting == lasting)
    #expect(lasting.contains("--directory=-odd") && lasting.contains("--limit-rate=1.5M"))
    let now = RememberedOptions(
      try GetCommand.parse(["-j", "9", "-q", "--refresh", "-H", "A: b", "--proxy", "http://u:p@h"]))
    #expect(now.lasting == ["--jobs=9"])
    #expect(now.withheld == [.header(name: "A"), .proxy])
    let both = try GetCommand.parse(lasting + now.typed)
    #expect(both.shared.jobs == Jobs(argument: "9") && both.shared.proxy == "http://u:p@h")
    #expect(both.shared.quiet && both.own.refresh && both.own.directory == "-odd")
  }

  /// Said before everything is fetched again; "about" what is known, or what it would be one file after the
  /// other.
  @Test(
    arguments: [
      (.sequential, .parallel, nil, nil, "sequentially, to compare with parallel (12.3 s): 5 B, at most 3 min"),
      (.sequential, .parallel, 77, nil, "sequentially, to compare with parallel (12.3 s): 5 B, at most 77 s"),
      (.sequential, .parallel, 2, nil, "sequentially, to compare with parallel (12.3 s): 5 B, at most 12 s"),
      (.sequential, .parallel, nil, 40, "sequentially, to compare with parallel (12.3 s): 5 B, about 40 s"),
      (.parallel, .sequential, nil, nil, "in mode parallel, to compare with sequential (12.3 s): 5 B, at most 12 s"),
      (.asyncLet, .parallel, 77, nil, "in mode async-let, to compare with parallel (12.3 s): 5 B, about 12 s"),
    ] as [(DownloadMode, DownloadMode, Double?, Double?, String)])
  func aRepeatIsAnnounced(mode: DownloadMode, other: DownloadMode, work: Double?, own: Double?, words: String) {
    func run(_ seconds: Double) -> PastRun {
      PastRun(
        mode: other, listDigest: "d", jobs: 16, fetched: 1000, transferredBytes: 5, seconds: seconds, work: work,
        endedAt: 0)
    }
    let plan = RepeatPlan(
      mode: mode, other: other, otherRun: run(12.3), ownRun: own.map(run), list: "urls.txt")
    #expect(RepeatMessages.announcement(plan).first == "urls.txt again, \(words)")
    let unknown = RepeatPlan(mode: mode, other: other, otherRun: nil, ownRun: nil, list: "urls.txt")
    #expect(
      RepeatMessages.announcement(unknown).first?.hasSuffix(
        "\(other.rawValue), whose time is not known yet")
        == true)
  }

  @Test func wordsAreQuoted() {
    #expect(CommandLineText.quoted("my list.txt") == "'my list.txt'")
    #expect(CommandLineText.quoted("it's") == "'it'\\''s'")
    #expect(CommandLineText.quoted("") == "''")
  }
}
