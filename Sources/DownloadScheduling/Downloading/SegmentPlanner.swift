import DownloadModel

/// How many transfers fetch one large file at a time, decided by the rates that they bring. Times are since the body
/// began, rates in bytes a second.
/// At first one. A file that would take longer than `worthwhile` gets a second transfer, which finds out whether the
/// server gives ranges: a cache without the file fetches all of it for each request, and answers when it has the whole.
/// Once the second brings bytes, more follow: so many that each still fetches for as long as it takes to begin, eight
/// at most, or 32 on a distant server. If those brought more than one did, four times as many follow, which help where
/// a server limits each connection, and not where the link is narrow.
/// No answer is final: while more are not worth it, the rate is measured again, each time for twice as long. A first
/// burst from a buffer on the way says nothing about the line behind it.
struct SegmentPlanner: Equatable {
  let ceiling: Int
  private(set) var wanted = 1
  /// The rate that the last count brought; nil until it was measured.
  private(set) var rate: Double?
  /// The rate that fewer transfers brought, before the last ones were added.
  private var rateOfFewer = 0.0
  private var rateOfOne = 0.0
  private var phase = Phase.settling(since: .zero)

  private enum Phase: Equatable {
    /// The first further segment has brought nothing yet.
    case probing(since: Duration, remaining: Int64)
    /// Not all of the added transfers have brought bytes yet.
    case settling(since: Duration)
    case measuring(since: Duration, remaining: Int64, span: Duration)
    /// The host takes no more transfers, or too little is left to divide.
    case settled
  }

  /// A segment that is done sooner is not divided, because a new connection takes its time too.
  private(set) var worthwhile: Duration
  private let delay: Duration

  /// `worthwhile` before the delay of a new connection was measured, and the least after that.
  private static let firstWorthwhile = Duration.milliseconds(300)
  private static let leastWorthwhile = Duration.milliseconds(200)
  /// Bytes are divided if they take so many times a new connection's delay: that saves a sixth of their time at least.
  private static let pays = 3
  /// A connection this fast is not what limits: the link, the disk or a core is.
  private static let plenty = 128.0 * 1024 * 1024
  /// Long enough to tell a rate from a burst that the kernel had gathered.
  private static let shortestWindow = Duration.milliseconds(40)
  private static let patience = Duration.seconds(1)
  private static let pauseForPermits = Duration.milliseconds(250)
  /// The factor by which more transfers must raise the rate for still more to be tried.
  private static let gain = 1.25
  /// The most before it is known whether more bring more: near, and far.
  private static let firstStep = 8
  private static let firstStepFar = 32
  /// Beyond so many, each must be worth twice as much, because a server has other clients.
  private static let many = 16
  /// Where the first byte takes this long, the first rate is measured only as long, because round trips cost much.
  private static let far = Duration.milliseconds(20)
  private static let leastDelay = Duration.milliseconds(50)

  /// - Parameter size: bytes to come; nil to begin measuring with the first `look`.
  init(ceiling: Int, delay: Duration = .zero, size: Int64? = nil) {
    self.ceiling = max(1, ceiling)
    self.delay = delay
    worthwhile = max(Self.firstWorthwhile, delay * (Self.pays + 1))
    guard isFar, let size else { return }
    phase = .measuring(since: .zero, remaining: size, span: Self.far)
    // Whatever one connection brings.
    if ceiling > 1, isWorthMore(size, Self.plenty) { probe(at: .zero, size) }
  }

  /// Pause before the next look, soon enough to find a free permit; nil where no further transfer is wanted any more.
  func interval(at now: Duration) -> Duration? {
    let pause = Duration.milliseconds(isFar ? 5 : 20)
    switch phase {
    case .settled: return wanted == 1 ? nil : Self.pauseForPermits
    // The longer there is none, the more seldom, since a thousand files may wait for one.
    case .probing(let since, _) where now - since > Self.patience: return min(.seconds(2), (now - since) / 4)
    case .measuring(let since, _, let span) where span > window:
      let left = max(pause, since + span - now)
      return wanted == 1 ? left : min(left, Self.pauseForPermits)
    case .settling, .measuring, .probing: return pause
    }
  }

  /// How long the first further segment may take to bring bytes; nil if there is none or it has.
  var patienceWithProbe: Duration? {
    if case .probing = phase { max(Self.patience, delay * 8) } else { nil }
  }

  private var isFar: Bool { delay >= Self.far }
  /// A distant server may bring a window of bytes at once, and the next one a round trip later (RFC 9293 §3.8).
  private var window: Duration { max(Self.shortestWindow, isFar ? delay : .zero) }

  /// Whether the last ones that were added have not been measured yet.
  private var mayGrowSoon: Bool {
    switch phase {
    case .settled: false
    case .measuring(_, _, let span): span <= window
    case .settling, .probing: true
    }
  }

  /// How much is asked for at a time: a sixteenth of the first further segment, a quarter while the number may still
  /// grow, so that others find bytes that none has asked for; then half. No less than one round trip brings, because
  /// nothing arrives during the round trip of the next request.
  var requestSize: RequestSize {
    let time = mayGrowSoon ? delay : max(delay * 10, Self.leastWorthwhile)
    let divisor: Int64 = if !mayGrowSoon { 2 } else if wanted <= 2 { 16 } else { 4 }
    return RequestSize(divisor: divisor, least: Int64(rateOfOne * (time / .seconds(1))))
  }

  /// Judges the file's progress, several times a second.
  /// - Parameters:
  ///   - active: transfers in flight; 0 if the run's own limit leaves room for no more.
  ///   - allFlow: whether each of the active transfers has brought bytes.
  /// - Returns: whether `wanted` has grown.
  mutating func look(at now: Duration, remaining: Int64, active: Int, allFlow: Bool) -> Bool {
    switch phase {
    case .settled: return false
    case .settling(let since):
      if allFlow, rate != nil { began(in: now - since) }
      if allFlow || now - since > Self.patience { phase = .measuring(since: now, remaining: remaining, span: window) }
      return false
    case .probing(let since, let before):
      // It may take as long as it likes: the first transfer goes on meanwhile.
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

  /// Judges what came since the rate was last measured.
  /// - Parameter next: for how long it is measured next, if no more transfers are wanted.
  private mutating func judge(
    _ before: Int64, _ since: Duration, at now: Duration, _ remaining: Int64, _ active: Int, next: Duration
  ) -> Bool {
    let measured = Double(before - remaining) / ((now - since) / .seconds(1))
    rate = measured
    // The first further segment has only just begun.
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

  /// How many are worth a try.
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
