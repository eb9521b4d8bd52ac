package import DownloadModel

/// How many files are downloaded at a time where the user leaves it open (`--jobs auto`), decided by the goodput that
/// results. It reads no clock; times are since the run began.
/// It begins with two, because servers of few workers are slower for all that come at once. While no file ends, it
/// doubles the number, because distant servers answer late. From then on it measures. A doubled width is kept where it
/// brings a twentieth more than the one before brought, or brings after it: this machine may have slowed. Else it sees
/// once whether half as many do, and rests, each time longer, before it tries more. A goodput that fell is a reason to
/// try fewer. Breaks halve it, once a round. Refusals concern only their hosts (`HostLimiter`, HTTP rule 39).
package struct AdaptiveConcurrency: Sendable, Equatable {
  package private(set) var ceiling: Int
  package private(set) var limit: Int
  package private(set) var lesson = WidthLesson.nothing
  /// The width that is kept, and the one that `limit` goes to: another while that is tried.
  private var (base, aim): (Int, Int)
  /// What each width brought when it was last used, smoothed.
  private var goodputs: [Int: Goodput] = [:]
  private var phase = Phase.opening(began: nil, due: .zero)
  /// So many files that began at another width have not ended: they say nothing of this one.
  private var strangers = warmUp
  /// Where the measurement began; nil until one can.
  private var mark: Mark?
  private var rest = shortRest
  /// Files in flight at the last halving that may still be: the breaks of these are counted.
  private var round = 0

  private enum Phase: Equatable {
    /// A few files have ended at most. Widens at `due`, if as many are under way as may be.
    case opening(began: Duration?, due: Duration)
    case measuring
    case resting(until: Duration)
    /// The user gave the number.
    case told
  }

  private struct Mark: Equatable {
    let (time, files, bytes): (Duration, Int, Int64)
    /// Files that ended while fewer were in flight than may be.
    var idle = 0
  }

  private struct Goodput: Equatable {
    var (files, bytes, seconds): (Double, Double, Double)

    /// Nil if too little came between.
    init?(from: Mark, to: Mark) {
      let time = to.time - from.time
      (files, bytes, seconds) = (Double(to.files - from.files), Double(to.bytes - from.bytes), time / .seconds(1))
      guard time >= shortestMeasurement, files >= tellingFiles || time >= longestMeasurement else { return nil }
    }

    /// Adds a measurement. All count the same at first, and from then on the last ones more.
    func adding(_ last: Goodput) -> Goodput {
      let share = min(1, (memory * max(tellingFiles, last.files) - last.files) / files)
      var sum = last
      sum.files += files * share
      sum.bytes += bytes * share
      sum.seconds += seconds * share
      return sum
    }

    /// In bytes a second where files are large, and in files a second where they are small.
    func gain(over other: Goodput) -> Double {
      let isLarge = bytes + other.bytes >= averageOfLargeFiles * (files + other.files)
      let (mine, others) = isLarge ? (bytes, other.bytes) : (files, other.files)
      return others > 0 ? mine / others * other.seconds / seconds : 1
    }

    /// Whether it is more, and by more than chance alone may bring: with two dozen files each, a fifth was seen.
    func beats(_ other: Goodput) -> Bool {
      gain(over: other) > max(leastGain, 1 + ((1 / files + 1 / other.files) / 2).squareRoot())
    }
  }

  package init(ceiling: Int) {
    self.ceiling = max(1, ceiling)
    limit = min(start, self.ceiling)
    (base, aim) = (limit, limit)
  }

  /// The user has said how many: more are not taken, and fewer only where transfers break.
  mutating func follow(_ count: Int) {
    self = AdaptiveConcurrency(ceiling: count)
    (limit, base, aim, phase) = (ceiling, ceiling, ceiling, .told)
  }

  var isOpening: Bool { if case .opening = phase { limit < ceiling } else { false } }

  /// Widens the limit while it is reached and no file has ended.
  /// - Returns: when to call it again; nil for never.
  mutating func wait(at now: Duration, received: Int64) -> Duration? {
    guard case .opening(let first, var due) = phase, limit < ceiling else { return nil }
    guard let began = first else {
      phase = .opening(began: now, due: now + patience)
      return now + patience
    }
    guard now >= due else { return due }
    // Where bytes come, the server is near and the files are long: nothing is gained by haste.
    let isAnswered = received > 0
    let most = isAnswered ? min(harmless, ceiling) : ceiling
    guard limit < most else { return nil }
    limit = min(most, limit * 2)
    (base, aim) = (limit, limit)
    if limit == ceiling, !isAnswered { (lesson, rest) = (.slowAnswers, longRest) }
    // The longer the silence, the likelier is a distant server.
    due = now + (isAnswered ? max(patience, now - began) : patience * start / limit)
    phase = .opening(began: began, due: due)
    return limit < most ? due : nil
  }

  /// Silence counts from now on: nothing was asked before.
  mutating func beginSilence() { if case .opening = phase { phase = .opening(began: nil, due: .zero) } }

  /// Notes that a file ended without breaking.
  /// - Parameter isFull: whether as many were in flight as the limit allows; if not, the limit had no effect.
  /// - Returns: whether `measure` must be called now, so that the clock is read only where it matters.
  mutating func ended(files: Int, isFull: Bool) -> Bool {
    if round > 0 { round -= 1 }
    if phase == .told || ceiling == 1 { return false }
    guard isFull else {
      mark?.idle += 1
      return false
    }
    if strangers > 0 {
      strangers -= 1
      // One small file before large ones does not end the opening: silence counts from it on.
      if case .opening = phase { phase = strangers > 0 ? .opening(began: nil, due: .zero) : .measuring }
      limit = min(aim, limit + 1)
      return false
    }
    return mark.map { files - $0.files >= limit } ?? true
  }

  /// - Parameter left: how many files have not begun; nil where that is not known.
  mutating func measure(files: Int, at now: Duration, received: Int64, left: Int?) {
    let moment = Mark(time: now, files: files, bytes: received)
    // Where the limit had little effect, what came says nothing of it.
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
      // It may bring less by now. Nobody knows what fewer bring where answers were so late that it began with all.
      let isLess = base > 1 && goodputs[smaller].map { !goodput.beats($0) } ?? (base == ceiling)
      attempt(isLess ? smaller : wider, at: now, left)
    default: break
    }
  }

  private var wider: Int { min(ceiling, base * 2) }
  private var smaller: Int { max(1, base / 2) }

  /// Compares the width that was tried with the one that is kept, and keeps the better one.
  private mutating func judge(_ tried: Goodput, at now: Duration, _ left: Int?) {
    guard let kept = goodputs[base] else { return }
    let (wide, narrow) = limit > base ? (tried, kept) : (kept, tried)
    let (gain, isGain) = (wide.gain(over: narrow), wide.beats(narrow))
    // What may be chance, or a short stall of this machine, is measured longer.
    let mayBeChance = gain > leastGain && tried.files < memory * max(tellingFiles, Double(limit))
    if !isGain, mayBeChance || tried.seconds < stall { return }
    guard isGain else {
      (lesson, base) = (.noGain(from: max(limit, base), limit: min(limit, base), gain: gain), min(limit, base))
      return attempt(goodputs[smaller] == nil ? smaller : base, at: now, left)
    }
    guard limit > base else { return attempt(base, at: now, left) }
    (lesson, rest, base) = (limit == ceiling ? .allowed(gain: gain) : .gained(gain), shortRest, limit)
    attempt(wider, at: now, left)
  }

  /// Goes to a width to try it, if what is left is worth it; else it keeps what it has for a while.
  private mutating func attempt(_ width: Int, at now: Duration, _ left: Int?) {
    let (left, kept) = (left ?? .max, goodputs[base])
    let isLittle = kept.map { Double(left) * $0.seconds < $0.files * worthwhile } ?? false
    if isLittle, lesson == .nothing { lesson = .littleWasLeft }
    aim = isLittle || width < base && left < base * roundsForFewer ? base : width
    // What it brought before says nothing any more.
    if aim != limit { (strangers, mark, limit, goodputs[aim]) = (limit, nil, min(limit, aim), nil) }
    (phase, rest) = aim == base ? (.resting(until: now + rest), min(rest * 2, longRest)) : (.measuring, rest)
  }

  mutating func failed(at now: Duration) {
    round -= 1
    guard round < 0 else { return }
    round = limit - 1
    limit = max(1, limit / 2)
    (base, aim, strangers, mark, goodputs) = (limit, limit, 0, nil, [:])
    (lesson, phase) = (.broke, .resting(until: now + longRest))
  }
}

/// It begins with the first. Few servers mind the second; more are not asked for in haste.
private let (start, harmless) = (2, 24)
/// The factor by which a wider one must raise the goodput at least.
private let leastGain = 1.05

/// Fewer are tried where so many rounds are left, because that may cost one.
private let roundsForFewer = 32

private let averageOfLargeFiles = 65536.0

/// The first files, which meet a program and a server that are cold.
private let warmUp = 8

/// A goodput needs at least the first time, and so many files or the last time.
private let shortestMeasurement = Duration.milliseconds(8)

private let (tellingFiles, longestMeasurement) = (24.0, Duration.milliseconds(20))
/// So many measurements tell all that is to be known of a width.
private let memory = 8.0

/// From the start to the first widening while nothing has been answered. A near server answers sooner.
private let patience = Duration.milliseconds(5)

/// Seconds that a connection costs which the server leaves waiting, and that this machine may stall.
private let (worthwhile, stall) = (0.04, 0.02)
/// The first rest before it tries more again, and the longest.
private let (shortRest, longRest) = (Duration.milliseconds(50), Duration.seconds(5))
