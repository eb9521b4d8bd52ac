import Glibc

/// CLOCK_MONOTONIC in nanoseconds.
func monotonicNanoseconds() -> UInt64 {
  var time = timespec()
  // Fails only for an unknown clock or a bad pointer.
  guard clock_gettime(CLOCK_MONOTONIC, &time) == 0 else { return 0 }
  return UInt64(time.tv_sec) * 1_000_000_000 + UInt64(time.tv_nsec)
}
