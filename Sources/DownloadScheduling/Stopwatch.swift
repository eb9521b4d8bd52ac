/// Time since it was made, on any clock.
struct Stopwatch: Sendable {
  let elapsed: @Sendable () -> Duration

  init(_ clock: any Clock<Duration>) { elapsed = Self.started(clock) }

  private static func started<C: Clock>(_ clock: C) -> @Sendable () -> Duration where C.Duration == Duration {
    let start = clock.now
    return { start.duration(to: clock.now) }
  }
}
