import DownloadScheduling
import DownloadModel
import Testing

@testable import dlm

@Suite("What the options for limits take, and which limit counts at what time")
struct RateOptionsTests {
  @Test(
    arguments: [
      ("500K", nil, 512_000), ("1.5M", nil, 1_572_864), ("none", nil, 0),
      ("data.example=2M", "data.example", 2_097_152),
      ("Data.Example:8080=1", "data.example:8080", 1), ("h=none", "h", 0), (" h = 5K ", "h", 5120),
    ] as [(String, String?, Int64)])
  func limits(text: String, host: String?, bytes: Int64) throws {
    let limit = try #require(RateLimit(argument: text))
    #expect(limit.host == host && limit.bytesPerSecond == bytes && limit.hours == nil && limit.description == text)
  }

  @Test(arguments: [
    "", "0", "-5", "fast", "5X", "=5M", "http://h/=5M", "h=", "h=h=5M", "5M@", "5M@9", "5M@09:00", "5M@09:00-09:00",
    "5M@25:00-26:00", "5M@09:60-10:00", "5M@24:01-10:00", "5M@9:00-17:00-18:00", "5M@-1:00-2:00", "none@", "nan", "inf",
    "1e400", "5M@09:00-17:00@10:00-11:00",
  ])
  func noLimits(text: String) { #expect(RateLimit(argument: text) == nil) }

  /// Over midnight too, which made another program limit the other half of the day.
  @Test(
    arguments: [
      ("09:00-17:00", [540, 1019], [539, 1020, 0]), ("19:00-02:00", [1140, 1439, 0, 119], [120, 1139]),
      ("9:5-9:6", [545], [544, 546]), ("22:00-24:00", [1320, 1439], [0, 1319]), ("00:00-24:00", [0, 1439], []),
      ("23:59-00:00", [1439], [0, 1438]),
    ] as [(String, [Int], [Int])])
  func hours(text: String, inside: [Int], outside: [Int]) throws {
    let hours = try #require(DayHours(text[...]))
    #expect(inside.allSatisfy(hours.contain) && !outside.contains(where: hours.contain))
  }

  @Test(
    arguments: [
      ([], 0, [:]), (["5M"], 0, [nil: 5]), (["5M", "1M"], 0, [nil: 1]),
      (["5M@09:00-17:00"], 600, [nil: 5]), (["5M@09:00-17:00"], 1020, [nil: 0]),
      (["5M@09:00-17:00", "20M"], 600, [nil: 5]), (["20M", "5M@09:00-17:00"], 1020, [nil: 20]),
      (["1M@22:00-06:00", "5M@09:00-17:00", "h=2M"], 60, [nil: 1, "h": 2]),
      (["h=2M@22:00-06:00", "h=3M"], 700, ["h": 3]), (["5M", "none@00:00-06:00"], 30, [nil: 0]),
    ] as [([String], Int, [String?: Int64])])
  func inForce(texts: [String], minute: Int, megabytes: [String?: Int64]) {
    let limits = texts.compactMap { RateLimit(argument: $0) }
    #expect(limits.count == texts.count)
    #expect(RateLimit.inForce(limits, at: minute) == megabytes.mapValues { $0 << 20 })
  }

  @Test(
    arguments: [
      ("2", 500), ("2/s", 500), ("30/m", 2000), ("1/h", 3_600_000), ("5/15s", 3000), ("3/4h", 4_800_000),
      ("0.5/s", 2000),
      ("100000", 0.01), ("24/d", 3_600_000),
    ] as [(String, Double)])
  func rates(text: String, milliseconds: Double) throws {
    let rate = try #require(RequestRate(argument: text))
    #expect(RequestRate.all([rate]).interval == .milliseconds(milliseconds))
    let ofHost = try #require(RequestRate(argument: "H:81=" + text))
    #expect(RequestRate.all([ofHost]).hosts == ["h:81": .milliseconds(milliseconds)])
  }

  @Test(arguments: [
    "", "0", "-1", "x", "/s", "2/", "2/x", "2/0s", "1/-5s", "1/2d", "1e9/s", "nan/s", "h=", "=2/s", "2/s/s",
  ])
  func noRates(text: String) { #expect(RequestRate(argument: text) == nil) }

  /// By the keys: halved from what came, doubled until it is no limit any more.
  @Test(
    arguments: [
      (false, 0, 8000, 8000, 4000), (false, 4000, 9, 8000, 2000), (false, 1500, 9, 8000, 1024), (false, 0, 0, 0, 1024),
      (true, 2000, 9, 8000, 4000), (true, 4000, 9, 8000, 0), (true, 4000, 9, nil, 8000),
    ] as [(Bool, Int64, Int64, Int64?, Int64)])
  func keys(isFaster: Bool, limit: Int64, rate: Int64, unlimited: Int64?, next: Int64) {
    #expect(LimitSchedule.next(isFaster, from: limit, at: rate, unlimited: unlimited) == next)
  }
}
