import DownloadModel

/// How many transfers fetch one large file at a time, decided by the rates that they bring. Times are since the body
/// began, rates in bytes a second.
/// At first one. A file that would take longer than `worthwhile` gets a second transfer, which finds out whether the
/// server gives ranges: a cache without the file fetches all of it for each request, and answers when it has the whole.
/// Once the second brings bytes, more follow: so many that each still fetches for as long as it takes to begin, eight
/// at most, or 32 on a distant server. If those brought more than one did, four times as many follow, which help where
/// a server limits each connection, and not where the link is narrow.
struct SegmentPlanner: Sendable, Equatable {
  let ceiling: Int
  private(set) var wanted = 1
  /// The rate that the last count brought; nil until it was measured.
  private(set) var rate: Double?
  private var phase = Phase.settling(since: .zero)

  private enum Phase: Equatable {
    /// The first further segment has brought nothing yet.
    case probing(since: Duration)
    /// Not all of the added transfers have brought bytes yet.
    case settling(since: Duration)
    case measuring(since: Duration, remaining: Int64)
    /// More transfers would bring nothing, or not soon enough.
    case settled
  }

  /// A segment that is done sooner is not divided, because a new connection takes its time too.
  private(set) var worthwhile: Duration
  private let delay: Duration

  /// `worthwhile` before the delay of a new connection was measured, and the least after that.
  private static let (firstWorthwhile, leastWorthwhile) = (Duration.milliseconds(300), Duration.milliseconds(200))
  /// Bytes are divided if they take so many times a new connection's delay: that saves a sixth of their time at least.
  private static let pays = 3
  /// A connection this fast is not what limits: the link, the disk or a core is.
  private static let plenty = 128.0 * 1024 * 1024
  /// Long enough to tell a rate from a burst that the kernel had gathered.
  private static let window = Duration.milliseconds(40)
  private static let patience = Duration.seconds(1)
  /// The factor by which more transfers must raise the rate for still more to be tried.
  private static let gain = 1.25
  /// The most before it is known whether more bring more: near, and far.
  private static let (firstStep, firstStepFar) = (8, 32)
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
    if isFar, let size { phase = .measuring(since: .zero, remaining: size) }
  }

  /// Pause before the next look, soon enough to find a free permit; nil where no further transfer is wanted any more.
  func interval(at now: Duration) -> Duration? {
    switch phase {
    case .settled: wanted == 1 ? nil : .milliseconds(250)
    // The longer there is none, the more seldom, since a thousand files may wait for one.
    case .probing(let since) where now - since > Self.patience: min(.seconds(2), (now - since) / 4)
    case .settling, .measuring, .probing: .milliseconds(isFar ? 5 : 20)
    }
  }

  /// How long the first further segment may take to bring bytes; nil if there is none or it has.
  var patienceWithProbe: Duration? {
    if case .probing = phase { max(Self.patience, delay * 8) } else { nil }
  }

  private var isFar: Bool { delay >= Self.far }

  /// How much is asked for at a time: a sixteenth of the first further segment, a quarter while the number may still
  /// grow, so that others find bytes that none has asked for; then half, but no less than is worth a round trip.
  var requestSize: RequestSize {
    guard phase == .settled else { return RequestSize(divisor: wanted <= 2 ? 16 : 4, least: 0) }
    let one = (rate ?? 0) / Double(wanted)
    return RequestSize(divisor: 2, least: Int64(one * (max(delay * 10, Self.leastWorthwhile) / .seconds(1))))
  }

  /// Judges the file's progress, several times a second.
  /// - Parameter allFlow: whether each of the active transfers has brought bytes.
  /// - Returns: whether `wanted` has grown.
  mutating func look(at now: Duration, remaining: Int64, active: Int, allFlow: Bool) -> Bool {
    switch phase {
    case .settled: return false
    case .settling(let since):
      if allFlow, rate != nil { began(in: now - since) }
      if allFlow || now - since > Self.patience { phase = .measuring(since: now, remaining: remaining) }
      return false
    case .probing(let since):
      // It may take as long as it likes: the first transfer goes on meanwhile.
      guard allFlow, active >= wanted else { return false }
      began(in: now - since)
      guard let rate, isWorthMore(remaining, rate) else { return settle() }
      return grow(to: first(of: remaining, at: rate), at: now)
    case .measuring(let since, let before):
      let window = isFar && wanted == 1 ? Self.far : Self.window
      guard now - since >= window, remaining < before else { return false }
      let measured = Double(before - remaining) / ((now - since) / .seconds(1))
      return judge(measured, at: now, remaining, active)
    }
  }

  private mutating func began(in time: Duration) {
    worthwhile = min(worthwhile, max(Self.leastWorthwhile, time * Self.pays))
  }

  private mutating func settle() -> Bool {
    phase = .settled
    return false
  }

  private mutating func judge(_ measured: Double, at now: Duration, _ remaining: Int64, _ active: Int) -> Bool {
    let helped = rate.map { measured >= $0 * Self.gain } ?? true
    rate = measured
    // Fewer than wanted: the host has no room, or nothing was left to divide.
    guard helped, wanted < ceiling, active >= wanted, wanted > 1 || measured < Self.plenty,
      isWorthMore(remaining, measured)
    else { return settle() }
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

/// What a free transfer fetches next of a file, decided by what is still to come.
struct SegmentChoice: Sendable, Equatable {
  var segment: Int
  var offset: Int64

  /// A segment with less than twice this is not divided: of a distant server, eight MiB are worth sixteen transfers.
  static let least: Int64 = 256 * 1024

  /// The segment that no transfer fetches; else the end of the one that would take longest, as far as no transfer has
  /// asked for it; else, if that gains much, its half although a connection must then be broken off; else nil.
  /// - Parameter rates: bytes a second of the segments in flight, where known; for the others `typical` is assumed.
  static func next(
    _ segments: [OpenSegment], rates: [Int: Double], typical: Double, worthwhile: Duration
  ) -> SegmentChoice? {
    if let free = segments.first(where: { !$0.isTaken }) {
      return SegmentChoice(segment: free.id, offset: free.position)
    }
    func seconds(_ segment: OpenSegment) -> Double { Double(segment.length) / max(rates[segment.id] ?? typical, 1) }
    let worth = worthwhile / .seconds(1)
    let slow = segments.filter { $0.length >= 2 * least && seconds($0) > worth }
    for segment in slow.sorted(by: { seconds($0) > seconds($1) }) {
      // Its transfer goes on meanwhile, so the half behind it will be the larger one.
      let half = segment.position + segment.length / 2
      let offset = max(half, segment.asked)
      // A quarter of the segment is worth a request too.
      if segment.end - offset >= max(least, segment.length / 4) {
        return SegmentChoice(segment: segment.id, offset: offset)
      }
      if seconds(segment) > 4 * worth { return SegmentChoice(segment: segment.id, offset: half) }
    }
    return nil
  }
}
