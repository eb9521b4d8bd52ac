import DownloadModel

/// One host as the queue sees it: its waiting requests, and its downloads in flight by share. The connection limit is
/// divided among the shares, so that the idle connections of all loops together stay within it (HTTP rule 37). If it is
/// small, the loops that already have answered connections get it. A class, because each file changes its host twice.
/// It belongs to one `RequestQueueState` and is not shared.
final class QueuedHost {
  let name: String
  var limiter: HostLimiter
  /// The last failure for which it was given up.
  var failure: DownloadError?
  /// `nil` without a channel to other processes.
  private var shared: SharedHost?
  var requests: HeldRequests
  /// Downloads in flight, by share.
  private(set) var inUse: [Int]
  /// Files that ended, with or without success, by share.
  private(set) var ends: [Int]
  /// The share that gets the remainder of a division; it differs by host, so that hosts of one connection are spread.
  private let home: Int
  /// The connections of each share, if the host accepts only a few.
  private var parts: [Int]?
  /// The last quotas that were sent to the transports.
  private var told: [Int]?

  /// Between the starts of two requests, by the user's wish; `nil` for no limit.
  let interval: Duration?

  /// With at most this many connections, it matters which loop has them.
  private static let few = 8

  /// - Parameter together: the ceiling of all processes on this machine; `nil` for the limiter's.
  init(
    _ limiter: HostLimiter, shares: Int, _ name: String, _ ranking: RequestRanking = RequestRanking(),
    sharing: HostSharing? = nil, together: Int? = nil, interval: Duration? = nil
  ) {
    self.interval = interval
    self.name = name
    self.limiter = limiter
    shared = sharing.map { SharedHost($0, name, ceiling: together ?? limiter.ceiling) }
    requests = HeldRequests(ranking)
    inUse = Array(repeating: 0, count: shares)
    ends = inUse
    // Not `hashValue`, which differs from run to run.
    home = name.utf8.reduce(0) { ($0 &* 31 &+ Int($1)) & 0xFFFF } % shares
  }

  func begin(_ share: Int) {
    inUse[share] += 1
    limiter.begin()
    shared?.begin()
    touch()
  }

  /// The caller tells the limiter separately how the download ended.
  func end(_ share: Int) {
    inUse[share] -= 1
    ends[share] += 1
    touch(isFree: true)
  }

  func release(_ share: Int) {
    inUse[share] -= 1
    touch(isFree: true)
    guard !isLearnt, let taken = parts else { return }
    // Slots that further connections took over are shared evenly again, once that displaces no request.
    parts = nil
    if !inUse.indices.allSatisfy({ inUse[$0] <= quota(of: $0) }) { parts = taken }
  }

  // MARK: Other processes

  /// Whether one more may start, as far as is known.
  /// - Parameter share: if this process's part is used up, checks other processes for this share; `nil` for no check.
  func hasRoom(at now: Duration, for share: Int? = nil) -> Bool {
    limiter.goOn(at: now)
    if let interval, limiter.start == nil, limiter.hasRoom(at: now) {
      limiter.book(interval, at: shared?.book(interval, at: now), from: now)
    }
    guard limiter.hasRoom(at: now), now >= looksAgain else { return false }
    guard let share, limiter.inUse >= limit else { return true }
    return mayBegin(at: now, for: share)
  }

  var looksAgain: Duration { shared?.looksAgain ?? .zero }

  /// Whether other processes leave room for one more, which must start before `tellOthers`. If not, `hasRoom` is false.
  func mayBegin(at now: Duration, for share: Int) -> Bool {
    if shared?.run.notes.hasCompany != true { return true }
    touch()
    return shared?.mayBegin(&limiter, share, inUse, at: now) ?? true
  }

  /// Marks the host's note for an update.
  private func touch(isFree: Bool = false) {
    guard let run = shared?.run else { return }
    if isFree { shared?.end() }
    if run.touched.last !== self { run.touched.append(self) }
  }

  /// - Parameter lanes: how many could take a request at once; `nil` without other processes.
  func tellOthers(lanes: Int?) {
    shared?.begin()
    shared?.tell(limiter, inUse, wants: lanes.map { min($0, requests.waitingCount) })
  }

  /// Whether the host's note announces connections without a request.
  var hasIdle: Bool { shared?.hasIdle ?? false }

  func giveUpIdle(at now: Duration) {
    shared?.giveUpIdle(&limiter, at: now)
    touch()
  }

  /// `HostLimiter.refuse`, for all processes.
  func refuse(_ error: DownloadError, at now: Duration, _ policy: RetryPolicy, random: Double) -> Duration? {
    shared?.countConnections(&limiter, at: now)
    defer { shared?.refused(limiter, at: now) }
    return limiter.refuse(error, at: now, policy, random: random)
  }

