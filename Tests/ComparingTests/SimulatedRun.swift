import Comparing
import DownloadModel

/// What a run over a simple network comes to: equal files, equal connections.
struct SimulatedRun {
  var files = 40
  var size: Int64 = 100_000
  /// From a request to its first byte.
  var latency = Duration.milliseconds(40)
  /// Bytes a second of a connection.
  var rate = 4e6
  /// Bytes a second of all connections together.
  var line = Double.infinity
  /// What connecting takes, and then the first answer of a connection beyond another one.
  var opening: Duration?
  /// How many requests the server answers at a time.
  var workers = Int.max

  /// - Parameter width: connections, with a file at a time each.
  func measured(_ mode: ComparedMode, width: Int, round: Int = 1) -> RunMeasurement {
    let width = min(width, files)
    var free = Array(repeating: Duration.zero, count: width)  // when each connection is free
    var served = Array(repeating: Duration.zero, count: min(workers, width))  // and each worker
    let receiving = Duration.seconds(Double(size) / min(rate, line / Double(min(width, workers))))
    var transfers: [TransferTimes] = []
    var ends: [String: Duration] = [:]
    for file in 0..<files {
      let connection = free.indices.min { free[$0] < free[$1] } ?? 0
      let worker = served.indices.min { served[$0] < served[$1] } ?? 0
      let begin = free[connection]
      let opening = begin == .zero ? opening : nil
      let answered = max(begin, served[worker]) + latency + (opening ?? .zero) * 2
      let end = answered + receiving
      var times = TransferTimes(
        address: "http://host/\(file)", begin: Self.start + UInt64(begin / .nanoseconds(1)), end: end - begin)
      times.connected = opening
      times.firstByte = answered - begin
      times.bytes = size
      times.connections = begin == .zero ? 1 : 0
      transfers.append(times)
      ends[times.address] = end
      (free[connection], served[worker]) = (end, end)
    }
    var details = RunDetails(transfers: transfers, since: Self.start, ends: ends)
    details.mostAtOnce = width
    return RunMeasurement(
      mode: mode, round: round, wall: ends.values.max() ?? .zero, files: files, bytes: size * Int64(files),
      details: details)
  }

  static let start: UInt64 = 1_000_000_000
}
