package import DownloadModel

/// Texts that other modules provide: failures as messages for people.
package struct ProgressMessages: Sendable {
  package typealias ErrorText = @Sendable (DownloadError) -> String

  /// A short reason, without the URL, such as "HTTP 404 Not Found".
  package var failure: ErrorText
  /// The same without advice to the reader, for cases in which dlm itself reacts.
  package var cause: ErrorText
  /// The whole line, list and line number included.
  package var rejection: @Sendable (Rejection) -> String

  /// The current time in RFC 3339 format, for JSON lines.
  package var timestamp: @Sendable () -> String

  package init(
    failure: @escaping ErrorText, cause: ErrorText? = nil, rejection: @escaping @Sendable (Rejection) -> String,
    timestamp: @escaping @Sendable () -> String = { "" }
  ) {
    self.timestamp = timestamp
    self.failure = failure
    self.cause = cause ?? failure
    self.rejection = rejection
  }
}
