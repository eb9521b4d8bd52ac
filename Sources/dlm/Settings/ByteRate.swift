import ArgumentParser

/// Bytes a second: `500K`, `5M`, `1.5G`, as in curl and wget (K is 1024).
struct ByteRate: ExpressibleByArgument, CustomStringConvertible {
  let bytesPerSecond: Int64
  var description: String { "\(bytesPerSecond)" }

  init?(argument: String) {
    let rate = Double(argument.lowercased(), units: ["k": 1024, "m": 1_048_576, "g": 1_073_741_824])
    guard let rate, rate >= 1, rate < 1e15 else { return nil }
    bytesPerSecond = Int64(rate)
  }
}
