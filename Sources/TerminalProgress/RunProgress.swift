public import DownloadModel
import Glibc
import HeapModule

/// What the whole run amounts to at one moment.
struct RunProgress: Sendable, Equatable {
  let tally: ProgressTally
  /// Bytes of files that are there, unfinished ones included; an attempt that failed takes its bytes back.
  let bytes: Int64
  /// Bytes of all files together; nil where sizes are unknown, and were not remembered either.
  let totalBytes: Int64?
  /// Bytes that are missing; files of unknown size have those that were remembered, else as many as the others.
  let remaining: Int64
  /// Of these, those of each file under way.
  private let rests: [Double]
  /// The sizes of files, which those to come are supposed to be like.
  private let sizes: [Double]
  /// Files, listed so far, whose size no server has given yet: with them, what is above is an estimate.
  let unknownSizes: Int
  /// Requests of the list that have not begun.
  let queued: Int
  let running: Int
  /// Whether bar and percentage are of files, not of bytes.
  fileprivate(set) var isByFiles: Bool

  /// - Parameter sizes: of files that are done.
  init(_ tally: ProgressTally, active: some Collection<FileProgress>, sizes: [Double] = []) {
    self.tally = tally
    running = active.count
    let ended = max(0, tally.ended - tally.rejected)
    queued = max(0, tally.listed - ended - running)
    // Servers may claim any size, so that sums may be too large; that must not end the program.
    var (bytes, known, guessed) = (tally.finishedBytes, Double(tally.finishedBytes), 0.0)
    var (rests, sizes) = ([Double](), sizes)
    for file in active {
      bytes += file.position
      guard let total = file.total else { continue }
      known += Double(total)
      rests.append(Double(max(0, total - file.position)))
      sizes.append(Double(total))
    }
    // As large as those that had more; the largest first, so that it counts for the others.
    let positions = active.lazy.filter { $0.total == nil }.map { Double($0.position) }.sorted(by: >)
    for position in positions {
      let larger = sizes.filter { $0 > position }
      let size = larger.isEmpty ? position * (sizes.isEmpty ? 1 : 1.5) : larger.reduce(0, +) / Double(larger.count)
      guessed += size
      rests.append(size - position)
      sizes.append(size)
    }
    (self.rests, self.sizes) = (rests, sizes)
    unknownSizes = positions.count + queued
    let (begun, lost, expected) = (tally.done + running, ended - tally.done, tally.expected)
    let mean = begun > 0 ? (known + guessed) / Double(begun) : Double(expected.bytes) / Double(max(1, expected.files))
    // Side by side, small files end first, which is no trend.
    let next = running < 2 ? Self.trend(of: sizes.dropLast(positions.count), ahead: queued, mean) : mean
    guessed += next * Double(queued)
    let all = begun + queued + lost
    let others = Double(max(0, all - expected.files)) * mean
    let missing = (Double(expected.bytes) + others - known) * Double(unknownSizes) / Double(max(1, unknownSizes + lost))
    // Else nothing was remembered, or the files have grown, and it says nothing.
    let fits = expected.files > 0 && unknownSizes > 0 && missing > 0
    let whole = Int64(min(known + (fits ? missing : guessed), 1e18))
    let isRemembered = fits && expected.files * 10 >= all * 9
    totalBytes = tally.listIsComplete && (unknownSizes == 0 || isRemembered) ? whole : nil
    (self.bytes, remaining) = (bytes, max(0, whole - bytes))
    isByFiles = totalBytes == nil
  }

  /// The mean size of files to come: where sizes fall or rise along a list by more than chance has them do, that of the
  /// middle one, if they go on so for at most twice what has been seen of it.
  private static func trend(of sizes: ArraySlice<Double>, ahead: Int, _ mean: Double) -> Double {
    var line = FittedLine()
    // Files of one frame have their mean, and are one.
    for (size, next) in zip(sizes, sizes.dropFirst() + [0]) where size != next { line.add(line.count, log(size + 1)) }
    guard line.count > 3, pow(line.common, 2) > 16 * line.spread * line.rest / (line.count - 2) else { return mean }
    // From the middle of the line to its end, and on to the middle of what is to come.
    let (slope, end) = (line.common / line.spread, line.count / 2)
    let last = exp(line.y / line.count + slope * end)
    return min(max(last * exp(slope * min(Double(ahead) / 2, line.count)), min(last, mean / 4)), max(last, mean * 4))
  }

  /// How many times longer the run takes where each place, a file that runs and those that follow it there, has a speed
  /// of its own, than where all share one: what the fullest place has, by the mean. Files that have not begun come to
  /// the place that is free first, and are as large as those before them.
  var imbalance: Double {
    guard !rests.isEmpty, remaining > 0 else { return 1 }
    let (waiting, sum) = (Double(remaining) - rests.reduce(0, +), sizes.reduce(0, +))
    var places = Heap(rests)
    // The last of them are enough.
    for number in 0..<(sum > 0 ? min(queued, 256) : 0) {
      let size = sizes[number % sizes.count] * Double(sizes.count) / sum * max(0, waiting) / Double(queued)
      places.replaceMin(with: (places.min ?? 0) + size)
    }
    let all = places.unordered.reduce(0, +)
    return 1 + ((places.max ?? 0) * Double(places.count) - all) / max(all, Double(remaining))
  }

