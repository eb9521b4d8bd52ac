public import ArgumentParser
public import DownloadCaching
public import DownloadModel
public import TerminalProgress

// What may stand behind an option, in the environment or in a settings file: one parser for all three.

extension DownloadMode: ExpressibleByArgument {
  public init?(argument: String) {
    switch argument {
    case "task-group": self = .parallel
    default: self.init(rawValue: argument)
    }
  }
  public static var allValueStrings: [String] { allCases.map(\.rawValue) }
}

extension ConflictPolicy: ExpressibleByArgument {}
extension Proof: ExpressibleByArgument {}

extension ContentDigest: ExpressibleByArgument {
  public init?(argument: String) { self.init(argument) }
}

extension ProgressStyle: ExpressibleByArgument {}

/// `N` or `auto`.
enum Parallelism: ExpressibleByArgument, Equatable {
  case auto
  case exactly(Int)

  init?(argument: String) {
    if argument == "auto" {
      self = .auto
    } else {
      guard let number = Int(argument), number >= 1 else { return nil }
      self = .exactly(number)
    }
  }
}

/// A time in seconds, fractions allowed.
struct Seconds: ExpressibleByArgument, Equatable {
  let duration: Duration

  init?(argument: String) {
    guard let number = Double(argument), number > 0, number < 1e9 else { return nil }
    duration = .seconds(number)
  }
}

/// A number from zero.
struct Count: ExpressibleByArgument, Equatable {
  let number: Int

  init?(argument: String) {
    guard let number = Int(argument), number >= 0 else { return nil }
    self.number = number
  }
}

/// Bytes a second: `500K`, `5M`, `1.5G`, as curl and wget take them (K is 1024).
struct ByteRate: ExpressibleByArgument, Equatable {
  let bytesPerSecond: Int64

  init?(argument: String) {
    let units: [Character: Double] = ["k": 1024, "m": 1_048_576, "g": 1_073_741_824]
    let unit = argument.last.flatMap { units[Character($0.lowercased())] }
    guard let number = Double(unit == nil ? argument[...] : argument.dropLast()), number.isFinite else {
      return nil
    }
    let rate = number * (unit ?? 1)
    guard rate >= 1, rate < 1e15 else { return nil }
    bytesPerSecond = Int64(rate)
  }
}

/// `yes` or `no`, for a flag in the environment or a settings file.
struct YesOrNo: ExpressibleByArgument, Equatable {
  let isOn: Bool

  init?(argument: String) {
    switch argument.lowercased() {
    case "1", "true", "yes", "on": isOn = true
    case "0", "false", "no", "off", "": isOn = false
    default: return nil
    }
  }
}

/// `Name: value`: one line of a request's head.
struct HeaderLine: ExpressibleByArgument, Equatable {
  let text: String

  init?(argument: String) {
    guard let colon = argument.firstIndex(where: { $0 == ":" || $0 == ";" }), colon != argument.startIndex,
      !argument.unicodeScalars.contains(where: { $0.value < 0x20 && $0 != "\t" || $0.value == 0x7f })
    else { return nil }
    text = argument
  }
}
