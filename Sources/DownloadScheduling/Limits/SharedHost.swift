import DownloadModel

/// A host whose places all processes of this user share (HTTP rule 37). No process sends the others news: one that
/// waits for their places, or has idle connections, looks again and again. Alone, a process writes its note and reads
/// none.
struct SharedHost {
  let run: HostSharing
  private let name: String
  private var note: HostNote
  /// How many places this process may have, as far as it last looked.
  private(set) var part = Int.max
  /// Whether another process wants a place, as far as this one last looked.
  private var isWanted = false
  /// Nothing begins before, as the others had no place left.
  private(set) var looksAgain = Duration.zero
  /// The share whose next request counts as in use before the others' notes are read. So of two processes that look at
  /// the same time, at least one sees the other.
  private var announced: Int?

  /// So long a wish and an idle connection count; and between two looks of who waits: some that looked at the same
  /// moment do not again.
  private static let (wish, pause): (UInt64, Range<Int>) = (500, 35..<65)

  init(_ run: HostSharing, _ host: String, ceiling: Int) {
    self.run = run
    name = host
    note = HostNote(host: run.notes.number(of: host), ceiling: ceiling, isBackground: run.isBackground)
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

  /// A place became free.
  mutating func end() { looksAgain = .zero }

  var hasIdle: Bool { note.idle > 0 }

  /// Keeps only the idle connections that no other process wants. While the host asks for a pause, those are all: after
  /// it each process would open new ones beside the idle ones of the others.
  mutating func giveUpIdle(_ limiter: inout HostLimiter, at now: Duration) {
    look(&limiter, at: now)
    let keeps = limiter.opensAt > now ? 0 : note.wants
    if isWanted { part = min(part, note.inUse + keeps) }
  }

  /// - Parameters:
  ///   - inUse: by share: one share's request uses no idle connection of another's.
  ///   - wants: nil to leave the last value.
  mutating func tell(_ limiter: HostLimiter, _ inUse: [Int], wants: Int? = nil) {
    note.hasServed = limiter.hasServed
    note.inUse = limiter.inUse
    note.announced = announced == nil ? 0 : 1
    note.idle = 0
    // Where other processes run, also before the host's first refusal: that teaches how many all of them have open.
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

  /// Takes over what the others have learnt.
  /// - Returns: whether all together have more connections than there are places; nil without any others.
  @discardableResult mutating func look(_ limiter: inout HostLimiter, at now: Duration) -> Bool? {
    guard run.notes.hasCompany, let (words, own) = run.notes.notes(of: note.host) else {
      (part, limiter.elsewhere, limiter.idle, isWanted) = (.max, 0, 0, false)
      return nil
    }
    let time = run.notes.now
    var all = words.map { HostNote($0).counted(at: time) }
    limiter.elsewhere = all.reduce(-all[own].inUse) { $0 + $1.inUse }
    limiter.idle = all.reduce(0) { $0 + $1.idle }
    isWanted = all.indices.contains { $0 != own && all[$0].wants > 0 }
    limiter.hasServed = limiter.hasServed || all.contains(where: \.hasServed)
    for other in all {
      if other.cooldownUntil > time {
        limiter.coolDown(until: now + .milliseconds(Int(min(other.cooldownUntil - time, 1 << 40))), from: now)
      }
      guard (other.version, note.lesson.limit) > (note.version, other.lesson.limit) else { continue }
      (note.version, note.lesson, note.counted) = (other.version, other.lesson, other.counted)
      limiter.adopt(other.lesson)
    }
    all[own] = note
    let refused = all.reduce(0) { $0 + $1.refused }
    if refused > note.counted {
      limiter.lower(by: refused - note.counted)
      note.counted = refused
    }
    let share = HostNote.share(of: own, among: all, at: time)
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

  /// Notes what the host's refusal means for others.
  mutating func refused(_ limiter: HostLimiter, at now: Duration) {
    note.refused += 1
    note.counted += 1
    guard !limiter.isDown, limiter.cooldownUntil > now else { return }
    let end = run.notes.now + UInt64((limiter.cooldownUntil - now) / .milliseconds(1))
    note.cooldownUntil = max(note.cooldownUntil, end)
  }
}
