import Glibc

/// The next attempt after a temporary failure: when it begins, and which of how many it is.
public struct NextAttempt: Sendable, Equatable {
  /// Counts this file's attempts. At least 2, since the first was before any failure.
  public var attempt: Int
  /// Of `retries`, from 1: the file's own, or those of its host while that host serves no request.
  public var retry: Int
  /// The download fails after this many retries without success; nil where something other than a number ends them.
  public var retries: Int?
  /// Time from the failure to that attempt.
  public var delay: Duration
  /// Set where it begins at another address of the file.
  public var source: Address?

  package init(attempt: Int, retry: Int, of retries: Int?, delay: Duration, at source: Address? = nil) {
    self.attempt = attempt
    self.retry = retry
    self.retries = retries
    self.delay = delay
    self.source = source
  }
}
