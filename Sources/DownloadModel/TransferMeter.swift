import Synchronization

/// The live numbers of one file: transfers add to it and renderers sample it, and neither waits for the other.
public final class TransferMeter: Sendable {
  /// What a file waits for, as long as no bytes come.
  public enum Phase: UInt8, Sendable {
    /// Nothing was asked yet: for the disk, another request, or a connection.
    case idle
    /// The name of the host is looked up, or a connection is chosen.
    case lookingUp
    case connecting
    /// The request is sent, and not answered.
    case waiting
    case receiving
    /// All of it is there, and is checked and put in its place.
    case checking
  }

  private let receivedBytes = Atomic<Int64>(0)
  private let startBytes = Atomic<Int64>(0)
  private let totalBytes = Atomic<Int64>(-1)
  private let keptBytes = Atomic<Int64>(0)
  private let currentPhase = Atomic(Phase.idle.rawValue)
  private let expectsDigest = Atomic(false)
  private let split = Lock(Split())
  /// Weak, since what knows the parts has the meter.
  private struct Split { weak var source: (any PartsSource)? }
  private let networkBytes: TransferCounter

  public init(counter: TransferCounter = TransferCounter()) { networkBytes = counter }

  /// Bytes of the file that are there, those of earlier runs included.
  public var position: Int64 { receivedBytes.load(ordering: .relaxed) }
  /// The offset at which this attempt began: bytes before it do not count for the speed.
  public var start: Int64 { startBytes.load(ordering: .relaxed) }
  /// Length of the whole file; nil while unknown.
  public var total: Int64? {
    let value = totalBytes.load(ordering: .relaxed)
    return value < 0 ? nil : value
  }

  /// Bytes of an unfinished file that wait for the next run; 0 while it is under way.
  public var kept: Int64 { keptBytes.load(ordering: .relaxed) }
  public var phase: Phase { Phase(rawValue: currentPhase.load(ordering: .relaxed)) ?? .idle }

  /// Whether the user gave a checksum that the file must have.
  public var hasDigest: Bool { expectsDigest.load(ordering: .relaxed) }

  public func expectDigest() { expectsDigest.store(true, ordering: .relaxed) }

  public func enter(_ phase: Phase) { currentPhase.store(phase.rawValue, ordering: .relaxed) }

  /// The file is put away unfinished, with so many bytes.
  public func keep(_ bytes: Int64) { keptBytes.store(bytes, ordering: .relaxed) }

  /// An attempt begins at this offset. For a retry that is less than had arrived, so no byte counts twice.
  public func begin(at offset: Int64, total: Int64?) {
    receivedBytes.store(offset, ordering: .relaxed)
    startBytes.store(offset, ordering: .relaxed)
    totalBytes.store(total ?? -1, ordering: .relaxed)
    enter(.receiving)
  }

  public func split(_ source: any PartsSource) { split.withLock { $0.source = source } }

  /// Which bytes of a split file are there, for a frame; nil for a file in one part, and where it would have to wait.
  public var parts: [Range<Int64>]? { split.withLock { $0.source }?.parts }

  /// Subtracts bytes that were added but are not this segment's, such as those behind its end.
  public func subtract(_ bytes: Int) { receivedBytes.wrappingSubtract(Int64(bytes), ordering: .relaxed) }

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

/// What knows which bytes of a file are there.
public protocol PartsSource: AnyObject, Sendable {
  /// In the order of the file; nil where that cannot be told without waiting.
  var parts: [Range<Int64>]? { get }
}
