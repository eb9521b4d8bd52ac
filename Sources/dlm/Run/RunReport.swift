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
