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
  /// Files under way that have lasted but found no room.
  private(set) var hidden = 0

  init(glyphs: Glyphs) { self.glyphs = glyphs }

  /// Those that are shown, from the top.
  var shown: [ActiveRow] { order.compactMap { known[$0] } }
  /// All files under way.
  var all: some Collection<ActiveRow> { known.values }

  /// - Parameter lines: the most lines that rows and the line "… more" may take together.
  mutating func update(
    _ active: [ActiveDownload], retries: [Address: ActiveRow.Retry], at now: Duration, lines: Int
  ) {
    var next: [Int: ActiveRow] = [:]
    next.reserveCapacity(active.count)
    for download in active {
      var row = known[download.id] ?? ActiveRow(download, at: now, glyphs: glyphs)
      row.update(FileProgress(download.meter), at: now)
      if let retry = retries[download.address] { row.retry = retry }
      next[download.id] = row
    }
    known = next
    arrange(at: now, lines: max(0, lines))
  }

  private mutating func arrange(at now: Duration, lines: Int) {
    order.removeAll { known[$0] == nil }
    let placed = Set(order)
    let waiting = known.values.filter { !placed.contains($0.id) && now - $0.firstSeen >= Self.seasoning }
    let count = order.count + waiting.count
    let room = count <= lines ? count : max(0, lines - 1)
    hidden = count - room
    if order.count > room { order.removeLast(order.count - room) }
    let chosen = waiting.sorted(by: Self.goesBefore).prefix(room - order.count)
    order += chosen.map(\.id)
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
  }

  let id: Int
  /// As shown: decoded, and harmless on a terminal.
  let name: String
  let firstSeen: Duration
  private(set) var progress: FileProgress
  private(set) var rate: RateEstimate
  /// Grows with every second frame in which bytes came: ten steps a second at most.
  var step: Int { framesWithBytes / 2 }
  private var framesWithBytes = 0
  var retry: Retry?

  init(_ download: ActiveDownload, at now: Duration, glyphs: Glyphs) {
    id = download.id
    name = Self.name(of: download.address, glyphs)
    firstSeen = now
    let latest = FileProgress(download.meter)
    progress = FileProgress(position: latest.start, start: latest.start, total: latest.total)
    rate = RateEstimate(start: now)
  }

  mutating func update(_ latest: FileProgress, at now: Duration) {
    let arrived = latest.arrived(since: progress)
    if arrived > 0 {
      framesWithBytes += 1
    } else if framesWithBytes == 0 {
      rate = RateEstimate(start: now)  // Waiting for a first answer says nothing about speed.
    }
    rate.add(bytes: arrived, at: now)
    progress = latest
    if let retry, arrived > 0 || now >= retry.until { self.retry = nil }
  }

  /// Nil while it cannot be told.
  func timeLeft(at now: Duration) -> Duration? {
    progress.remaining.flatMap { rate.timeLeft(remaining: $0, at: now) }
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
