import Synchronization

/// The live numbers of one file: transfers add to it and renderers sample it; neither waits for the other.
package final class TransferMeter: Sendable {
  /// The current step of a file while no bytes arrive.
  package enum Phase: UInt8, Sendable {
    /// No request was sent yet: it waits for the disk, another request, or a connection.
    case idle
    /// The host's name is looked up, or a connection is chosen.
    case lookingUp
    case connecting
    /// The request was sent, and is unanswered.
    case waiting
    case receiving
    /// The file is complete, and is verified and renamed.
    case checking
  }

  private let receivedBytes = Atomic<Int64>(0)
  private let startBytes = Atomic<Int64>(0)
  private let totalBytes = Atomic<Int64>(-1)
  private let keptBytes = Atomic<Int64>(0)
  private let currentPhase = Atomic(Phase.idle.rawValue)
  private let expectsDigest = Atomic(false)
  private let beginsAnew = Atomic(false)
  private let hasStopped = Atomic(false)
  private let split = Lock(Split())
  private struct Split {
    var parts: @Sendable () -> [Range<Int64>]? = { nil }
    var earlier: (received: Int64, resumed: Int64)?
    var tried: [DownloadError] = []
    var named: NamedMirrors?
    var reason: DownloadError?
    var onStop: (@Sendable () -> Void)?
  }
  private let networkBytes: Counter

  package init(counter: Counter = Counter()) { networkBytes = counter }

  /// Bytes of the file that exist, including those of earlier runs.
  package var position: Int64 { receivedBytes.load(ordering: .relaxed) }
  /// The offset at which this attempt started: bytes before it do not count for the speed.
  package var start: Int64 { startBytes.load(ordering: .relaxed) }
  /// Length of the whole file; `nil` if unknown.
  package var total: Int64? {
    let value = totalBytes.load(ordering: .relaxed)
    return value < 0 ? nil : value
  }

  /// Bytes of an unfinished file that are kept for the next run; 0 while it is in flight.
  package var kept: Int64 { keptBytes.load(ordering: .relaxed) }
  package var phase: Phase { Phase(rawValue: currentPhase.load(ordering: .relaxed)) ?? .idle }

  /// Whether the user gave a checksum that the file must have.
  package var hasDigest: Bool { expectsDigest.load(ordering: .relaxed) }

  package func expectDigest() { expectsDigest.store(true, ordering: .relaxed) }

  /// Whether the server resumes nothing, so that what has arrived is lost with the transfer.
  package var cannotResume: Bool { beginsAnew.load(ordering: .relaxed) }

  package func note(cannotResume: Bool) { beginsAnew.store(cannotResume, ordering: .relaxed) }

  package func enter(_ phase: Phase) { currentPhase.store(phase.rawValue, ordering: .relaxed) }

  /// The file is saved unfinished, with this many bytes.
  package func keep(_ bytes: Int64) { keptBytes.store(bytes, ordering: .relaxed) }

  /// Whether the file was given up: no transfer of it starts any more.
  package var isStopped: Bool { hasStopped.load(ordering: .relaxed) }

  /// How a file that was given up is to end; `nil` for any other.
  package var stopReason: DownloadError? { isStopped ? split.withLock { $0.reason } : nil }

  /// Gives the file up; the first reason counts.
  package func stop(as reason: DownloadError) {
    let onStop = split.withLock { state in
      state.reason = state.reason ?? reason
      hasStopped.store(true, ordering: .relaxed)
      return state.onStop.take()
    }
    onStop?()
  }

  /// Sets how the file's present wait ends if the file is given up: called at once if it already was.
  package func onStop(_ body: @escaping @Sendable () -> Void) {
    let isStopped = split.withLock { state in
      state.onStop = body
      return state.reason != nil
    }
    if isStopped { body() }
  }

  /// An attempt starts at this offset. For a retry that is less than had arrived, so no byte counts twice.
  package func begin(at offset: Int64, total: Int64?) {
    receivedBytes.store(offset, ordering: .relaxed)
    startBytes.store(offset, ordering: .relaxed)
    totalBytes.store(total ?? -1, ordering: .relaxed)
    enter(.receiving)
  }

  /// - Parameter parts: returns the existing bytes, in the order of the file; `nil` if it would have to wait for them.
  ///   Must not hold a reference to the owner of the meter.
  package func split(_ parts: @escaping @Sendable () -> [Range<Int64>]?) { split.withLock { $0.parts = parts } }

  /// Bytes that earlier attempts of this run received, and resumed from an earlier run; `nil` for none.
  package var earlier: (received: Int64, resumed: Int64)? { split.withLock { $0.earlier } }

  package func carry(received: Int64, resumed: Int64) { split.withLock { $0.earlier = (received, resumed) } }

  /// The failures of the file's sources, in the order in which they were tried; empty if it has only one.
  package var tried: [DownloadError] { split.withLock { $0.tried } }

  /// - Parameter mirror: `DownloadRequest.mirror`.
  package func note(_ error: DownloadError, of mirror: Int) {
    split.withLock { $0.tried = $0.tried.prefix(mirror) + [error] }
  }

  /// The mirrors in the last answer that names any.
  package var named: NamedMirrors? { split.withLock { $0.named } }

  package func name(_ mirrors: NamedMirrors) { split.withLock { $0.named = mirrors } }

  /// The existing bytes of a split file, for a frame; `nil` for a file in one part, and if it would have to wait.
  package var parts: [Range<Int64>]? { split.withLock { $0.parts }() }

  /// Subtracts bytes that were added but do not belong to this segment, such as those behind its end.
  package func subtract(_ bytes: Int) { receivedBytes.wrappingSubtract(Int64(bytes), ordering: .relaxed) }

  package func add(_ bytes: Int) {
    receivedBytes.wrappingAdd(Int64(bytes), ordering: .relaxed)
    networkBytes.add(bytes)
  }

  /// The body bytes received over all files of a run.
  package final class Counter: Sendable {
    private let bytes = Atomic<Int64>(0)
    package init() {}
    package var value: Int64 { bytes.load(ordering: .relaxed) }
    package func add(_ count: Int) { bytes.wrappingAdd(Int64(count), ordering: .relaxed) }
  }
}
