/// One process's use of a host, as other processes see it.
struct HostUsage: Equatable {
  let host: UInt64
  var inUse = 0
  /// One more while the process checks whether it may start; it belongs to no round of refusals.
  var announced = 0
  /// Connections beyond those in use, which the host counts, too.
  var idle = 0
  /// Further requests that it would start at once.
  var wants = 0
  /// When `idle` and `wants` expire: a stopped process cannot withdraw them.
  var countsUntil: UInt64 = 0
  let ceiling: Int
  let isBackground: Bool
  var hasServed = false
  /// The highest version is the newest lesson, which all processes adopt. It lives as long as any process that has seen
  /// it.
  var version: UInt32 = 0
  var lesson = HostLimiter.Lesson()
  var cooldownUntil: UInt64 = 0
  /// Refusals that the process met; and refusals of all processes that the lesson includes. If two lessons are written
  /// at once, one is lost, but its refusals are not.
  var refused = 0
  var counted = 0

  /// The note without `idle` and `wants` once these have expired.
  func counted(at time: UInt64) -> HostUsage {
    var note = self
    if countsUntil <= time {
      note.idle = 0
      note.wants = 0
    }
    return note
  }

  /// A process's share of a host: how many requests it may have, and whether all processes together exceed the limit.
  ///
  /// All processes that want the host get equal shares, up to what they want. The remainder rotates, a second each. A
  /// process in the background gets none while one in the foreground uses or wants the host.
  /// - Parameter own: the index of this process's note, which announces the request about to start.
  static func share(of own: Int, among all: [HostUsage], at time: UInt64) -> (part: Int, isOver: Bool) {
    let me = all[own]
    func demand(_ note: HostUsage) -> Int { note.inUse + note.announced + note.wants }
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

extension HostUsage {
  init(_ words: SIMD8<UInt64>) {
    host = words[0]
    ceiling = Int(words[3] & 0xFFFF)
    isBackground = words[3] >> 16 & 1 == 1
    hasServed = words[3] >> 17 & 1 == 1
    announced = Int(words[1] >> 48)
    inUse = Int(words[1] & 0xFFFF)
    wants = Int(words[1] >> 16 & 0xFFFF)
    countsUntil = words[2]
    idle = Int(words[1] >> 32 & 0xFFFF)
    version = UInt32(words[4] >> 32)
    lesson = HostLimiter.Lesson(
      limit: Int(words[4] & 0xFFFF), servedForMore: Int(words[4] >> 16 & 0x3FFF), wasRaised: words[4] >> 30 & 1 == 1,
      isExact: words[4] >> 31 & 1 == 1)
    cooldownUntil = words[5]
    refused = Int(words[6] & 0xFFFF_FFFF)
    counted = Int(words[7] & 0xFFFF_FFFF)
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
