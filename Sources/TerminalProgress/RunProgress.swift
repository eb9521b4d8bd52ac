import DownloadModel
import Glibc

/// What the whole run amounts to at one moment.
struct RunProgress: Sendable, Equatable {
  let tally: ProgressTally
  /// Bytes of files that are there, unfinished ones included; an attempt that failed takes its bytes back.
  let bytes: Int64
  /// Bytes of all files together; nil while a size is unknown.
  let totalBytes: Int64?
  /// Bytes that are known to be missing.
  let remaining: Int64
  /// Files, listed so far, whose size is not known yet.
  let unknownSizes: Int
  /// Requests of the list that have not begun.
  let queued: Int
  let running: Int

  /// - Parameter rejected: lines that were no request; the tally counts them as failed.
  init(_ tally: ProgressTally, rejected: Int, active: some Collection<FileProgress>) {
    self.tally = tally
    running = active.count
    var (bytes, total, remaining, unknown) = (tally.finishedBytes, tally.finishedBytes, Int64(0), 0)
    for file in active {
      bytes += file.position
      total += file.total ?? 0
      remaining += file.remaining ?? 0
      if file.total == nil { unknown += 1 }
    }
    queued = max(0, tally.listed - max(0, tally.ended - rejected) - running)
    unknownSizes = unknown + queued
    totalBytes = tally.listIsComplete && unknownSizes == 0 ? total : nil
    (self.bytes, self.remaining) = (bytes, remaining)
  }

  /// Of the bytes, from 0 to 1; nil while a size is unknown.
  var fraction: Double? {
    guard let totalBytes, tally.listed > 0 else { return nil }
    return totalBytes > 0 ? min(1, Double(bytes) / Double(totalBytes)) : 1
  }
}

/// What the total line needs to remember from frame to frame.
struct RunTotal: Sendable {
  private var rate = RateEstimate(start: .zero)
  private var received: Int64 = 0
  private var rejected = 0

  /// - Parameter longest: the longest time that one of the files still takes; nil where none is known.
  mutating func update(
    _ sample: ProgressSample, active: some Collection<FileProgress>, longest: Duration? = nil, hasStalled: Bool = false,
    at now: Duration
  ) -> TotalLine.Content {
    rate.add(bytes: sample.received - received, at: now)
    received = sample.received
    for event in sample.events {
      if case .rejected = event { rejected += 1 }
      if case .watch(.changed(let change)) = event { rejected -= change.mended }
    }
    let progress = RunProgress(sample.tally, rejected: rejected, active: active)
    // The run does not end before its last file, however fast those were that are done.
    let timeLeft = rate.timeLeft(remaining: progress.remaining, at: now).map { max($0, longest ?? .zero) }
    return TotalLine.Content(
      progress: progress, step: rate.step, rate: rate.rate(at: now), timeLeft: timeLeft,
      isBound: progress.totalBytes == nil || hasStalled)
  }
}

/// Speed as an exponential average over time, averaged once more so that it neither jumps nor sticks. A sample counts
/// for a tenth after 15 seconds: w(a) = 0.1^(a / 15 s). The estimate begins at nothing, so it is divided by the weight
/// it can have had, 1 − w(now − start). Time without bytes weighs like any other.
struct RateEstimate: Sendable {
  /// Before it, a guess at the end is worth nothing.
  private static let settlingTime = Duration.seconds(2)

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
    let weight = Self.weight(elapsed)
    once = once * weight + Double(pending) / elapsed * (1 - weight)
    let normalized = once / (1 - Self.weight((now - start).inSeconds))
    twice = twice * weight + normalized * (1 - weight)
    latest = now
    pending = 0
  }

  /// Bytes a second.
  func rate(at now: Duration) -> Double {
    let age = (now - start).inSeconds
    guard age > 0 else { return 0 }
    let quiet = max(0, (now - latest).inSeconds)
    let stall = Self.stallTime.inSeconds
    // Down to nothing in as much time again: there is no speed in what does not move.
    let fading = quiet <= stall ? 1 : max(0, 2 - quiet / stall)
    return fading == 0 ? 0 : twice * Self.weight(quiet) / (1 - Self.weight(age)) * fading
  }

  /// Time until `remaining` bytes are there; nil before the rate has settled and while nothing moves.
  func timeLeft(remaining: Int64, at now: Duration) -> Duration? {
    guard now - start >= Self.settlingTime, remaining >= 0 else { return nil }
    let rate = rate(at: now)
    guard rate >= 1 else { return nil }
    return .seconds(Double(remaining) / rate)
  }

  private static func weight(_ seconds: Double) -> Double { exp(seconds * decay) }
  /// A tenth after 15 seconds; as a factor, since a power would cost three times as much.
  private static let decay = log(0.1) / 15
}
