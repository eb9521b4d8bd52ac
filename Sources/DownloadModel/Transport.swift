import Synchronization

/// Fetches one response and passes its body to a sink.
package protocol Transport: Sendable {
  /// Begins one transfer. Returns when it has ended, or as soon as the sink has called its body `.splittable`; then the
  /// task that began it must await it (`RunningTransfer.receipt`). Cancelling that task removes the transfer at once,
  /// unless the sink keeps it (`ByteSink.keep`).
  nonisolated(nonsending) func run(
    _ transfer: TransferRequest, into sink: any ByteSink
  ) async throws(DownloadError) -> TransferStage

  /// Ends the transfers that fill a file, without asking the sink to keep them; false if there were none.
  func cancel(_ meter: TransferMeter) async -> Bool

  /// Whether the user's limit on the bytes a second of all transfers holds them back: more of them bring nothing.
  var isAtLimit: Bool { get }
}

extension Transport {
  package var isAtLimit: Bool { false }
  package func cancel(_ meter: TransferMeter) async -> Bool { false }

  /// Runs one transfer to its end; throws what `run` throws.
  package nonisolated(nonsending) func fetch(
    _ transfer: TransferRequest, into sink: any ByteSink
  ) async throws(DownloadError) -> TransferReceipt {
    switch try await run(transfer, into: sink) {
    case .ended(let receipt): return receipt
    case .underWay(let running): return try await running.receipt()
    }
  }
}

/// One GET (RFC 9110 §9.3.1) that the transport is to send, or a HEAD (§9.3.2).
package struct TransferRequest: Sendable {
  package var address: Address
  /// Asks for the head alone. The sink must drain the answer.
  package var isHead = false
  /// First byte wanted (`Range: bytes=N-`, RFC 9110 §14.2); nil asks for the whole file.
  package var rangeStart: Int64?
  /// The offset behind the last byte wanted (`Range: bytes=N-M`); nil asks for all that follows.
  package var rangeEnd: Int64?
  /// Further header lines (`If-Range: "v1"`), in addition to those of every request.
  package var headerLines: [String]
  /// How long it stayed unanswered before it was returned (`DownloadError.overtaken`); nil for the first time.
  package var waited: Duration?
  /// Is told what the transfer waits for.
  package var meter: TransferMeter?
  /// Called for each answer of the address's own host, with the number of further requests that the host allows; nil
  /// if the answer gives none.
  package var onAnswer: (@Sendable (RequestAllowance?) -> Void)?
  /// Of a further segment: the meter of its file.
  package var segmentOf: TransferMeter?
  /// Whether a redirect may lead from https to http, because a digest of the user's proves the bytes (HTTP rule 57).
  package var mayLeaveTLS = false
  private let provenance: Provenance
  private var ownLines: [String] = []

  package init(
    address: Address, headerLines: [String] = [], meter: TransferMeter? = nil, provenance: Provenance = .user
  ) {
    self.address = address
    self.headerLines = headerLines
    self.meter = meter
    self.provenance = provenance
  }

  /// For a request, with the header lines that its line has for it alone.
  package init(for request: DownloadRequest) {
    self.init(address: request.source, provenance: request.sourceProvenance)
    if request.source.isSameOrigin(as: request.address) { ownLines = request.headerLines }
  }

  /// The header lines that a list's line has for this address alone: for its own origin, whoever wrote the list.
  package func ownLines(for destination: Address) -> [String] {
    ownLines.isEmpty || !destination.isSameOrigin(as: address) ? [] : ownLines
  }

  /// Whether what the user gave goes with this request to a destination: header lines, cookies, client certificate, a
  /// login that names no host. Not to another origin, and not where only a list at an address names it (HTTP rule 42).
  package func isHome(_ destination: Address) -> Bool {
    provenance != .stranger && destination.isSameOrigin(as: address)
  }
}

package struct TransferReceipt: Sendable, Equatable {
  package var status: Int
  /// Body bytes that arrived for the sink, as the server sent them: for a decoded body, the coded bytes.
  package var bodyBytes: Int64
  /// What the end of the body proves (RFC 9112 §6.3).
  package var proof: Proof
  /// The address that answered, where redirects led to another one.
  package var effectiveURL: String?

  package init(status: Int, bodyBytes: Int64, proof: Proof, effectiveURL: String? = nil) {
    self.status = status
    self.bodyBytes = bodyBytes
    self.proof = proof
    self.effectiveURL = effectiveURL
  }
}

/// Receives a response. Called on the transport's own thread, so it must not wait for anything but the disk.
package protocol ByteSink: Sendable {
  /// Judges status, headers and range before a byte of the body is delivered.
  func accept(_ head: ResponseHead) throws(DownloadError) -> BodyDisposition
  /// Takes the next bytes of the body, in order; the pointer is valid during the call only.
  /// - Returns: `.enough` when no more are wanted: the transfer ends without a failure.
  func write(_ bytes: UnsafeRawBufferPointer) throws(DownloadError) -> SinkDemand
  /// Called about once a second while a body comes, for the first time within two: what a kill is to leave is named.
  func save() throws(DownloadError)
  /// The task that awaits the transfer was cancelled. A sink for which another task waits keeps the transfer: that task
  /// then awaits or cancels `running`, the same object each time.
  /// - Returns: false to have the transfer removed at once.
  func keep(_ running: RunningTransfer) -> Bool
}

