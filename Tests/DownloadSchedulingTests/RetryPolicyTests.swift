import DownloadModel
import Testing

@testable import DownloadScheduling

@Suite("Retry: which failures, how often, how long to wait (HTTP rules 11, 12)")
struct RetryPolicyTests {
  private static let passing = DownloadError(.reset, isTransient: true)
  private static let busy = DownloadError(.status, cause: .http(status: 503), isTransient: true)
  private static let permanent = DownloadError(.status, cause: .http(status: 404))

  struct Row: Sendable, CustomTestStringConvertible {
    let testDescription: String
    var error = RetryPolicyTests.passing
    var failures = 1
    var elapsed = Duration.zero
    var random = 0.5
    var retries = 5
    var maxTime: Duration?
    var fileTime: Duration?
    let delay: Duration?
  }

  static let rows: [Row] = [
    Row(testDescription: "first: half of 1.1 s, and half of the other half", delay: .milliseconds(825)),
    Row(testDescription: "second: twice that", failures: 2, delay: .milliseconds(1650)),
    Row(testDescription: "fifth: 16 times", failures: 5, delay: .milliseconds(13_200)),
    Row(testDescription: "half of it is never left out", random: 0, delay: .milliseconds(550)),
    Row(testDescription: "capped at 30 s", failures: 20, retries: 50, delay: .seconds(22.5)),
    Row(
      testDescription: "an absurd count does not overflow", failures: 10_000, retries: 20_000,
      delay: .seconds(22.5)),
    Row(testDescription: "503 waits longer", error: busy, delay: .seconds(1.5)),
    Row(
      testDescription: "as does a status that throttles",
      error: DownloadError(.status, cause: .http(status: 403), isTransient: true, wasTurnedAway: true),
      delay: .seconds(1.5)),
    Row(testDescription: "the sixth failure gives up", failures: 6, delay: nil),
    Row(testDescription: "no retries wanted", retries: 0, delay: nil),
    Row(testDescription: "after progress: an eighth of the first", failures: 0, delay: .microseconds(103_125)),
    Row(testDescription: "no retries wanted, whatever progress was made", failures: 0, retries: 0, delay: nil),
    Row(testDescription: "a permanent failure gives up", error: permanent, delay: nil),
    Row(testDescription: "cancelled is not tried again", error: .cancelled, delay: nil),
    Row(
      testDescription: "Retry-After is a floor",
      error: DownloadError(.status, cause: .http(status: 429), isTransient: true, retryAfter: .seconds(7)),
      delay: .seconds(7)),
    Row(
      testDescription: "and no ceiling",
      error: DownloadError(.status, cause: .http(status: 429), isTransient: true, retryAfter: .seconds(1)),
      failures: 4,
      delay: .seconds(12)),
    Row(
      testDescription: "within the whole time", elapsed: .seconds(9), maxTime: .seconds(10),
      delay: .milliseconds(825)),
    Row(testDescription: "beyond the whole time", elapsed: .seconds(10), maxTime: .seconds(10), delay: nil),
    Row(
      testDescription: "its pause would be beyond the file's time", elapsed: .seconds(9.5), fileTime: .seconds(10),
      delay: nil),
    Row(
      testDescription: "and within it", elapsed: .seconds(9), maxTime: .seconds(60), fileTime: .seconds(10),
      delay: .milliseconds(825)),
    Row(
      testDescription: "the answer asks for another request: at once",
      error: DownloadError(.range, isTransient: true), delay: .zero),
  ]

  @Test(arguments: rows) func delay(_ row: Row) {
    let policy = RetryPolicy(retries: row.retries, maxTime: row.maxTime, fileTime: row.fileTime)
    #expect(
      policy.delay(after: row.error, failures: row.failures, elapsed: row.elapsed, random: row.random)
        == row.delay)
  }

  /// The story: all of a pause was drawn, so five attempts could be over in a second, and a server that was
  /// restarted cost files.
  @Test(arguments: [passing, busy]) func fiveAttemptsOutliveARestart(error: DownloadError) {
    let pauses = (1...4).compactMap {
      RetryPolicy().delay(after: error, failures: $0, elapsed: .zero, random: 0)
    }
    #expect(pauses.count == 4 && pauses.reduce(.zero, +) >= .seconds(8))
  }

  struct Story: Sendable, CustomTestStringConvertible {
    let testDescription: String
    /// How many bytes are there at each failure, in KiB.
    let positions: [Int64]
    var error = RetryPolicyTests.passing
    /// The number of each retry, 0 after progress; nil if it is given up.
    let retries: [Int?]
  }

  static let stories: [Story] = [
    Story(
      testDescription: "a server that breaks off every 128 KiB is asked to the end",
      positions: [128, 256, 384, 512, 640], retries: [0, 0, 0, 0, 0]),
    Story(testDescription: "nothing comes: two retries", positions: [0, 0, 0], retries: [1, 2, nil]),
    Story(
      testDescription: "progress starts the count anew", positions: [0, 0, 128, 128, 128, 128],
      retries: [1, 2, 0, 1, 2, nil]),
    Story(
      testDescription: "too few bytes are no progress, until they add up", positions: [1, 2, 16, 17, 18],
      retries: [1, 2, 0, 1, 2]),
    Story(testDescription: "a trickle comes to an end", positions: [1, 2, 3], retries: [1, 2, nil]),
    Story(
      testDescription: "a file that starts over each time makes no progress", positions: [128, 128, 128, 128],
      retries: [0, 1, 2, nil]),
    Story(
      testDescription: "nor does one that is too slow", positions: [128, 256, 384],
      error: DownloadError(.tooSlow, isTransient: true), retries: [1, 2, nil]),
  ]

  @Test(arguments: stories) func attemptsInARowWithoutProgress(_ story: Story) {
    var attempts = Attempts()
    let retries: [Int?] = story.positions.map {
      attempts.add(story.error, at: $0 << 10)
      let file = RetryDecision.File(attempts: attempts, hasNextSource: false)
      let decision = RetryDecision.decide(story.error, file, RetryPolicy(retries: 2), random: 0.5)
      guard case .after(let next) = decision else { return nil }
      #expect((next.retries == nil) == (next.retry == 0))
      return next.retry
    }
    #expect(retries == story.retries)
  }
}
