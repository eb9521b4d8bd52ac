/// What a source knows about requests that it has not given yet.
public struct SourceOutlook: Sendable, Equatable {
  /// Whether `next` would return a request, or the end, without waiting for the list's writer.
  package var goesOn: Bool
  /// Whether an urgent request has been read.
  package var hasFirst: Bool
  /// The number of remaining requests; `nil` until the end of the list has been read.
  package var left: Int?

  package init(goesOn: Bool = true, hasFirst: Bool = false, left: Int? = nil) {
    self.goesOn = goesOn
    self.hasFirst = hasFirst
    self.left = left
  }
}
