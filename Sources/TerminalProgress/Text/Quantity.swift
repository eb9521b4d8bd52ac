/// Formats numbers for people, the same everywhere.
package enum Quantity {
  /// Binary units: `0 B`, `812 B`, `4.0 KiB`, `390 GiB`. At most 8 cells wide, without a sign.
  package static func bytes(_ count: Int64) -> String {
    let sign = count < 0 ? "-" : ""
    let magnitude = count.magnitude
    if magnitude < 1024 { return "\(sign)\(magnitude) B" }
    var shift: UInt64 = 10
    for unit in ["KiB", "MiB", "GiB", "TiB", "PiB", "EiB"] {
      // Rounding must not reach 1024 of a unit: that is 1.0 of the next.
      let size: UInt64 = 1 << shift
      let rest = magnitude & (size - 1)
      let tenths = (magnitude >> shift) * 10 + (rest * 10 + size / 2) >> shift
      if tenths < 1000 { return "\(sign)\(tenths / 10).\(tenths % 10) \(unit)" }
      let whole = (magnitude + size / 2) >> shift
      if whole < 1024 { return "\(sign)\(whole) \(unit)" }
      shift += 10
    }
    return "\(sign)\(magnitude >> 60) EiB"
  }

  /// Bytes a second: `12.3 MiB/s`. At most 10 cells wide.
  package static func rate(_ bytesPerSecond: Double) -> String {
    guard bytesPerSecond.isFinite, bytesPerSecond >= 0 else { return "0 B/s" }
    return bytes(Int64(min(bytesPerSecond.rounded(), 9e18))) + "/s"
  }

  /// A span of time: `45 ms`, `1.2 s`, `1 min 05 s`, `2 h 03 min`, `3 d 04 h`.
  package static func duration(_ duration: Duration) -> String {
    let seconds = max(0, duration.inSeconds)
    let tenths = Int((seconds * 10).rounded())
    if tenths < 1 { return "\(Int((seconds * 1000).rounded())) ms" }
    if tenths < 600 { return "\(tenths / 10).\(tenths % 10) s" }
    let whole = whole(duration, .toNearestOrAwayFromZero)
    if whole < 3600 { return "\(whole / 60) min \(twoDigits(whole % 60)) s" }
    if whole < 86_400 { return "\(whole / 3600) h \(twoDigits(whole % 3600 / 60)) min" }
    return "\(count(whole / 86_400)) d \(twoDigits(whole % 86_400 / 3600)) h"
  }

  /// A measured time with three digits: `0.42 ms`, `41.2 ms`, `3.41 s`; from a minute on like `duration`.
  package static func measurement(_ duration: Duration) -> String {
    let seconds = max(0, duration.inSeconds)
    // Rounding must not reach a fourth digit: that is the next form's.
    if seconds < 0.009_995 { return "\(decimal(seconds * 1000, 100)) ms" }
    if seconds < 0.099_95 { return "\(decimal(seconds * 1000, 10)) ms" }
    if seconds < 0.999_5 { return "\(Int((seconds * 1000).rounded())) ms" }
    if seconds < 9.995 { return "\(decimal(seconds, 100)) s" }
    return self.duration(duration)
  }

  /// A decimal with as many digits after the point as `parts` has zeros: 10 or 100.
  package static func decimal(_ value: Double, _ parts: Int) -> String {
    let whole = Int((min(max(value, 0), 1e12) * Double(parts)).rounded())
    let rest = whole % parts
    return "\(whole / parts).\(parts == 100 ? twoDigits(rest) : String(rest))"
  }

  /// Seconds as a number of any size that can be shown.
  static func whole(_ duration: Duration, _ rule: FloatingPointRoundingRule) -> Int {
    Int(min(max(0, duration.inSeconds), 1e15).rounded(rule))
  }

  /// Remaining time for a narrow column: `0:19`, `12:05`, `2:03:04`, from 100 hours on `4 d 04 h`. Rounded up, because
  /// 0:00 means done.
  package static func countdown(_ duration: Duration) -> String {
    let seconds = whole(duration, .up)
    if seconds < 3600 { return "\(seconds / 60):\(twoDigits(seconds % 60))" }
    if seconds < 100 * 3600 { return "\(seconds / 3600):\(twoDigits(seconds % 3600 / 60)):\(twoDigits(seconds % 60))" }
    return seconds < 100 * 86_400 ? "\(seconds / 86_400) d \(twoDigits(seconds % 86_400 / 3600)) h" : "over 99 d"
  }

  /// A wait in a sentence: `4 s`, `2:05`. Rounded down for elapsed time, and up for remaining time.
  package static func wait(_ duration: Duration, isLeft: Bool) -> String {
    let whole = whole(duration, isLeft ? .up : .down)
    return whole < 100 ? "\(whole) s" : countdown(.seconds(whole))
  }

  /// Thousands separated: `1,000`.
  package static func count(_ number: Int) -> String {
    let digits = String(number.magnitude).utf8
    var text = number < 0 ? "-" : ""
    for (index, digit) in digits.enumerated() {
      if index > 0, (digits.count - index).isMultiple(of: 3) { text += "," }
      text.unicodeScalars.append(Unicode.Scalar(digit))
    }
    return text
  }

  /// `1 file`, `1,000 files`.
  package static func files(_ number: Int) -> String { count(number, "file", "files") }

  package static func count(_ number: Int, _ one: String, _ more: String) -> String {
    "\(count(number)) \(number == 1 ? one : more)"
  }

  private static func twoDigits(_ number: Int) -> String { number < 10 ? "0\(number)" : "\(number)" }
}

extension Duration {
  var inSeconds: Double { self / .seconds(1) }
}