extension ByteSink {
  package func keep(_ running: RunningTransfer) -> Bool { false }
  package func save() {}
}

package enum SinkDemand: Sendable, Equatable { case more, enough }

package enum BodyDisposition: Sendable, Equatable {
  case write
  /// The body is long, so that other transfers could fetch segments of it meanwhile.
  case splittable
  /// Remove the content codings that the head names (RFC 9110 §8.4), all of which are known (`ContentCoding`).
  case decode
  /// The body is not wanted: a short one is read and dropped, so that the connection can be kept.
  case drain
  /// The rest is not wanted: the transfer ends without a failure.
  case enough
}

/// The state of a transfer when `Transport.run` returns.
package enum TransferStage: Sendable {
  case ended(TransferReceipt)
  /// The sink called its body `.splittable`: the task that began the transfer must now await it.
  case underWay(RunningTransfer)
}

/// The live numbers of one file: transfers add to it and renderers sample it, and neither waits for the other.
package final class TransferMeter: Sendable {
  /// What a file waits for, as long as no bytes come.
  package enum Phase: UInt8, Sendable {
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
    var named: NamedMirrors?
  }
  private let networkBytes: TransferCounter

  package init(counter: TransferCounter = TransferCounter()) { networkBytes = counter }

  /// Bytes of the file that are there, those of earlier runs included.
  package var position: Int64 { receivedBytes.load(ordering: .relaxed) }
  /// The offset at which this attempt began: bytes before it do not count for the speed.
  package var start: Int64 { startBytes.load(ordering: .relaxed) }
  /// Length of the whole file; nil while unknown.
  package var total: Int64? {
    let value = totalBytes.load(ordering: .relaxed)
    return value < 0 ? nil : value
  }

  /// Bytes of an unfinished file that wait for the next run; 0 while it is under way.
  package var kept: Int64 { keptBytes.load(ordering: .relaxed) }
  package var phase: Phase { Phase(rawValue: currentPhase.load(ordering: .relaxed)) ?? .idle }

  /// Whether the user gave a checksum that the file must have.
  package var hasDigest: Bool { expectsDigest.load(ordering: .relaxed) }

  package func expectDigest() { expectsDigest.store(true, ordering: .relaxed) }

  package func enter(_ phase: Phase) { currentPhase.store(phase.rawValue, ordering: .relaxed) }

  /// The file is put away unfinished, with so many bytes.
  package func keep(_ bytes: Int64) { keptBytes.store(bytes, ordering: .relaxed) }

  /// An attempt begins at this offset. For a retry that is less than had arrived, so no byte counts twice.
  package func begin(at offset: Int64, total: Int64?) {
    receivedBytes.store(offset, ordering: .relaxed)
    startBytes.store(offset, ordering: .relaxed)
    totalBytes.store(total ?? -1, ordering: .relaxed)
    enter(.receiving)
  }

  /// - Parameter parts: which bytes are there, in the order of the file; nil if unknown without waiting.
  ///   Must not hold what holds the meter.
  package func split(_ parts: @escaping @Sendable () -> [Range<Int64>]?) { split.withLock { $0.parts = parts } }

  /// What earlier attempts of this run received of the file, and went on with from an earlier run; nil for nothing.
  package var earlier: (received: Int64, resumed: Int64)? { split.withLock { $0.earlier } }

  package func carry(received: Int64, resumed: Int64) { split.withLock { $0.earlier = (received, resumed) } }

  /// How the addresses of the file failed, in the order in which they were asked; none where it has only one.
  package var tried: [DownloadError] { split.withLock { $0.tried } }

  /// - Parameter mirror: `DownloadRequest.mirror`.
  package func note(_ error: DownloadError, of mirror: Int) {
    split.withLock { $0.tried = $0.tried.prefix(mirror) + [error] }
  }

  /// What the last answer that names mirrors says.
  package var named: NamedMirrors? { split.withLock { $0.named } }

  package func name(_ mirrors: NamedMirrors) { split.withLock { $0.named = mirrors } }

  /// Which bytes of a split file are there, for a frame; nil for a file in one part, and where it would have to wait.
  package var parts: [Range<Int64>]? { split.withLock { $0.parts }() }

  /// Subtracts bytes that were added but are not this segment's, such as those behind its end.
  package func subtract(_ bytes: Int) { receivedBytes.wrappingSubtract(Int64(bytes), ordering: .relaxed) }

  package func add(_ bytes: Int) {
    receivedBytes.wrappingAdd(Int64(bytes), ordering: .relaxed)
    networkBytes.add(bytes)
  }
}

/// A count of body bytes received, over all files of a run.
package final class TransferCounter: Sendable {
  private let bytes = Atomic<Int64>(0)
  package init() {}
  package var value: Int64 { bytes.load(ordering: .relaxed) }
  package func add(_ count: Int) { bytes.wrappingAdd(Int64(count), ordering: .relaxed) }
}
