/// When everything is asked about again (`--refresh-every`): a pure rule. Counted from one round's beginning to the
/// next; rounds that a sleeping machine has missed are one.
struct RefreshSchedule: Equatable {
  let every: Duration
  private(set) var next: Duration

  init(every: Duration, from now: Duration) {
    self.every = every
    next = now + every
  }

  /// - Returns: whether a round is due; the one after it is counted from now.
  mutating func isDue(at now: Duration) -> Bool {
    guard now >= next else { return false }
    next = now + every
    return true
  }
}
