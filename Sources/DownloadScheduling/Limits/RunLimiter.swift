/// The run's files in flight, by share, and the decision whether more may start.
struct RunLimiter {
  /// Lanes of each share.
  private var widths: [Int]
  private var inFlight: [Int]
  private(set) var total = 0
  /// The sum of the times that all files were in flight.
  var work = Duration.zero
  private(set) var peak = 0
  /// Further connections of split files; and the peak of all connections, where each file has one.
  private(set) var (further, mostConnections) = (0, 0)
  /// The most files at a time for which this machine has resources.
  private(set) var room = Int.max
  /// Files at a time that the user set during the run; no limit until a key was pressed.
  private var wanted = Int.max
  var isPaused = false
  /// Whether no more files start for the rest of the run.
  var isEnding = false
  /// `nil` if the user set the number of files at a time.
  private(set) var adaptive: AdaptiveConcurrency?
  /// Files that ended without breaking.
  private var ended = 0
  /// Those since the limit was last reached. A loop ends all files of one turn before it starts others: if more files
  /// wait, only more ends than the limit show that it has no effect.
  private var endedSinceFull = 0

  init(widths: [Int], adaptive: AdaptiveConcurrency?) {
    self.widths = widths
    self.adaptive = adaptive
    inFlight = Array(repeating: 0, count: widths.count)
  }

  /// How many more files may start.
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

  /// Raises or lowers the files at a time from now on; at least one, at most `most`.
  /// - Returns: the new number, and the share that needs one more lane for it; `nil` if none does.
  mutating func widen(by change: Int, most: Int) -> (count: Int, newLane: Int?) {
    let lanes = widths.reduce(0) { $0 > most - min($1, most) ? most : $0 + $1 }
    let now = min(room, wanted, adaptive?.limit ?? .max, lanes)
    wanted = min(max(1, now + change), most, room)
    adaptive?.follow(wanted)
    guard wanted > lanes, let share = widths.indices.min(by: { widths[$0] < widths[$1] }) else { return (wanted, nil) }
    widths[share] += 1
    return (wanted, share)
  }

  // MARK: Input of `AdaptiveConcurrency`

  /// - Parameter wasAsked: false if the file was answered from disk, which says nothing about the width.
  /// - Parameter brokenAt: when the file's transfer broke; `nil` if it did not.
  /// - Parameter hasMore: whether more files are available without waiting for the list.
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
    ended += 1
    endedSinceFull += 1
    let isFull = isFull || hasMore && endedSinceFull <= adaptive?.limit ?? 0
    return adaptive?.ended(files: ended, isFull: isFull) ?? false
  }

  mutating func measure(at now: Duration, received: Int64, left: Int?) {
    adaptive?.measure(files: ended, at: now, received: received, left: left)
  }

  var isOpening: Bool { adaptive?.isOpening ?? false }

  /// Widens the limit if it is reached and no file has ended for some time.
  /// - Parameter held: files that start as soon as their hosts have answered for the first time.
  /// - Returns: when to call it again; `nil` if time alone changes nothing.
  mutating func wait(at now: Duration, received: Int64, held: Int = 0) -> Duration? {
    guard !isPaused, let limit = adaptive?.limit, total + held >= limit else { return nil }
    return adaptive?.wait(at: now, received: received)
  }
}
