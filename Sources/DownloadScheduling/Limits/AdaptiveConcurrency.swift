import DownloadModel

/// How many files are downloaded at a time under `--jobs auto`, decided by the measured goodput. It reads no clock;
/// times are measured from the start of the run.
///
/// It starts with two, because servers with few workers serve all requests more slowly when many arrive at once. While
/// no file ends, it doubles the number, because distant servers answer late.
///
/// After the first files it measures. A doubled width is kept if its goodput is at least a twentieth higher than that
/// of the previous width, measured before or after the trial: this machine may have slowed meanwhile. Else it tries
/// half the width once, and rests, each time longer, before it tries more. It also tries fewer when the goodput has
/// fallen.
///
/// Broken transfers halve the width, once a round. Refusals concern only their hosts (`HostLimiter`, HTTP rule 39).
package struct AdaptiveConcurrency {
  private var ceiling: Int
  private(set) var limit: Int
  private(set) var lesson = WidthLesson.nothing
  /// The width that is kept, and the one that `limit` moves to: they differ during a trial.
  private var base, aim: Int
  /// The goodput of each width when it was last used, smoothed.
  private var goodputs: [Int: Goodput] = [:]
  private var phase = Phase.opening()
  /// Files that started at another width and have not ended: they are not measured.
  private var strangers = warmUp
  /// Start of the current measurement; `nil` if none has started.
  private var mark: Mark?
  private var rest = shortRest
  /// Files in flight at the last halving that may not have ended: further breaks among them do not halve again.
  private var round = 0

  private enum Phase: Equatable {
    /// At most a few files have ended. Widens at `due` if the limit is reached.
    case opening(began: Duration? = nil, due: Duration = .zero)
    case measuring
    case resting(until: Duration)
    /// The user set the number.
    case told
  }

  private struct Mark {
    let time: Duration
    let files: Int
    let bytes: Int64
    /// Files that ended while fewer were in flight than the limit allows.
    var idle = 0
  }

  private struct Goodput {
    var files, bytes, seconds: Double

    /// `nil` if the measurement is too short.
    init?(from: Mark, to: Mark) {
      let time = to.time - from.time
      files = Double(to.files - from.files)
      bytes = Double(to.bytes - from.bytes)
      seconds = time / .seconds(1)
      guard time >= shortestMeasurement, files >= tellingFiles || time >= longestMeasurement else { return nil }
    }

    /// Adds a measurement. At first all measurements count the same; later the newest count more.
    func adding(_ last: Goodput) -> Goodput {
      let share = min(1, (memory * max(tellingFiles, last.files) - last.files) / files)
      var sum = last
      sum.files += files * share
      sum.bytes += bytes * share
      sum.seconds += seconds * share
      return sum
    }

    /// Compares bytes a second if files are large, and files a second if they are small.
    func gain(over other: Goodput) -> Double {
      let isLarge = bytes + other.bytes >= averageOfLargeFiles * (files + other.files)
      let (mine, others) = isLarge ? (bytes, other.bytes) : (files, other.files)
      return others > 0 ? mine / others * other.seconds / seconds : 1
    }

    /// Whether the goodput is higher by more than chance explains: with two dozen files each, differences of a fifth
    /// were seen.
    func beats(_ other: Goodput) -> Bool {
      gain(over: other) > max(leastGain, 1 + ((1 / files + 1 / other.files) / 2).squareRoot())
    }
  }

  package init(ceiling: Int) {
    self.ceiling = max(1, ceiling)
    limit = min(start, self.ceiling)
    base = limit
    aim = limit
  }

  /// The user set the number: it is never exceeded, and reduced only when transfers break.
  mutating func follow(_ count: Int) {
    self = AdaptiveConcurrency(ceiling: count)
    limit = ceiling
    base = ceiling
    aim = ceiling
    phase = .told
  }

  var isOpening: Bool { if case .opening = phase { limit < ceiling } else { false } }

  /// Widens the limit while it is reached and no file has ended.
  /// - Returns: when to call it again; `nil` for never.
  mutating func wait(at now: Duration, received: Int64) -> Duration? {
    guard case .opening(let first, var due) = phase, limit < ceiling else { return nil }
    guard let began = first else {
      phase = .opening(began: now, due: now + patience)
      return now + patience
    }
    guard now >= due else { return due }
    // If bytes arrive, the server is near and the files are long: hurry gains nothing.
    let isAnswered = received > 0
    let most = isAnswered ? min(harmless, ceiling) : ceiling
    guard limit < most else { return nil }
    limit = min(most, limit * 2)
    base = limit
    aim = limit
    if limit == ceiling, !isAnswered {
      lesson = .slowAnswers
      rest = longRest
    }
    // The longer the silence, the more likely the server is distant.
    due = now + (isAnswered ? max(patience, now - began) : patience * start / limit)
    phase = .opening(began: began, due: due)
    return limit < most ? due : nil
  }

  /// Restarts the measurement of silence: no request was sent before.
  mutating func beginSilence() { if case .opening = phase { phase = .opening() } }

  /// Records a file that ended without breaking.
  /// - Parameter isFull: whether the limit was reached; if not, it had no effect.
  /// - Returns: whether `measure` must be called now. So the clock is read only when it matters.
  mutating func ended(files: Int, isFull: Bool) -> Bool {
    if round > 0 { round -= 1 }
    if phase == .told || ceiling == 1 { return false }
    guard isFull else {
      mark?.idle += 1
      return false
    }
    if strangers > 0 {
      strangers -= 1
      // One small file before large ones does not end the opening: silence is measured again from its end.
      if case .opening = phase { phase = strangers > 0 ? .opening() : .measuring }
      limit = min(aim, limit + 1)
      return false
    }
    return mark.map { files - $0.files >= limit } ?? true
  }

  /// - Parameter left: how many files have not started; `nil` if unknown.
  mutating func measure(files: Int, at now: Duration, received: Int64, left: Int?) {
    let moment = Mark(time: now, files: files, bytes: received)
    // If the limit was rarely reached, the measurement says nothing about it.
    guard let last = mark, last.idle * 2 < files - last.files else { return mark = moment }
    guard let sample = Goodput(from: last, to: moment) else { return }
    mark = moment
    let goodput = goodputs[limit]?.adding(sample) ?? sample
    goodputs[limit] = goodput
    switch phase {
    case .measuring where limit == base: attempt(wider, at: now, left)
    case .measuring: judge(goodput, at: now, left)
    case .resting where goodputs[wider].map { goodput.files < $0.files && $0.beats(goodput) } ?? false:
      attempt(wider, at: now, left)
    case .resting(let until) where now >= until:
      // The width may be too high by now. If the opening reached the ceiling, fewer were never measured.
      let isLess = base > 1 && goodputs[smaller].map { !goodput.beats($0) } ?? (base == ceiling)
      attempt(isLess ? smaller : wider, at: now, left)
    default: break
    }
  }

  private var wider: Int { min(ceiling, base * 2) }
  private var smaller: Int { max(1, base / 2) }

  /// Compares the tried width with the kept one, and keeps the better.
  private mutating func judge(_ tried: Goodput, at now: Duration, _ left: Int?) {
    guard let kept = goodputs[base] else { return }
    let (wide, narrow) = limit > base ? (tried, kept) : (kept, tried)
    let gain = wide.gain(over: narrow)
    let isGain = wide.beats(narrow)
    // A result that may be chance, or a short stall of this machine, is measured longer.
    let mayBeChance = gain > leastGain && tried.files < memory * max(tellingFiles, Double(limit))
    if !isGain, mayBeChance || tried.seconds < stall { return }
    guard isGain else {
      lesson = .noGain(from: max(limit, base), limit: min(limit, base), gain: gain)
      base = min(limit, base)
      return attempt(goodputs[smaller] == nil ? smaller : base, at: now, left)
    }
    guard limit > base else { return attempt(base, at: now, left) }
    lesson = limit == ceiling ? .allowed(gain: gain) : .gained(gain)
    rest = shortRest
    base = limit
    attempt(wider, at: now, left)
  }

  /// Moves to a width as a trial, if the remaining files are worth it; else rests at the kept width.
  private mutating func attempt(_ width: Int, at now: Duration, _ left: Int?) {
    let left = left ?? .max
    let kept = goodputs[base]
    let isLittle = kept.map { Double(left) * $0.seconds < $0.files * worthwhile } ?? false
    if isLittle, lesson == .nothing { lesson = .littleWasLeft }
    aim = isLittle || width < base && left < base * roundsForFewer ? base : width
    // Its earlier goodput no longer counts.
    if aim != limit {
      strangers = limit
      mark = nil
      limit = min(limit, aim)
      goodputs[aim] = nil
    }
    if aim == base {
      phase = .resting(until: now + rest)
      rest = min(rest * 2, longRest)
    } else {
      phase = .measuring
    }
  }

  mutating func failed(at now: Duration) {
    round -= 1
    guard round < 0 else { return }
    round = limit - 1
    limit = max(1, limit / 2)
    base = limit
    aim = limit
    strangers = 0
    mark = nil
    goodputs = [:]
    lesson = .broke
    phase = .resting(until: now + longRest)
  }
}

/// The initial width, which few servers object to.
private let start = 2
/// The highest width of the opening once bytes arrive.
private let harmless = 24
/// The factor by which a wider limit must raise the goodput.
private let leastGain = 1.05

/// Fewer are tried only if at least this many rounds are left, because the trial may cost one.
private let roundsForFewer = 32

private let averageOfLargeFiles = 65536.0

/// The first files, which meet a cold program and a cold server.
private let warmUp = 8

/// A goodput needs at least the first duration, and this many files or the second duration.
private let shortestMeasurement = Duration.milliseconds(8)

private let tellingFiles = 24.0
private let longestMeasurement = Duration.milliseconds(20)
/// After this many measurements of a width, older ones count less.
private let memory = 8.0

/// From the start to the first widening while nothing has been answered. A near server answers sooner.
private let patience = Duration.milliseconds(5)

/// In seconds: the cost of a connection that the server leaves waiting.
private let worthwhile = 0.04
/// In seconds: the length of a stall of this machine.
private let stall = 0.02
/// The first rest before a wider limit is tried again.
private let shortRest = Duration.milliseconds(50)
/// The longest such rest.
private let longRest = Duration.seconds(5)
