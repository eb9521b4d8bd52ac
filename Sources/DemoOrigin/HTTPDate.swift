/// A moment as HTTP writes it: IMF-fixdate (RFC 9110 §5.6.7), `Sun, 06 Nov 1994 08:49:37 GMT`.
enum HTTPDate {
  static func text(secondsSince1970 seconds: Int64) -> String {
    let (days, second) = floorDivide(seconds, by: 86_400)
    let (year, month, day) = date(daysSince1970: days)
    // 1 January 1970 was a Thursday.
    let weekday = weekdays[Int(floorDivide(days + 4, by: 7).remainder)]
    return "\(weekday), \(two(day)) \(months[month - 1]) \(four(year)) "
      + "\(two(Int(second) / 3600)):\(two(Int(second) / 60 % 60)):\(two(Int(second) % 60)) GMT"
  }

  private static let weekdays = ["Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"]
  private static let months = [
    "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
  ]

  /// The Gregorian date of a day. The year is counted from 1 March, so that the leap day is its last one.
  private static func date(daysSince1970 days: Int64) -> (year: Int, month: Int, day: Int) {
    // 719 468 days lie between 1 March of year 0 and 1970; 146 097 days are four centuries.
    let (era, dayOfEra) = floorDivide(days + 719_468, by: 146_097)
    let yearOfEra = (dayOfEra - dayOfEra / 1460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
    let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
    let monthFromMarch = (5 * dayOfYear + 2) / 153
    let day = dayOfYear - (153 * monthFromMarch + 2) / 5 + 1
    let month = monthFromMarch < 10 ? monthFromMarch + 3 : monthFromMarch - 9
    return (Int(yearOfEra + era * 400) + (month <= 2 ? 1 : 0), Int(month), Int(day))
  }

  private static func floorDivide(_ value: Int64, by divisor: Int64) -> (quotient: Int64, remainder: Int64) {
    let (quotient, remainder) = value.quotientAndRemainder(dividingBy: divisor)
    return remainder < 0 ? (quotient - 1, remainder + divisor) : (quotient, remainder)
  }

  private static func two(_ number: Int) -> String { number < 10 ? "0\(number)" : "\(number)" }

  private static func four(_ number: Int) -> String {
    String(repeating: "0", count: max(0, 4 - String(number).count)) + "\(number)"
  }
}
