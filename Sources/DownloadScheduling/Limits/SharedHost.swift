import DownloadModel

/// A host whose connection limit all processes of this user share (HTTP rule 37). Processes are not notified: one that
/// waits for a slot, or has idle connections, polls. A process that runs alone writes its note and reads none.
struct SharedHost {
  let run: HostSharing
  private let name: String
  private var note: HostUsage
  /// The slots that this process may use, as of its last `look`.
  private(set) var part = Int.max
  /// Whether another process wants a slot, as of the last `look`.
  private var isWanted = false
  /// Nothing starts before this, because the other processes had left no slot.
  private(set) var looksAgain = Duration.zero
  /// The share whose next request counts as in use before the other notes are read. So of two processes that check at
  /// the same time, at least one sees the other.
  private var announced: Int?

  /// How long a wanted slot and an idle connection count, in milliseconds; and the range of the polling interval,
  /// random so that processes that checked at the same moment do not check together again.
  private static let (wish, pause): (UInt64, Range<Int>) = (500, 35..<65)

  init(_ run: HostSharing, _ host: String, ceiling: Int) {
    self.run = run
    name = host
    note = HostUsage(host: run.notes.number(of: host), ceiling: ceiling, isBackground: run.isBackground)
  }

  /// The requests that wait for a shared rate, in all processes. Each books its start once.
  private static let mostBooked: UInt64 = 32

  /// Books the start of a request behind those of all processes.
  /// - Returns: the time; `nil` if there is no room for the host's account.
  func book(_ interval: Duration, at now: Duration) -> Duration? {
    let time = run.notes.now * 1_000_000
    let price = UInt64(interval / .nanoseconds(1))
    let account = run.notes.number(of: "requests \(name)")
    let start = run.notes.book(price, of: account, from: time, within: min(price, 1 << 56) * Self.mostBooked)
    return start.map { now + .nanoseconds(Int64($0 - time)) }
  }

  mutating func mayBegin(_ limiter: inout HostLimiter, _ share: Int, _ inUse: [Int], at now: Duration) -> Bool {
    if announced == share { return true }
    announced = share
    tell(limiter, inUse)
    if let isOver = look(&limiter, at: now), isOver || note.inUse >= part || !limiter.hasRoom(at: now) {
      announced = nil
      looksAgain = now + .milliseconds(Int.random(in: Self.pause))
      tell(limiter, inUse)
    }
    return announced != nil
  }

  mutating func begin() { announced = nil }

  /// A slot became free.
  mutating func end() { looksAgain = .zero }

  var hasIdle: Bool { note.idle > 0 }

  /// If another process wants a slot, keeps only as many idle connections as this process wants itself, and none while
  /// the host asks for a pause: after it, each process would open new connections beside the idle ones of the others.
  mutating func giveUpIdle(_ limiter: inout HostLimiter, at now: Duration) {
    look(&limiter, at: now)
    let keeps = limiter.opensAt > now ? 0 : note.wants
    if isWanted { part = min(part, note.inUse + keeps) }
  }

  /// - Parameters:
  ///   - inUse: by share: a request of one share cannot use an idle connection of another.
  ///   - wants: `nil` to keep the last value.
  mutating func tell(_ limiter: HostLimiter, _ inUse: [Int], wants: Int? = nil) {
    note.hasServed = limiter.hasServed
    note.inUse = limiter.inUse
    note.announced = announced == nil ? 0 : 1
    note.idle = 0
    // Also before the host's first refusal if other processes run: that refusal shows how many connections all have
    // open.
    if limiter.isLimited || run.notes.hasCompany {
      for (share, open) in run.connections(name).enumerated() {
        note.idle += max(0, open - inUse[share] - (announced == share ? 1 : 0))
      }
    }
    note.wants = wants ?? note.wants
    if note.wants + note.idle > 0 { note.countsUntil = run.notes.now + Self.wish }
    if limiter.lesson != note.lesson { (note.version, note.lesson) = (note.version &+ 1, limiter.lesson) }
    run.notes.tell(note.words)
  }

  /// Adopts the lessons of other processes.
  /// - Returns: whether all processes together have more connections than slots; `nil` without other processes.
  @discardableResult mutating func look(_ limiter: inout HostLimiter, at now: Duration) -> Bool? {
    guard run.notes.hasCompany, let (words, own) = run.notes.notes(of: note.host) else {
      part = .max
      limiter.elsewhere = 0
      limiter.idle = 0
      isWanted = false
      return nil
    }
    let time = run.notes.now
    var all = words.map { HostUsage($0).counted(at: time) }
    limiter.elsewhere = all.reduce(-all[own].inUse) { $0 + $1.inUse }
    limiter.idle = all.reduce(0) { $0 + $1.idle }
    isWanted = all.indices.contains { $0 != own && all[$0].wants > 0 }
    limiter.hasServed = limiter.hasServed || all.contains(where: \.hasServed)
    for other in all {
      if other.cooldownUntil > time {
        limiter.coolDown(until: now + .milliseconds(Int(min(other.cooldownUntil - time, 1 << 40))), from: now)
      }
      guard (other.version, note.lesson.limit) > (note.version, other.lesson.limit) else { continue }
      note.version = other.version
      note.lesson = other.lesson
      note.counted = other.counted
      limiter.adopt(other.lesson)
    }
    all[own] = note
    let refused = all.reduce(0) { $0 + $1.refused }
    if refused > note.counted {
      limiter.lower(by: refused - note.counted)
      note.counted = refused
    }
    let share = HostUsage.share(of: own, among: all, at: time)
    part = share.part
    return share.isOver
  }

  /// Counts the connections of all processes before a refusal lowers the limit.
  mutating func countConnections(_ limiter: inout HostLimiter, at now: Duration) {
    look(&limiter, at: now)
    let own = run.connections(name)
    let others = limiter.elsewhere + max(0, limiter.idle - note.idle)
    limiter.connections = own.isEmpty ? nil : own.reduce(others, +)
  }

  /// Records the host's refusal for other processes.
  mutating func refused(_ limiter: HostLimiter, at now: Duration) {
    note.refused += 1
    note.counted += 1
    guard !limiter.isDown, limiter.cooldownUntil > now else { return }
    let end = run.notes.now + UInt64((limiter.cooldownUntil - now) / .milliseconds(1))
    note.cooldownUntil = max(note.cooldownUntil, end)
  }
}
