import Comparing
import DownloadModel
import TerminalProgress
import Testing

@testable import dlm

enum SampleComparison {
  /// Four files of 30 ms, 10 of them waiting: one by one, and all at once.
  static let report: ComparisonReport = {
    func run(_ mode: ComparedMode, isStaircase: Bool, stretch: Int) -> RunMeasurement {
      var transfers: [TransferTimes] = []
      var ends: [String: Duration] = [:]
      for file in 0..<4 {
        let begin = isStaircase ? file * 30 : 0
        var times = TransferTimes(
          address: "http://host/files/a-rather-long-name-\(file).bin", begin: UInt64(begin) * 1_000_000,
          end: .milliseconds(30))
        if file == 0 { times.connected = .milliseconds(5) }
        times.firstByte = .milliseconds(10)
        transfers.append(times)
        ends[times.address] = .milliseconds(begin + 30)
      }
      return RunMeasurement(
        mode: mode, round: stretch, wall: .milliseconds((isStaircase ? 120 : 30) + stretch), files: 4,
        bytes: 4000, details: RunDetails(transfers: transfers, since: 0, ends: ends))
    }
    return ComparisonReport(
      measurements: (0..<3).flatMap { round in
        [
          run(.sequential, isStaircase: true, stretch: round * 6),
          run(.parallel, isStaircase: false, stretch: round),
        ]
      })
  }()
}

@Suite("Pictures of a comparison in a terminal")
struct ComparisonPictureTests {
  private static let report = SampleComparison.report

  private static func lines(_ picture: ComparisonPicture) -> [String] {
    picture.bars + (picture.waterfall.isEmpty ? [] : [""] + picture.waterfall)
  }

  private func picture(_ width: Int, isUnicode: Bool = true) -> [String] {
    Self.lines(ComparisonPicture(report: Self.report, width: width, isUnicode: isUnicode))
  }

