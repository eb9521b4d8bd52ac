/// How many transfers fetch one large file at a time: a function of what they bring. No clock, no tasks; times are since
/// the body began, rates in bytes a second.
///
/// One at first. A file that would take longer than a third of a second, or than four times what a connection takes to
/// bring something, is given as many as can each fetch for as long as they take to begin, eight at most; and four times
/// as many again, if those brought more than one did: a server that limits each connection gives eight times as much to
/// eight, a narrow link gives them no more than to one.
struct SegmentPace: Sendable, Equatable {
  /// Never more than this at a time.
  let ceiling: Int
  private(set) var wanted = 1
  /// What the last count brought; nil until it was measured.
  private(set) var rate: Double?
  private var phase = Phase.settling(since: .zero)

  private enum Phase: Equatable {
    /// Those that were added have not all begun to bring something.
    case settling(since: Duration)
    case measuring(since: Duration, remaining: Int64)
    /// More would bring nothing, or not soon enough.
    case settled
  }

  /// What is over sooner than this is left as it is: a new connection takes its time too, and four times that at least
  /// is to be gained from.
  private(set) var worthwhile: Duration
  /// Until it was seen how long new connections take here.
  private static let firstWorthwhile = Duration.milliseconds(300)
  private static let leastWorthwhile = Duration.milliseconds(200)
  /// A connection that brings so much is not what limits: the link, the disk or a core is, and more only share it.
  private static let plenty = 128.0 * 1024 * 1024
  /// Enough to tell a rate from a burst of what the kernel had gathered.
  private static let window = Duration.milliseconds(40)
  private static let patience = Duration.seconds(1)
  /// What more transfers must bring, at the least, to be worth having and to try still more.
  private static let gain = 1.25
  /// Before it is known whether more bring more.
  private static let firstStep = 8
  /// What a connection takes to begin is not taken to be less than this.
  private static let leastDelay = Duration.milliseconds(50)
  private let delay: Duration

  /// - Parameter delay: what the first transfer took to its first byte.
  init(ceiling: Int, delay: Duration = .zero) {
    self.ceiling = max(1, ceiling)
    self.delay = delay
    worthwhile = max(Self.firstWorthwhile, delay * 4)
  }

  /// Whether the number will grow no more.
  var isSettled: Bool { phase == .settled }

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
        worthwhile = min(worthwhile, max(Self.leastWorthwhile, (now - since) * 4))
      }
      if allFlow || now - since > Self.patience { phase = .measuring(since: now, remaining: remaining) }
      return false
    case .measuring(let since, let before):
      guard now - since >= Self.window, remaining < before else { return false }
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
      Double(remaining) > measured * (worthwhile / .seconds(1))
    else {
      phase = .settled
      return false
    }
    wanted = min(ceiling, wanted == 1 ? first(of: remaining, at: measured) : wanted * 4)
    phase = .settling(since: now)
    return true
  }

  /// As many as halving makes, so that all end together.
  private func first(of remaining: Int64, at rate: Double) -> Int {
    let least = rate * (max(delay, Self.leastDelay) * 2 / .seconds(1))
    var count = 2
    while count < Self.firstStep, Double(count) * least < Double(remaining) { count *= 2 }
    return count
  }

  /// The server refuses to be asked for more at a time.
  mutating func stop(at active: Int) {
    wanted = max(1, min(wanted, active))
    phase = .settled
  }
}