  /// From 0 to 1; nil where there is nothing to compare with: no end of the list, or a single file of unknown size.
  var fraction: Double? { isByFiles ? fractionOfFiles : fractionOfBytes }

  fileprivate var fractionOfBytes: Double? {
    tally.listed > 0 ? FileProgress(position: bytes, start: 0, total: totalBytes).fraction : nil
  }

  fileprivate var fractionOfFiles: Double? {
    guard tally.listIsComplete, tally.listed > 1 else { return nil }
    return Double(tally.listed - queued - running) / Double(tally.listed)
  }
}

/// What the total line needs to remember from frame to frame.
struct RunTotal: Sendable {
  private var rate = RateEstimate(start: .zero)
  private var pace: RunPace?
  /// Of the files that were done last, and what was done by then.
  private var sizes: [Double] = []
  private var done = (files: 0, bytes: Int64(0))
  private var (received, moved) = (Int64(0), Int64(0))
  /// Whether the bar was of files.
  private var wasByFiles = false

  /// - Parameter longest: the longest time that one of the files still takes; nil where none is known.
  mutating func update(
    _ sample: ProgressSample, active: some Collection<FileProgress>, longest: Duration? = nil,
    hasStalled: Bool = false, isPaused: Bool = false, at now: Duration
  ) -> TotalLine.Content {
    rate.add(bytes: sample.received - received, at: now)
    received = sample.received
    note(sample.tally)
    var progress = RunProgress(sample.tally, active: active, sizes: sizes)
    // It never goes back: 50 of 60 files may have a third of the bytes.
    if wasByFiles, let files = progress.fractionOfFiles, let bytes = progress.fractionOfBytes, bytes < files {
      progress.isByFiles = true
    }
    wasByFiles = progress.isByFiles
    let tally = sample.tally
    // What was here already counts as moved, but not what earlier runs had of unfinished files.
    let sum = received + tally.finishedBytes - tally.transferredBytes - tally.resumedBytes
    if isPaused || pace == nil { pace = RunPace(start: now) } else { pace?.add(bytes: sum - moved, progress, at: now) }
    moved = sum
    let timeLeft = pace?.timeLeft(progress, longest: longest ?? .zero, at: now)
    return TotalLine.Content(
      progress: progress, step: rate.step, rate: rate.rate(at: now), timeLeft: tally.listIsComplete ? timeLeft : nil,
      isEstimate: progress.unknownSizes > 0 || hasStalled)
  }

  private mutating func note(_ tally: ProgressTally) {
    let (files, bytes) = (tally.done - done.files, tally.finishedBytes - done.bytes)
    done = (tally.done, tally.finishedBytes)
    guard files > 0, bytes >= 0 else { return }
    sizes = (sizes + repeatElement(Double(bytes) / Double(files), count: min(files, 64))).suffix(64)
  }
}

/// How far a run has come, by the rule of the total line; for other processes.
public struct RunOutlook: Sendable {
  private var total = RunTotal()
  /// How much is done, from 0 to 1; nil while unknown.
  public private(set) var fraction: Double?
  public private(set) var timeLeft: Duration?

  public init() {}

  /// - Parameter now: since the start.
  public mutating func update(_ sample: ProgressSample, at now: Duration) {
    let content = total.update(sample, active: sample.active.map { FileProgress($0.meter) }, at: now)
    fraction = content.progress.fraction
    timeLeft = content.timeLeft
  }
}

/// How fast a run comes to its end, and how evenly.
struct RunPace: Sendable {
  private static let interval = Duration.milliseconds(500)

  private var rate: RateEstimate
  /// By now, and by the end of the last interval. Work is the time that all files together were under way.
  private var latest, mark: (time: Duration, bytes: Int64, work: Duration)
  /// Of the logarithms of the number of files and of the rate.
  private var (sharing, imbalance) = (FittedLine(), 1.0)

  init(start: Duration) {
    rate = RateEstimate(start: start)
    (latest, mark) = ((start, 0, .zero), (start, 0, .zero))
  }

  /// - Parameter bytes: moved since the last call.
  mutating func add(bytes: Int64, _ progress: RunProgress, at now: Duration) {
    // A stall that is over says nothing.
    if bytes > 0, rate.isStill(at: now) { rate = RateEstimate(start: now) }
    rate.add(bytes: bytes, at: now)
    latest = (now, latest.bytes + bytes, latest.work + (now - latest.time) * progress.running)
    let time = now - mark.time
    guard time >= Self.interval else { return }
    imbalance = progress.imbalance
    // At first connections begin, which says nothing either.
    let (files, bytes) = ((latest.work - mark.work) / time, latest.bytes - mark.bytes)
    if rate.age(at: now) > .seconds(1), files >= 0.5, bytes > 0 {
      sharing.add(log(files.rounded()), log(Double(bytes) / time.inSeconds))
    }
    mark = latest
  }

