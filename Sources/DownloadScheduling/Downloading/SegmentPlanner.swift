import DownloadModel

/// How many transfers download one large file at a time, decided by the rates they reach. Times are measured from the
/// start of the body, rates in bytes a second.
///
/// The file starts with one. If it would take longer than `worthwhile`, a second transfer tests whether the server
/// supports ranges: a cache without the file may download all of it for each request, and answer only when it is
/// complete.
///
/// Once the second delivers bytes, more are added: as many as still receive for longer than they take to start, eight
/// at most, or 32 from a distant server. If these raise the rate, four times as many follow. That helps where a server
/// limits each connection, and does not help on a narrow link.
///
/// No result is final: while more are not worth it, the rate is measured again, each time for twice as long. A first
/// burst from a buffer along the path says nothing about the link behind it.
struct SegmentPlanner {
  let ceiling: Int
  private(set) var wanted = 1
  /// The rate of the last count; `nil` until it was measured.
  private(set) var rate: Double?
  /// The rate with fewer transfers, before the last ones were added.
  private var rateOfFewer = 0.0
  private var rateOfOne = 0.0
  private var phase = Phase.settling(since: .zero)

  private enum Phase {
    /// The first further segment has not received any bytes yet.
    case probing(since: Duration, remaining: Int64)
    /// Some of the added transfers have not received any bytes yet.
    case settling(since: Duration)
    case measuring(since: Duration, remaining: Int64, span: Duration)
    /// The host accepts no more transfers, or too little is left to divide.
    case settled
  }

  /// A segment that would finish sooner is not divided, because a new connection takes time, too.
  private(set) var worthwhile: Duration
  private let delay: Duration

  /// `worthwhile` before the delay of a new connection was measured, and its lower bound afterwards.
  private static let firstWorthwhile = Duration.milliseconds(300)
  private static let leastWorthwhile = Duration.milliseconds(200)
  /// Bytes are divided if they take this many times the delay of a new connection: that saves at least a sixth of their
  /// time.
  private static let pays = 3
  /// A connection this fast is not the bottleneck: the link, the disk or a CPU core is.
  private static let plenty = 128.0 * 1024 * 1024
  /// Long enough to tell a rate from a burst that the kernel had buffered.
  private static let shortestWindow = Duration.milliseconds(40)
  private static let patience = Duration.seconds(1)
  private static let pauseForPermits = Duration.milliseconds(250)
  /// More transfers must raise the rate by this factor before still more are tried.
  private static let gain = 1.25
  /// The most transfers before their effect has been measured: near and distant.
  private static let firstStep = 8
  private static let firstStepFar = 32
  /// From this number on, each transfer must be worth twice as much, because a server has other clients.
  private static let many = 16
  /// If the first byte takes this long, the first rate is measured for only as long, because round trips are expensive.
  private static let far = Duration.milliseconds(20)
  private static let leastDelay = Duration.milliseconds(50)

  /// - Parameter size: missing bytes; `nil` to start measuring with the first `look`.
  init(ceiling: Int, delay: Duration = .zero, size: Int64? = nil) {
    self.ceiling = max(1, ceiling)
    self.delay = delay
    worthwhile = max(Self.firstWorthwhile, delay * (Self.pays + 1))
    guard isFar, let size else { return }
    phase = .measuring(since: .zero, remaining: size, span: Self.far)
    // Whatever the rate of one connection turns out to be.
    if ceiling > 1, isWorthMore(size, Self.plenty) { probe(at: .zero, size) }
  }

  /// Pause before the next `look`, short enough to find a free permit; `nil` if no further transfers are wanted.
  func interval(at now: Duration) -> Duration? {
    let pause = Duration.milliseconds(isFar ? 5 : 20)
    switch phase {
    case .settled: return wanted == 1 ? nil : Self.pauseForPermits
    // The pause grows with the wait, because a thousand files may wait for a permit.
    case .probing(let since, _) where now - since > Self.patience: return min(.seconds(2), (now - since) / 4)
    case .measuring(let since, _, let span) where span > window:
      let left = max(pause, since + span - now)
      return wanted == 1 ? left : min(left, Self.pauseForPermits)
    case .settling, .measuring, .probing: return pause
    }
  }

  /// How long the first further segment may take to receive bytes; `nil` without one, or after it has received some.
  var patienceWithProbe: Duration? {
    if case .probing = phase { max(Self.patience, delay * 8) } else { nil }
  }

