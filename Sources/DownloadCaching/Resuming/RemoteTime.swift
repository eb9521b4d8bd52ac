/// Which time a file gets from its server (`--remote-time`): Last-Modified, as far as it can be one.
enum RemoteTime {
  /// Clocks are wrong by minutes and zones by hours; what lies further ahead is no time of a change.
  private static let aheadAtMost: Int64 = 86_400

  /// - Parameters:
  ///   - lastModified: the field as sent (RFC 9110 §8.8.2).
  ///   - now: seconds since 1970.
  /// - Returns: seconds since 1970; nil where the file keeps the time at which it was written.
  static func seconds(_ lastModified: String?, now: Int64) -> Int64? {
    guard let seconds = lastModified.flatMap({ HTTPDate($0) })?.seconds, seconds >= 0,
      seconds <= now + aheadAtMost
    else { return nil }
    return seconds
  }
}
