import DownloadModel
import Testing

@testable import TerminalProgress

/// A run over a server, in steps of 50 ms: what is said of its end beside the truth.
private struct SimulatedRun {
  var sizes: [Int64]
  var lanes = 8
  /// Bytes a second that all files share.
  var shared = Double.infinity
  /// Bytes a second of one file, and bytes with which it begins at once.
  var each = Double.infinity
  var burst = 0.0
  /// Whether it begins with two files at a time and doubles their number twice a second.
  var grows = false
  /// Whether servers give lengths.
  var givesLengths = true
  /// Seconds before the first byte of a file.
  var latency = 0.05
  /// Files that are here already, at the start of the list.
  var here = 0
  var expected = ExpectedSizes()
  /// From when on nothing comes, and for how many seconds.
  var stall: (at: Double, for: Double) = (0, 0)

  struct Said {
    var second: Double
    var left: Double?
    var fraction: Double?
  }

  private struct File {
    var position = 0.0
    var size: Int64
    var begin: Double

    func progress(isSized: Bool) -> FileProgress {
      FileProgress(position: Int64(position), start: 0, total: isSized ? size : nil)
    }
  }

  func run() -> (end: Double, said: [Said]) {
    var (tally, total, said) = (ProgressTally(), RunTotal(), [Said]())
    (tally.listed, tally.listIsComplete, tally.expected) = (sizes.count, true, expected)
    var (files, next, received, second) = ([Int: File](), 0, 0.0, 0.0)
    var rates: [Int: RateEstimate] = [:]
    while tally.fetched + tally.unchanged < sizes.count {
      second += 0.05
      let width = grows ? min(lanes, 2 << Int(second * 2)) : lanes
      while files.count < width, next < sizes.count {
        if next < here {
          tally.unchanged += 1
          tally.finishedBytes += sizes[next]
        } else {
          files[next] = File(size: sizes[next], begin: second)
          rates[next] = RateEstimate(start: .seconds(second))
        }
        next += 1
      }
      let flowing = files.values.count { second >= $0.begin + latency }
      let isStalled = second >= stall.at && second < stall.at + stall.for
      let step = isStalled ? 0 : min(each, shared / Double(max(1, flowing))) * 0.05
      for (id, file) in files where second >= file.begin + latency {
        let bytes = min(max(step, burst - file.position), Double(file.size) - file.position)
        files[id]?.position += bytes
        received += bytes
        rates[id]?.add(bytes: Int64(bytes), at: .seconds(second))
        guard file.position + bytes >= Double(file.size) else { continue }
        files[id] = nil
        tally.fetched += 1
        tally.finishedBytes += file.size
        tally.transferredBytes += file.size
      }
      let active = files.values.map { $0.progress(isSized: givesLengths && second >= $0.begin + latency) }
      let left = files.compactMap { id, file in
        rates[id]?.timeLeft(remaining: file.size - Int64(file.position), at: .seconds(second))
      }
      let longest = givesLengths ? left.max() : nil
      let sample = ProgressSample(tally: tally, received: Int64(received))
      let sum = total.update(sample, active: active, longest: longest, at: .seconds(second))
      said.append(
        Said(
          second: second, left: sum.timeLeft?.inSeconds, fraction: sum.progress.fraction))
    }
    return (second, said)
  }
}

@Suite("How long a run still takes")
struct RunPaceTests {
  /// Small and large files in any order, from 30 KB to 1.2 MB, as many of the ones as of the others.
  private static func mixed(_ count: Int, _ seed: UInt64) -> [Int64] {
    var sizes = (0..<count).map { place in
      var size = 30_000.0
      for _ in 0..<(place * 64 / count) { size *= 1.0593 }
      return Int64(size)
    }
    var generator = SeededGenerator(seed)
    sizes.shuffle(using: &generator)
    return sizes
  }

  private static func even(_ count: Int, _ size: Int64, _ seed: UInt64) -> [Int64] {
    var generator = SeededGenerator(seed)
    return (0..<count).map { _ in Int64.random(in: size * 6 / 10...size * 14 / 10, using: &generator) }
  }

  private struct Row: CustomTestStringConvertible, Sendable {
    let testDescription: String
    var seeds: Range<UInt64> = 0..<1
    /// Of what is said from a third of the run on, the part that is within 25 % of the truth. Where sizes are unknown,
    /// files yet to come may be larger or smaller than those before them, so that it is less than all; and where the
    /// number of files is always the same, nothing says whether they share a line until the last ones have begun.
    var right = 1.0
    let run: @Sendable (_ seed: UInt64) -> SimulatedRun
  }