  private var isFar: Bool { delay >= Self.far }
  /// A distant server may send a window of bytes at once, and the next one a round trip later (RFC 9293 §3.8).
  private var window: Duration { max(Self.shortestWindow, isFar ? delay : .zero) }

  /// Whether the transfers that were added last have not been measured yet.
  private var mayGrowSoon: Bool {
    switch phase {
    case .settled: false
    case .measuring(_, _, let span): span <= window
    case .settling, .probing: true
    }
  }

  /// The bytes of one range request: a sixteenth of the first further segment; a quarter while the number of transfers
  /// may still grow, which leaves bytes for new ones; later half. At least the bytes of one round trip, because nothing
  /// arrives during the round trip of the next request.
  var requestSize: RequestSize {
    let time = mayGrowSoon ? delay : max(delay * 10, Self.leastWorthwhile)
    let divisor: Int64 = if !mayGrowSoon { 2 } else if wanted <= 2 { 16 } else { 4 }
    return RequestSize(divisor: divisor, least: Int64(rateOfOne * (time / .seconds(1))))
  }

  /// Evaluates the file's progress; called several times a second.
  /// - Parameters:
  ///   - active: transfers in flight; 0 if the run's rate limit leaves no room for more.
  ///   - allFlow: whether every active transfer has received bytes.
  /// - Returns: whether `wanted` has grown.
  mutating func look(at now: Duration, remaining: Int64, active: Int, allFlow: Bool) -> Bool {
    switch phase {
    case .settled: return false
    case .settling(let since):
      if allFlow, rate != nil { began(in: now - since) }
      if allFlow || now - since > Self.patience { phase = .measuring(since: now, remaining: remaining, span: window) }
      return false
    case .probing(let since, let before):
      // It may take any time: the first transfer continues meanwhile.
      guard allFlow, active >= wanted else { return false }
      began(in: now - since)
      return judge(before, since, at: now, remaining, active, next: window)
    case .measuring(let since, let before, let span):
      guard now - since >= span, remaining < before else { return false }
      return judge(before, since, at: now, remaining, active, next: span * 2)
    }
  }

  private mutating func began(in time: Duration) {
    worthwhile = min(worthwhile, max(Self.leastWorthwhile, time * Self.pays))
  }

  private mutating func probe(at now: Duration, _ remaining: Int64) {
    wanted = 2
    phase = .probing(since: now, remaining: remaining)
  }

  /// Evaluates the bytes since the last measurement.
  /// - Parameter next: how long the next measurement takes, if no more transfers are wanted.
  private mutating func judge(
    _ before: Int64, _ since: Duration, at now: Duration, _ remaining: Int64, _ active: Int, next: Duration
  ) -> Bool {
    let measured = Double(before - remaining) / ((now - since) / .seconds(1))
    rate = measured
    // The first further segment has only just started.
    rateOfOne = if case .probing = phase { measured } else { measured / Double(wanted) }
    // Fewer than wanted: the host has no room, or nothing was left to divide.
    let worth = wanted < Self.many ? measured : measured * 2
    let count = active >= wanted && isWorthMore(remaining, worth) ? min(ceiling, more(measured, remaining)) : wanted
    guard count > wanted else {
      let isDivisible = remaining >= 2 * SegmentChoice.least
      phase = isDivisible ? .measuring(since: now, remaining: remaining, span: next) : .settled
      return false
    }
    if wanted == 1 {
      probe(at: now, remaining)
    } else {
      wanted = count
      rateOfFewer = measured
      phase = .settling(since: now)
    }
    return true
  }

  /// The number of transfers to try next.
  private func more(_ measured: Double, _ remaining: Int64) -> Int {
    switch wanted {
    case 1: measured < Self.plenty ? 2 : 1
    case 2: first(of: remaining, at: measured)
    default: measured < rateOfFewer * Self.gain ? wanted : wanted * 4
    }
  }

  private func isWorthMore(_ remaining: Int64, _ rate: Double) -> Bool {
    Double(remaining) > rate * (worthwhile / .seconds(1))
  }

  /// A power of two, because segments are halved: so all end at about the same time.
  private func first(of remaining: Int64, at rate: Double) -> Int {
    let least = rate * (max(delay, Self.leastDelay) * 2 / .seconds(1))
    var count = 2
    let most = isFar ? Self.firstStepFar : Self.firstStep
    while count < most, Double(count) * least * (count < Self.many ? 1 : 2) < Double(remaining) { count *= 2 }
    return count
  }

  mutating func stop(at active: Int) {
    wanted = max(1, min(wanted, active))
    phase = .settled
  }
}
