import Glibc

/// The only code of FileReceiving and DownloadCaching that reads the clock.
package enum WallClock {
  /// Seconds since 1970.
  @Sendable package static func seconds() -> Int64 { Int64(time(nil)) }

  package static func milliseconds() -> Int64 { nanoseconds(CLOCK_REALTIME) / 1_000_000 }

  /// Minutes since midnight in this user's time zone.
  package static func localMinute() -> Int {
    var now = time(nil)
    var local = tm()
    localtime_r(&now, &local)
    return Int(local.tm_hour) * 60 + Int(local.tm_min)
  }

  /// Nanoseconds since 1970 by the clock that stamps files, which ticks some hundred times a second.
  package static func stamp() -> Int64 { nanoseconds(CLOCK_REALTIME_COARSE) }

  /// Milliseconds since the machine started. Equal for all its processes, and never decreasing.
  package static func sinceBoot() -> UInt64 { UInt64(nanoseconds(CLOCK_BOOTTIME) / 1_000_000) }

  private static func nanoseconds(_ clock: clockid_t) -> Int64 {
    var time = timespec()
    // Fails only for an unknown clock or a bad pointer.
    guard clock_gettime(clock, &time) == 0 else { return 0 }
    return Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec)
  }
}
