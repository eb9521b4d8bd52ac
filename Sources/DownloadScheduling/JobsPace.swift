/// How many files are downloaded at a time where nobody said it (`--jobs auto`): a function of what comes of it. No
/// clock; times are since the run began.
///
/// It begins with two dozen, which few servers mind, and takes one more for each file that ends, so that the number doubles
/// in the time that a file takes. Each time it has doubled it looks whether that brought more, in files or in bytes;
/// where it did not, it goes back and stays. A run in which transfers break takes fewer, once a round. What hosts refuse
/// is no matter of the run's but of those hosts' (`HostPace`, http.md 39).
public struct JobsPace: Sendable, Equatable {
  public let ceiling: Int
  public private(set) var limit: Int
  /// What it goes back to if more brings no more.
  private var base: Int
  private var mark: Mark?
  private var best: Rates?
  private var phase = Phase.growing
  /// Of those that were under way when the last break halved the limit, how many may still be: what breaks of them has
  /// been counted.
  private var round = 0

  private enum Phase: Equatable {
    case growing
    /// Looking whether the limit of now brings more than the base.
    case judging
    case holding(since: Duration)
  }

  private struct Mark: Equatable {
    var time: Duration
    var files: Int
    var bytes: Int64
  }

  private struct Rates: Equatable {
    var files: Double
    var bytes: Double

    func isBetter(than other: Rates) -> Bool {
      files > other.files * JobsPace.gain || bytes > other.bytes * JobsPace.gain
    }
  }

  /// What twice as many must bring at the least.
  private static let gain = 1.1
  /// After this it looks again whether more helps now.
  private static let rest = Duration.seconds(5)
  private static let start = 24

  public init(ceiling: Int) {
    self.ceiling = max(1, ceiling)
    limit = min(Self.start, self.ceiling)
    base = limit
  }

  /// A file ended well.
  /// - Parameters:
  ///   - files: that ended so far.
  ///   - isFull: whether as many were under way as the limit allows; else it is not the limit that counts.
  ///   - now: asked only where it matters.
  ///   - received: bytes of the whole run, asked only where it matters.
  mutating func ended(
    files: Int, isFull: Bool, now: () -> Duration, received: () -> Int64
  ) {
    if round > 0 { round -= 1 }
    guard isFull, limit < ceiling || phase == .judging else { return }
    let mark = self.mark ?? Mark(time: .zero, files: 0, bytes: 0)
    if self.mark == nil { self.mark = mark }
    switch phase {
    case .growing:
      limit += 1
      guard limit >= min(ceiling, base * 2) else { return }
      let moment = Mark(time: now(), files: files, bytes: received())
      // Of the time with fewer; its first files had connections to open, which makes it look worse than it was.
      best = best ?? rates(from: mark, to: moment)
      self.mark = moment
      phase = .judging
    case .judging:
      guard files - mark.files >= limit else { return }
      let moment = Mark(time: now(), files: files, bytes: received())
      guard let rates = rates(from: mark, to: moment) else { return }
      self.mark = moment
      guard best.map({ rates.isBetter(than: $0) }) ?? true else {
        limit = base
        phase = .holding(since: moment.time)
        return
      }
      best = rates
      base = limit
      phase = .growing
    case .holding(let since):
      let time = now()
      guard time - since >= Self.rest else { return }
      self.mark = Mark(time: time, files: files, bytes: received())
      best = nil
      phase = .growing
    }
  }

  private func rates(from: Mark, to: Mark) -> Rates? {
    let seconds = (to.time - from.time) / .seconds(1)
    guard seconds > 0 else { return nil }
    return Rates(
      files: Double(to.files - from.files) / seconds, bytes: Double(to.bytes - from.bytes) / seconds)
  }

  /// A transfer broke.
  mutating func failed(at now: Duration) {
    guard round == 0 else {
      round -= 1
      return
    }
    round = limit - 1
    limit = max(1, limit / 2)
    base = limit
    best = nil
    phase = .holding(since: now)
  }
}
