import DownloadModel
@testable import Comparing

/// Runs as they would be: files from a server 40 ms away that gives 4 MB/s a connection.
struct SampleRuns {
  var files = 40
  /// Their mean size.
  var bytes: Int64 = 250_000
  var latency = 0.040
  var rate = 4e6
  /// Numbers of files that fail.
  var failing: Set<Int> = []
  var address: (Int) -> String = { "https://data.example.org/pictures/2026/leaf-\(1000 + $0).jpg" }

  /// How a mode gives out its files.
  enum Way {
    /// Each connection takes the next as soon as it is done.
    case lanes(Int)
    /// So many begin together, and the next when all of them are done.
    case batches(Int)
  }

  /// The same numbers in every run of the tests.
  private struct Dice {
    var state: UInt64

    mutating func roll() -> Double {
      state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
      return Double(state >> 33) / Double(1 << 31)
    }
  }

  func run(_ mode: ComparedMode, _ way: Way, round: Int) -> RunMeasurement {
    var sizes = Dice(state: 7)
    var jitter = Dice(state: UInt64(round) &* 977 &+ UInt64(mode.name.utf8.count))
    let width =
      switch way {
      case .lanes(let width), .batches(let width): width
      }
    var free = [Double](repeating: 0, count: width)
    var open = [Bool](repeating: false, count: width)
    var transfers: [TransferTimes] = []
    var ends: [String: Duration] = [:]
    var total: Int64 = 0
    let start: UInt64 = 1_000_000_000
    for file in 0..<files {
      let lane: Int
      switch way {
      case .lanes: lane = free.indices.min { free[$0] < free[$1] } ?? 0
      case .batches:
        lane = file % width
        if lane == 0, let last = free.max() { free = free.map { _ in last } }
      }
      let size = Int64(Double(bytes) * (0.2 + 1.6 * sizes.roll()))
      let begin = free[lane] + 0.0002
      var times = TransferTimes(address: address(file), begin: start + UInt64(begin * 1e9), end: .zero)
      var now = 0.0
      if !open[lane] {
        now += 0.006 + 0.008 * jitter.roll()
        times.lookedUp = .seconds(now)
        now += latency
        times.connected = .seconds(now)
        now += latency * 1.15
        times.secured = .seconds(now)
        times.connections = 1
        open[lane] = true
      }
      now += latency * (1 + 0.3 * jitter.roll())
      let hasFailed = failing.contains(file)
      if hasFailed {
        times.hasFailed = true
      } else {
        times.firstByte = .seconds(now)
        now += Double(size) / rate * (0.95 + 0.15 * jitter.roll())
        times.bytes = size
        times.status = 200
        total += size
      }
      times.end = .seconds(now)
      transfers.append(times)
      let end = begin + now + 0.001 + 0.001 * jitter.roll()
      if !hasFailed { ends[times.address] = .seconds(end) }
      free[lane] = end
    }
    var details = RunDetails(transfers: transfers, since: start, ends: ends)
    details.processorTime = .milliseconds(90 + width)
    details.peakMemory = Int64(14_000_000 + 300_000 * width)
    details.mostAtOnce = min(width, files)
    return RunMeasurement(
      mode: mode, round: round, wall: .seconds((free.max() ?? 0) + 0.004), files: files - failing.count,
      bytes: total, details: details)
  }

  func runs(_ mode: ComparedMode, _ way: Way, rounds: Int = 5) -> [RunMeasurement] {
    (1...rounds).map { run(mode, way, round: $0) }
  }

  /// The three modes.
  func comparison(rounds: Int = 5) -> ComparisonReport {
    ComparisonReport(
      measurements: runs(.sequential, .lanes(1), rounds: rounds)
        + runs(.asyncLet, .batches(16), rounds: rounds) + runs(.parallel, .lanes(16), rounds: rounds))
  }

  static let facts = ReportFacts(
    list: "leaves.txt", command: "dlm compare leaves.txt --runs 5 -j 16", date: "2026-11-23T07:31:39Z",
    headline: "parallel is 9.4 ± 0.2 times as fast as sequential, and async-let comes next.",
    notes: ["The server took no more than 16 connections at a time."],
    machine: [
      ("Kernel", "Linux 6.12.0"), ("Cores", "2"), ("libcurl", "8.14.1 (OpenSSL 3.5.1)"), ("dlm", "1.0.0"),
    ])
}
