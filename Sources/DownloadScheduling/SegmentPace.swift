import DownloadModel

/// How many transfers fetch one large file at a time: a function of what they bring. No clock, no tasks; times are since
/// the body began, rates in bytes a second.
///
/// One at first. A file that would take longer than a third of a second, or than four times what a connection takes to
/// bring something, is given a second, which finds out whether the server gives parts: a cache that does not have the
/// file yet fetches all of it for each request, and answers with the whole. When it brings something, as many follow as
/// can each fetch for as long as they take to begin, eight at most, or 32 far away, where the beginning takes longest;
/// and four times as many again, if those brought more than one did: a server that limits each connection gives eight
/// times as much to eight, a narrow link gives them no more than to one.
struct SegmentPace: Sendable, Equatable {
  /// Never more than this at a time.
  let ceiling: Int
  private(set) var wanted = 1
  /// What the last count brought; nil until it was measured.
  private(set) var rate: Double?
  private var phase = Phase.settling(since: .zero)

  private enum Phase: Equatable {
    /// The first part was asked for, and has brought nothing yet.
    case probing(since: Duration)
    /// Those that were added have not all begun to bring something.
    case settling(since: Duration)
    case measuring(since: Duration, remaining: Int64)
    /// More would bring nothing, or not soon enough.
    case settled
  }

  /// What is over sooner than this is left as it is: a new connection takes its time too.
  private(set) var worthwhile: Duration
  /// Until it was seen how long new connections take here.
  private static let firstWorthwhile = Duration.milliseconds(300)
  private static let leastWorthwhile = Duration.milliseconds(200)
  /// What is worth dividing takes so many times as long as a new connection took to begin: half of it then is over a sixth
  /// of its time sooner. Before one was seen, what the first took to its first byte is taken for the least of it.
  private static let pays = 3
  /// A connection that brings so much is not what limits: the link, the disk or a core is, and more only share it.
  private static let plenty = 128.0 * 1024 * 1024
  /// Enough to tell a rate from a burst of what the kernel had gathered.
  private static let window = Duration.milliseconds(40)
  private static let patience = Duration.seconds(1)
  /// What more transfers must bring, at the least, to be worth having and to try still more.
  private static let gain = 1.25
  /// Before it is known whether more bring more.
  private static let firstStep = 8
  private static let firstStepFar = 32
  /// Beyond so many each must be worth twice as much: a server has others to serve.
  private static let many = 16
  /// From where the first byte takes so long, a look at what one connection brings is not waited for any longer than it
  /// takes to see that the file does not end at once: each round trip is a good part of the whole.
  private static let far = Duration.milliseconds(20)
  /// What a connection takes to begin is not taken to be less than this.
  private static let leastDelay = Duration.milliseconds(50)
  private let delay: Duration

  /// - Parameters:
  ///   - delay: what the first transfer took to its first byte.
  ///   - size: bytes that are to come; nil to begin looking with the first look.
  init(ceiling: Int, delay: Duration = .zero, size: Int64? = nil) {
    self.ceiling = max(1, ceiling)
    self.delay = delay
    worthwhile = max(Self.firstWorthwhile, delay * (Self.pays + 1))
    if isFar, let size { phase = .measuring(since: .zero, remaining: size) }
  }

  /// Whether the number will grow no more.
  var isSettled: Bool { phase == .settled }

  /// When to look again.
  func interval(at now: Duration) -> Duration {
    switch phase {
    case .settled: .milliseconds(250)  // a place that another file gives back is found by it
    case .probing(let since) where now - since > Self.patience: .milliseconds(250)
    case .settling, .measuring, .probing: .milliseconds(isFar ? 5 : 20)
    }
  }

  /// How long the first part may take to bring something; nil when it has.
  var patienceWithProbe: Duration? {
    if case .probing = phase { max(Self.patience, delay * 8) } else { nil }
  }

  private var isFar: Bool { delay >= Self.far }

  /// What is asked for at a time: while the number may still grow fourfold, and the first part sixteenfold, so that the
  /// others find something that nobody has asked for; then half, but not what is over before its round trip has paid.
  var piece: PieceSize {
    if wanted <= 2, !isSettled { return PieceSize(divisor: 16, least: 0) }
    guard isSettled else { return PieceSize(divisor: 4, least: 0) }
    let one = (rate ?? 0) / Double(wanted)
    return PieceSize(divisor: 2, least: Int64(one * (max(delay * 10, Self.leastWorthwhile) / .seconds(1))))
  }

  /// Takes a look at the file; to be called some times a second.
  /// - Parameters:
  ///   - remaining: bytes of the file that are still to come.
  ///   - active: transfers that fetch it.
  ///   - allFlow: whether each of them has brought something.
  /// - Returns: whether `wanted` has grown.
  mutating func look(at now: Duration, remaining: Int64, active: Int, allFlow: Bool) -> Bool {
    switch phase {
    case .settled: return false
    case .settling(let since):
      if allFlow, rate != nil {
        worthwhile = min(worthwhile, max(Self.leastWorthwhile, (now - since) * Self.pays))
      }
      if allFlow || now - since > Self.patience { phase = .measuring(since: now, remaining: remaining) }
      return false
    case .probing(let since):
      // It is waited for as long as it takes: the first transfer goes on.
      guard allFlow, active >= wanted else { return false }
      worthwhile = min(worthwhile, max(Self.leastWorthwhile, (now - since) * Self.pays))
      guard let rate, isWorthMore(remaining, rate) else {
        phase = .settled
        return false
      }
      return grow(to: first(of: remaining, at: rate), at: now)
    case .measuring(let since, let before):
      let window = isFar && wanted == 1 ? Self.far : Self.window
      guard now - since >= window, remaining < before else { return false }
      let measured = Double(before - remaining) / ((now - since) / .seconds(1))
      return judge(measured, at: now, remaining, active)
    }
  }

  private mutating func judge(
    _ measured: Double, at now: Duration, _ remaining: Int64, _ active: Int
  ) -> Bool {
    let helped = rate.map { measured >= $0 * Self.gain } ?? true
    rate = measured
    // Fewer than wanted: the host has no room, or nothing was left to split.
    guard helped, wanted < ceiling, active >= wanted, wanted > 1 || measured < Self.plenty,
      isWorthMore(remaining, measured)
    else {
      phase = .settled
      return false
    }
    guard wanted == 1 else { return grow(to: wanted * 4, at: now) }
    wanted = 2
    phase = .probing(since: now)
    return true
  }

  private func isWorthMore(_ remaining: Int64, _ rate: Double) -> Bool {
    Double(remaining) > rate * (worthwhile / .seconds(1))
  }

  private mutating func grow(to count: Int, at now: Duration) -> Bool {
    let before = wanted
    wanted = min(ceiling, max(count, before))
    phase = .settling(since: now)
    return wanted > before
  }

  /// As many as halving makes, so that all end together.
  private func first(of remaining: Int64, at rate: Double) -> Int {
    let least = rate * (max(delay, Self.leastDelay) * 2 / .seconds(1))
    var count = 2
    let most = isFar ? Self.firstStepFar : Self.firstStep
    while count < most, Double(count) * least * (count < Self.many ? 1 : 2) < Double(remaining) { count *= 2 }
    return count
  }

  /// The server refuses to be asked for more at a time.
  mutating func stop(at active: Int) {
    wanted = max(1, min(wanted, active))
    phase = .settled
  }
}
