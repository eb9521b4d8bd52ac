import CurlTransport
import DownloadModel
import FileReceiving
import Synchronization
import TerminalProgress

/// Keeps a run's limits as the clock and the user want them.
final class LimitSchedule: Sendable {
  private struct State {
    var wanted: [RateLimit]
    /// What the clock has set: a limit that a key has set since stays until the clock changes it.
    var inForce: [String?: Int64] = [:]
    /// The rate before a key first limited the run: no limit is needed above it. `nil` if no key has.
    var unlimited: Int64?
  }

  private let limits: RateLimits
  private let state: Lock<State>

  init(_ wanted: [RateLimit], _ limits: RateLimits) {
    self.limits = limits
    state = Lock(State(wanted: wanted))
    if !wanted.isEmpty { apply() }
  }

  private func apply() {
    let minute = WallClock.localMinute()
    let changed = state.withLock { state in
      let now = RateLimit.inForce(state.wanted, at: minute)
      defer { state.inForce = now }
      return now.filter { state.inForce[$0.key] != $0.value }
    }
    for (host, rate) in changed { limits.set(rate, of: host) }
  }

  /// Follows the clock until the task is cancelled, if a limit is for some hours only.
  func run() async {
    while !Task.isCancelled, state.withLock({ $0.wanted.contains { $0.hours != nil } }) {
      apply()
      let second = WallClock.seconds() % 60
      // A clock's sleep ends early only for a cancelled task.
      try? await Task.sleep(for: .seconds(60 - second))
    }
  }

  /// Takes the place of all limits for the same hosts.
  func change(_ new: [RateLimit]) {
    state.withLock { state in
      state.wanted.removeAll { old in new.contains { $0.host == old.host } }
      state.wanted += new
      for limit in new { state.inForce[limit.host] = nil }
    }
    apply()
  }

  /// Halves or doubles the limit of the whole run.
  /// - Parameter rate: of the run now, in bytes a second.
  /// - Returns: the new limit; `nil` for no limit.
  func change(isFaster: Bool, at rate: Int64) -> Int64? {
    let limit = limits.total.bytesPerSecond
    if isFaster, limit == 0 { return nil }
    let next = state.withLock { state in
      if limit == 0 { state.unlimited = rate }
      return Self.next(isFaster, from: limit, at: rate, unlimited: state.unlimited)
    }
    limits.set(next, of: nil)
    return next == 0 ? nil : next
  }

  /// - Returns: 0 for no limit.
  static func next(_ isFaster: Bool, from limit: Int64, at rate: Int64, unlimited: Int64?) -> Int64 {
    guard isFaster else { return max(least, (limit == 0 ? rate : limit) / 2) }
    let doubled = limit * 2
    return unlimited.map { doubled >= $0 } == true ? 0 : doubled
  }

  private static let least: Int64 = 1024
}
