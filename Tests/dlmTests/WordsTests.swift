import DownloadModel
import Foundation
import Testing

@testable import dlm

@Suite("Words and statuses at the end of a run are functions of what happened")
struct WordsTests {
  private let passing = DownloadError(.reset, address: "http://a/1", isPassing: true)
  private let permanent = DownloadError(.status, cause: .http(status: 404), address: "http://a/2")
  private let bad = Rejection(list: "urls.txt", line: 7, text: "x", reason: .malformed(.noScheme))
  private let unreadable = Rejection(list: "urls.txt", line: nil, text: "", reason: .unreadable(errno: 2))

  @Test func exitStatus() {
    func status(_ failures: [DownloadError], _ rejections: [Rejection] = []) -> Int32 {
      ExitStatus(failures: failures, rejections: rejections).rawValue
    }
    #expect(status([]) == 0)
    #expect(status([passing]) == 75)
    #expect(status([passing, permanent]) == 1)
    #expect(status([passing], [bad]) == 1)
    #expect(status([permanent], [unreadable]) == 66)
    #expect(status([permanent, DownloadError(.diskFull)], [unreadable]) == 74)
    #expect(status([DownloadError(.folder), DownloadError(.diskFull)]) == 73)
    #expect(ExitStatus(signal: 2).rawValue == 130)
    #expect(ExitStatus(signal: 15).rawValue == 143)
    #expect(ExitStatus(signal: 1).rawValue == 129)
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
      SummaryWords(report(), comparedWith: nil, again: "dlm get urls.txt").lines
        == ["1,000 files, 64.0 MiB in 4.0 s (16.0 MiB/s), parallel, 16 at a time"])
  }

  @Test func failuresAreGroupedByCauseWithTheirAddresses() {
    let lines = SummaryWords(
      report([
        passing, permanent,
        DownloadError(.reset, cause: .detail("x"), address: "http://a/3", isPassing: true),
      ]),
      comparedWith: nil, again: "dlm get urls.txt"
    ).lines
    #expect(lines.contains { $0.hasPrefix("2 × the server broke off") })
    #expect(lines.contains("    http://a/1") && lines.contains("    http://a/3"))
    #expect(lines.contains { $0.hasPrefix("1 × the server answered 404 Not Found") })
    #expect(lines.last?.contains("dlm get urls.txt") == true)
  }

  /// A `where` in Swift is for the last pattern of a case only: so a plain 429 "asked to be left alone for 0 s".
  @Test(arguments: [429, 503])
  func busyServers(status: Int) {
    func remedy(_ pause: Duration?) -> String? {
      FailureWords(DownloadError(.status, cause: .http(status: status), isPassing: true, retryAfter: pause))
        .remedy
    }
    #expect(remedy(nil)?.hasPrefix("it is busy") == true)
    #expect(remedy(.seconds(5))?.hasPrefix("it is busy") == true)
    #expect(remedy(.seconds(3600))?.hasPrefix("it asks to be left alone for 1") == true)
  }

  @Test func runsAreComparedOnlyWhenTheyDidTheSameWork() {
    let then = RunHistory.Run(
      listDigest: "d", jobs: 1, fetched: 1000, transferredBytes: 64 << 20, seconds: 12, endedAt: Date())
    let fair = RunHistory.Comparison(mode: .sequential, run: then, isFair: true)
    #expect(
      SummaryWords(report(), comparedWith: fair, again: "").lines.last
        == "The same list in mode sequential took 12.0 s: this run was 3.0 times as fast.")
    let unfair = RunHistory.Comparison(mode: .sequential, run: then, isFair: false)
    #expect(
      SummaryWords(report(), comparedWith: unfair, again: "").lines.last?.contains("cannot be compared")
        == true)
  }

  @Test func historyPrefersARunThatCanBeCompared() {
    func run(_ fetched: Int, _ digest: String, _ time: TimeInterval) -> RunHistory.Run {
      RunHistory.Run(
        listDigest: digest, jobs: 1, fetched: fetched, transferredBytes: Int64(fetched), seconds: 1,
        endedAt: Date(timeIntervalSince1970: time))
    }
    var history = RunHistory(folder: "/", sources: [])
    history.runs = ["sequential": run(10, "d", 1), "async-let": run(0, "d", 2), "parallel": run(10, "d", 3)]
    let found = history.comparison(for: run(10, "d", 4), in: .parallel)
    #expect(found?.mode == .sequential)
    #expect(found?.isFair == true)
    #expect(history.comparison(for: run(10, "other", 4), in: .parallel) == nil)
  }

  @Test func commandsAreQuotedAndSecretsLeftOut() {
    func again(_ arguments: String..., pipe: Bool = false) -> String {
      CommandLineWords.again(arguments, usesStandardInput: pipe)
    }
    #expect(again("get", "my list.txt") == "dlm get 'my list.txt'")
    #expect(again("get", "it's") == "dlm get 'it'\\''s'")
    #expect(again("get", "-", "-d", "x", pipe: true) == "dlm get -d x")
    #expect(again("get", "http://u:p@h/") == "run the same command")
    #expect(again("get", "-H", "Authorization: x") == "run the same command")
  }
}
