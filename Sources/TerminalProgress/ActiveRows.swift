import DownloadModel

/// Which files have a row and in which order.
///
/// A file keeps its row as long as it lives, new ones come in below: so the slow and large ones gather at the
/// top and nothing jumps. A free row goes to the file with most left to do.
struct ActiveRows: Sendable {
  /// Files that are done sooner never get a row: hundreds a second would only flicker.
  private static let seasoning = Duration.milliseconds(300)

  private let glyphs: Glyphs
  private var known: [Int: ActiveRow] = [:]
  private var order: [Int] = []
  /// Counts the updates: a row that the last one did not reach has ended.
  private var updates = 0
  /// Files under way that have lasted but found no room.
  private(set) var hidden = 0

  init(glyphs: Glyphs) { self.glyphs = glyphs }

  /// Those that are shown, from the top.
  var shown: [ActiveRow] { order.compactMap { known[$0] } }
  /// All files under way.
  var all: some Collection<ActiveRow> { known.values }

  /// The row of a file under way.
  subscript(id: Int) -> ActiveRow? { known[id] }

  /// What is there of a file in several parts, whether or not it is shown.
  mutating func lookAtParts(of id: Int) { known[id]?.lookAtParts() }

  /// Whether a file has stalled, so that nobody knows when it will be there.
  func hasStalled(at now: Duration) -> Bool {
    known.values.contains { if case .stalled = $0.status(at: now) { true } else { false } }
  }

  /// The longest time that one of the files is going to take; nil where none is known.
  func longestTimeLeft(at now: Duration) -> Duration? {
    var longest: Duration?
    for row in known.values {
      if let left = row.timeLeft(at: now) { longest = max(longest ?? .zero, left) }
    }
    return longest
  }

  /// - Parameter lines: the most lines that rows and the line "… more" may take together.
  mutating func update(
    _ active: [ActiveDownload], retries: [Address: ActiveRow.Retry], isPaused: Bool = false, at now: Duration,
    lines: Int
  ) {
    // In place: with a thousand files under way a new table for each frame would cost more than the drawing.
    updates &+= 1
    for download in active {
      known[download.id, default: ActiveRow(download, at: now, glyphs: glyphs)].update(
        isPaused: isPaused, at: now, updates)
    }
    if known.count > active.count {
      let ended = known.values.filter { [updates] row in row.updates != updates }.map(\.id)
      for id in ended { known[id] = nil }
    }
    if !retries.isEmpty {
      for download in active {
        if let retry = retries[download.address] { known[download.id]?.retry = retry }
      }
    }
    place(at: now, lines: lines)
  }

  /// Gives the rows their places among so many lines.
  mutating func place(at now: Duration, lines: Int) {
    arrange(at: now, lines: max(0, lines))
    for id in order { known[id]?.lookAtParts() }
  }

  private mutating func arrange(at now: Duration, lines: Int) {
    order.removeAll { known[$0] == nil }
    var waiting = 0
    for row in known.values where !row.isPlaced && now - row.firstSeen >= Self.seasoning { waiting += 1 }
    let count = order.count + waiting
    let room = count <= lines ? count : max(0, lines - 1)
    hidden = count - room
    while order.count > room { known[order.removeLast()]?.isPlaced = false }
    guard order.count < room else { return }
    for id in first(room - order.count, at: now) {
      known[id]?.isPlaced = true
      order.append(id)
    }
  }

  /// The files without a row that go first, from the first on. They are not sorted all, as there may be a
  /// thousand of them.
  private func first(_ count: Int, at now: Duration) -> [Int] {
    var best: [ActiveRow] = []
    for row in known.values where !row.isPlaced && now - row.firstSeen >= Self.seasoning {
      if best.count == count, let last = best.last, !Self.goesBefore(row, last) { continue }
      let place = best.firstIndex { Self.goesBefore(row, $0) } ?? best.count
      best.insert(row, at: place)
      if best.count > count { best.removeLast() }
    }
    return best.map(\.id)
  }

  /// Most bytes left first, in powers of two so that a near draw falls to the one that began earlier.
  private static func goesBefore(_ left: ActiveRow, _ right: ActiveRow) -> Bool {
    let (leftSize, rightSize) = (magnitude(left.progress), magnitude(right.progress))
    return leftSize == rightSize ? left.id < right.id : leftSize > rightSize
  }

  private static func magnitude(_ progress: FileProgress) -> Int {
    let bytes = progress.remaining ?? progress.position
    return Int64.bitWidth - max(0, bytes).leadingZeroBitCount
  }
}

/// A file under way, from when a frame first saw it until it ends.
struct ActiveRow: Sendable {
  struct Retry: Sendable, Equatable {
    var next: NextAttempt
    /// When the next attempt begins.
    var until: Duration
    /// What went wrong, in words.
    var cause = ""
  }

