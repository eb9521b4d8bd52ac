/// A line of nginx's access log, as `NginxConfiguration` has it written.
public struct AccessLogLine: Sendable, Equatable {
  public let status: Int
  /// Without the head: `$body_bytes_sent`.
  public let bodyBytes: Int
  /// nginx's serial number of the connection.
  public let connection: Int
  /// With its query: `$request_uri`.
  public let target: String

  /// The value of nginx's `log_format` that this type reads.
  static let format = "$status $body_bytes_sent $connection $request_uri"

  /// - Returns: nil if the line is of another form.
  init?(_ text: some StringProtocol) {
    let words = text.split(separator: " ", maxSplits: 3)
    guard words.count == 4, let status = Int(words[0]), let bytes = Int(words[1]),
      let connection = Int(words[2])
    else { return nil }
    self.status = status
    bodyBytes = bytes
    self.connection = connection
    target = String(words[3])
  }
}
