import ArgumentParser
import DownloadModel

/// `--limit-rate [HOST=]RATE[@HH:MM-HH:MM]`: a limit in bytes a second on everything, or on one host, always or during
/// some hours of each day.
struct RateLimit: ExpressibleByArgument, CustomStringConvertible {
  let description: String
  let host: String?
  /// 0 for `none`.
  let bytesPerSecond: Int64
  let hours: DayHours?

  init?(argument: String) {
    description = argument
    guard let limit = ValueForHost(argument) else { return nil }
    host = limit.host
    let (rate, times) = limit.value.halves(at: "@")
    guard let bytes = rate == "none" ? 0 : ByteRate(argument: String(rate))?.bytesPerSecond else { return nil }
    bytesPerSecond = bytes
    hours = times.flatMap { DayHours($0) }
    if times != nil, hours == nil { return nil }
  }

  /// The limits at a time of the day, by host, 0 for none: one with hours goes before one that is for the whole day,
  /// and a later one before an earlier one.
  /// - Parameter minute: since midnight.
  static func inForce(_ limits: [RateLimit], at minute: Int) -> [String?: Int64] {
    Dictionary(grouping: limits, by: \.host).mapValues { limits in
      let present = limits.last { $0.hours?.contain(minute) == true } ?? limits.last { $0.hours == nil }
      return present?.bytesPerSecond ?? 0
    }
  }
}