  let id: Int
  /// As shown: decoded, and harmless on a terminal.
  let name: String
  let firstSeen: Duration
  private let source: Address
  let meter: TransferMeter
  private(set) var progress: FileProgress
  private(set) var phase: TransferMeter.Phase
  private(set) var rate: RateEstimate
  /// Which bytes of a file in several parts are there; nil for a file in one part.
  private(set) var parts: [Range<Int64>]?
  /// When bytes came last, or the phase began.
  private var latestChange: Duration
  /// Grows with every second frame in which bytes came: ten steps a second at most.
  var step: Int { framesWithBytes / 2 }
  private var framesWithBytes = 0
  var retry: Retry?
  fileprivate var isPlaced = false
  fileprivate private(set) var updates = 0

  init(_ download: ActiveDownload, at now: Duration, glyphs: Glyphs) {
    id = download.id
    source = download.address
    name = Self.name(of: download.address, glyphs)
    firstSeen = now
    latestChange = now
    meter = download.meter
    phase = meter.phase
    let latest = FileProgress(meter)
    progress = FileProgress(position: latest.start, start: latest.start, total: latest.total)
    rate = RateEstimate(start: now)
  }

  /// Reads the file's meter.
  fileprivate mutating func update(isPaused: Bool, at now: Duration, _ updates: Int) {
    self.updates = updates
    let (latest, latestPhase) = (FileProgress(meter), meter.phase)
    let arrived = latest.arrived(since: progress)
    if arrived > 0 {
      framesWithBytes += 1
    } else if framesWithBytes == 0 {
      rate = RateEstimate(start: now)  // Waiting for a first answer says nothing about speed.
    }
    // What the user holds back has not stalled, and waits for nothing else.
    if arrived > 0 || latestPhase != phase || isPaused { latestChange = now }
    rate.add(bytes: arrived, at: now)
    if latest.start != progress.start { parts = nil }
    (progress, phase) = (latest, latestPhase)
    if let retry, arrived > 0 || now >= retry.until { self.retry = nil }
  }

  /// What is there of a file in several parts, for a frame that shows it. Where that cannot be told at once,
  /// what the last frame showed stands.
  fileprivate mutating func lookAtParts() { parts = meter.parts ?? parts }

  /// What it is that happens, where that is not bytes that come.
  enum Status: Equatable {
    case retry(Retry)
    case phase(TransferMeter.Phase, since: Duration)
    case stalled(since: Duration)
    /// By the user.
    case paused
  }

  func status(at now: Duration) -> Status? {
    if let retry { return .retry(retry) }
    if phase != .receiving { return .phase(phase, since: latestChange) }
    let isStalled = now - latestChange >= RateEstimate.stallTime && progress.remaining != 0
    return isStalled ? .stalled(since: latestChange) : nil
  }

  /// Without credentials.
  var address: String { source.redacted }
  /// Whether it is to have a checksum that the user gave.
  var hasDigest: Bool { meter.hasDigest }

  /// Nil while it cannot be told, as in a stall: a rate that fades says nothing about the rest.
  func timeLeft(at now: Duration) -> Duration? {
    guard status(at: now) == nil else { return nil }
    return progress.remaining.flatMap { rate.timeLeft(remaining: $0, at: now) }
  }

  /// What an address is called before its file has a name: the end of its path, else its host.
  static func name(of address: Address, _ glyphs: Glyphs) -> String {
    let segment = address.lastPathSegment
    let name = segment.isEmpty ? address.host : TerminalText.percentDecoded(segment)
    return StyledLine.shown(name, glyphs)
  }
}

/// One file's numbers, read from its meter once a frame, so that all that is said of it agrees.
struct FileProgress: Sendable, Equatable {
  /// Bytes that are there.
  var position: Int64
  /// Of these, those that this attempt did not fetch.
  var start: Int64
  /// Length of the whole file in bytes; nil while unknown.
  var total: Int64?

  init(position: Int64, start: Int64, total: Int64?) {
    self.position = position
    self.start = start
    self.total = total
  }

  init(_ meter: TransferMeter) {
    self.init(position: meter.position, start: meter.start, total: meter.total)
  }

  /// From 0 to 1; nil while the length is unknown.
  var fraction: Double? {
    guard let total else { return nil }
    return total > 0 ? min(1, Double(position) / Double(total)) : 1
  }

  var remaining: Int64? { total.map { max(0, $0 - position) } }

  /// Bytes that came since `earlier`. A new attempt counts from where it began: what it resumed is no speed,
  /// what the failed one lost is not counted twice.
  func arrived(since earlier: FileProgress) -> Int64 {
    let isNewAttempt = start != earlier.start || position < earlier.position
    return max(0, position - (isNewAttempt ? start : earlier.position))
  }
}
