/// The time since its creation, on any clock.
struct Stopwatch {
  let elapsed: @Sendable () -> Duration
  /// Suspends until a time, however late it is called: a pause computed by the caller would be too long.
  let sleepUntil: @Sendable (Duration) async throws -> Void

  init(_ clock: some Clock<Duration>) {
    let start = clock.now
    elapsed = { start.duration(to: clock.now) }
    sleepUntil = { try await clock.sleep(until: start.advanced(by: $0), tolerance: nil) }
  }
}
