import ArgumentParser

/// A span of time, in seconds or with a unit: `90`, `45s`, `90m`, `12h`, `30d`, `2w`.
struct TimeSpan: ExpressibleByArgument, CustomStringConvertible {
  let seconds: Int64
  var description: String { "\(seconds)s" }

  init?(argument: String) {
    guard let seconds = Self.seconds(argument) else { return nil }
    self.seconds = Int64(seconds)
  }

  /// - Returns: `nil` for an invalid time, or one below zero or of centuries.
  static func seconds(_ text: String) -> Double? {
    let seconds = Double(text, units: ["s": 1, "m": 60, "h": 3600, "d": 86_400, "w": 604_800])
    return seconds.flatMap { (0..<1e10).contains($0) ? $0 : nil }
  }
}

extension Double {
  /// A number, alone or with one of the units behind it.
  init?(_ text: String, units: [Character: Double]) {
    let unit = text.last.flatMap { units[$0] }
    guard let number = Double(unit == nil ? text[...] : text.dropLast()) else { return nil }
    self = number * (unit ?? 1)
  }
}
