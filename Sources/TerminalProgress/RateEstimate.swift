#if canImport(Darwin)
  import Darwin
#elseif canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#endif

/// Speed as an exponential average over time, averaged once more so that it neither jumps nor sticks.
///
/// A sample counts for a tenth after 15 seconds: w(a) = 0.1^(a / 15 s). The estimate begins at nothing, so it is
/// divided by the weight it can have had since the start, 1 − w(now − start). Time without bytes weighs like
/// any other: in a stall the rate decays.
struct RateEstimate: Sendable {
  /// Before this a guess at the end is worth nothing.
  static let settlingTime = Duration.seconds(2)

  let start: Duration
  private var latest: Duration
  private var once = 0.0
  private var twice = 0.0
  /// Bytes that came without time having passed.
  private var pending: Int64 = 0

  /// - Parameter start: on the same monotonic clock as every later time.
  init(start: Duration) {
    self.start = start
    latest = start
  }

  /// Takes bytes that arrived since the last call.
  mutating func add(bytes: Int64, at now: Duration) {
    guard bytes > 0 else { return }
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
    return twice * Self.weight(max(0, (now - latest).inSeconds)) / (1 - Self.weight(age))
  }

  /// Time until `remaining` bytes are there; nil before the rate has settled and while nothing moves.
  func timeLeft(remaining: Int64, at now: Duration) -> Duration? {
    guard now - start >= Self.settlingTime, remaining >= 0 else { return nil }
    let rate = rate(at: now)
    guard rate >= 1 else { return nil }
    return .seconds(Double(remaining) / rate)
  }

  private static func weight(_ seconds: Double) -> Double { pow(0.1, seconds / 15) }
}