  private static func remembered(_ sizes: [Int64]) -> ExpectedSizes {
    ExpectedSizes(files: sizes.count, bytes: sizes.reduce(0, +))
  }

  private static func shuffled(_ sizes: [Int64]) -> [Int64] {
    var generator = SeededGenerator(1)
    return sizes.shuffled(using: &generator)
  }

  private static func ordered(isRising: Bool) -> [Int64] {
    var generator = SeededGenerator(0)
    return (0..<6000).map { place in
      let mean = 20_000 + (isRising ? place : 5999 - place) * 40 / 3
      return Int64(mean * Int.random(in: 60...140, using: &generator) / 100)
    }
  }

  private static func long(
    _ sizes: [Int64], shared: Double = 1.2e7, latency: Double = 0.05, known: ExpectedSizes = ExpectedSizes()
  ) -> SimulatedRun {
    SimulatedRun(sizes: sizes, lanes: 16, shared: shared, latency: latency, expected: known)
  }

  private static func half(_ sizes: [Int64]) -> ExpectedSizes {
    remembered(sizes.enumerated().filter { $0.offset.isMultiple(of: 2) }.map(\.element))
  }

  private static let rows = [
    Row(testDescription: "6,000 in any order", right: 0.9) { _ in long(shuffled(ordered(isRising: true))) },
    Row(testDescription: "6,000, the smallest first", right: 0.9) { _ in long(ordered(isRising: true)) },
    Row(testDescription: "6,000, the largest first", right: 0.9) { _ in long(ordered(isRising: false)) },
    Row(testDescription: "6,000 of known sizes, the smallest first", right: 0.9) { _ in
      long(ordered(isRising: true), known: remembered(ordered(isRising: true)))
    },
    Row(testDescription: "6,000 of known sizes, the largest first", right: 0.9) { _ in
      long(ordered(isRising: false), known: remembered(ordered(isRising: false)))
    },
    Row(testDescription: "6,000, half of known sizes, the smallest first", right: 0.9) { _ in
      long(ordered(isRising: true), known: half(ordered(isRising: true)))
    },
    Row(testDescription: "6,000, half of known sizes, the largest first", right: 0.9) { _ in
      long(ordered(isRising: false), known: half(ordered(isRising: false)))
    },
    Row(testDescription: "6,000 far away, the largest first", right: 0.9) { _ in
      long(ordered(isRising: false), shared: 1e9, latency: 0.2, known: remembered(ordered(isRising: false)))
    },
    Row(testDescription: "60 mixed files", seeds: 0..<6, right: 0.7) {
      SimulatedRun(sizes: mixed(60, $0), shared: 7e5)
    },
    Row(testDescription: "60 mixed, in a number that grows", seeds: 0..<6, right: 0.7) {
      SimulatedRun(sizes: mixed(60, $0), shared: 7e5, grows: true)
    },
    Row(testDescription: "60 mixed, each limited", seeds: 0..<6, right: 0.5) {
      SimulatedRun(sizes: mixed(60, $0), each: 87e3)
    },
    Row(testDescription: "60 mixed, each limited but for its beginning", seeds: 0..<6, right: 0.6) {
      SimulatedRun(sizes: mixed(60, $0), each: 87e3, burst: 87e3)
    },
    Row(testDescription: "60 mixed in a number that grows, each limited", seeds: 0..<6, right: 0.75) {
      SimulatedRun(sizes: mixed(60, $0), each: 87e3, grows: true)
    },
    Row(testDescription: "60 mixed without lengths", seeds: 0..<6, right: 0.5) {
      SimulatedRun(sizes: mixed(60, $0), shared: 7e5, givesLengths: false)
    },
    Row(testDescription: "60 mixed without lengths, each limited", seeds: 0..<6, right: 0.25) {
      SimulatedRun(sizes: mixed(60, $0), each: 87e3, givesLengths: false)
    },
    Row(testDescription: "60 mixed, each limited, remembered", seeds: 0..<6, right: 0.45) {
      SimulatedRun(sizes: mixed(60, $0), each: 87e3, expected: remembered(mixed(60, $0)))
    },
    Row(testDescription: "60 at once") { SimulatedRun(sizes: mixed(60, $0), lanes: 60, shared: 7e5) },
    Row(testDescription: "60 at once, each limited", right: 0.9) {
      SimulatedRun(sizes: mixed(60, $0), lanes: 60, each: 45e3)
    },
    Row(testDescription: "60 small files and a large one, each limited", seeds: 0..<3, right: 0.95) {
      SimulatedRun(sizes: [38_000_000] + even(60, 400_000, $0), lanes: 64, each: 1.9e6)
    },
    Row(testDescription: "60 of about one size", seeds: 0..<3, right: 0.95) {
      SimulatedRun(sizes: even(60, 250_000, $0), shared: 7e5)
    },
    Row(testDescription: "24 one by one without lengths", seeds: 0..<6, right: 0.9) {
      SimulatedRun(sizes: even(24, 500_000, $0), lanes: 1, shared: 5e5, givesLengths: false)
    },
    Row(testDescription: "24 one by one", seeds: 0..<6, right: 0.9) {
      SimulatedRun(sizes: even(24, 500_000, $0), lanes: 1, shared: 5e5)
    },
    Row(testDescription: "24 one by one, far away", seeds: 0..<6, right: 0.9) {
      SimulatedRun(sizes: even(24, 100_000, $0), lanes: 1, shared: 1e6, latency: 1)
    },
    // Nothing tells how far sizes go on to fall.
    Row(testDescription: "24 one by one, the largest first", right: 0.5) {
      SimulatedRun(sizes: mixed(24, $0).sorted(by: >), lanes: 1, shared: 3e5)
    },
    Row(testDescription: "24 one by one, the smallest first", right: 0.85) {
      SimulatedRun(sizes: mixed(24, $0).sorted(), lanes: 1, shared: 3e5)
    },
    Row(testDescription: "60 one by one, the largest first", right: 0.65) {
      SimulatedRun(sizes: mixed(60, $0).sorted(by: >), lanes: 1, shared: 7e5)
    },
    Row(testDescription: "60 one by one, the largest first, without lengths", right: 0.45) {
      SimulatedRun(sizes: mixed(60, $0).sorted(by: >), lanes: 1, shared: 7e5, givesLengths: false)
    },
    Row(testDescription: "2,000 tiles") { SimulatedRun(sizes: even(2000, 9000, $0), lanes: 64, shared: 7e5) },
    Row(testDescription: "2,000 tiles, far away") {
      SimulatedRun(sizes: even(2000, 9000, $0), lanes: 64, shared: 1e9, latency: 0.4)
    },
    Row(testDescription: "60 mixed, remembered", seeds: 0..<3) {
      SimulatedRun(sizes: mixed(60, $0), shared: 7e5, expected: remembered(mixed(60, $0)))
    },
    Row(testDescription: "60 mixed one by one, remembered", seeds: 0..<3) {
      SimulatedRun(sizes: mixed(60, $0), lanes: 1, shared: 7e5, expected: remembered(mixed(60, $0)))
    },
    Row(testDescription: "the first half is here", right: 0.98) {
      SimulatedRun(sizes: mixed(60, $0), lanes: 1, shared: 7e5, here: 30, expected: remembered(mixed(60, $0)))
    },
    Row(testDescription: "a stall of 8 s that is over") {
      SimulatedRun(sizes: mixed(60, $0), lanes: 1, shared: 7e5, expected: remembered(mixed(60, $0)), stall: (1, 8))
    },
  ]

  @Test("within 25 % of the truth from a third of the run on", arguments: rows)
  private func estimates(row: Row) {
    var (right, count) = (0, 0)
    var table = ""
    for seed in row.seeds {
      let (end, said) = row.run(seed).run()
      for said in said where said.second >= end / 3 && said.second < end - 1 {
        let truth = end - said.second
        // The column tells whole seconds.
        let isRight = said.left.map { abs($0 - truth) <= max(truth / 4, 1) } ?? false
        (right, count) = (right + (isRight ? 1 : 0), count + 1)
        if count.isMultiple(of: 40) { table += " \(Int(truth)):\(Int(said.left ?? -1))" }
      }
      #expect(said.allSatisfy { $0.fraction != nil })
    }
    let part = Double(right) / Double(max(1, count))
    #expect(part >= row.right, "\(row.testDescription): \(Int(part * 100)) %, true:said\(table)")
  }
}
