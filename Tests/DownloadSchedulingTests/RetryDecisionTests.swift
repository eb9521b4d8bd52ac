import DownloadModel
import Testing

@testable import DownloadScheduling

/// Times are with a random number of 0: half of each pause.
@Suite("Again? What follows each failure of an attempt (HTTP rules 11 to 13, 32, 37 to 40, 54)")
struct RetryDecisionTests {
  struct Row: Sendable, CustomTestStringConvertible {
    let testDescription: String
    let error: DownloadError
    /// Failures before this one, without progress.
    var failures = 0
    /// Bytes that exist at this failure, in KiB.
    var position: Int64 = 0
    var refusals = 1
    var elapsed = Duration.zero
    var isReceiving = false
    var hasNextSource = false
    var host = RetryDecision.Host()
    var policy = RetryPolicy()
    let decision: RetryDecision
  }

  private static func status(
    _ status: Int, retryAfter: Duration? = nil, throttles: Bool = false
  ) -> DownloadError {
    DownloadError(
      .status, cause: .http(status: status), isTransient: throttles || HTTPStatus.isTransient(status),
      wasTurnedAway: throttles, retryAfter: retryAfter)
  }

  private static func proxy(_ code: DownloadError.Code, _ answer: ProxyRefusal.Answer) -> DownloadError {
    let refusal = ProxyRefusal(proxy: "http://p:1", hadLogin: true, answer: answer)
    return DownloadError(code, cause: .proxy(refusal), isTransient: code == .connect)
  }

  /// The transport requeues it, and has told the queue what to do.
  private static func requeued(_ code: DownloadError.Code = .unanswered) -> DownloadError {
    DownloadError(code, isTransient: true, isRequeued: true)
  }

  private static func told(_ remedy: HostNews.Remedy) -> RetryDecision.Host { RetryDecision.Host(remedy: remedy) }

  private static func transient(_ code: DownloadError.Code) -> DownloadError { DownloadError(code, isTransient: true) }

  private static let busy = status(503)
  private static let stale = DownloadError(.reset, isTransient: true, isStaleConnection: true)
  private static let turnedAway = DownloadError(.reset, isTransient: true, wasTurnedAway: true)
  /// It serves others, or nothing for the second time, or is given up.
  private static let serving = RetryDecision.Host(pause: .zero)
  private static let down = RetryDecision.Host(pause: .seconds(3), failures: 2)
  private static let givenUp = RetryDecision.Host()

  private static func after(_ attempt: Int, _ retry: Int, of retries: Int?, _ milliseconds: Int) -> RetryDecision {
    .after(NextAttempt(attempt: attempt, retry: retry, of: retries, delay: .milliseconds(milliseconds)))
  }

  private static func whenReady(_ attempt: Int, _ retry: Int, of retries: Int?, _ milliseconds: Int) -> RetryDecision {
    .whenReady(NextAttempt(attempt: attempt, retry: retry, of: retries, delay: .milliseconds(milliseconds)))
  }

  private static let first = after(2, 1, of: 5, 550)

  private static let rule11: [Row] = {
    var rows: [Row] = []
    for number in [408, 425, 500, 502, 504, 520, 521, 522, 523, 524] {
      rows.append(Row(testDescription: "11: \(number) is temporary", error: status(number), decision: first))
    }
    for code in [DownloadError.Code.stalled, .reset, .shortBody, .tooSlow] {
      rows.append(Row(testDescription: "11: \(code) is temporary", error: transient(code), decision: first))
    }
    let ofHost = [status(429), busy, transient(.connect), transient(.resolve), transient(.timeout)]
    for error in ofHost + [status(403, throttles: true)] {
      rows.append(
        Row(
          testDescription: "11: \(error) is temporary, and the host's", error: error, host: down,
          decision: whenReady(2, 2, of: 5, 3000)))
    }
    return rows
  }()

  private static let final11: [Row] = {
    var rows: [Row] = []
    for number in [400, 401, 403, 404, 410, 501, 505, 526] {
      rows.append(Row(testDescription: "11: \(number) is final", error: status(number), decision: .fail))
    }
    for code in [DownloadError.Code.certificate, .badAddress, .disk, .diskFull, .cancelled, .tookTooLong] {
      rows.append(Row(testDescription: "11: \(code) is final", error: DownloadError(code), decision: .fail))
    }
    rows.append(
      Row(
        testDescription: "11: a final failure of a source with a mirror", error: status(404), hasNextSource: true,
        decision: .nextSource))
    rows.append(
      Row(
        testDescription: "11: no mirror helps a full disk", error: DownloadError(.diskFull), hasNextSource: true,
        decision: .fail))
    return rows
  }()

