/// A date of HTTP (RFC 9110 §5.6.7) in its three forms, as seconds since 1970 UTC.
struct HTTPDate: Equatable, Comparable {
  let seconds: Int64

  init(seconds: Int64) { self.seconds = seconds }

  /// `Sun, 06 Nov 1994 08:49:37 GMT`, `Sunday, 06-Nov-94 08:49:37 GMT` or `Sun Nov  6 08:49:37 1994`.
  init?(_ text: String) {
    let parts = text.split { $0 == " " || $0 == "," || $0 == "-" || $0 == ":" }
    let isAsctime = parts.count == 7
    guard isAsctime || (parts.count == 8 && parts[7] == "GMT") else { return nil }
    let (dayAt, monthAt, timeAt, yearAt) = isAsctime ? (2, 1, 3, 6) : (1, 2, 4, 3)
    guard let month = Self.months.firstIndex(of: parts[monthAt]),
      let day = Self.number(parts[dayAt]), (1...31).contains(day),
      var year = Self.number(parts[yearAt]),
      let hour = Self.number(parts[timeAt]), hour < 24,
      let minute = Self.number(parts[timeAt + 1]), minute < 60,
      let second = Self.number(parts[timeAt + 2]), second <= 60
    else { return nil }
    // RFC 850's two digits: servers do not send dates before 1970.
    if parts[yearAt].count == 2 { year += year < 70 ? 2000 : 1900 }
    guard (1900...9999).contains(year) else { return nil }
    seconds = Self.days(year, month + 1, day) * 86_400 + hour * 3600 + minute * 60 + second
  }

  static func < (left: HTTPDate, right: HTTPDate) -> Bool { left.seconds < right.seconds }

  private static let months: [Substring] = [
    "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
  ]

  private static func number(_ text: Substring) -> Int64? {
    guard text.utf8.count <= 4, text.utf8.allSatisfy({ $0 >= 0x30 && $0 <= 0x39 }) else { return nil }
    return Int64(text)
  }

  /// Days from 1970-01-01 in the Gregorian calendar; a year counted from March has its leap day at the end.
  private static func days(_ year: Int64, _ month: Int, _ day: Int64) -> Int64 {
    let shifted = month <= 2 ? year - 1 : year
    let monthFromMarch = Int64((month + 9) % 12)
    let dayOfYear = (153 * monthFromMarch + 2) / 5 + day - 1
    return shifted * 365 + shifted / 4 - shifted / 100 + shifted / 400 + dayOfYear - 719_468
  }
}

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
    guard let seconds = lastModified.flatMap({ HTTPDate($0) })?.seconds, seconds >= 0,
      seconds <= now + aheadAtMost
    else { return nil }
    return seconds
  }
}
