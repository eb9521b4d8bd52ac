import DownloadModel
import Glibc

/// What the whole run amounts to at one moment.
struct RunProgress: Sendable, Equatable {
  let tally: ProgressTally
  /// Bytes of files that are there, unfinished ones included; an attempt that failed takes its bytes back.
  let bytes: Int64
  /// Bytes of all files together; nil where sizes are unknown, and were not remembered either.
  let totalBytes: Int64?
  /// Bytes that are missing; files of unknown size have those that were remembered, else as many as the others on
  /// average.
  let remaining: Int64
  /// Files, listed so far, whose size no server has given yet: with them, the two above are estimates.
  let unknownSizes: Int
  /// Requests of the list that have not begun.
  let queued: Int
  let running: Int
  /// Whether bar and percentage are of files, not of bytes.
  fileprivate(set) var isByFiles: Bool

  init(_ tally: ProgressTally, active: some Collection<FileProgress>) {
    self.tally = tally
    running = active.count
    var (bytes, known, remaining, unknown) = (tally.finishedBytes, tally.finishedBytes, Int64(0), 0)
    // Servers may claim any size, so that sums may be too large; that must not end the program.
    for file in active {
      bytes += file.position
      known &+= file.total ?? 0
      // What has come of a file of unknown size is no longer missing.
      remaining &+= file.remaining ?? -file.position
      if file.total == nil { unknown += 1 }
    }
    let ended = max(0, tally.ended - tally.rejected)
    queued = max(0, tally.listed - ended - running)
    unknownSizes = unknown + queued
    let rest = Self.rest(
      of: unknownSizes, known: known, files: tally.done + running - unknown, lost: ended - tally.done, tally.expected)
    totalBytes = tally.listIsComplete && (unknownSizes == 0 || rest.isRemembered) ? known &+ rest.bytes : nil
    (self.bytes, self.remaining) = (bytes, max(0, remaining &+ rest.bytes))
    isByFiles = totalBytes == nil
  }

  /// What files of unknown size have together, where `files` others have the known bytes and some are lost; and whether
  /// nearly all of it was remembered.
  static func rest(
    of unknown: Int, known: Int64, files: Int, lost: Int, _ expected: ExpectedSizes
  ) -> (bytes: Int64, isRemembered: Bool) {
    guard unknown > 0 else { return (0, false) }
    let (all, mean) = (files + unknown + lost, files > 0 ? Double(known) / Double(files) : nil)
    if expected.files > 0 {
      let others = Double(max(0, all - expected.files)) * (mean ?? Double(expected.bytes) / Double(expected.files))
      let missing = (Double(expected.bytes) + others - Double(known)) * Double(unknown) / Double(unknown + lost)
      // Else the files have grown, and what was remembered says nothing.
      if missing > 0 { return (Int64(min(missing, 1e18)), expected.files * 10 >= all * 9) }
    }
    return (Int64(min((mean ?? 0) * Double(unknown), 1e18)), false)
  }

  /// From 0 to 1; nil where there is nothing to compare with: no end of the list, or a single file of unknown size.
  var fraction: Double? { isByFiles ? fractionOfFiles : fractionOfBytes }

  fileprivate var fractionOfBytes: Double? {
    guard let totalBytes, tally.listed > 0 else { return nil }
    return totalBytes > 0 ? min(1, Double(bytes) / Double(totalBytes)) : 1
  }

  fileprivate var fractionOfFiles: Double? {
    guard tally.listIsComplete, tally.listed > 1 else { return nil }
    return Double(tally.listed - queued - running) / Double(tally.listed)
  }
}

/// What the total line needs to remember from frame to frame.
struct RunTotal: Sendable {
  private var rate = RateEstimate(start: .zero)
  private var pace = RunPace()
  private var received: Int64 = 0
  /// Whether the bar was of files.
  private var wasByFiles = false

