package import Glibc

/// A date of HTTP (RFC 9110 §5.6.7), read in its three forms, as seconds since 1970 UTC.
package struct HTTPDate: Equatable, Comparable {
  package let seconds: Int64

  /// `Sun, 06 Nov 1994 08:49:37 GMT`, `Sunday, 06-Nov-94 08:49:37 GMT` or `Sun Nov 6 08:49:37 1994`.
  ///
  /// Read byte by byte: each file that a cache answers for has a date, and to split texts into words took an eighth of
  /// all that a hit costs.
  package init?(_ text: String) {
    var text = text
    guard let seconds = text.withUTF8({ Self.seconds($0) }) else { return nil }
    self.seconds = seconds
  }

  private static func seconds(_ text: UnsafeBufferPointer<UInt8>) -> Int64? {
    if current.fits(text) { return seconds(text, current) }
    if ofC.fits(text) { return seconds(text, ofC) }
    let afterDay = text.firstIndex { !isLetter($0) } ?? 0
    let rest = UnsafeBufferPointer(rebasing: text[afterDay...])
    return (6...9).contains(afterDay) && obsolete.fits(rest) ? seconds(rest, obsolete) : nil
  }

  /// - Parameter text: of the form.
  private static func seconds(_ text: UnsafeBufferPointer<UInt8>, _ form: Form) -> Int64? {
    let (day, hour) = (number(text, form.day, 2), number(text, form.time, 2))
    let (minute, second) = (number(text, form.time + 3, 2), number(text, form.time + 6, 2))
    var year = number(text, form.year, form.yearDigits)
    // RFC 850's two digits: servers do not send dates before 1970.
    if form.yearDigits == 2 { year += year < 70 ? 2000 : 1900 }
    guard let month = month(text[form.month...].prefix(3)), (1...31).contains(day), hour < 24, minute < 60,
      second <= 60, year >= 1900
    else { return nil }
    return days(year, month, day) * 86_400 + hour * 3600 + minute * 60 + second
  }

  /// One of the three forms, and where its parts stand in it.
  private struct Form {
    /// A letter stands for any letter, 0 for any digit, and _ for a digit or a blank.
    let pattern: StaticString
    let day, month, year, yearDigits, time: Int

    func fits(_ text: UnsafeBufferPointer<UInt8>) -> Bool {
      pattern.withUTF8Buffer { pattern in
        guard pattern.count == text.count else { return false }
        return text.indices.allSatisfy { index in
          switch pattern[index] {
          case UInt8(ascii: "A"): HTTPDate.isLetter(text[index])
          case UInt8(ascii: "0"): (0x30...0x39).contains(text[index])
          case UInt8(ascii: "_"): text[index] == 0x20 || (0x30...0x39).contains(text[index])
          default: text[index] == pattern[index]
          }
        }
      }
    }
  }

  /// RFC 5322's, the only one that may be sent.
  private static let current = Form(
    pattern: "AAA, 00 AAA 0000 00:00:00 GMT", day: 5, month: 8, year: 12, yearDigits: 4, time: 17)
  /// That of C's asctime.
  private static let ofC = Form(
    pattern: "AAA AAA _0 00:00:00 0000", day: 8, month: 4, year: 20, yearDigits: 4, time: 11)
  /// RFC 850's, without the name of the day.
  private static let obsolete = Form(
    pattern: ", 00-AAA-00 00:00:00 GMT", day: 2, month: 5, year: 9, yearDigits: 2, time: 12)

  private static func isLetter(_ byte: UInt8) -> Bool { (0x61...0x7A).contains(byte | 0x20) }

  /// Digits, with blanks before them.
  private static func number(_ text: UnsafeBufferPointer<UInt8>, _ start: Int, _ count: Int) -> Int64 {
    text[start..<start + count].reduce(0) { $0 * 10 + Int64($1 & 0x0F) }
  }

  private static let months: StaticString = "JanFebMarAprMayJunJulAugSepOctNovDec"

  /// From 1 to 12.
  private static func month(_ name: some Collection<UInt8>) -> Int? {
    months.withUTF8Buffer { months in
      (0..<12).first { months[($0 * 3)..<($0 * 3 + 3)].elementsEqual(name) }.map { $0 + 1 }
    }
  }

  package static func < (left: HTTPDate, right: HTTPDate) -> Bool { left.seconds < right.seconds }

  /// The form that may be sent.
  package static func text(_ seconds: Int64) -> String {
    var (time, fields) = (time_t(seconds), tm())
    gmtime_r(&time, &fields)
    return fields.text("%a, %d %b %04Y %H:%M:%S GMT")
  }

  /// Days from 1970-01-01 in the Gregorian calendar; a year counted from March has its leap day at the end.
  private static func days(_ year: Int64, _ month: Int, _ day: Int64) -> Int64 {
    let shifted = month <= 2 ? year - 1 : year
    let monthFromMarch = Int64((month + 9) % 12)
    let dayOfYear = (153 * monthFromMarch + 2) / 5 + day - 1
    return shifted * 365 + shifted / 4 - shifted / 100 + shifted / 400 + dayOfYear - 719_468
  }
}

extension tm {
  /// As strftime(3) writes it: in English, because no part of the program sets a locale.
  package func text(_ format: String) -> String {
    var (fields, text) = (self, [CChar](repeating: 0, count: 64))
    let count = strftime(&text, text.count, format, &fields)
    return String(decoding: text.prefix(count).map(UInt8.init(bitPattern:)), as: UTF8.self)
  }
}
