import Comparing
import DownloadCaching
import DownloadModel
import FileReceiving

struct RunReport {
  var mode: DownloadMode
  var jobs: Int
  /// Whether `jobs` is the most that were under way, and the run found out what is good.
  var adaptsJobs = false
  var width = RunWidth(peak: 0, lesson: nil)
  var tally: ProgressTally
  /// Body bytes, also those of files that failed.
  var received: Int64
  var elapsed: Duration
  var failures: [DownloadError]
  var rejections: [Rejection]
  var moreFailures = 0
  var listing = Listing.whole
  var signal: Int32?
  /// Problems of the cache, of which none failed a download.
  var warnings: [CacheWarning] = []
  var verdict: RepeatVerdict?

  /// Why so many at a time, in mode auto.
  var lesson: WidthLesson? {
    mode == .auto ? width.lesson : nil
  }

  /// How far the list was read. A watched one has no end, so the run's time says nothing.
  enum Listing { case whole, brokenOff, watched }

  /// Takes what the lists had last. A signal is how such a run ends: it only counts if it cut something short.
  mutating func watched(_ lines: WatchedLines) {
    listing = .watched
    failures = lines.failures + failures
    rejections = lines.rejections + rejections
    if lines.isSettled { signal = nil }
  }

  /// How many files of the list, as far as it was read, never began because the disk took no more bytes.
  var notBegun: Int {
    guard signal == nil, failures.contains(where: \.stopsWriting) else { return 0 }
    return tally.notBegun
  }

  /// Whether it went through its list, whatever failed of it, and its time is that of its work.
  var isThrough: Bool {
    signal == nil && listing == .whole && !isListUnreadable && tally.done > 0
      && !failures.contains { $0.stopsWriting || $0.isOfUser }
  }

  var isListUnreadable: Bool { rejections.contains(where: \.isOfList) }

  func past(_ listDigest: String) -> PastRun {
    PastRun(
      mode: mode, adaptsJobs: adaptsJobs, listDigest: listDigest, jobs: jobs, fetched: tally.bodies,
      failed: tally.failed, transferredBytes: tally.bodyBytes, seconds: elapsed / .seconds(1),
      waited: width.waited * 20 > elapsed ? width.waited / .seconds(1) : nil,
      work: width.work > .zero ? width.work / .seconds(1) : nil, endedAt: WallClock.milliseconds())
  }
}

/// The exit statuses; sysexits.h's where it has one. A command that throws one has said why.
enum ExitStatus: Int32, Error {
  case success = 0
  case failed = 1
  case usage = 64
  case sourceUnreadable = 66
  case folderUnusable = 73
  case diskFailed = 74
  case tryAgain = 75
  case interrupted = 130
  case terminated = 143
  case hungUp = 129
  /// Whoever read standard output has gone, as SIGPIPE ends cat(1).
  case brokenPipe = 141

  /// Of all failures, the one that the user must deal with first decides.
  init(failures: [DownloadError], rejections: [Rejection]) {
    let codes = Set(failures.map(\.code))
    if codes.contains(.folder) {
      self = .folderUnusable
    } else if codes.contains(.diskFull) || codes.contains(.disk) {
      self = .diskFailed
    } else if rejections.contains(where: { $0.isOfList && !$0.mayPass }) {
      self = .sourceUnreadable
    } else if !rejections.allSatisfy(\.mayPass) || !failures.allSatisfy(\.mayPass) {
      self = .failed
    } else {
      self = failures.isEmpty && rejections.isEmpty ? .success : .tryAgain
    }
  }

  /// The files decide, then what is written behind them.
  /// - Parameter hasLostData: whether JSON lines could not be written.
  init(_ report: RunReport, hasKeptAll: Bool, hasLostData: Bool) {
    let ofFiles = ExitStatus(failures: report.failures, rejections: report.rejections)
    self = report.signal == nil ? ofFiles : ExitStatus(signal: report.signal)
    // Compared, it brought other bytes than stand here.
    let isOther = report.verdict?.isAsHere == false
    if self == .success, !hasKeptAll || hasLostData && !isOther { self = .unwritten }
    if isOther, self == .success || self == .tryAgain { self = .failed }
  }

  init(_ error: ComparisonError, signal: Int32?) {
    switch error {
    case .cancelled: self = ExitStatus(signal: signal)
    case .broken(_, let error): self = ExitStatus(failures: [error], rejections: [])
    case .invalid(_, .failed(let failures)): self = ExitStatus(failures: failures, rejections: [])
    case .invalid: self = .failed
    }
  }

  /// The status if output could not be written; a signal may be why.
  static var unwritten: ExitStatus { Signals.ending.map { ExitStatus(signal: $0) } ?? .diskFailed }

  init(signal: Int32?) { self = ExitStatus(rawValue: 128 + (signal ?? 2)) ?? .interrupted }
}

/// Ends a command with a status, and a line that says why.
struct Refusal: Error {
  let line: String
  let status: ExitStatus

  init(_ line: String, _ status: ExitStatus = .diskFailed) {
    self.line = line
    self.status = status
  }

  init(_ error: DownloadError) { self.init(FailureMessages(error).said, ExitStatus(failures: [error], rejections: [])) }
}
