public import DownloadModel

/// How many files are downloaded at a time where the user leaves it open (`--jobs auto`), decided by the rates that
/// result. It reads no clock; times are since the run began.
/// It begins with two, because servers of few workers are slower for all that come at once. Until a file has ended, it
/// doubles the number every few milliseconds, because distant servers answer late. Then it measures what the number
/// brings, adds one for each file that ends until the number has doubled, and measures again. If that brought no more
/// files or bytes, it goes back, and tries again after a rest, each time a longer one. It takes fewer, at most once in
/// a round, where transfers break. Refusals concern the hosts and not the run (`HostLimiter`, HTTP rule 39).
public struct AdaptiveConcurrency: Sendable, Equatable {
  public private(set) var ceiling: Int
  public private(set) var limit: Int
  public private(set) var lesson = WidthLesson.nothing
  /// The number to go back to if more brings no more.
  private var base: Int
  private var mark = Mark(time: .zero, files: 0, bytes: 0)
  private var best = Rates(files: 0, bytes: 0)
  private var phase = Phase.opening(began: nil, due: .zero)
  private var rest = Self.shortRest
  /// Files in flight at the last halving that may still be: the breaks of these are counted.
  private var round = 0

  private enum Phase: Equatable {
    /// No file has ended. Widens at `due`, if as many are under way as may be.
    case opening(began: Duration?, due: Duration)
    /// A file has ended, and nothing is measured yet.
    case begun
    /// Measuring what the base brings.
    case gauging
    /// Taking one more for each that ends.
    case growing
    /// Measuring whether the current limit brings more than the base.
    case judging
    case holding(until: Duration)
  }

  private struct Mark: Equatable {
    let time: Duration
    let files: Int
    let bytes: Int64
  }

  private struct Rates: Equatable {
    /// Per second.
    var files: Double
    var bytes: Double
    var count = 0

    /// The factor by which the better of the two grew.
    func gain(over other: Rates) -> Double {
      max(other.files > 0 ? files / other.files : 0, other.bytes > 0 ? bytes / other.bytes : 0)
    }

    /// The gain that chance alone may bring: with two dozen files, a fifth was seen.
    func chance(over other: Rates) -> Double { 1 + 1 / Double(max(1, min(count, other.count))).squareRoot() }
  }

  private static let start = 2
  /// Few servers mind so many; more are not asked for in haste.
  private static let harmless = 24
  /// The factor by which a doubled number must raise a rate at least.
  private static let gain = 1.05
  /// A rate needs at least the first time, and so many files or the last time.
  private static let shortestMeasurement = Duration.milliseconds(8)
  private static let (tellingFiles, longestMeasurement) = (24, Duration.milliseconds(20))
  /// From one widening to the next while nothing has been answered. A near server answers sooner.
  private static let patience = Duration.milliseconds(3)
  /// A connection that the server leaves waiting costs as much.
  private static let worthwhile = Duration.milliseconds(40)
  /// The first rest before it tries more again, and the longest.
  private static let (shortRest, longRest) = (Duration.milliseconds(50), Duration.seconds(5))

  public init(ceiling: Int) {
    self.ceiling = max(1, ceiling)
    limit = min(Self.start, self.ceiling)
    base = limit
  }

  /// The user has said how many: more are not taken, and fewer only where transfers break.
  mutating func follow(_ count: Int) {
    ceiling = max(1, count)
    (limit, base) = (ceiling, ceiling)
    (phase, lesson) = (.holding(until: .zero), .nothing)
  }

  var isOpening: Bool { if case .opening = phase { limit < ceiling } else { false } }

  /// Widens the limit while it is reached and no file has ended.
  /// - Returns: when to call it again; nil for never.
  mutating func wait(at now: Duration, received: Int64) -> Duration? {
    guard case .opening(let first, var due) = phase, limit < ceiling else { return nil }
    guard let began = first else {
      phase = .opening(began: now, due: now + Self.patience)
      return now + Self.patience
    }
    guard now >= due else { return due }
    // Where bytes come, the server is near and the files are long: nothing is gained by haste.
    let isAnswered = received > 0
    let most = isAnswered ? min(Self.harmless, ceiling) : ceiling
    guard limit < most else { return nil }
    limit = min(most, limit * 2)
    base = limit
    if limit == ceiling, !isAnswered { lesson = .slowAnswers }
    due = now + (isAnswered ? max(Self.patience, now - began) : Self.patience)
    phase = .opening(began: began, due: due)
    return limit < most ? due : nil
  }

  /// Notes that a file ended without breaking.
  /// - Parameter isFull: whether as many were in flight as the limit allows; if not, the limit had no effect.
  /// - Returns: whether `measure` must be called now, so that the clock is read only where it matters.
  mutating func ended(files: Int, isFull: Bool) -> Bool {
    if round > 0 { round -= 1 }
    if case .opening = phase { phase = .begun }
    guard isFull, limit < ceiling || phase == .judging else { return false }
    switch phase {
    case .opening, .begun, .holding: return true
    case .growing:
      limit += 1
      return limit >= min(ceiling, base * 2)
    case .gauging, .judging: return files - mark.files >= limit
    }
  }

  /// - Parameter left: how many files have not begun; nil where that is not known.
  mutating func measure(files: Int, at now: Duration, received: Int64, left: Int?) {
    let moment = Mark(time: now, files: files, bytes: received)
    switch phase {
    case .opening, .begun:
      (mark, phase) = (moment, .gauging)
    case .gauging:
      guard let rates = rates(from: mark, to: moment) else { return }
      (mark, best) = (moment, rates)
      grow(moment, left)
    case .growing:
      (mark, phase) = (moment, .judging)
    case .judging:
      guard let rates = rates(from: mark, to: moment) else { return }
      mark = moment
      judge(rates, moment, left)
    case .holding(let until):
      guard now >= until else { return }
      (mark, phase) = (moment, .gauging)
    }
  }

  private mutating func judge(_ rates: Rates, _ moment: Mark, _ left: Int?) {
    let gain = rates.gain(over: best)
    guard gain > max(Self.gain, rates.chance(over: best)) else {
      lesson = .noGain(from: limit, limit: base, gain: gain)
      limit = base
      phase = .holding(until: moment.time + rest)
      rest = min(rest * 2, Self.longRest)
      return
    }
    lesson = limit == ceiling ? .allowed(gain: gain) : .gained(gain)
    (best, base, rest) = (rates, limit, Self.shortRest)
    grow(moment, left)
  }

  /// Takes more from now on, if what is left is worth it.
  private mutating func grow(_ moment: Mark, _ left: Int?) {
    phase = .growing
    guard let left, best.files > 0, .seconds(Double(left) / best.files) < Self.worthwhile else { return }
    if lesson == .nothing { lesson = .littleWasLeft }
    phase = .holding(until: moment.time + Self.worthwhile)
  }

  private func rates(from: Mark, to: Mark) -> Rates? {
    let (time, count) = (to.time - from.time, to.files - from.files)
    guard time >= Self.shortestMeasurement, count >= Self.tellingFiles || time >= Self.longestMeasurement
    else { return nil }
    let seconds = time / .seconds(1)
    return Rates(files: Double(count) / seconds, bytes: Double(to.bytes - from.bytes) / seconds, count: count)
  }

  mutating func failed(at now: Duration) {
    round -= 1
    guard round < 0 else { return }
    round = limit - 1
    limit = max(1, limit / 2)
    (base, lesson, phase) = (limit, .broke, .holding(until: now + Self.longRest))
  }
}