  private static let rule12 = [
    Row(testDescription: "12: the pause doubles", error: status(500), failures: 1, decision: after(3, 2, of: 5, 1100)),
    Row(testDescription: "12: five retries", error: status(500), failures: 5, decision: .fail),
    Row(
      testDescription: "12: five retries, then the mirror", error: status(500), failures: 5, isReceiving: true,
      hasNextSource: true, decision: .nextSource),
    Row(
      testDescription: "12: without retries, once", error: status(500), policy: RetryPolicy(retries: 0),
      decision: .fail),
    Row(
      testDescription: "12: Retry-After is a floor", error: status(500, retryAfter: .seconds(7)),
      decision: after(2, 1, of: 5, 7000)),
    Row(
      testDescription: "12: but not beyond 600 s", error: status(500, retryAfter: .seconds(601)), decision: .fail),
    Row(
      testDescription: "12: nor beyond the user's time", error: status(500), elapsed: .seconds(10),
      policy: RetryPolicy(maxTime: .seconds(10)), decision: .fail),
    Row(
      testDescription: "12: a failure to connect is the host's, and another source is tried at once",
      error: transient(.connect), hasNextSource: true, host: down, decision: .nextSource),
    Row(
      testDescription: "12: with a mirror, a source that sent nothing is left at once", error: status(500),
      hasNextSource: true, decision: .nextSource),
  ]

  private static let rule13 = [
    Row(
      testDescription: "13: progress is no failure, and waits an eighth", error: transient(.reset), failures: 4,
      position: 16, decision: .after(NextAttempt(attempt: 6, delay: .microseconds(68_750)))),
    Row(
      testDescription: "13: a trickle is one", error: transient(.reset), failures: 4, position: 15,
      decision: after(6, 5, of: 5, 8800)),
    Row(
      testDescription: "13: a source that sends continues with its bytes", error: transient(.reset), position: 16,
      isReceiving: true, hasNextSource: true,
      decision: .after(NextAttempt(attempt: 2, delay: .microseconds(68_750)))),
    Row(
      testDescription: "13: a slow one does not", error: transient(.tooSlow), position: 16, isReceiving: true,
      hasNextSource: true, decision: .nextSource),
    Row(
      testDescription: "13: a refused range is asked for in another way at once", error: transient(.range),
      decision: after(2, 1, of: 5, 0)),
    Row(
      testDescription: "13: a kept connection was closed: nothing was lost", error: stale,
      policy: RetryPolicy(retries: 0), decision: .now),
    Row(
      testDescription: "13: but not a second time", error: stale, failures: 1, decision: after(2, 1, of: 5, 550)),
  ]

  private static let rule32 = [
    Row(
      testDescription: "32: a 202 with Retry-After is not ready yet", error: status(202, retryAfter: .seconds(3)),
      decision: after(2, 1, of: 5, 3000)),
    Row(
      testDescription: "32: --retry-on makes a 202 a refusal", error: status(202, throttles: true), host: down,
      decision: whenReady(2, 2, of: 5, 3000)),
  ]

  private static let rules37And39 = [turnedAway, busy].flatMap { error -> [Row] in
    let rule = error == busy ? "39" : "37"
    let pause = error == busy ? 1000 : 550
    return [
      Row(
        testDescription: "\(rule): others are served: as soon as one of them has ended", error: error, host: serving,
        decision: whenReady(2, 1, of: nil, 0)),
      Row(
        testDescription: "\(rule): from the second refusal on it pauses", error: error, refusals: 2, host: serving,
        decision: after(3, 2, of: nil, pause)),
      Row(
        testDescription: "\(rule): at most as after the third failure", error: error, refusals: 10, host: serving,
        decision: after(11, 10, of: nil, 4 * pause)),
      Row(
        testDescription: "\(rule): ten refusals", error: error, refusals: 11, host: serving, decision: .fail),
      Row(
        testDescription: "\(rule): ten refusals, then the mirror", error: error, refusals: 11, hasNextSource: true,
        host: serving, decision: .nextSource),
      Row(
        testDescription: "\(rule): more if the user wants more", error: error, refusals: 11, host: serving,
        policy: RetryPolicy(retries: 11), decision: after(12, 11, of: nil, 4 * pause)),
      Row(
        testDescription: "\(rule): nothing is served: the host's pauses count", error: error, refusals: 4, host: down,
        decision: whenReady(5, 2, of: 5, 3000)),
      Row(testDescription: "\(rule): the host is given up", error: error, host: givenUp, decision: .fail),
      Row(
        testDescription: "\(rule): the host is given up, and the mirror is another", error: error, hasNextSource: true,
        host: givenUp, decision: .nextSource),
      Row(
        testDescription: "\(rule): without retries, once", error: error, host: serving,
        policy: RetryPolicy(retries: 0), decision: .fail),
      Row(
        testDescription: "\(rule): it waited for an equal one, which was refused", error: error.coalesced,
        refusals: 11, host: givenUp, policy: RetryPolicy(retries: 0), decision: .whenReady(NextAttempt())),
    ]
  }

