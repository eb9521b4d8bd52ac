public import DownloadModel

/// Words that this room does not make: what went wrong, said for a person.
public struct ProgressWords: Sendable {
  /// A short reason, without the address, such as "HTTP 404 Not Found".
  public var failure: @Sendable (DownloadError) -> String
  /// The same without what the reader might do about it, where dlm itself does something.
  public var cause: @Sendable (DownloadError) -> String
  /// The whole line, list and line number included.
  public var rejection: @Sendable (Rejection) -> String

  /// The moment, as RFC 3339 writes it; for JSON lines.
  public var timestamp: @Sendable () -> String

  public init(
    failure: @escaping @Sendable (DownloadError) -> String,
    cause: (@Sendable (DownloadError) -> String)? = nil,
    rejection: @escaping @Sendable (Rejection) -> String, timestamp: @escaping @Sendable () -> String = { "" }
  ) {
    self.timestamp = timestamp
    self.failure = failure
    self.cause = cause ?? failure
    self.rejection = rejection
  }
}
