import DequeModule
public import DownloadModel

/// One of several sources over a `HostQueue`, each for lanes that keep connections of their own.
///
/// A run over several network loops has a share a loop. What a host takes at a time is divided among them, so that
/// idle connections of one loop do not add to those of another beyond the host's limit; and a host's files are dealt
/// evenly, so that four large files do not end up on one core.
public struct HostQueueShare: RequestSource {
  let queue: HostQueue
  /// From 0, below the number of the queue's widths.
  let index: Int

  public init(_ queue: HostQueue, _ index: Int) {
    self.queue = queue
    self.index = index
  }

  public nonisolated(nonsending) func next() async -> DownloadRequest? { await queue.next(for: index) }
}

extension HostQueue {
  /// A reference, because each file looks at its host twice.
  final class Host {
    var pace: HostPace
    /// Under way now, by share.
    var inUse: [Int]
    /// Not asked yet.
    var held: Deque<DownloadRequest> = []
    /// Refused once: behind those that were never asked, so that one file that is always refused holds up no other.
    var refused: Deque<DownloadRequest> = []
    /// Not to be asked: the host was given up with them in the queue.
    var doomed: Deque<DownloadRequest> = []
    /// Files that ended, well or badly.
    var ended = 0
    /// Which share gets the odd place: another one for each host, so that hosts of one connection spread.
    private let home: Int

    init(_ pace: HostPace, shares: Int, _ name: String) {
      self.pace = pace
      inUse = Array(repeating: 0, count: shares)
      // Not by hashValue, which differs from run to run.
      home = name.utf8.reduce(0) { ($0 &* 31 &+ Int($1)) & 0xFFFF } % shares
    }

    var isWaitedFor: Bool { !held.isEmpty || !refused.isEmpty }
    var earliest: Int { [doomed.first, held.first, refused.first].compactMap { $0?.id }.min() ?? .max }

    /// How many of the host's places are a share's.
    func quota(of share: Int) -> Int {
      let shares = inUse.count
      let distance = (share - home + shares) % shares
      return pace.limit / shares + (distance < pace.limit % shares ? 1 : 0)
    }
  }

  /// Whether a host's next file is this share's to take: within its quota, and not one that a share with fewer of the
  /// host's files is about to take. The more files a host has given, the less that matters.
  func isTurn(of share: Int, at host: Host, _ state: State) -> Bool {
    if widths.count == 1 { return true }
    let mine = host.inUse[share]
    let slack = host.ended / 8
    guard mine < host.quota(of: share) else { return false }
    for other in widths.indices
    where host.inUse[other] < mine - slack && host.inUse[other] < host.quota(of: other)
      && state.inFlight[other] < widths[other]
    {
      return false
    }
    return true
  }
}