  private static let rules38And39 = [
    Row(
      testDescription: "38: one of those unanswered goes over an idle connection", error: requeued(),
      host: told(.retry(loop: 2, isIdle: true)), decision: .onLoop(2, afterEnds: 0)),
    Row(
      testDescription: "38: or over the next that becomes idle", error: requeued(),
      host: told(.retry(loop: 2, isIdle: false)), decision: .onLoop(2, afterEnds: 1)),
    Row(
      testDescription: "38: it was faster: all go when there is room", error: requeued(),
      host: told(.limit(to: [1, 2])), decision: .whenReady(NextAttempt())),
    Row(
      testDescription: "38: no retry is spent", error: requeued(), refusals: 20, hasNextSource: true,
      host: told(.limit(to: [1, 2])), policy: RetryPolicy(retries: 0), decision: .whenReady(NextAttempt())),
    Row(
      testDescription: "38: it waited for an equal one, which was unanswered", error: requeued().coalesced,
      decision: .whenReady(NextAttempt())),
    Row(
      testDescription: "39: a host that collapsed gets half as many requests",
      error: requeued(.tooSlow), isReceiving: true, hasNextSource: true, host: told(.limit(to: [4])),
      decision: .whenReady(NextAttempt())),
  ]

  private static let rule40 = [
    Row(testDescription: "40: 407", error: proxy(.proxy, .login), decision: .fail),
    Row(testDescription: "40: 403", error: proxy(.proxy, .status(403)), decision: .fail),
    Row(testDescription: "40: a rule of SOCKS", error: proxy(.proxy, .forbidden), decision: .fail),
    Row(
      testDescription: "40: the proxy may allow the mirror", error: proxy(.proxy, .forbidden), hasNextSource: true,
      decision: .nextSource),
    Row(
      testDescription: "40: 502", error: proxy(.connect, .status(502)), host: down,
      decision: whenReady(2, 2, of: 5, 3000)),
    Row(
      testDescription: "40: SOCKS does not reach the host", error: proxy(.connect, .unreachable("refused")), host: down,
      decision: whenReady(2, 2, of: 5, 3000)),
  ]

  private static let rule54 = [
    Row(
      testDescription: "54: a login is refused at last: no password is sent twice",
      error: DownloadError(.status, cause: .http(status: 401), activity: "logging in"), decision: .fail)
  ]

  private static let shortages = [
    Row(
      testDescription: "no descriptors, and others are in flight", error: transient(.resources), refusals: 8,
      host: serving, policy: RetryPolicy(retries: 0), decision: whenReady(9, 8, of: nil, 0)),
    Row(
      testDescription: "no descriptors, and none is in flight", error: transient(.resources), refusals: 5,
      host: RetryDecision.Host(pause: .milliseconds(2200), failures: 5), decision: whenReady(6, 5, of: 5, 2200)),
    Row(
      testDescription: "no descriptors, and waiting did not help", error: transient(.resources), refusals: 6,
      hasNextSource: true, host: RetryDecision.Host(pause: .milliseconds(2200), failures: 6), decision: .fail),
  ]

  static let rows =
    [rule11, final11, rule12, rule13, rule32, rules37And39, rules38And39, rule40, rule54, shortages].flatMap(\.self)

  @Test(arguments: rows) func decision(_ row: Row) {
    var attempts = Attempts()
    for _ in 0..<row.failures { attempts.add(row.error, at: 0) }
    attempts.add(row.error, at: row.position << 10)
    let file = RetryDecision.File(
      attempts: attempts, refusals: row.refusals, elapsed: row.elapsed, isReceiving: row.isReceiving,
      hasNextSource: row.hasNextSource)
    #expect(RetryDecision.decide(row.error, file, row.policy, row.host, random: 0) == row.decision)
  }

  /// While the file has its slot, its host does not know of the refusal yet, and an older file may stand in for it.
  @Test func aRefusalIsFinalUntilItsHostKnows() {
    let file = RetryDecision.File(hasNextSource: false)
    #expect(RetryDecision.decide(Self.busy, file, RetryPolicy(), random: 0) == .fail)
    #expect(RetryDecision.decide(Self.requeued(), file, RetryPolicy(), random: 0).next != nil)
  }
}
