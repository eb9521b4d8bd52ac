import DownloadModel

/// The files of the run that are in flight, by share, and whether more may begin.
struct RunLimiter {
  /// Lanes of each share.
  private var widths: [Int]
  private var inFlight: [Int]
  private(set) var total = 0
  /// The time that all of them together were in flight.
  var work = Duration.zero
  private(set) var peak = 0
  /// Further connections of split files; and the most connections at a time, of which each file has one.
  private(set) var (further, mostConnections) = (0, 0)
  /// Most files at a time for which this machine had resources.
  private(set) var room = Int.max
  /// Files at a time as the user wants by now; no limit until a key said so.
  private var wanted = Int.max
  var isPaused = false
  /// Whether no more files begin, for good.
  var isEnding = false
  /// Nil where the user gives the number of files at a time.
  private(set) var adaptive: AdaptiveConcurrency?
  /// Files that ended without breaking; and those since as many were in flight as may be. All of a loop's turn end
  /// before others begin: while there are others, only more than a round tells that the limit has no effect.
  private var (ended, endedSinceFull) = (0, 0)

  init(widths: [Int], adaptive: AdaptiveConcurrency?) {
    (self.widths, self.adaptive) = (widths, adaptive)
    inFlight = Array(repeating: 0, count: widths.count)
  }

  /// How many more files may begin.
  var spare: Int { isPaused ? 0 : max(0, min(room, wanted, adaptive?.limit ?? .max) - total) }

  var isFull: Bool { !isEnding && spare == 0 }

  func isBusy(_ share: Int) -> Bool { inFlight[share] >= widths[share] }

  /// Whether another share should take what both could: few files are spread evenly. If two at a time changed shares, a
  /// host would have connections open on each.
  func isRather(_ other: Int, than share: Int) -> Bool {
    guard let limit = adaptive?.limit, limit < widths.reduce(0, { $0 &+ $1 }) else { return false }
    func part(_ share: Int) -> Int { limit * (share + 1) / widths.count - limit * share / widths.count }
    return inFlight[share] >= part(share) && inFlight[other] < part(other)
  }

  mutating func begin(_ share: Int) {
    inFlight[share] += 1
    total += 1
    if spare == 0 { endedSinceFull = 0 }
    peak = max(peak, total)
    mostConnections = max(mostConnections, total + further)
  }

  mutating func change(further count: Int) {
    further += count
    mostConnections = max(mostConnections, total + further)
  }

  mutating func end(_ share: Int) {
    inFlight[share] -= 1
    total -= 1
  }

  mutating func limitRoom() { room = min(room, max(1, total)) }

  /// Takes more files at a time from now on, or fewer; at least one, and at most `most`.
  /// - Returns: how many, and the share that needs one more lane for that; nil if none does.
  mutating func widen(by change: Int, most: Int) -> (count: Int, newLane: Int?) {
    let lanes = widths.reduce(0) { $0 > most - min($1, most) ? most : $0 + $1 }
    let now = min(room, wanted, adaptive?.limit ?? .max, lanes)
    wanted = min(max(1, now + change), most, room)
    adaptive?.follow(wanted)
    guard wanted > lanes, let share = widths.indices.min(by: { widths[$0] < widths[$1] }) else { return (wanted, nil) }
    widths[share] += 1
    return (wanted, share)
  }

  // MARK: What `AdaptiveConcurrency` is told

  /// - Parameter wasAsked: false if its host was not asked: what is answered from the disk says nothing of the width.
  /// - Parameter brokenAt: when the file's transfer broke; nil if it did not.
  /// - Parameter hasMore: whether others can be had without waiting for the list.
  /// - Returns: whether `measure` must be called now.
  mutating func learn(_ wasAsked: Bool, brokenAt: Duration?, hasMore: Bool) -> Bool {
    if adaptive == nil { return false }
    if !wasAsked {
      adaptive?.beginSilence()
      return false
    }
    if let brokenAt {
      adaptive?.failed(at: brokenAt)
      return false
    }
    (ended, endedSinceFull) = (ended + 1, endedSinceFull + 1)
    let (ended, isFull) = (ended, isFull || hasMore && endedSinceFull <= adaptive?.limit ?? 0)
    return adaptive?.ended(files: ended, isFull: isFull) ?? false
  }

  mutating func measure(at now: Duration, received: Int64, left: Int?) {
    adaptive?.measure(files: ended, at: now, received: received, left: left)
  }

  var isOpening: Bool { adaptive?.isOpening ?? false }

  /// Widens the limit if as many files are in flight as it allows, and none has ended for some time.
  /// - Parameter held: files that start as soon as their hosts have answered for the first time.
  /// - Returns: when to call it again; nil where time alone changes nothing.
  mutating func wait(at now: Duration, received: Int64, held: Int = 0) -> Duration? {
    guard !isPaused, let limit = adaptive?.limit, total + held >= limit else { return nil }
    return adaptive?.wait(at: now, received: received)
  }
}
