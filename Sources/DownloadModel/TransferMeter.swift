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
  private struct Split {
    var parts: @Sendable () -> [Range<Int64>]? = { nil }
    var earlier: (received: Int64, resumed: Int64)?
    var tried: [DownloadError] = []
  }
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

  /// - Parameter parts: which bytes are there, in the order of the file; nil where that cannot be told without waiting.
  ///   Must not hold what holds the meter.
  public func split(_ parts: @escaping @Sendable () -> [Range<Int64>]?) { split.withLock { $0.parts = parts } }

  /// What earlier attempts of this run received of the file, and went on with from an earlier run; nil for nothing.
  public var earlier: (received: Int64, resumed: Int64)? { split.withLock { $0.earlier } }

  public func carry(received: Int64, resumed: Int64) { split.withLock { $0.earlier = (received, resumed) } }

  /// How the addresses of the file failed, in the order in which they were asked; none where it has only one.
  public var tried: [DownloadError] { split.withLock { $0.tried } }

  /// - Parameter mirror: `DownloadRequest.mirror`.
  public func note(_ error: DownloadError, of mirror: Int) {
    split.withLock { $0.tried = $0.tried.prefix(mirror) + [error] }
  }

  /// Which bytes of a split file are there, for a frame; nil for a file in one part, and where it would have to wait.
  public var parts: [Range<Int64>]? { split.withLock { $0.parts }() }

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

/// When one transfer did what, for reports: a request with the redirects that it followed.
public struct TransferTimes: Sendable, Equatable {
  /// Of the request, without credentials (`Address.key`).
  public var address: String
  /// On CLOCK_MONOTONIC, in nanoseconds.
  public var begin: UInt64
  /// From the start until the host's address was known. This and the next two are nil on a connection that was there.
  public var lookedUp: Duration?
  public var connected: Duration?
  /// Until TLS was agreed on.
  public var secured: Duration?
  public var firstByte: Duration?
  /// Until the last byte, or the failure.
  public var end: Duration
  public var bytes: Int64 = 0
  public var connections = 0
  public var requests = 1
  /// Nil without an answer.
  public var status: Int?
  public var hasFailed = false
  public var isSegment = false

  public init(address: String, begin: UInt64, end: Duration) {
    (self.address, self.begin, self.end) = (address, begin, end)
  }
}

/// What is known of a transfer under way beside its bytes.
public struct TransferDetails: Sendable, Equatable {
  /// Address and port of the other side; nil while there is no connection.
  public var peer: String?
  /// Such as "HTTP/1.1"; nil before an answer.
  public var httpVersion: String?
  public var isReused = false
  /// From the start of the current request; nil until it is so far, and where it did not happen.
  public var lookedUp: Duration?
  public var connected: Duration?
  public var secured: Duration?
  public var firstByte: Duration?

  public init() {}
}
