import DownloadModel
import FileReceiving

/// The requests in flight, and the equal requests that wait for them. Isolated state of one cache actor.
///
/// One request's task does the work: a separate task would cost each small file 5 % of its processor time.
final class InFlight {
  /// How a waiting request continues.
  enum Turn {
    case answer(DownloadOutcome)
    case failure(DownloadError)
    /// It starts as a new request.
    case askAnew
    /// It continues the download.
    case goOn(FileDownload)
  }

  private struct Turns {
    /// For all waiting requests, once the download has ended.
    var last: Turn?
    /// For the first waiting request, if the working task was cancelled.
    var next: FileDownload?

    /// - Parameter shares: whether the answer applies to the request too.
    mutating func take(shares: Bool) -> Turn? {
      if let last { return shares ? last : .askAnew }
      guard shares, let download = next else { return nil }
      next = nil
      return .goOn(download)
    }
  }

  private final class Flight {
    let trust: TrustMark
    /// `nil` while the cache still looks for the file on the disk.
    var download: FileDownload? { didSet { tell() } }
    var waiting = 0
    /// The number of waiting requests that the answer applies to.
    var sharing = 0 { didSet { tell() } }
    lazy var turns = Waiters(Turns())

    init(_ trust: TrustMark) { self.trust = trust }

    /// For a cancelled transfer, which checks whether other requests wait.
    private func tell() { download?.waiting = sharing }
  }

  private var flights: [DownloadRequest.Key: Flight] = [:]

  func contains(_ key: DownloadRequest.Key) -> Bool { flights[key] != nil }

  func count(for key: DownloadRequest.Key) -> Int { flights[key]?.waiting ?? 0 }

  func begin(_ key: DownloadRequest.Key, _ trust: TrustMark) { flights[key] = Flight(trust) }

  @inline(never)
  func note(_ opened: OpenedDownload<FileDownload>, of key: DownloadRequest.Key) {
    switch opened {
    case .answered(let outcome): land(key, .success(outcome))
    case .missing(let download): flights[key]?.download = download
    }
  }

  /// Waits for the task of an equal request that is in flight.
  /// - Parameters:
  ///   - trust: if it differs from the download's, the request is answered separately, after this one.
  ///   - meter: of the waiting file; giving the file up ends the wait as cancelling the task does.
  nonisolated(nonsending) func turn(
    _ key: DownloadRequest.Key, _ trust: TrustMark, _ meter: TransferMeter
  ) async -> Turn {
    guard let flight = flights[key] else { return .askAnew }
    let shares = trust == flight.trust
    flight.waiting += 1
    if shares { flight.sharing += 1 }
    defer {
      flight.waiting -= 1
      if shares { flight.sharing -= 1 }
    }
    let turns = flight.turns
    meter.onStop { turns.withLock { _ in } }
    return await turns.wait { meter.isStopped ? .failure(.cancelled) : $0.take(shares: shares) }
      ?? .failure(.cancelled)
  }

  /// The working task was cancelled, so the first waiting request continues the download.
  /// - Returns: false if no request waits.
  func handOn(_ download: FileDownload, of key: DownloadRequest.Key) -> Bool {
    guard let flight = flights[key], flight.sharing > 0 else { return false }
    flight.turns.withLock { $0.next = download }
    // Still there if all waiting requests were cancelled too.
    return flight.turns.withLock { turns in
      defer { turns.next = nil }
      return turns.next == nil
    }
  }

  /// Gives every waiting request the result. If the working task was cancelled, the others start anew. Another failure
  /// is marked as coalesced, because it happened once.
  @inline(never)
  func land(_ key: DownloadRequest.Key, _ result: Result<DownloadOutcome, DownloadError>) {
    guard let flight = flights.removeValue(forKey: key), flight.waiting > 0 else { return }
    let turn: Turn =
      switch result {
      case .success(let outcome): .answer(outcome)
      case .failure(let error): error.code == .cancelled ? .askAnew : .failure(error.coalesced)
      }
    flight.turns.withLock { $0.last = turn }
  }
}
