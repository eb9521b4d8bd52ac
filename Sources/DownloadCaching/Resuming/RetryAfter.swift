import DownloadModel

/// Retry-After (RFC 9110 §10.2.3): seconds, or a date.
enum RetryAfter {
  /// How long the server asks clients to wait; nil if the field is neither.
  /// - Parameter now: seconds since 1970.
  static func duration(_ field: String, now: Int64) -> Duration? {
    if !field.isEmpty, field.utf8.count <= 9, field.utf8.allSatisfy({ $0 >= 0x30 && $0 <= 0x39 }) {
      return Int64(field).map { .seconds($0) }
    }
    return HTTPDate(field).map { .seconds(max(0, $0.seconds - now)) }
  }
}

/// Which time a file gets from its server (`--remote-time`): Last-Modified, if it is plausible.
enum RemoteTime {
  /// Clocks are wrong by minutes and zones by hours; a time further ahead cannot be that of a change.
  private static let aheadAtMost: Int64 = 86_400

  /// - Parameters:
  ///   - lastModified: the field as sent (RFC 9110 §8.8.2).
  ///   - now: seconds since 1970.
  /// - Returns: seconds since 1970; nil where the file keeps the time at which it was written.
  static func seconds(_ lastModified: String?, now: Int64) -> Int64? {
    guard let seconds = lastModified.flatMap({ HTTPDate($0) })?.seconds, seconds >= 0, seconds <= now + aheadAtMost
    else { return nil }
    return seconds
  }
}
