import DownloadModel
import TestSupport
import Testing

@testable import CurlTransport

@Suite("When a host has collapsed, and what is done then")
struct HostPaceTests {
  typealias Step = HostPace.Step

  /// One second each: so many megabytes, by so many transfers, and what follows; as often as is said.
  struct Look: Sendable {
    var times = 1
    let megabytes: Int64
    var transfers = 8
    var seconds: UInt64 = 1
    var step = Step.goOn
  }

  struct Row: Sendable, CustomTestStringConvertible {
    let testDescription: String
    let looks: [Look]
  }

  private static let well = Look(times: 20, megabytes: 1000)

  static let rows: [Row] = [
    Row(
      testDescription: "narrower after five seconds, then the next addresses",
      looks: [
        well, Look(times: 4, megabytes: 1), Look(megabytes: 1, step: .narrow), Look(times: 4, megabytes: 1),
        Look(megabytes: 1, step: .move(1)), Look(times: 4, megabytes: 1), Look(megabytes: 1, step: .move(2)),
      ]),
    Row(
      testDescription: "one alone cannot be narrower",
      looks: [well, Look(times: 4, megabytes: 1, transfers: 1), Look(megabytes: 1, transfers: 1, step: .move(1))]),
    Row(testDescription: "a fifth is no collapse", looks: [well, Look(times: 60, megabytes: 200)]),
    Row(
      testDescription: "one better second begins it anew",
      looks: [well, Look(times: 4, megabytes: 1), Look(megabytes: 300), Look(times: 4, megabytes: 1)]),
    Row(testDescription: "fewer transfers bring less", looks: [well, Look(times: 60, megabytes: 120, transfers: 1)]),
    Row(testDescription: "more share the same", looks: [well, Look(times: 60, megabytes: 900, transfers: 64)]),
    Row(
      testDescription: "a burst is no rate",
      looks: [Look(megabytes: 1000), Look(times: 60, megabytes: 25)]),
    Row(testDescription: "nothing is under way", looks: [well, Look(times: 60, megabytes: 0, transfers: 0)]),
    Row(testDescription: "no time counts in a pause", looks: [well, Look(times: 60, megabytes: 0, seconds: 0)]),
    Row(
      testDescription: "helped, it begins from the start",
      looks: [
        well, Look(times: 4, megabytes: 0), Look(megabytes: 0, step: .narrow), Look(times: 9, megabytes: 900),
        Look(times: 4, megabytes: 0), Look(megabytes: 0, step: .narrow),
      ]),
    Row(testDescription: "slow from the start", looks: [Look(times: 60, megabytes: 1)]),
    Row(testDescription: "nothing ever came", looks: [Look(times: 60, megabytes: 0)]),
  ]

  @Test(arguments: rows) func look(_ row: Row) {
    var pace = HostPace()
    for (index, look) in row.looks.enumerated() {
      for _ in 0..<look.times {
        let step = pace.look(
          look.megabytes * 1_000_000, by: look.transfers, after: look.seconds * 1_000_000_000, 5_000_000_000)
        #expect(step == look.step, "\(index)")
      }
    }
  }

  @Test func saysHowMuch() {
    var pace = HostPace()
    _ = pace.look(249 << 20, by: 1, after: 1_000_000_000, 1_000_000_000)
    _ = pace.look(1 << 20, by: 1, after: 1_000_000_000, 5_000_000_000)
    #expect(pace.words == "1024 KiB/s, down from 249 MiB/s")
  }

  @Test func theSystemKnowsTheAddresses() async {
    #expect(await systemAddresses(of: "127.0.0.1") == ["127.0.0.1"])
    #expect(await systemAddresses(of: "localhost").contains("127.0.0.1"))
    #expect(await systemAddresses(of: "no-such-host.invalid").isEmpty)
  }
}
