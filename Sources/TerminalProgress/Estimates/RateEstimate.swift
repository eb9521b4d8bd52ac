/// The speed over the last seconds.
struct RateEstimate {
  /// An estimate of the remaining time is useless before this.
  static let settlingTime = Duration.seconds(2)

  /// The shown rate covers this many half seconds.
  private static let shown = 6

  /// Time without a byte that counts as a stall.
  static let stallTime = Duration.seconds(5)

  /// The last time before the first bytes: the wait for a first answer says nothing about speed.
  private(set) var start: Duration
  private var latest: Duration
  private var frames = 0
  /// Bytes that arrived while no time had passed.
  private var pending: Int64 = 0
  /// The bytes of the last twenty half seconds, each at the index of its number.
  private var pieces = InlineArray<20, Int64>(repeating: 0)
  /// The number of the last half second in which bytes arrived.
  private var piece = 0

  init(start: Duration) {
    self.start = start
    latest = start
  }

  /// Grows with every second frame in which bytes arrived: at most ten steps a second.
  var step: Int { frames / 2 }

  /// Adds the bytes that arrived in the last frame.
  mutating func add(bytes: Int64, at now: Duration) {
    guard bytes > 0 else {
      if frames == 0 {
        start = now
        latest = now
      }
      return
    }
    frames += 1
    pending += bytes
    guard now > latest else { return }
    let number = number(at: now)
    for passed in max(piece, number - pieces.count)..<max(piece, number) { pieces[(passed + 1) % pieces.count] = 0 }
    pieces[number % pieces.count] += pending
    latest = now
    pending = 0
    piece = number
  }

  /// The number of the half second that contains this time, or ends at it.
  private func number(at now: Duration) -> Int {
    max(0, Int(((now - start) / .milliseconds(500) - 1e-6).rounded(.up)) - 1)
  }

  /// Bytes a second, over this many half seconds.
  func rate(at now: Duration, over count: Int = shown) -> Double {
    let age = (now - start).inSeconds
    guard age > 0 else { return 0 }
    let first = max(0, number(at: now) - count + 1)
    var bytes: Int64 = 0
    for number in first..<max(first, piece + 1) { bytes += pieces[number % pieces.count] }
    return Double(bytes) / (age - Double(first) / 2)
  }

  func isStill(at now: Duration) -> Bool { now - latest >= Self.stallTime }

  /// Time until `remaining` bytes are received, at the rate of the last third of the time, but of 3 to 10 seconds, so
  /// that it neither jumps nor sticks; `nil` before the rate has settled and during a stall.
  func timeLeft(remaining: Int64, at now: Duration) -> Duration? {
    guard now - start >= Self.settlingTime, !isStill(at: now), remaining >= 0 else { return nil }
    let third = Int((latest - start) / .milliseconds(1500))
    let rate = rate(at: latest, over: min(max(third, Self.shown), pieces.count))
    return rate > 0 ? .seconds(Double(remaining) / rate) : nil
  }
}
