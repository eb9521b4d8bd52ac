import DownloadModel

/// What this user's processes tell one another of the hosts they use: a note of eight words each, of which the first is
/// the host's number, and the second zero while the process uses nothing there.
package protocol HostNotes: Sendable {
  /// The same in every process, and not zero.
  func number(of host: String) -> UInt64
  func tell(_ note: SIMD8<UInt64>)
  /// - Returns: the notes of living processes, always in one order, and the index of this one's; nil if it has none.
  func notes(of host: UInt64) -> (all: [SIMD8<UInt64>], own: Int)?
  /// Whether there is, or was, any other process.
  var hasCompany: Bool { get }
  /// Milliseconds, the same for all processes.
  var now: UInt64 { get }
}

/// One process's use of a host, as the others see it.
struct HostNote: Equatable {
  let host: UInt64
  var inUse = 0
  /// One more, if it looks whether that may begin; it is in no round of refusals.
  var announced = 0
  /// Connections beyond those in use, which the host counts, too.
  var idle = 0
  /// Further ones that it would begin at once.
  var wants = 0
  /// Until when `idle` and `wants` count, as who is stopped takes nothing back.
  var countsUntil: UInt64 = 0
  let ceiling: Int
  let isBackground: Bool
  var hasServed = false
  /// The highest is the newest lesson, which all take over: it lives as long as any process that has seen it.
  var version: UInt32 = 0
  var lesson = HostLimiter.Lesson()
  var cooldownUntil: UInt64 = 0
  /// Refusals that the process met; and those of all processes that the lesson counts. Of two lessons that are written
  /// at once one is lost, but not its refusal.
  var refused = 0
  var counted = 0

  /// The same as it counts then.
  func counted(at time: UInt64) -> HostNote {
    var note = self
    if countsUntil <= time { (note.idle, note.wants) = (0, 0) }
    return note
  }

  /// Places of a host for one process: how many it may have, and whether all together have more connections than that.
  ///
  /// All that want the host get equally many, as far as they want them; those that cannot be divided go round, a second
  /// each. A process in the background gets none while one in the foreground uses the host or wants it.
  /// - Parameter own: the index of the process's note, in which what it is about to begin is announced.
  static func share(of own: Int, among all: [HostNote], at time: UInt64) -> (part: Int, isOver: Bool) {
    let me = all[own]
    func demand(_ note: HostNote) -> Int { note.inUse + note.announced + note.wants }
    let foreground = all.filter { !$0.isBackground && demand($0) > 0 }
    if me.isBackground, !foreground.isEmpty { return (0, true) }
    let peers = all.indices.filter { all[$0].isBackground == me.isBackground && demand(all[$0]) > 0 }
    let limit = min(me.lesson.limit, peers.reduce(me.ceiling) { max($0, all[$1].ceiling) })
    func sum(_ level: Int) -> Int { peers.reduce(0) { $0 + min(level, demand(all[$1]), all[$1].ceiling) } }
    var level = 0
    while level < limit, sum(level + 1) <= limit { level += 1 }
    let turn = peers.isEmpty ? 0 : Int(time / 1000 % UInt64(peers.count))
    let unmet = (peers[turn...] + peers[..<turn]).filter { min(demand(all[$0]), all[$0].ceiling) > level }
    let part = level + (unmet.prefix(limit - sum(level)).contains(own) ? 1 : 0)
    return (part, all.reduce(0) { $0 + $1.inUse + $1.announced + $1.idle } > limit)
  }
}

extension HostNote {
  init(_ words: SIMD8<UInt64>) {
    (host, ceiling) = (words[0], Int(words[3] & 0xFFFF))
    (isBackground, hasServed) = (words[3] >> 16 & 1 == 1, words[3] >> 17 & 1 == 1)
    announced = Int(words[1] >> 48)
    (inUse, wants, countsUntil) = (Int(words[1] & 0xFFFF), Int(words[1] >> 16 & 0xFFFF), words[2])
    idle = Int(words[1] >> 32 & 0xFFFF)
    version = UInt32(words[4] >> 32)
    lesson = HostLimiter.Lesson(
      limit: Int(words[4] & 0xFFFF), servedForMore: Int(words[4] >> 16 & 0x3FFF), wasRaised: words[4] >> 30 & 1 == 1,
      isExact: words[4] >> 31 & 1 == 1)
    cooldownUntil = words[5]
    (refused, counted) = (Int(words[6] & 0xFFFF_FFFF), Int(words[7] & 0xFFFF_FFFF))
  }

  var words: SIMD8<UInt64> {
    func word(_ number: Int) -> UInt64 { UInt64(max(0, min(number, 0xFFFF))) }
    func bit(_ isSet: Bool, _ shift: UInt64) -> UInt64 { (isSet ? 1 : 0) << shift }
    let flags = bit(lesson.wasRaised, 30) | bit(lesson.isExact, 31)
    let learnt = word(lesson.limit) | word(lesson.servedForMore) << 16 | flags
    return SIMD8(
      host, word(inUse) | word(wants) << 16 | word(idle) << 32 | word(announced) << 48, countsUntil,
      word(ceiling) | bit(isBackground, 16) | bit(hasServed, 17),
      UInt64(version) << 32 | learnt, cooldownUntil, UInt64(refused), UInt64(counted))
  }
}

/// What the hosts of a run have in common towards other processes. Belongs to one `RequestQueueState`.
final class HostSharing {
  let notes: any HostNotes
  let isBackground: Bool
  /// How many each share has open to a host, idle ones included; empty if unknown.
  let connections: @Sendable (_ host: String) -> [Int]
  /// Hosts of which there is something to tell.
  var touched: [QueuedHost] = []
  /// When idle connections are counted again; nil without any.
  var looksAtIdle: Duration?

  init(
    _ notes: any HostNotes, isBackground: Bool, connections: @escaping @Sendable (_ host: String) -> [Int] = { _ in [] }
  ) {
    (self.notes, self.isBackground, self.connections) = (notes, isBackground, connections)
  }
}

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
