import DownloadModel
import Glibc
import HeapModule

/// The totals of the whole run at one moment.
struct RunProgress: Equatable {
  let tally: ProgressTally
  /// Bytes of files that exist, unfinished ones included; decreases when an attempt has failed.
  let bytes: Int64
  /// Bytes of all files together, an estimate while sizes are unknown; `nil` before the end of the list, or without any
  /// size.
  let totalBytes: Int64?
  /// The missing bytes of this total.
  let remaining: Int64
  /// The missing bytes of each file in flight.
  private let rests: [Double]
  /// The sizes of files; those to come are assumed to be similar.
  private let sizes: [Double]
  /// Listed files whose size no server has given yet; if there are any, the totals above are estimates.
  let unknownSizes: Int
  /// Requests of the list that have not started.
  let queued: Int
  let running: Int
  /// Files in flight without a byte so far.
  fileprivate let unanswered: Int
  /// From 0 to 1, by bytes, or by files if no size is known; `nil` before the end of the list, and for a single file of
  /// unknown size.
  fileprivate(set) var fraction: Double?

  /// - Parameter trend: of the finished files.
  init(_ tally: ProgressTally, active: [FileProgress], trend: SizeTrend = SizeTrend()) {
    self.tally = tally
    running = active.count
    let ended = max(0, tally.ended - tally.rejected)
    queued = max(0, tally.listed - ended - running)
    bytes = active.reduce(tally.finishedBytes) { $0 + $1.position }
    // Servers may claim any size, so sums may be too large; that must not crash the program.
    let totals = active.compactMap(\.total).map(Double.init)
    let known = totals.reduce(Double(tally.finishedBytes), +)
    let unsized = active.filter { $0.total == nil }.map { Double($0.position) }
    unanswered = active.count { $0.position == $0.start }
    let done = tally.done + tally.undecided
    sizes = trend.means + totals
    let guesses = Self.guesses(at: unsized, among: sizes)
    let begun = Double(done + running)
    let mean = (known + guesses.reduce(0, +)) / max(1, begun)
    // In parallel, small files end first: a trend is visible only after many have ended.
    let isInOrder = running < 2 || done > 16 * running
    let next = isInOrder ? trend.mean(ofNext: queued, after: totals, else: mean) : mean
    let lost = Double(ended - done)
    var guessed = guesses.reduce(0, +) + next * Double(queued) * begun / max(1, begun + lost)
    unknownSizes = unsized.count + queued
    let unknown = Double(unknownSizes)
    let expected = tally.expected
    // Sizes from lists, the index or the last run; other files are assumed to be similar.
    let said = Double(expected.bytes) * max(1, Double(tally.listed) / Double(max(1, expected.files)))
    // Otherwise the files have grown, and the expected sizes say nothing.
    if said > known { guessed = (said - known) * unknown / max(1, unknown + lost) }
    let whole = max(bytes, Int64(min(known + (unknownSizes > 0 ? guessed : 0), 1e18)))
    let isSized = done + running > unsized.count || expected.files > 0
    totalBytes = tally.listIsComplete && isSized && (whole > 0 || unknownSizes == 0) ? whole : nil
    rests = active.compactMap(\.remaining).map(Double.init) + zip(guesses, unsized).map(-)
    remaining = whole - bytes
    if let totalBytes {
      fraction = FileProgress(position: bytes, start: 0, total: totalBytes).fraction
    } else if tally.listIsComplete, tally.listed > 1 {
      fraction = Double(ended) / Double(tally.listed)
    }
  }

  /// Whether nothing is in flight or queued, as far as is known.
  var isIdle: Bool { running == 0 && queued == 0 }

  /// A file of unknown size counts as the mean of the larger files; without any, as 1.5 times its received bytes.
  private static func guesses(at positions: [Double], among sizes: [Double]) -> [Double] {
    positions.map { position in
      let larger = sizes.filter { $0 > position }
      if larger.isEmpty { return position * (sizes.isEmpty ? 1 : 1.5) }
      return larger.reduce(0, +) / Double(larger.count)
    }
  }

  /// How many times longer the run takes if each lane (a file in flight and those that follow it there) has its own
  /// speed, compared with a shared speed: the fullest lane divided by the mean. Files that have not started go to the
  /// lane that is free first, and are as large as those before them.
  var imbalance: Double {
    guard !rests.isEmpty, remaining > 0 else { return 1 }
    let waiting = Double(remaining) - rests.reduce(0, +)
    let sum = sizes.reduce(0, +)
    var places = Heap(rests)
    // The last of them are enough.
    for number in 0..<(sum > 0 ? min(queued, 256) : 0) {
      let size = sizes[number % sizes.count] * Double(sizes.count) / sum * max(0, waiting) / Double(queued)
      places.replaceMin(with: (places.min ?? 0) + size)
    }
    let all = places.unordered.reduce(0, +)
    return 1 + ((places.max ?? 0) * Double(places.count) - all) / max(all, Double(remaining))
  }
}

/// The total line's state from frame to frame.
struct RunTotal {
  /// The bar goes back by no less than this, and only if an estimate was wrong: means change a little with each file.
  private static let leastStepBack = 0.05

  private var rate = RateEstimate(start: .zero)
  private var pace: Pace?
  private var trend = SizeTrend()
  private var received: Int64 = 0
  private var moved: Int64 = 0
  private var fraction = 0.0
  /// Whether the bytes of the first sample arrived before.
  private var joins: Bool

