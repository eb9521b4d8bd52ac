import DownloadModel

/// A file under way, from when a frame first saw it until it ends.
struct ActiveRow: Sendable {
  struct Retry: Sendable, Equatable {
    var next: NextAttempt
    /// When the next attempt begins.
    var until: Duration
  }

  let id: Int
  /// For the eye: decoded, harmless.
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
