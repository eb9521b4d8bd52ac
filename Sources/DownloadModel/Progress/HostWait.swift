/// A host that accepts no more files for now.
package struct HostWait: Sendable, Equatable {
  /// With its port, if that is not the scheme's default.
  package var host: String
  /// Files that it accepts at a time.
  package var limit: Int
  /// Whether its answers set the limit, and not the user.
  package var isLearnt: Bool
  package var waiting: Int
  /// Between two requests, by the user's limit; `nil` for none.
  package var interval: Duration?
  /// Time until its next request; `nil` if only the end of another file is awaited.
  package var pause: Duration?
  /// Whether it announced that it accepts no more requests until then, without refusing one.
  package var isSpent: Bool

  package init(
    host: String, limit: Int, isLearnt: Bool, waiting: Int, interval: Duration? = nil, pause: Duration?,
    isSpent: Bool = false
  ) {
    self.interval = interval
    self.host = host
    self.limit = limit
    self.isLearnt = isLearnt
    self.waiting = waiting
    self.pause = pause
    self.isSpent = isSpent
  }
}
