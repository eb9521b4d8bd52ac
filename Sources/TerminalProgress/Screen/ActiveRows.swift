import DownloadModel

/// The files that have a row, and their order. A file keeps its row until it ends, and new files are added below, so
/// that rows do not jump; a free row goes to the file with the most missing bytes.
struct ActiveRows {
  /// Files that finish sooner never get a row: hundreds a second would only flicker.
  private let seasoning: Duration
  static let usualSeasoning = Duration.milliseconds(300)

  private let glyphs: Glyphs
  /// All files in flight, shown or not; changed in place, because copying a thousand would cost more than drawing them.
  private(set) var all: [ActiveRow] = []
  /// Indices in `all`, by id.
  private var places: [Int: Int] = [:]
  /// Ids of the shown files, from the top.
  private var order: [Int] = []
  /// Counts the updates: a row that the last update did not touch has ended.
  private var updates = 0
  /// Files that are old enough for a row but found no room.
  private(set) var hidden = 0

  /// Whether the files of the first update were in flight before.
  private let joins: Bool

  init(glyphs: Glyphs, seasoning: Duration = usualSeasoning, joins: Bool = false) {
    self.glyphs = glyphs
    self.seasoning = seasoning
    self.joins = joins
  }

  var shown: [ActiveRow] { order.compactMap { self[$0] } }

  subscript(id: Int) -> ActiveRow? { places[id].map { all[$0] } }

  var progress: [FileProgress] { all.indices.map { all[$0].progress } }

  var retries: [ActiveRow.Retry] { all.indices.compactMap { all[$0].retry } }

  /// The longest remaining time of a file; `nil` if none is known.
  func longest(at now: Duration) -> Duration? { all.indices.lazy.compactMap { all[$0].timeLeft(at: now) }.max() }

  func hasStalled(at now: Duration) -> Bool { all.indices.contains { all[$0].hasStalled(at: now) } }

  mutating func lookAtParts(of id: Int) { if let place = places[id] { all[place].lookAtParts() } }

  /// - Parameter lines: the most lines that rows and the line "… more" may take together.
  mutating func update(
    _ active: [ProgressSample.ActiveDownload], retries: [Address: ActiveRow.Retry], isPaused: Bool = false,
    at now: Duration,
    lines: Int
  ) {
    updates &+= 1
    for download in active {
      let place = place(of: download, at: now)
      if let mirror = download.mirror { all[place].go(to: mirror, glyphs) }
      all[place].update(isPaused: isPaused, at: now, updates)
      if !retries.isEmpty, let retry = retries[download.address] { all[place].retry = retry }
    }
    if all.count > active.count {
      all.removeAll { $0.updates != updates }
      places = Dictionary(uniqueKeysWithValues: zip(all.map(\.id), all.indices))
    }
    self.place(at: now, lines: lines)
  }

  private mutating func place(of download: ProgressSample.ActiveDownload, at now: Duration) -> Int {
    if let place = places[download.id] { return place }
    places[download.id] = all.count
    all.append(ActiveRow(download, at: now, glyphs: glyphs, joins: joins && updates == 1))
    return all.count - 1
  }

  mutating func place(at now: Duration, lines: Int) {
    // If room is short, a file that waits for its next attempt gives its row to one that is in flight.
    if hidden > 0 { for place in all.indices where all[place].retry != nil { all[place].isPlaced = false } }
    order.removeAll { places[$0].map { !all[$0].isPlaced } ?? true }
    let waiting = all.indices.filter { !all[$0].isPlaced && now - all[$0].firstSeen >= seasoning }
    let count = order.count + waiting.count
    let room = count <= lines ? count : max(0, lines - 1)
    hidden = count - room
    while order.count > room {
      if let place = places[order.removeLast()] { all[place].isPlaced = false }
    }
    for place in first(room - order.count, of: waiting) {
      all[place].isPlaced = true
      order.append(all[place].id)
    }
    for id in order { lookAtParts(of: id) }
  }