  /// - Parameter longest: the longest time that one of the files still takes; nil where none is known.
  mutating func update(
    _ sample: ProgressSample, active: some Collection<FileProgress>, longest: Duration? = nil,
    hasStalled: Bool = false, isPaused: Bool = false, at now: Duration
  ) -> TotalLine.Content {
    rate.add(bytes: sample.received - received, at: now)
    received = sample.received
    var progress = RunProgress(sample.tally, active: active)
    // It never goes back: 50 of 60 files may have a third of the bytes.
    if wasByFiles, let files = progress.fractionOfFiles, let bytes = progress.fractionOfBytes, bytes < files {
      progress.isByFiles = true
    }
    wasByFiles = progress.isByFiles
    let tally = sample.tally
    // What was here already counts as moved, but not what earlier runs had of unfinished files.
    let moved = received + tally.finishedBytes - tally.transferredBytes - tally.resumedBytes
    if isPaused { pace = RunPace() } else { pace.add(bytes: moved, progress, at: now) }
    let timeLeft = pace.timeLeft(progress, longest: longest ?? .zero, at: now)
    return TotalLine.Content(
      progress: progress, step: rate.step, rate: rate.rate(at: now), timeLeft: tally.listIsComplete ? timeLeft : nil,
      isEstimate: progress.unknownSizes > 0 || hasStalled)
  }
}

/// How fast a run comes to its end: over the last third of its time, but at least 3 and at most 10 seconds, so that it
/// holds some files, and no longer what once was.
struct RunPace: Sendable {
  private struct Mark { var time: Duration, bytes: Int64, files: Int, running: Int }

  private static let interval = Duration.milliseconds(500)
  private static let (shortest, longest) = (Duration.seconds(3), Duration.seconds(10))

  private var marks: [Mark] = []
  private var begin = Duration.zero
  /// Of the last move.
  private var latest = Mark(time: .zero, bytes: 0, files: 0, running: 0)
  private var sharing = Sharing()

  /// - Parameter bytes: moved so far.
  mutating func add(bytes: Int64, _ progress: RunProgress, at now: Duration) {
    let mark = Mark(time: now, bytes: bytes, files: progress.tally.ended, running: progress.running)
    func hasMoved(since earlier: Mark) -> Bool { bytes != earlier.bytes || mark.files != earlier.files }
    // The time before the first byte says nothing, nor does a stall that is over.
    guard let first = marks.first, marks.count > 1 || hasMoved(since: first) else {
      return (begin, latest, marks) = (now, mark, [mark])
    }
    guard hasMoved(since: latest) else { return }
    let pause = now - latest.time
    if pause >= RateEstimate.stallTime {
      begin += pause
      for index in marks.indices { marks[index].time += pause }
    }
    latest = mark
    guard let last = marks.last, now - last.time >= Self.interval else { return }
    let (files, rate) = (last.running + mark.running, Double(bytes - last.bytes) / (now - last.time).inSeconds)
    sharing.add(files: Double(files) / 2, rate: rate)
    marks.append(mark)
    if now - marks[1].time >= Self.longest { marks.removeFirst() }
  }

  /// Nil before it has settled, and in a stall.
  /// - Parameter longest: how long one of the files still takes at its own speed.
  func timeLeft(_ progress: RunProgress, longest: Duration, at now: Duration) -> Duration? {
    guard now - begin >= RateEstimate.settlingTime, now - latest.time < RateEstimate.stallTime else { return nil }
    let span = min(max((latest.time - begin) / 3, Self.shortest), Self.longest)
    guard let mark = marks.last(where: { latest.time - $0.time >= span }) ?? marks.first, latest.time > mark.time
    else { return nil }
    let (time, bytes, files) = (latest.time - mark.time, latest.bytes - mark.bytes, latest.files - mark.files)
    guard bytes > 0, progress.remaining > 0 else {
      // Files count where there is nothing to know of their bytes.
      let left = Double(progress.queued + progress.running)
      return files > 0 && progress.remaining == 0 ? time * (left / Double(files)) : nil
    }
    let even = time * (Double(progress.remaining) / Double(bytes))
    return even * pow(max(1, longest / max(even, .milliseconds(1))), sharing.exponent)
  }
}