  /// Nil before it has settled, and in a stall.
  /// - Parameter longest: how long one of the files still takes at its own speed.
  func timeLeft(_ progress: RunProgress, longest: Duration, at now: Duration) -> Duration? {
    guard let even = rate.timeLeft(remaining: progress.remaining, at: now) else { return nil }
    // Files count where there is nothing to know of their bytes.
    if progress.remaining == 0, progress.queued > 0 {
      return progress.tally.ended > 0 ? now * (Double(progress.queued) / Double(progress.tally.ended)) : nil
    }
    return even * pow(max(imbalance, longest / max(even, .milliseconds(1))), exponent)
  }

  /// How the speed of a run goes with the number of its files. It is 0 where they share what there is, 1 where each has
  /// a speed of its own. Until the number has changed, it is the less the steadier the speed: the sum of what servers
  /// grant their connections varies more than a line that is full.
  private var exponent: Double {
    guard sharing.count > 1 else { return 0.5 }
    let noise = sharing.rest / sharing.count
    let (guess, doubt) = (min(0.1 + 6 * noise.squareRoot(), 1), 0.02 + 10 * noise)
    return min(max(0, (sharing.common + doubt * guess) / (sharing.spread + doubt)), 1)
  }
}

/// The line through points that leaves the least squares.
struct FittedLine: Sendable {
  private(set) var (count, x, y, xx, xy, yy) = (0.0, 0.0, 0.0, 0.0, 0.0, 0.0)

  mutating func add(_ x: Double, _ y: Double) {
    (count, self.x, self.y) = (count + 1, self.x + x, self.y + y)
    (xx, xy, yy) = (xx + x * x, xy + x * y, yy + y * y)
  }

  var spread: Double { xx - x * x / count }
  var common: Double { xy - x * y / count }
  var rest: Double { max(0, yy - y * y / count - (spread > 1e-9 ? common * common / spread : 0)) }
}

/// The speed of the last seconds.
struct RateEstimate: Sendable {
  /// Before it, a guess at the end is worth nothing.
  static let settlingTime = Duration.seconds(2)

  /// How many half seconds the shown rate is of.
  private static let shown = 6

  /// Time without a byte that makes a stall.
  static let stallTime = Duration.seconds(5)

  /// The last moment before there were bytes: waiting for a first answer says nothing about speed.
  private var start: Duration
  private var latest: Duration
  private var frames = 0
  /// Bytes that came without time having passed.
  private var pending: Int64 = 0
  /// The bytes of the last twenty half seconds, each in the place of its number.
  private var pieces = InlineArray<20, Int64>(repeating: 0)
  /// The number of the last one in which bytes came.
  private var piece = 0

  init(start: Duration) { (self.start, latest) = (start, start) }

  /// Grows with every second frame in which bytes came: ten steps a second at most.
  var step: Int { frames / 2 }

  /// Takes bytes that arrived since the last call, in the last frame.
  mutating func add(bytes: Int64, at now: Duration) {
    guard bytes > 0 else {
      if frames == 0 { (start, latest) = (now, now) }
      return
    }
    frames += 1
    pending += bytes
    guard now > latest else { return }
    let number = number(at: now)
    for passed in max(piece, number - pieces.count)..<max(piece, number) { pieces[(passed + 1) % pieces.count] = 0 }
    pieces[number % pieces.count] += pending
    (latest, pending, piece) = (now, 0, number)
  }

  /// Of the half second that has this moment in it, or at its end.
  private func number(at now: Duration) -> Int {
    max(0, Int(((now - start) / .milliseconds(500) - 1e-6).rounded(.up)) - 1)
  }

  /// Bytes a second, over so many half seconds.
  func rate(at now: Duration, over count: Int = shown) -> Double {
    let age = (now - start).inSeconds
    guard age > 0 else { return 0 }
    let first = max(0, number(at: now) - count + 1)
    var bytes: Int64 = 0
    for number in first..<max(first, piece + 1) { bytes += pieces[number % pieces.count] }
    return Double(bytes) / (age - Double(first) / 2)
  }

  /// Since the first bytes.
  func age(at now: Duration) -> Duration { now - start }

  func isStill(at now: Duration) -> Bool { now - latest >= Self.stallTime }

  /// Time until `remaining` bytes are there, at the rate of the last third of the time, but of 3 to 10 seconds, so that
  /// it neither jumps nor sticks; nil before that has settled and while nothing moves.
  func timeLeft(remaining: Int64, at now: Duration) -> Duration? {
    guard now - start >= Self.settlingTime, !isStill(at: now), remaining >= 0 else { return nil }
    let third = Int((latest - start) / .milliseconds(1500))
    let rate = rate(at: latest, over: min(max(third, Self.shown), pieces.count))
    return rate >= 1 ? .seconds(Double(remaining) / rate) : nil
  }
}
