package import Glibc

/// An HTTP date (RFC 9110 §5.6.7), read in its three forms, as seconds since 1970 UTC.
package struct HTTPDate: Equatable {
  package let seconds: Int64

  /// `Sun, 06 Nov 1994 08:49:37 GMT`, `Sunday, 06-Nov-94 08:49:37 GMT` or `Sun Nov  6 08:49:37 1994`. Parsed byte by
  /// byte, because each file answered from the cache has a date.
  package init?(_ text: String) {
    var text = text
    let seconds = text.withUTF8 { text in
      // In the obsolete form, the name of the day has no fixed length.
      let rest = text[(text.firstIndex { !Self.isLetter($0) } ?? 0)...]
      return Self.seconds(text[...], "aaa, 11 bbb 0000 22:33:44 GMT")
        ?? Self.seconds(text[...], "aaa bbb _1 22:33:44 0000")
        ?? ((6...9).contains(rest.startIndex) ? Self.seconds(rest, ", 11-bbb-00 22:33:44 GMT", yearDigits: 2) : nil)
    }
    guard let seconds else { return nil }
    self.seconds = seconds
  }

  /// - Parameter form: digits stand for the digits of a field (year, day, hour, minute, second), `_` for a blank or a
  ///   digit of the day, `a` for any letter, `b` for a letter of the month.
  private static func seconds(
    _ text: Slice<UnsafeBufferPointer<UInt8>>, _ form: StaticString, yearDigits: Int = 4
  ) -> Int64? {
    guard text.count == form.utf8CodeUnitCount else { return nil }
    var year = Int64(0)
    var day = Int64(0)
    var hour = Int64(0)
    var minute = Int64(0)
    var second = Int64(0)
    var name = UInt32(0)
    for (byte, mark) in zip(text, UnsafeBufferPointer(start: form.utf8Start, count: text.count)) {
      let digit = Int64(byte & 0x0F)
      let isDigit = byte.isDigit
      switch Unicode.Scalar(mark) {
      case "0" where isDigit: year = year * 10 + digit
      case "1" where isDigit: day = day * 10 + digit
      case "2" where isDigit: hour = hour * 10 + digit
      case "3" where isDigit: minute = minute * 10 + digit
      case "4" where isDigit: second = second * 10 + digit
      case "_":
        guard isDigit || byte == 0x20 else { return nil }
        day = digit
      case "a" where isLetter(byte): continue
      case "b": name = name << 8 | UInt32(byte)
      default: guard byte == mark else { return nil }
      }
    }
    // RFC 850's two digits: servers do not send dates before 1970.
    if yearDigits == 2 { year += year < 70 ? 2000 : 1900 }
    guard let month = months.firstIndex(of: name), (1...31).contains(day), hour < 24, minute < 60, second <= 60,
      year >= 1900
    else { return nil }
    return days(year, month, day) * 86_400 + hour * 3600 + minute * 60 + second
  }

  private static func isLetter(_ byte: UInt8) -> Bool { (0x61...0x7A).contains(byte | 0x20) }

  private static let months = [
    "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
  ].map { $0.utf8.reduce(UInt32(0)) { $0 << 8 | UInt32($1) } }

  /// Days from 1970-01-01 in the Gregorian calendar; a year that starts in March has its leap day at the end.
  /// - Parameter month: from 0.
  private static func days(_ year: Int64, _ month: Int, _ day: Int64) -> Int64 {
    let shifted = month < 2 ? year - 1 : year
    let dayOfYear = (153 * Int64((month + 10) % 12) + 2) / 5 + day - 1
    return shifted * 365 + shifted / 4 - shifted / 100 + shifted / 400 + dayOfYear - 719_468
  }

  /// The form that may be sent.
  package static func text(_ seconds: Int64) -> String { tm.text(seconds, "%a, %d %b %04Y %H:%M:%S GMT") }
}

extension tm {
  /// The text that strftime(3) writes: in English, because no part of the program sets a locale.
  /// - Parameter seconds: since 1970.
  /// - Parameter isLocal: whether to use the user's time zone instead of UTC.
  package static func text(_ seconds: Int64, _ format: String, isLocal: Bool = false) -> String {
    var time = time_t(seconds)
    var fields = tm()
    guard (isLocal ? localtime_r : gmtime_r)(&time, &fields) != nil else { return "" }
    var text = [CChar](repeating: 0, count: 64)
    let count = strftime(&text, text.count, format, &fields)
    return String(utf8: text.prefix(count).map(UInt8.init(bitPattern:)))
  }
}
