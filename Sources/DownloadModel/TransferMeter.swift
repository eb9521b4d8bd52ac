import Synchronization

/// The live numbers of one file. The transfer adds, the renderer samples; nobody waits.
public final class TransferMeter: Sendable {
  private let receivedBytes = Atomic<Int64>(0)
  private let startBytes = Atomic<Int64>(0)
  private let totalBytes = Atomic<Int64>(-1)
  private let networkBytes: TransferCounter

  /// - Parameter counter: the run's own count of body bytes, shared by all its files.
  public init(counter: TransferCounter = TransferCounter()) { networkBytes = counter }

  /// Bytes of the file that are there, those of earlier runs included.
  public var position: Int64 { receivedBytes.load(ordering: .relaxed) }
  /// Where this attempt began: bytes that are not this run's speed.
  public var start: Int64 { startBytes.load(ordering: .relaxed) }
  /// Length of the whole file; nil while unknown.
  public var total: Int64? {
    let value = totalBytes.load(ordering: .relaxed)
    return value < 0 ? nil : value
  }

  /// An attempt begins at this offset: a retry takes back what it lost, so no byte counts twice.
  public func begin(at offset: Int64, total: Int64?) {
    receivedBytes.store(offset, ordering: .relaxed)
    startBytes.store(offset, ordering: .relaxed)
    totalBytes.store(total ?? -1, ordering: .relaxed)
  }

  /// Bytes that were added and are not the file's, such as those behind the end of a part.
  public func takeBack(_ bytes: Int) { receivedBytes.wrappingSubtract(Int64(bytes), ordering: .relaxed) }

  public func add(_ bytes: Int) {
    receivedBytes.wrappingAdd(Int64(bytes), ordering: .relaxed)
    networkBytes.add(bytes)
  }
}

/// A count of body bytes received, over all files of a run.
public final class TransferCounter: Sendable {
  private let bytes = Atomic<Int64>(0)
  public init() {}
  public var value: Int64 { bytes.load(ordering: .relaxed) }
  public func add(_ count: Int) { bytes.wrappingAdd(Int64(count), ordering: .relaxed) }
}
