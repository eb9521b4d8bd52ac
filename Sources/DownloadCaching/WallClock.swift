import Glibc

/// The one place of this room that reads the clock; everything else is told the time.
public enum WallClock {
  /// Seconds since 1970.
  @Sendable public static func seconds() -> Int64 { Int64(time(nil)) }
}
