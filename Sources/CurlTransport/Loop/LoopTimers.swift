/// When a loop must act although nothing wakes it. Times are in nanoseconds; `nil` if there is nothing to do.
struct LoopTimers {
  let stallWatch: StallWatch
  var curl: UInt64?
  private var lastLook: UInt64?
  /// The earliest end of a drained body, or of a transfer's wait for its limit.
  private var deadline: UInt64?
  private var nextWatch: UInt64?
  /// The interval between two checks of unanswered requests.
  static let watchInterval: UInt64 = 10_000_000

  init(_ stallWatch: StallWatch) { self.stallWatch = stallWatch }

  mutating func lookForStalls(_ isOn: Bool, at now: @autoclosure () -> UInt64) {
    lastLook = isOn ? lastLook ?? now() : nil
  }

  mutating func watchUnanswered(_ isOn: Bool, at now: @autoclosure () -> UInt64) {
    nextWatch = isOn ? nextWatch ?? now() + Self.watchInterval : nil
  }

  /// At that time the loop meets the deadlines of its transfers.
  mutating func look(at time: UInt64) { deadline = min(deadline ?? time, time) }

  /// - Returns: the counted time since the last check, if it is time to check for stalled transfers.
  mutating func takeLook(at now: UInt64) -> UInt64? {
    guard let last = lastLook, now >= last + stallWatch.interval else { return nil }
    lastLook = now
    return stallWatch.counted(now - last)
  }

  mutating func takeDeadline(at now: UInt64) -> Bool {
    guard let deadline, deadline <= now else { return false }
    self.deadline = nil
    return true
  }

  /// - Returns: the same for unanswered requests: if the loop was delayed, answers may be waiting.
  mutating func takeWatch(at now: UInt64) -> UInt64? {
    guard let time = nextWatch, time <= now else { return nil }
    nextWatch = now + Self.watchInterval
    return min(now - time, Self.watchInterval) + Self.watchInterval
  }

  mutating func wereHeld(for time: UInt64, until now: UInt64) {
    lastLook = lastLook.map { _ in now }
    deadline = deadline.map { $0 + time }
    nextWatch = nextWatch.map { $0 + time }
  }

  /// Milliseconds until the next action; -1 for no limit.
  func wait(at now: UInt64) -> Int32 {
    let look = lastLook.map { $0 + stallWatch.interval }
    let next = min(curl ?? .max, look ?? .max, deadline ?? .max, nextWatch ?? .max)
    if next == .max { return -1 }
    return next <= now ? 0 : Int32(clamping: (next - now + 999_999) / 1_000_000)
  }
}
