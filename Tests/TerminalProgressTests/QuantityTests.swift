import Testing

@testable import TerminalProgress

@Suite("Numbers for people")
struct QuantityTests {
  @Test(
    arguments: [
      (0, "0 B"), (1, "1 B"), (1023, "1023 B"), (1024, "1.0 KiB"), (4096, "4.0 KiB"), (10_189, "10.0 KiB"),
      (102_348, "99.9 KiB"), (102_349, "100 KiB"), (1_047_552, "1023 KiB"), (1_048_063, "1023 KiB"),
      (1_048_064, "1.0 MiB"), (1_048_576, "1.0 MiB"), (1_288_490_189, "1.2 GiB"), (5 << 40, "5.0 TiB"),
      (3 << 50, "3.0 PiB"), (Int64.max, "8.0 EiB"), (-4096, "-4.0 KiB"), (Int64.min, "-8.0 EiB"),
    ] as [(Int64, String)])
  func bytes(count: Int64, expected: String) {
    #expect(Quantity.bytes(count) == expected)
  }

  @Test("fits its column for every power and its neighbours")
  func bytesAreNarrow() {
    for shift in 0..<63 {
      let power = Int64(1) << Int64(shift)
      for count in [power - 1, power, power + 1, power / 100 * 99, power / 10 * 9] {
        #expect(Quantity.bytes(count).utf8.count <= RowColumns.bytesWidth, "\(count)")
      }
    }
  }

  @Test(arguments: [
    (0, "0 B/s"), (0.4, "0 B/s"), (12_897_485, "12.3 MiB/s"), (-3, "0 B/s"), (.infinity, "0 B/s"),
    (.nan, "0 B/s"),
    (1e30, "7.8 EiB/s"),
  ])
  func rate(bytesPerSecond: Double, expected: String) {
    #expect(Quantity.rate(bytesPerSecond) == expected)
  }

  @Test(arguments: [
    (Duration.zero, "0.00 ms"), (.microseconds(420), "0.42 ms"), (.microseconds(9994), "9.99 ms"),
    (.microseconds(9996), "10.0 ms"), (.microseconds(41_230), "41.2 ms"), (.microseconds(99_960), "100 ms"),
    (.milliseconds(412), "412 ms"), (.microseconds(999_600), "1.00 s"), (.milliseconds(3414), "3.41 s"),
    (.milliseconds(9996), "10.0 s"), (.milliseconds(34_120), "34.1 s"), (.seconds(65), "1 min 05 s"),
    (.seconds(-1), "0.00 ms"),
  ])
  func measurement(duration: Duration, expected: String) {
    #expect(Quantity.measurement(duration) == expected)
  }

  @Test(arguments: [
    (Duration.zero, "0 ms"), (.milliseconds(45), "45 ms"), (.milliseconds(50), "0.1 s"),
    (.milliseconds(1249), "1.2 s"),
    (.seconds(59.94), "59.9 s"), (.seconds(59.96), "1 min 00 s"), (.seconds(65), "1 min 05 s"),
    (.seconds(3599.4), "59 min 59 s"), (.seconds(3599.6), "1 h 00 min"), (.seconds(7380), "2 h 03 min"),
    (.seconds(86_400 * 3 + 4 * 3600), "3 d 04 h"), (.seconds(-5), "0 ms"),
  ])
  func duration(value: Duration, expected: String) {
    #expect(Quantity.duration(value) == expected)
  }

  @Test(arguments: [
    (Duration.zero, "0:00"), (.milliseconds(1), "0:01"), (.seconds(19), "0:19"), (.seconds(725), "12:05"),
    (.seconds(7384), "2:03:04"), (.seconds(359_999), "99:59:59"), (.seconds(360_000), "4 d 04 h"),
    (.seconds(1e12), "over 99 d"), (.seconds(-1), "0:00"),
  ])
  func countdown(value: Duration, expected: String) {
    #expect(Quantity.countdown(value) == expected)
  }

  @Test(arguments: [
    (0, "0"), (999, "999"), (1000, "1,000"), (25_000, "25,000"), (1_234_567, "1,234,567"), (-1000, "-1,000"),
    (Int.min, "-9,223,372,036,854,775,808"),
  ])
  func count(number: Int, expected: String) {
    #expect(Quantity.count(number) == expected)
  }
}
