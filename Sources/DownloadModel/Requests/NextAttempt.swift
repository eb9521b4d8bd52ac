/// The next attempt after a temporary failure: when it starts, and its number.
public struct NextAttempt: Sendable, Equatable {
  /// Number of this file's attempt. At least 2, because the first was before any failure.
  public var attempt: Int
  /// Number of the retry out of `retries`, from 1: the file's own, or the host's while it serves no request.
  public var retry: Int
  /// The download fails after this many retries without success; `nil` if something other than a number ends them.
  public var retries: Int?
  /// Time from the failure to that attempt.
  public var delay: Duration
  /// Set if it starts with another source of the file.
  public var source: Address?

  /// Without a number and a delay: no retry is spent, and it starts at once.
  package init(
    attempt: Int = 1, retry: Int = 0, of retries: Int? = nil, delay: Duration = .zero, at source: Address? = nil
  ) {
    self.attempt = attempt
    self.retry = retry
    self.retries = retries
    self.delay = delay
    self.source = source
  }
}
