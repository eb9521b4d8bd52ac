import DequeModule
public import DownloadModel

/// One of several sources over a `HostQueue`, each for lanes that keep connections of their own.
///
/// A run over several network loops has a share a loop. What a host takes at a time is divided among them, and each
/// keeps no more connections than its part, idle ones included, so that all of them stay within the host's limit
/// (http.md 37). A host's files are dealt evenly, so that four large files do not end up on one core. A host that was
/// seen to take only a few is asked where it answers already: on a loop that has none of its connections a new one would
/// have to take the place of another's.
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
    struct Reserved {
      /// Which has a connection for it.
      let share: Int
      /// As soon as so many files have ended there: then that connection is free.
      let ends: Int
      let request: DownloadRequest
    }

    let name: String
    var pace: HostPace
    /// Under way now, by share.
    var inUse: [Int]
    /// Left unanswered over one connection, to be asked over another.
    var reserved: [Reserved] = []
    /// Not asked yet.
    var held: Deque<DownloadRequest> = []
    /// Refused once: behind those that were never asked, so that one file that is always refused holds up no other.
    var refused: Deque<DownloadRequest> = []
    /// Not to be asked: the host was given up with them in the queue.
    var doomed: Deque<DownloadRequest> = []
    /// Files that ended, well or badly, by share.
    var ends: [Int]
    var ended: Int { ends.reduce(0, +) }
    /// Which share gets the odd place: another one for each host, so that hosts of one connection spread.
    private let home: Int
    /// Which share has how many places, where there are few.
    private var parts: [Int]?
    /// What the shares were last told of their parts.
    private var told: [Int]?

    /// So few places that it matters on which loop they are.
    private static let few = 8

    init(_ pace: HostPace, shares: Int, _ name: String) {
      self.name = name
      self.pace = pace
      inUse = Array(repeating: 0, count: shares)
      ends = inUse
      // Not by hashValue, which differs from run to run.
      home = name.utf8.reduce(0) { ($0 &* 31 &+ Int($1)) & 0xFFFF } % shares
    }

    var isHeldForAny: Bool { !held.isEmpty || !refused.isEmpty }
    var isWaitedFor: Bool { !held.isEmpty || !refused.isEmpty || !reserved.isEmpty }
    var earliest: Int {
      [doomed.first, reserved.first?.request, held.first, refused.first].compactMap { $0?.id }.min() ?? .max
    }

    /// Whether the host itself, and not the user, has set the limit.
    private var isLearnt: Bool { pace.limit < pace.ceiling }

    /// How many of the host's places are a share's.
    func quota(of share: Int) -> Int {
      let shares = inUse.count
      if let parts { return parts[share] }
      let distance = (share - home + shares) % shares
      return pace.limit / shares + (distance < pace.limit % shares ? 1 : 0)
    }

    /// After each change of the limit.
    /// - Parameter answering: the connections over which the host answers, by loop, where that is known.
    /// - Returns: the shares' parts if they have changed; an inner nil takes the limit back.
    func news(answering: [Int]? = nil) -> [Int]?? {
      if !isLearnt, told == nil { return nil }
      if inUse.count > 1, isLearnt, pace.limit <= Self.few {
        let known = answering.flatMap { $0.count == inUse.count ? $0 : nil }
        // What the host refused came on top of what is under way.
        let stays = parts.flatMap { $0.reduce(0, +) <= pace.limit ? $0 : nil }
        parts = Self.parts(of: pace.limit, like: known ?? stays ?? inUse)
      } else {
        parts = nil
      }
      let news = isLearnt ? inUse.indices.map(quota) : nil
      guard news != told else { return nil }
      told = news
      return .some(news)
    }

    /// So many places, divided as some others are: what is too much goes where there is least, what is to come where
    /// there is most.
    static func parts(of limit: Int, like others: [Int]) -> [Int] {
      var parts = others
      var excess = parts.reduce(0, +) - limit
      while excess > 0, let least = parts.indices.filter({ parts[$0] > 0 }).min(by: { parts[$0] < parts[$1] })
      {
        let less = min(excess, parts[least])
        parts[least] -= less
        excess -= less
      }
      if excess < 0, let most = parts.indices.max(by: { parts[$0] < parts[$1] }) { parts[most] -= excess }
      return parts
    }

    /// Whether none of the places is a share's, although those that have them have other things to do.
    func isKept(from share: Int, _ isBusy: (Int) -> Bool) -> Bool {
      guard let parts, parts[share] == 0, inUse.allSatisfy({ $0 == 0 }) else { return false }
      return parts.indices.allSatisfy { parts[$0] == 0 || isBusy($0) }
    }

    /// Gives all places to a share.
    func move(to share: Int) {
      parts = inUse.indices.map { $0 == share ? pace.limit : 0 }
    }
  }

  /// Tells the shares what they may keep of a host, if that has changed. Under the lock.
  func tell(_ host: Host, answering: [Int]? = nil) {
    if let parts = host.news(answering: answering) { keep(host.name, parts) }
  }

  /// Whether a host's next file is this share's to take: within its quota, and not one that a share with fewer of the
  /// host's files is about to take. The more files a host has given, the less that matters.
  func isTurn(of share: Int, at host: Host, _ state: State) -> Bool {
    if widths.count == 1 { return true }
    if host.isKept(from: share, { state.inFlight[$0] >= widths[$0] }) {
      host.move(to: share)
      tell(host)
    }
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
