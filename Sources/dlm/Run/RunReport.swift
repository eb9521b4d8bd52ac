import DownloadCaching
import DownloadModel
import FileReceiving

struct RunReport {
  var mode: DownloadMode
  var jobs: Int
  /// Whether `jobs` is the highest number in flight, and the run chose it itself.
  var adaptsJobs = false
  var width = RunWidth(peak: 0, lesson: nil)
  var tally: ProgressTally
  /// Body bytes, including those of files that failed.
  var received: Int64
  var elapsed: Duration
  var failures: [DownloadError]
  var rejections: [Rejection]
  var moreFailures = 0
  var listing = Listing.whole
  var signal: Int32?
  /// Problems of the cache; none of them failed a download.
  var warnings: [CacheWarning] = []
  var verdict: RepeatVerdict?

  /// The reason for the number of files at a time, in mode auto.
  var lesson: WidthLesson? {
    mode == .auto ? width.lesson : nil
  }

  /// How far the list was read. A watched one has no end, so the run's time says nothing.
  enum Listing { case whole, brokenOff, watched }

  /// Adopts the last results of the watched lists. A signal is the usual end of such a run: it only counts if it
  /// cancelled work.
  mutating func watched(_ lines: WatchedLines) {
    listing = .watched
    failures = lines.failures + failures
    rejections = lines.rejections + rejections
    if lines.isSettled { signal = nil }
  }

  /// Files of the read part of the list that never started because the disk accepted no more bytes.
  var notBegun: Int {
    guard signal == nil, failures.contains(where: \.stopsWriting) else { return 0 }
    return tally.notBegun
  }

  /// Whether it processed its whole list, even with failures, so that its time is that of the work.
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
