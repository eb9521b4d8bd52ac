package import DownloadModel

/// Words that others make: what went wrong, said for a person.
package struct ProgressMessages: Sendable {
  /// A short reason, without the address, such as "HTTP 404 Not Found".
  package var failure: @Sendable (DownloadError) -> String
  /// The same without what the reader might do about it, where dlm itself does something.
  package var cause: @Sendable (DownloadError) -> String
  /// The whole line, list and line number included.
  package var rejection: @Sendable (Rejection) -> String

  /// The moment as in RFC 3339, for JSON lines.
  package var timestamp: @Sendable () -> String

  package init(
    failure: @escaping @Sendable (DownloadError) -> String, cause: (@Sendable (DownloadError) -> String)? = nil,
    rejection: @escaping @Sendable (Rejection) -> String, timestamp: @escaping @Sendable () -> String = { "" }
  ) {
    self.timestamp = timestamp
    self.failure = failure
    self.cause = cause ?? failure
    self.rejection = rejection
  }
}
