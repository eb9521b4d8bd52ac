import Glibc

/// The one place of this room that reads the clock; everything else is told the time.
public enum WallClock {
  /// Seconds since 1970.
  @Sendable public static func seconds() -> Int64 { Int64(time(nil)) }

  /// Nanoseconds since 1970 by the clock that files are stamped with, which ticks some hundred times a second.
  static func stamp() -> Int64 {
    var time = timespec()
    // Fails only for an unknown clock or a bad pointer.
    guard clock_gettime(CLOCK_REALTIME_COARSE, &time) == 0 else { return 0 }
    return Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec)
  }
}
