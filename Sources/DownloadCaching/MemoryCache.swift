import DownloadModel

/// The files that this loop finished or found last, so that a repeated address is answered from memory. Bounded: there
/// are two generations, and the older is dropped when the younger is full.
struct MemoryCache: Sendable {
  struct Entry: Sendable, Equatable {
    var name: String
    var size: Int64
    /// Nil without an index. Then equal length is enough, because this run wrote the file.
    var identity: FileIdentity?
    var changed: ChangeTime?
    /// Of the request that it was the answer to.
    var trust = TrustMark.usual

    /// Whether it is still what stands under its name.
    func isThat(_ file: StandingFile) -> Bool {
      guard let identity, let changed else { return size == file.identity.size }
      return file.isUsers && file.identity == identity && changed.isThat(of: file)
    }
  }

  /// An entry with its key, by that key's hash: to look for a key that is not there, which is the rule, no key is
  /// touched. Of two keys with one hash the younger is remembered.
  private typealias Generation = [Int: (key: DownloadRequest.Key, entry: Entry)]

  private var young: Generation = [:]
  private var old: Generation = [:]
  private let limit: Int

  /// - Parameter limit: entries a generation.
  init(limit: Int = 2048) { self.limit = limit }

  subscript(key: DownloadRequest.Key) -> Entry? {
    let number = key.hashValue
    guard let found = young[number] ?? old[number], found.key == key else { return nil }
    return found.entry
  }

  mutating func remember(_ entry: Entry, for key: DownloadRequest.Key) {
    if young.count >= limit {
      old = young
      young = Generation(minimumCapacity: limit)
    }
    young[key.hashValue] = (key, entry)
  }

  mutating func forget(_ key: DownloadRequest.Key) {
    young[key.hashValue] = nil
    old[key.hashValue] = nil
  }

}

/// A request in flight, and the equal requests that wait for it. Only the cache actor that has the key uses it.
///
/// The task of one of those requests does the work. A task of the download's own would cost each small file a twentieth
/// of its processor time, and would only help where the working task is cancelled while others wait.
final class InFlight {
  /// How a waiting request goes on.
  enum Turn: Sendable {
    case answer(DownloadOutcome)
    case failure(DownloadError)
    /// The task that did the work was cancelled: this one goes on with the same download.
    case goOn(FileDownload)
    /// The working task was cancelled before there was a download: the request starts from the beginning.
    case askAnew
  }

  private struct Waiter {
    let number: Int
    /// Whether the answer is this one's as well; else it only waits until the file is there.
    let shares: Bool
    let continuation: CheckedContinuation<Turn, Never>
  }

  private var waiters: [Waiter] = [] { didSet { shareCount() } }
  /// Nil while the cache still looks for the file on the disk.
  var download: FileDownload? { didSet { shareCount() } }

  let trust: TrustMark

  init(_ trust: TrustMark) { self.trust = trust }

  var count: Int { waiters.count }

  /// A cancelled transfer checks this count to see whether other requests wait for the download.
  private func shareCount() {
    download?.waiting = waiters.count { $0.shares }
  }

  /// - Parameter trust: of a request for the same file, perhaps with other credentials: then it is asked for after this
  ///   one.
  func wait(_ number: Int, _ trust: TrustMark, _ continuation: CheckedContinuation<Turn, Never>) {
    waiters.append(Waiter(number: number, shares: trust == self.trust, continuation: continuation))
  }

  /// A waiting request was cancelled. If it was answered at the same moment, it is no longer in the list, and that
  /// answer stands.
  func leave(_ number: Int) {
    guard let index = waiters.firstIndex(where: { $0.number == number }) else { return }
    waiters.remove(at: index).continuation.resume(returning: .failure(.cancelled))
  }

  /// The working task was cancelled, so the first waiting request continues the download.
  /// - Returns: false if no request waits.
  func handOn(_ download: FileDownload) -> Bool {
    guard let next = waiters.firstIndex(where: \.shares) else { return false }
    waiters.remove(at: next).continuation.resume(returning: .goOn(download))
    return true
  }

  /// The download has ended; every waiting request gets the result. Cancellation of the working task is no result for
  /// the others, so they start from the beginning. Any other failure is handed on marked as coalesced, because the
  /// host, or the disk, failed once and not once for each.
  func land(_ result: Result<DownloadOutcome, DownloadError>) {
    let turn: Turn =
      switch result {
      case .success(let outcome): .answer(outcome)
      case .failure(let error): error.code == .cancelled ? .askAnew : .failure(error.coalesced)
      }
    for waiter in waiters { waiter.continuation.resume(returning: waiter.shares ? turn : .askAnew) }
    waiters = []
  }
}
