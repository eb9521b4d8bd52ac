/// What is done about a failure that may pass: when the next attempt begins, and which of how many it is.
public struct NextAttempt: Sendable, Equatable {
  /// Of this file, from 2: the first was before any failure.
  public var attempt: Int
  /// Which retry it is of those that `retries` bounds, from 1: the file's own, or those of its host while that serves
  /// nobody.
  public var retry: Int
  /// After so many without success nothing is tried any more; nil where something else than a number ends it.
  public var retries: Int?
  public var delay: Duration

  public init(attempt: Int, retry: Int, of retries: Int?, delay: Duration) {
    self.attempt = attempt
    self.retry = retry
    self.retries = retries
    self.delay = delay
  }
}
