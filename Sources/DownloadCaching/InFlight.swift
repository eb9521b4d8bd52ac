import DownloadModel
import FileReceiving
import Synchronization

/// The requests that the caches of a run have in flight, and the equal requests that wait for them.
///
/// One request's task does the work: a separate task would cost each small file 5 % of its processor time. A lock
/// instead of an actor, because a change of threads would cost more than the work of the table.
final class InFlight: Sendable {
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

  private struct Flight {
    let key: DownloadRequest.Key
    let trust: TrustMark
    /// `nil` while the cache still looks for the file on the disk.
    var download: FileDownload?
    var waiting = 0
    /// The number of waiting requests that the answer applies to.
    var sharing = 0
    /// `nil` until a request waits.
    var turns: Waiters<Turns>?

    /// Whether the answer applies to a request of an equal key, too: lines for one URL may declare different sizes and
    /// types.
    func isShared(with key: DownloadRequest.Key, _ trust: TrustMark) -> Bool {
      let own = self.key.wishes
      let other = key.wishes
      return trust == self.trust && own?.size == other?.size && own?.expectedTypes == other?.expectedTypes
    }

    mutating func begin(_ download: FileDownload) {
      self.download = download
      tell()
    }

    /// For a cancelled transfer, which checks whether other requests wait.
    func tell() { download?.waiting = sharing }
  }

  /// A waiting request, as its flight knows it.
  private struct Entry {
    let key: DownloadRequest.Key
    let turns: Waiters<Turns>
    let shares: Bool
  }

  private let flights = Lock<[DownloadRequest.Key: Flight]>([:])

  func contains(_ key: DownloadRequest.Key) -> Bool { flights.withLock { $0[key] != nil } }

  func count(for key: DownloadRequest.Key) -> Int { flights.withLock { $0[key]?.waiting ?? 0 } }

  /// - Returns: false if an equal request is in flight.
  func begin(_ key: DownloadRequest.Key, _ trust: TrustMark) -> Bool {
    flights.withLock { flights in
      guard flights[key] == nil else { return false }
      flights[key] = Flight(key: key, trust: trust)
      return true
    }
  }

  @inline(never)
  func note(_ opened: OpenedDownload<FileDownload>, of key: DownloadRequest.Key) {
    switch opened {
    case .answered(let outcome): land(key, .success(outcome))
    case .missing(let download):
      flights.withLock { $0[key]?.begin(download) }
    }
  }

  /// Waits for the task of an equal request that is in flight.
  /// - Parameters:
  ///   - trust: if it differs from the download's, or if the lists declare different sizes or types, the request is
  ///     answered separately, after this one.
  ///   - meter: of the waiting file; giving the file up ends the wait as cancelling the task does.
  nonisolated(nonsending) func turn(
    _ key: DownloadRequest.Key, _ trust: TrustMark, _ meter: TransferMeter
  ) async -> Turn {
    guard let entry = enter(key, trust) else { return .askAnew }
    defer { leave(entry) }
    meter.onStop { [turns = entry.turns] in turns.withLock { _ in } }
    return await entry.turns.wait { [shares = entry.shares] turns in
      meter.isStopped ? .failure(.cancelled) : turns.take(shares: shares)
    } ?? .failure(.cancelled)
  }

  /// - Returns: `nil` if the request has landed.
  private func enter(_ key: DownloadRequest.Key, _ trust: TrustMark) -> Entry? {
    flights.withLock { flights in
      guard var flight = flights[key] else { return nil }
      let turns = flight.turns ?? Waiters(Turns())
      let shares = flight.isShared(with: key, trust)
      flight.turns = turns
      flight.waiting += 1
      if shares { flight.sharing += 1 }
      flight.tell()
      flights[key] = flight
      return Entry(key: key, turns: turns, shares: shares)
    }
  }

  private func leave(_ entry: Entry) {
    flights.withLock { flights in
      // It may have landed, and an equal request may be in flight again.
      guard var flight = flights[entry.key], flight.turns === entry.turns else { return }
      flight.waiting -= 1
      if entry.shares { flight.sharing -= 1 }
      flight.tell()
      flights[entry.key] = flight
    }
  }

  /// The working task was cancelled, so the first waiting request continues the download.
  /// - Returns: false if no request waits.
  func handOn(_ download: FileDownload, of key: DownloadRequest.Key) -> Bool {
    let turns = flights.withLock { flights in flights[key].flatMap { $0.sharing > 0 ? $0.turns : nil } }
    guard let turns else { return false }
    turns.withLock { $0.next = download }
    // Still there if all waiting requests were cancelled too.
    return turns.withLock { $0.next.take() == nil }
  }

  /// Gives every waiting request the result. If the working task was cancelled, the others start anew. Another failure
  /// is marked as coalesced, because it happened once.
  @inline(never)
  func land(_ key: DownloadRequest.Key, _ result: Result<DownloadOutcome, DownloadError>) {
    guard let turns = flights.withLock({ $0.removeValue(forKey: key)?.turns }) else { return }
    let turn: Turn =
      switch result {
      case .success(let outcome): .answer(outcome)
      case .failure(let error): error.code == .cancelled ? .askAnew : .failure(error.coalesced)
      }
    turns.withLock { $0.last = turn }
  }
}
