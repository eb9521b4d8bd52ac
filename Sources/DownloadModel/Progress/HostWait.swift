/// A host that takes no more files for now.
package struct HostWait: Sendable, Equatable {
  /// With its port, where that is not the scheme's.
  package var host: String
  /// How many files it takes at a time.
  package var limit: Int
  /// Whether its answers said so, and not the user.
  package var isLearnt: Bool
  package var waiting: Int
  /// Until it is asked again; nil where only the end of another file is waited for.
  package var pause: Duration?
  /// Whether it said that it takes no more requests until then, and refused none.
  package var isSpent: Bool

  package init(host: String, limit: Int, isLearnt: Bool, waiting: Int, pause: Duration?, isSpent: Bool = false) {
    self.host = host
    self.limit = limit
    self.isLearnt = isLearnt
    self.waiting = waiting
    self.pause = pause
    self.isSpent = isSpent
  }
}
