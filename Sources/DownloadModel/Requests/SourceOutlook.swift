import Synchronization

/// What a source can say of requests that it has not given yet.
public struct SourceOutlook: Sendable, Equatable {
  /// Whether `next` would give more, or the end, without waiting for whoever writes the list.
  package var goesOn: Bool
  /// Whether a request that goes first has been read.
  package var hasFirst: Bool
  /// How many requests it has; nil until its end has been read.
  package var left: Int?

  package init(goesOn: Bool = true, hasFirst: Bool = false, left: Int? = nil) {
    self.goesOn = goesOn
    self.hasFirst = hasFirst
    self.left = left
  }
}
