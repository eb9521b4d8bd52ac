import Glibc
import Testing

@testable import dlm

@Suite("Times are written as RFC 3339 has them")
struct TimeTextTests {
  @Test(
    arguments: [
      (0, "1970-01-01T00:00:00.000Z"), (1_763_816_400_007, "2025-11-22T13:00:00.007Z"),
      (951_782_399_999, "2000-02-28T23:59:59.999Z"), (253_402_300_799_000, "9999-12-31T23:59:59.000Z"),
    ] as [(Int64, String)])
  func utc(milliseconds: Int64, text: String) { #expect(TimeText.utc(milliseconds: milliseconds) == text) }

  /// Whatever this machine's time zone is.
  @Test(arguments: [0, 951_782_340, 1_763_816_400] as [Int64])
  func local(seconds: Int64) {
    var (time, fields) = (time_t(seconds), tm())
    var text = [CChar](repeating: 0, count: 32)
    #expect(localtime_r(&time, &fields) != nil)
    let length = strftime(&text, text.count, "%Y-%m-%d %H:%M", &fields)
    #expect(
      TimeText.local(seconds: seconds) == String(decoding: text.prefix(length).map(UInt8.init), as: UTF8.self)
    )
  }
}
