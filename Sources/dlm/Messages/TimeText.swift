import Glibc

/// Points in time as people and programs read them (RFC 3339, ISO 8601).
enum TimeText {
  /// `2026-11-20T18:22:03.123Z`
  static func utc(milliseconds: Int64) -> String {
    let (seconds, rest) = milliseconds.quotientAndRemainder(dividingBy: 1000)
    var (time, fields) = (time_t(seconds), tm())
    guard gmtime_r(&time, &fields) != nil else { return "" }
    return "\(date(fields))T\(clock(fields)):\(padded(fields.tm_sec)).\(padded(Int32(rest), 3))Z"
  }

  /// `2026-11-20 18:22`, in this user's time zone.
  static func local(seconds: Int64) -> String {
    var (time, fields) = (time_t(seconds), tm())
    guard localtime_r(&time, &fields) != nil else { return "" }
    return "\(date(fields)) \(clock(fields))"
  }

  private static func date(_ fields: tm) -> String {
    "\(padded(fields.tm_year + 1900, 4))-\(padded(fields.tm_mon + 1))-\(padded(fields.tm_mday))"
  }

  private static func clock(_ fields: tm) -> String {
    "\(padded(fields.tm_hour)):\(padded(fields.tm_min))"
  }

  private static func padded(_ number: Int32, _ width: Int = 2) -> String {
    let digits = String(number)
    return String(repeating: "0", count: max(0, width - digits.count)) + digits
  }
}
