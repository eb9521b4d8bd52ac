import DownloadModel
import RunDoors
import SystemPackage

/// The lines of a run, one after another, on a thread of its own.
actor RunFollower {
  nonisolated var unownedExecutor: UnownedSerialExecutor { thread.asUnownedSerialExecutor() }

  private let thread = BlockingExecutor(label: "dlm.follower")
  private let connection: DoorConnection
  /// In milliseconds.
  private static let beat: Int32 = 1000

  init(_ record: RunRecord) throws(Refused) {
    guard let connection = try? RunStatus.connection(to: record),
      (try? connection.send(["id": 1, "do": "watch"])) != nil
    else { throw Refused("run \(record.number) has ended", status: 409) }
    self.connection = connection
  }

  /// - Returns: the next line; empty after a second without one; `nil` at the end.
  func next() -> [UInt8]? {
    do { return try connection.line(within: Self.beat) ?? [] } catch { return nil }
  }
}
