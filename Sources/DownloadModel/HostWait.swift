/// A host that takes no more files for now.
public struct HostWait: Sendable, Equatable {
  /// With its port, where that is not the scheme's.
  public var host: String
  /// How many files it takes at a time.
  public var limit: Int
  /// Whether its answers said so, and not the user.
  public var isLearnt: Bool
  /// Files that wait for it.
  public var waiting: Int
  /// Until it is asked again; nil where only the end of another file is waited for.
  public var pause: Duration?

  public init(host: String, limit: Int, isLearnt: Bool, waiting: Int, pause: Duration?) {
    self.host = host
    self.limit = limit
    self.isLearnt = isLearnt
    self.waiting = waiting
    self.pause = pause
  }
}
