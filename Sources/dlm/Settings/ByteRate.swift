import ArgumentParser

/// Bytes a second: `500K`, `5M`, `1.5G`, as in curl and wget (K is 1024).
struct ByteRate: ExpressibleByArgument, Equatable, CustomStringConvertible {
  let bytesPerSecond: Int64
  var description: String { "\(bytesPerSecond)" }

  init?(argument: String) {
    let units: [Character: Double] = ["k": 1024, "m": 1_048_576, "g": 1_073_741_824]
    let unit = argument.last.flatMap { units[Character($0.lowercased())] }
    guard let number = Double(unit == nil ? argument[...] : argument.dropLast()), number.isFinite else { return nil }
    let rate = number * (unit ?? 1)
    guard rate >= 1, rate < 1e15 else { return nil }
    bytesPerSecond = Int64(rate)
  }
}