  /// `HostLimiter.heard`, for all processes.
  func heard(_ news: HostNews, at now: Duration) {
    shared?.look(&limiter, at: now)
    limiter.heard(news)
  }

  // MARK: The next request

  /// The place of the next request; `nil` if none waits.
  var next: HeldRequests.Place? {
    if triesAgain, !requests.isEmpty(.refused) { return .refused }
    let isUrgent = requests.first(in: .fresh)?.isFirst == true
    let first = isUrgent || requests.isEmpty(.refusedFirst) ? HeldRequests.Place.fresh : .refusedFirst
    return [first, .refused].first { !requests.isEmpty($0) }
  }

  /// Whether refused requests go first: after every second refusal while the host serves nothing. A host that creates
  /// its files at their first request would otherwise be given up before any is requested twice.
  private var triesAgain: Bool { limiter.refusals > 0 && limiter.refusals % 2 == 0 }

  // MARK: Dividing the host's connections

  var isLearnt: Bool { limiter.limit < limiter.ceiling }
  /// This process's part of the host's limit.
  var limit: Int { min(limiter.limit, shared?.part ?? .max) }
  /// Whether the transports get quotas: a number set by the user or the host includes idle connections.
  private var isDivided: Bool { isLearnt || limiter.isLimited && limit < limiter.ceiling }

  func quota(of share: Int) -> Int {
    let shares = inUse.count
    if let parts { return parts[share] }
    let distance = (share - home + shares) % shares
    return limit / shares + (distance < limit % shares ? 1 : 0)
  }

  func hasQuota(_ share: Int) -> Bool { inUse[share] < quota(of: share) }

  /// Whether a file of this share may have one more connection while no request waits for the host. It may exceed its
  /// quota, unless the host's answers set it, because each loop has its own number. If the user set the number, the
  /// slot is taken over, so that another loop closes an idle connection for it.
  func mayHaveFurther(_ share: Int) -> Bool {
    if inUse.count == 1 || hasQuota(share) { return true }
    return !isLearnt && (limiter.ceiling >= HostLimiter.many || takeOver(for: share) { _ in true })
  }

  /// Computes the quotas after a change of the limit, or of their division.
  /// - Returns: the quotas if they have changed; an inner `nil` removes the limit.
  func newQuotas(answering: [Int]? = nil) -> [Int]?? {
    if !isDivided, told == nil, parts == nil { return nil }
    let known = answering.flatMap { $0.count == inUse.count ? $0 : nil }
    if known != nil || parts?.reduce(0, +) != limit {
      if inUse.count > 1, isLearnt, limit <= Self.few {
        // The connection that the host refused came on top of those in flight.
        let stays = parts.flatMap { $0.reduce(0, +) <= limit ? $0 : nil }
        parts = Self.parts(of: limit, like: known ?? stays ?? inUse)
      } else {
        parts = nil
      }
    }
    let isSet = told != nil && limiter.ceiling < HostLimiter.many
    let quotas = isDivided || isSet || parts != nil ? inUse.indices.map(quota) : nil
    guard quotas != told else { return nil }
    told = quotas
    return .some(quotas)
  }

  /// Divides `limit` like `others`: takes an excess from the smallest parts, and adds what it lacks to the largest.
  static func parts(of limit: Int, like others: [Int]) -> [Int] {
    var parts = others
    var excess = parts.reduce(0, +) - limit
    while excess > 0, let least = parts.indices.filter({ parts[$0] > 0 }).min(by: { parts[$0] < parts[$1] }) {
      let less = min(excess, parts[least])
      parts[least] -= less
      excess -= less
    }
    if excess < 0, let most = parts.indices.max(by: { parts[$0] < parts[$1] }) { parts[most] -= excess }
    return parts
  }

  /// Moves a slot to a share, if the host has room and all shares with a slot to spare are busy.
  /// - Returns: false if a share that is not busy has it.
  func takeOver(for share: Int, isBusy: (Int) -> Bool) -> Bool {
    let spare = inUse.indices.filter { hasQuota($0) }
    guard limiter.inUse < limit, spare.allSatisfy(isBusy) else { return false }
    var parts = inUse.indices.map(quota)
    // Once is enough, unless further connections of its files have it above its quota.
    while parts[share] <= inUse[share] {
      if let other = spare.max(by: { parts[$0] - inUse[$0] < parts[$1] - inUse[$1] }) { parts[other] -= 1 }
      parts[share] += 1
    }
    self.parts = parts
    return true
  }
}