  init(joins: Bool = false) { self.joins = joins }

  /// - Parameter longest: the longest remaining time of a file; `nil` if none is known.
  /// - Parameter wait: time until a host or a file is retried.
  mutating func update(
    _ sample: ProgressSample, active: [FileProgress]? = nil, longest: Duration? = nil, wait: Duration = .zero,
    hasStalled: Bool = false, isPaused: Bool = false, at now: Duration
  ) -> TotalLine.Content {
    if joins { received = sample.received }
    joins = false
    rate.add(bytes: sample.received - received, at: now)
    received = sample.received
    let tally = sample.tally
    trend.take(tally)
    var progress = RunProgress(tally, active: active ?? sample.active.map { FileProgress($0.meter) }, trend: trend)
    if let next = progress.fraction {
      fraction = next > fraction - Self.leastStepBack ? max(next, fraction) : next
      progress.fraction = fraction
    }
    // Existing files count as progress, but not the bytes of unfinished files from earlier runs.
    let sum = received + tally.finishedBytes - tally.transferredBytes - tally.resumedBytes
    if isPaused || pace == nil { pace = Pace(start: now) } else { pace?.add(bytes: sum - moved, progress, at: now) }
    moved = sum
    let timeLeft = tally.listIsComplete ? pace?.timeLeft(progress, longest: longest ?? .zero, at: now) : nil
    return TotalLine.Content(
      progress: progress, step: rate.step, rate: rate.rate(at: now), timeLeft: timeLeft.map { max($0, wait) },
      isEstimate: progress.unknownSizes > 0 || hasStalled)
  }
}

extension RunTotal {
  /// How fast a run proceeds, and how evenly.
  struct Pace {
    private static let interval = Duration.milliseconds(500)

    private var rate: RateEstimate
    /// At present, and at the end of the last interval. Work is the total time of all files in flight.
    private var latest, mark: (time: Duration, bytes: Int64, work: Duration)
    /// Fitted to the logarithms of the number of files and of the rate.
    private var sharing = FittedLine()
    private var imbalance = 1.0
    /// Files that have ended.
    private var ends: RateEstimate
    private var ended = 0
    /// The times that files were in flight, and the part of it before their first bytes, weighted to the last 10 s.
    private var underWay = 0.0
    private var unanswered = 0.0

    init(start: Duration) {
      rate = RateEstimate(start: start)
      ends = rate
      latest = (start, 0, .zero)
      mark = latest
    }

    /// - Parameter bytes: progress since the last call.
    mutating func add(bytes: Int64, _ progress: RunProgress, at now: Duration) {
      // A finished stall says nothing about the speed.
      if bytes > 0, rate.isStill(at: now) { rate = RateEstimate(start: now) }
      rate.add(bytes: bytes, at: now)
      ends.add(bytes: Int64(progress.tally.ended - ended), at: now)
      ended = progress.tally.ended
      let frame = (now - latest.time).inSeconds
      underWay += frame * (Double(progress.running) - underWay / 10)
      unanswered += frame * (Double(progress.unanswered) - unanswered / 10)
      latest = (now, latest.bytes + bytes, latest.work + (now - latest.time) * progress.running)
      let time = now - mark.time
      guard time >= Self.interval else { return }
      imbalance = progress.imbalance
      // At first connections are opened, which says nothing, either.
      let files = (latest.work - mark.work) / time
      let bytes = latest.bytes - mark.bytes
      if now - rate.start > .seconds(1), files >= 0.5, bytes > 0 {
        sharing.add(log(files.rounded()), log(Double(bytes) / time.inSeconds))
      }
      mark = latest
    }

    /// Missing bytes take time by the byte rate, and first bytes by the file rate, weighted by how much files in flight
    /// wait for each. `nil` before the rate has settled, and in a stall.
    /// - Parameter longest: the longest remaining time of a file at its own speed.
    func timeLeft(_ progress: RunProgress, longest: Duration, at now: Duration) -> Duration? {
      let files = progress.queued + progress.unanswered
      // Only files count if no sizes are known.
      guard progress.totalBytes != nil else { return ended > 0 ? now * (Double(files) / Double(ended)) : nil }
      guard var even = rate.timeLeft(remaining: progress.remaining, at: now) else { return nil }
      // The run ends with its last file, whose speed does not depend on those that have ended.
      if progress.running == 1, progress.queued == 0, longest > .zero { return longest }
      if files > 0, underWay > 0, let byFiles = ends.timeLeft(remaining: Int64(files), at: now) {
        let share = unanswered / underWay
        even = even * (1 - share) + byFiles * share
      }
      return even * pow(max(imbalance, longest / max(even, .milliseconds(1))), exponent)
    }

    /// How the speed of a run depends on the number of its files: 0 if they share a fixed rate, 1 if each has its own
    /// speed. Until the number has changed, a steadier speed gives a lower value: the sum of the rates that servers
    /// grant to connections varies more than a full link.
    private var exponent: Double {
      guard sharing.count > 1 else { return 0.5 }
      let noise = sharing.rest / sharing.count
      let guess = min(0.1 + 6 * noise.squareRoot(), 1)
      let doubt = 0.02 + 10 * noise
      return min(max(0, (sharing.common + doubt * guess) / (sharing.spread + doubt)), 1)
    }
  }
}