  /// Indices of the first `count` files in rank.
  private func first(_ count: Int, of places: [Int]) -> [Int] {
    // There may be a thousand, and seldom room for one.
    if count <= 0 { return [] }
    let ranked = places.map { place in
      // Most missing bytes first, in powers of two, so that of similar files the earlier one goes first.
      let bytes = max(0, all[place].progress.remaining ?? all[place].progress.position)
      return (rank: (all[place].retry == nil ? 0 : 1, bytes.leadingZeroBitCount, all[place].id), place: place)
    }
    return ranked.sorted { $0.rank < $1.rank }.prefix(count).map(\.place)
  }
}

/// A file in flight, from its first frame until it ends.
struct ActiveRow {
  struct Retry: Equatable {
    var next: NextAttempt
    /// When the next attempt starts.
    var until: Duration
    var cause = ""
  }

  let id: Int
  /// As shown: decoded, and harmless on a terminal.
  private(set) var name: String
  private var mirror: Address?
  let firstSeen: Duration
  let address: Address
  let meter: TransferMeter
  private(set) var progress: FileProgress
  private var phase: TransferMeter.Phase
  private(set) var rate: RateEstimate
  /// The existing bytes of a split file; `nil` for a file in one part.
  private(set) var parts: [Range<Int64>]?
  /// The last time at which bytes arrived, or the phase started.
  private var latestChange: Duration
  var retry: Retry?
  fileprivate var isPlaced = false
  fileprivate private(set) var updates = 0

  /// - Parameter joins: whether the bytes that it has arrived before.
  init(_ download: ProgressSample.ActiveDownload, at now: Duration, glyphs: Glyphs, joins: Bool) {
    id = download.id
    address = download.address
    name = Self.name(of: download.address, glyphs)
    firstSeen = now
    latestChange = now
    meter = download.meter
    phase = meter.phase
    let position = joins ? meter.position : meter.start
    progress = FileProgress(position: position, start: meter.start, total: meter.total)
    rate = RateEstimate(start: now)
  }

  fileprivate mutating func go(to mirror: Address, _ glyphs: Glyphs) {
    guard mirror != self.mirror else { return }
    self.mirror = mirror
    name = "\(Self.name(of: address, glyphs)) from \(mirror.hostAndPort)"
  }

  fileprivate mutating func update(isPaused: Bool, at now: Duration, _ updates: Int) {
    self.updates = updates
    let latest = FileProgress(meter)
    let latestPhase = meter.phase
    let arrived = latest.arrived(since: progress)
    // A file that the user paused has not stalled, and waits for nothing else.
    if arrived > 0 || latestPhase != phase || isPaused { latestChange = now }
    rate.add(bytes: arrived, at: now)
    if latest.start != progress.start { parts = nil }
    progress = latest
    phase = latestPhase
    if let retry, arrived > 0 || now >= retry.until { self.retry = nil }
  }

  /// Reads which bytes exist; if it would have to wait, those of the last frame stay.
  fileprivate mutating func lookAtParts() { parts = meter.parts ?? parts }

  /// The state of a file that receives no bytes.
  enum Status: Equatable {
    case retry(Retry)
    case phase(TransferMeter.Phase, since: Duration)
    case stalled(since: Duration)
    case paused
  }

  func status(at now: Duration) -> Status? {
    if let retry { return .retry(retry) }
    if phase != .receiving { return .phase(phase, since: latestChange) }
    return hasStalled(at: now) ? .stalled(since: latestChange) : nil
  }

  func hasStalled(at now: Duration) -> Bool {
    retry == nil && phase == .receiving && now - latestChange >= RateEstimate.stallTime && progress.remaining != 0
  }

  /// `nil` while unknown, as in a stall: a falling rate says nothing about the rest.
  func timeLeft(at now: Duration) -> Duration? {
    guard retry == nil, phase == .receiving, !hasStalled(at: now) else { return nil }
    return progress.remaining.flatMap { rate.timeLeft(remaining: $0, at: now) }
  }

  /// A name for a URL before its file has one: the end of its path, else its host.
  static func name(of address: Address, _ glyphs: Glyphs) -> String {
    let segment = address.lastPathSegment
    let name = segment.isEmpty ? address.host : String(utf8: PercentEncoding.decode(segment))
    return TerminalText.shown(name, glyphs)
  }
}
