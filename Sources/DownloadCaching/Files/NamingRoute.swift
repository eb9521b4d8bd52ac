/// The two ways that Linux has for naming an unnamed file (open(2), O_TMPFILE).
enum NamingRoute: Sendable {
  /// By its descriptor: for anyone since Linux 6.10, for CAP_DAC_READ_SEARCH before.
  case descriptor
  /// By its link in /proc: for anyone, where /proc is mounted.
  case procfs
}
