import DownloadModel

/// Which files have a row and in which order.
///
/// A file keeps its row as long as it lives, new ones come in below: so the slow and large ones gather at the
/// top and nothing jumps. A free row goes to the file with most left to do.
struct ActiveRows: Sendable {
  /// Files that are done sooner never get a row: hundreds a second would only flicker.
  static let seasoning = Duration.milliseconds(300)

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
