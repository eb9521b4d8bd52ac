/// How many files are downloaded at a time where the user leaves it open (`--jobs auto`), decided by the
/// rates that result. It reads no clock; times are since the run began.
///
/// It begins with two dozen, which few servers mind, and adds one for each file that ends, so that the number
/// doubles in the time that a file takes. Each time it has doubled, it checks whether that brought more, in
/// files or in bytes; if not, it goes back and stays there. A run in which transfers break takes fewer, at
/// most once in a round. Refusals concern the hosts and not the run (`HostLimiter`, HTTP rule 39).
public struct AdaptiveConcurrency: Sendable, Equatable {
  public private(set) var ceiling: Int
  public private(set) var limit: Int
  /// The number to go back to if more brings no more.
  private var base: Int
  private var mark = Mark(time: .zero, files: 0, bytes: 0)
  private var best: Rates?
  private var phase = Phase.growing
  /// How many of the files that were in flight when a break last halved the limit may still be: their breaks
  /// have been counted.
  private var round = 0

  private enum Phase: Equatable {
    case growing
    /// Measuring whether the current limit brings more than the base.
    case judging
    case holding(since: Duration)
  }

  private struct Mark: Equatable {
    var time: Duration
    var files: Int
    var bytes: Int64
  }

  private struct Rates: Equatable {
    var files: Double
    var bytes: Double

    func isBetter(than other: Rates) -> Bool {
      files > other.files * AdaptiveConcurrency.gain || bytes > other.bytes * AdaptiveConcurrency.gain
    }
  }

  /// The factor by which the doubled number must raise a rate.
  private static let gain = 1.1
  /// After this time it checks again whether more helps now.
  private static let rest = Duration.seconds(5)
  private static let start = 24

  public init(ceiling: Int) {
    self.ceiling = max(1, ceiling)
    limit = min(Self.start, self.ceiling)
    base = limit
  }

  /// The user has said how many: more are not taken, and fewer only where transfers break.
  mutating func follow(_ count: Int) {
    ceiling = max(1, count)
    (limit, base, best) = (ceiling, ceiling, nil)
    phase = .holding(since: .zero)
  }

  /// Notes that a file ended without breaking.
  /// - Parameters:
  ///   - files: that ended so far.
  ///   - isFull: whether as many were in flight as the limit allows; if not, the limit had no effect.
  /// - Returns: whether `measure` must be called now. So the clock is read only where it matters.
  mutating func ended(files: Int, isFull: Bool) -> Bool {
    if round > 0 { round -= 1 }
    guard isFull, limit < ceiling || phase == .judging else { return false }
    switch phase {
    case .growing:
      limit += 1
      return limit >= min(ceiling, base * 2)
    case .judging: return files - mark.files >= limit
    case .holding: return true
    }
  }

  /// Measures the rates of the current number.
  /// - Parameters:
  ///   - files: that ended so far.
  ///   - received: body bytes of the whole run.
  mutating func measure(files: Int, at now: Duration, received: Int64) {
    let moment = Mark(time: now, files: files, bytes: received)
    switch phase {
    case .growing:
      // The rate with fewer files. The first files of the run had connections to open, so this rate looks
      // worse than it was.
      best = best ?? rates(from: mark, to: moment)
      mark = moment
      phase = .judging
    case .judging: judge(moment)
    case .holding(let since):
      guard now - since >= Self.rest else { return }
      mark = moment
      best = nil
      phase = .growing
    }
  }

  private mutating func judge(_ moment: Mark) {
    guard let rates = rates(from: mark, to: moment) else { return }
    mark = moment
    guard best.map({ rates.isBetter(than: $0) }) ?? true else {
      limit = base
      phase = .holding(since: moment.time)
      return
    }
    best = rates
    base = limit
    phase = .growing
  }

  private func rates(from: Mark, to: Mark) -> Rates? {
    let seconds = (to.time - from.time) / .seconds(1)
    guard seconds > 0 else { return nil }
    return Rates(
      files: Double(to.files - from.files) / seconds, bytes: Double(to.bytes - from.bytes) / seconds)
  }

  /// Notes that a transfer broke.
  mutating func failed(at now: Duration) {
    guard round == 0 else {
      round -= 1
      return
    }
    round = limit - 1
    limit = max(1, limit / 2)
    base = limit
    best = nil
    phase = .holding(since: now)
  }
}
