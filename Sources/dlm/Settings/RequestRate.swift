import ArgumentParser
import DownloadModel
import DownloadScheduling

/// `--rate [HOST=]N[/TIME]`: how many requests a host gets in a second, or another time, as in curl: `2/s`, `30/m`,
/// `5/15s`.
struct RequestRate: ExpressibleByArgument, CustomStringConvertible {
  let description: String
  private let host: String?
  /// Between the starts of two requests.
  private let interval: Duration

  init?(argument: String) {
    description = argument
    guard let rate = ValueForHost(argument) else { return nil }
    host = rate.host
    let (number, unit) = rate.value.halves(at: "/")
    let time = String(unit ?? "s")
    let seconds = TimeSpan.seconds(time.first?.isNumber == true ? time : "1" + time)
    guard let count = Double(number), count > 0, count < 1e6, !time.isEmpty, let seconds, seconds > 0,
      seconds / count <= 86_400
    else { return nil }
    interval = .seconds(seconds / count)
  }

  static func all(_ rates: [RequestRate]) -> RequestRates {
    rates.reduce(into: RequestRates()) { all, rate in
      if let host = rate.host { all.hosts[host] = rate.interval } else { all.interval = rate.interval }
    }
  }
}