  @Test func aTerminalOfEightyColumns() {
    #expect(
      picture(80) == [
        "sequential  ████████████████████████████████████████████████████████▍──  126 ms",
        "parallel    █████████████▉  31.0 ms",
        "",
        "sequential, files:",
        "  a-rather-long…-0.bin ▒▒░░░█████████",
        "  a-rather-long…-1.bin ··············░░░░░█████████",
        "  a-rather-long…-2.bin ····························░░░░░█████████",
        "  a-rather-long…-3.bin ··········································░░░░░█████████",
        "parallel, files:",
        "  a-rather-long…-0.bin ▒▒░░░█████████",
        "  a-rather-long…-1.bin ░░░░░█████████",
        "  a-rather-long…-2.bin ░░░░░█████████",
        "  a-rather-long…-3.bin ░░░░░█████████",
        "                       0                                                 120 ms",
        "                       · queued   ▒ connecting   ░ waiting   █ receiving",
      ])
  }

  @Test("where there are no blocks there are letters")
  func ascii() {
    let lines = picture(60, isUnicode: false)
    #expect(lines.allSatisfy { $0.utf8.allSatisfy { $0 < 0x80 } }, "\(lines)")
    #expect(lines.contains { $0.hasSuffix("....................---#######") }, "\(lines)")
  }

  @Test("nothing is wider than the window", arguments: [40, 60, 80, 100, 120])
  func widths(width: Int) {
    for line in picture(width) where !line.contains("queued") { #expect(line.count <= width, "\(line)") }
  }

  @Test("escape sequences are in it where it is coloured, and what is seen is the same")
  func colors() {
    let colored = Self.lines(
      ComparisonPicture(report: Self.report, width: 80, isUnicode: true, isColored: true))
    #expect(colored.joined().contains("\u{1b}[32m"))
    let plain = colored.map { $0.replacing(/\u{1b}\[[0-9]*m/, with: "") }
    #expect(plain == picture(80))
  }

  @Test("runs of which only the time is known have bars and no waterfall")
  func barsAlone() {
    let report = ComparisonReport(
      measurements: [ComparedMode.sequential, .parallel].map {
        RunMeasurement(
          mode: $0, round: 1, wall: .milliseconds(100), files: 1, bytes: 1)
      })
    #expect(Self.lines(ComparisonPicture(report: report, width: 60, isUnicode: true)).count == 2)
  }

  @Test("of many files some are shown, the first and the last among them")
  func manyFiles() {
    var transfers: [TransferTimes] = []
    var ends: [String: Duration] = [:]
    for file in 0..<1000 {
      let times = TransferTimes(
        address: "http://host/\(file)", begin: UInt64(file) * 1_000_000, end: .milliseconds(1))
      transfers.append(times)
      ends[times.address] = .milliseconds(file + 1)
    }
    let run = RunMeasurement(
      mode: .sequential, round: 1, wall: .seconds(1), files: 1000, bytes: 1,
      details: RunDetails(transfers: transfers, since: 0, ends: ends))
    let lines = Self.lines(
      ComparisonPicture(report: ComparisonReport(measurements: [run]), width: 80, isUnicode: true))
    #expect(lines.contains("sequential, 16 of 1,000 files:"))
    #expect(lines.contains { $0.hasPrefix("  0 ") } && lines.contains { $0.hasPrefix("  999 ") })
    #expect(lines.count == 1 + 1 + 1 + 16 + 2)
  }

  /// Sixteen rows of "index" once said nothing.
  @Test(
    "addresses that end alike are told by what differs",
    arguments: [
      (["http://h/a.bin", "http://h/b.bin"], ["a.bin", "b.bin"]),
      (["http://h/a/index", "http://h/b/index", "http://h/c"], ["http://h/a/index", "http://h/b/index", "c"]),
      (
        ["http://one.example/x/f.bin", "http://two.example/x/f.bin"],
        ["http://one…f.bin", "http://two…f.bin"]
      ),
      (
        ["http://h/v1/a-long-name-of-a.file", "http://h/v2/a-long-name-of-a.file"],
        ["http…h/v1/a-lon…", "http…h/v2/a-lon…"]
      ),
      // Within the last part, far from its ends.
      (
        ["http://h/a-long-beginning-1-and-a-long-end", "http://h/a-long-beginning-2-and-a-long-end"],
        ["a-lo…ng-1-and-a…", "a-lo…ng-2-and-a…"]
      ),
      // Those that differ later, by that.
      (
        [
          "http://h/a/a-long-common-folder/1/index", "http://h/a/a-long-common-folder/2/index",
          "http://h/b/a-long-common-folder/1/index",
        ], ["http:…er/1/index", "http:…er/2/index", "http://h/b…index"]
      ),
      (
        ["http://h/very-long-names-here/", "http://h/very-long-names-here"], ["http://h/v…here/", "http://h/v…-here"]
      ),
      // Only what may not be shown differs.
      (["http://h/f?token=a", "http://h/f?token=b"], ["f?token=…", "f?token=…"]),
    ] as [([String], [String])])
  func rowNames(addresses: [String], expected: [String]) {
    let names = TextCut.ends(of: addresses + addresses, to: 16, ellipsis: "…")
    #expect(addresses.map { names[$0] ?? "" } == expected)
    #expect(names.values.allSatisfy { $0.count <= 16 })
  }

  @Test("a name with escape sequences in it cannot act on the terminal")
  func harmfulNames() {
    let times = TransferTimes(address: "http://host/\u{1b}[2Jx", begin: 0, end: .milliseconds(1))
    let run = RunMeasurement(
      mode: .sequential, round: 1, wall: .milliseconds(1), files: 1, bytes: 1,
      details: RunDetails(
        transfers: [times], since: 0, ends: [times.address: .milliseconds(1)]))
    let lines = Self.lines(
      ComparisonPicture(report: ComparisonReport(measurements: [run]), width: 80, isUnicode: true))
    #expect(!lines.joined().contains("\u{1b}"))
  }
}

@Suite("The verdict of a comparison")
struct ComparisonVerdictTests {
  private typealias Times = (mode: ComparedMode, milliseconds: [Int])

  private func messages(_ all: [Times]) -> ComparisonMessages {
    let runs = all.flatMap { mode, times in
      times.enumerated().map { index, time in
        RunMeasurement(mode: mode, round: index + 1, wall: .milliseconds(time), files: 3, bytes: 3000)
      }
    }
    return ComparisonMessages(ComparisonReport(measurements: runs), jobs: 16, adapts: true)
  }

  /// A tie once had the winner's figure: "parallel and async-let are 13.93 ± 0.02 times as fast".
  @Test("each mode has its own figure, and what is uneven is called so")
  func figures() {
    let three = messages([
      (.sequential, [3310, 3310, 3310]), (.asyncLet, [240, 240, 620]), (.parallel, [239, 238, 239]),
    ])
    #expect(
      three.headline
        == "parallel and async-let tie: 13.85 ± 0.03 and 13.8 ± 4.9 (uneven) times as fast as sequential.")
    #expect(
      three.warnings == [
        "Note, async-let: uneven, from 240 ms to 620 ms: round 3 is far from the others; is something else going on?"
      ])
    let one = messages([(.sequential, [3310, 3312]), (.parallel, [239, 238])])
    #expect(one.headline == "parallel is 13.88 ± 0.05 times as fast as sequential.")
    let tie = messages([(.sequential, [300, 301, 302]), (.asyncLet, [301, 301, 302]), (.parallel, [400, 401, 402])])
    #expect(tie.headline == "A tie: sequential and async-let took the same time.")
    let all = messages([(.sequential, [300, 301, 302]), (.asyncLet, [301, 301, 302]), (.parallel, [300, 300, 300])])
    #expect(all.headline == "A tie: parallel, async-let and sequential took the same time.")
    let short = messages([(.sequential, [12, 12, 12]), (.parallel, [5, 5, 5])])
    #expect(short.headline == "Too short to compare: sequential 12.0 ms and parallel 5.00 ms.")
    #expect(short.warnings == ["Note: runs under 20 ms are too short to compare; a longer list says more"])
  }

  @Test("stands last, with the table, on a screen of any height", arguments: [12, 24, 30, 60, nil] as [Int?])
  func standsLast(rows: Int?) throws {
    let messages = messages([
      (.sequential, [3310, 3310, 3310]), (.asyncLet, [240, 240, 620]), (.parallel, [239, 238, 239]),
    ])
    let report = SampleComparison.report
    let picture = ComparisonPicture(report: report, width: 80, isUnicode: true)
    let lines = messages.lines(picture, rows: rows)
    #expect(lines.last == messages.headline)
    let alone = self.messages([(.sequential, [3310, 3310, 3310])]).lines(rows: rows)
    #expect(alone.last?.hasPrefix("Every run downloaded the same 3 files") == true, "\(alone)")
    let screen = lines.suffix((rows ?? .max) - 1)
    #expect(screen.contains { $0.hasPrefix("MODE") } && screen.contains { $0.hasPrefix("parallel ") }, "\(screen)")
    // What else there is room for, and all of it where all is asked for.
    #expect(lines.contains { $0.hasSuffix("126 ms") } == (rows.map { $0 >= 24 } ?? true))
    #expect(lines.contains("parallel, files:") == (rows.map { $0 >= 30 } ?? true))
  }
}

@Suite("What a process takes")
struct ProcessUsageTests {
  @Test(arguments: [
    ("VmPeak:\t  100 kB\nVmHWM:\t    2048 kB\nVmRSS:\t 1 kB\n", 2_097_152 as Int64?),
    ("VmHWM:  7 kB", 7168), ("VmRSS: 7 kB", nil), ("VmHWM: many kB", nil), ("VmHWM:", nil), ("", nil),
  ])
  func peak(status: String, bytes: Int64?) { #expect(ProcessUsage.peak(inStatus: status) == bytes) }

  @Test("this process has used the processor, and has memory")
  func here() throws {
    let before = ProcessUsage.processorTime
    #expect(before > .zero)
    #expect(try #require(ProcessUsage.peakMemory) > 1 << 20)
  }
}