/// How the speed of a run goes with the number of its files: the slope of a line through the logarithms of both. It is
/// 0 where they share what there is, 1 where each has a speed of its own, and in between until that is known.
struct Sharing: Sendable {
  private static let (doubt, unknown) = (0.02, 0.5)
  private var (count, x, y, xx, xy) = (0.0, 0.0, 0.0, 0.0, 0.0)

  mutating func add(files: Double, rate: Double) {
    guard files > 0, rate > 0 else { return }
    let (files, rate) = (log(files), log(rate))
    (count, x, y, xx, xy) = (count + 1, x + files, y + rate, xx + files * files, xy + files * rate)
  }

  var exponent: Double {
    guard count > 0 else { return Self.unknown }
    let (spread, slope) = (xx - x * x / count, xy - x * y / count)
    return min(max(0, (slope + Self.doubt * Self.unknown) / (spread + Self.doubt)), 1)
  }
}

/// The speed of the last three seconds, which is shown; and, for the time left, an exponential average over time,
/// averaged once more so that it neither jumps nor sticks. A sample counts for w(a) = 0.1^(a / 15 s). The average
/// begins at nothing, so it is divided by the weight it can have had, 1 − w(now − start).
struct RateEstimate: Sendable {
  /// Before it, a guess at the end is worth nothing.
  static let settlingTime = Duration.seconds(2)

  /// Time without a byte that makes a stall.
  static let stallTime = Duration.seconds(5)

  /// The last moment before there were bytes: waiting for a first answer says nothing about speed.
  private var start: Duration
  private var latest: Duration
  private var frames = 0
  private var once = 0.0
  private var twice = 0.0
  /// Bytes that came without time having passed.
  private var pending: Int64 = 0
  /// The bytes of the last six half seconds, each in the place of its number.
  private var pieces = InlineArray<6, Int64>(repeating: 0)
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
    let elapsed = (now - latest).inSeconds
    guard elapsed > 0 else { return }
    put(pending, at: now)
    let weight = Self.weight(elapsed)
    once = once * weight + Double(pending) / elapsed * (1 - weight)
    let normalized = once / (1 - Self.weight((now - start).inSeconds))
    twice = twice * weight + normalized * (1 - weight)
    latest = now
    pending = 0
  }

  private mutating func put(_ bytes: Int64, at now: Duration) {
    let number = number(at: now)
    for passed in max(piece, number - pieces.count)..<max(piece, number) { pieces[(passed + 1) % pieces.count] = 0 }
    piece = number
    pieces[number % pieces.count] += bytes
  }

  /// Of the half second that has this moment in it, or at its end.
  private func number(at now: Duration) -> Int {
    max(0, Int(((now - start) / .milliseconds(500) - 1e-6).rounded(.up)) - 1)
  }

  /// Bytes a second.
  func rate(at now: Duration) -> Double {
    let age = (now - start).inSeconds
    guard age > 0 else { return 0 }
    let first = max(0, number(at: now) - pieces.count + 1)
    var bytes: Int64 = 0
    for number in first..<max(first, piece + 1) { bytes += pieces[number % pieces.count] }
    return Double(bytes) / (age - Double(first) / 2)
  }

  /// Bytes a second, for what takes long.
  func steadyRate(at now: Duration) -> Double {
    let age = (now - start).inSeconds
    return age > 0 ? twice * Self.weight(max(0, (now - latest).inSeconds)) / (1 - Self.weight(age)) : 0
  }

  /// Time until `remaining` bytes are there; nil before the rate has settled and while nothing moves.
  func timeLeft(remaining: Int64, at now: Duration) -> Duration? {
    guard now - start >= Self.settlingTime, now - latest < Self.stallTime, remaining >= 0 else { return nil }
    let rate = steadyRate(at: now)
    guard rate >= 1 else { return nil }
    return .seconds(Double(remaining) / rate)
  }

  private static func weight(_ seconds: Double) -> Double { exp(seconds * decay) }
  /// A tenth after 15 seconds; as a factor, since a power would cost three times as much.
  private static let decay = log(0.1) / 15
}
