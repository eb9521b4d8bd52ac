/// When to read a changed list, which is often seen half written. New lines start at once. Removed lines count only
/// after the writer has closed the list, or another file has taken its name, and it has been unchanged since; later
/// without notices.
struct ListStillness {
  enum Notice: Equatable {
    /// Written, created or emptied: a writer has it open.
    case written
    /// Closed by its writer, renamed or removed: it is complete.
    case closed
    /// It differs, without a notice of the cause.
    case differs
  }

  enum Step: Equatable {
    case rest
    case wait(until: Duration)
    case look(believesLosses: Bool)
  }

  /// The longest pause between the parts of one change.
  static let settling = Duration.milliseconds(200)
  /// For a list that changes all the time.
  private static let longest = Duration.seconds(1)
  /// For file systems without notices of writers.
  static let doubt = Duration.seconds(5)
  /// For a writer that keeps the list open and writes nothing.
  static let openDoubt = Duration.seconds(30)

  private struct Change {
    var first: Duration
    var last: Duration
    /// It was read, without accepting removals.
    var isSeen = false
  }

  private var change: Change?
  private var latest = Notice.closed

  mutating func note(_ notice: Notice, at now: Duration) {
    // `.differs` says nothing about writers.
    if notice != .differs || change == nil { latest = notice }
    change = Change(first: change.flatMap { $0.isSeen ? nil : $0.first } ?? now, last: now)
  }

  func step(at now: Duration) -> Step {
    guard let change else { return .rest }
    let believed = change.last + patience
    if now >= believed { return .look(believesLosses: true) }
    if change.isSeen { return .wait(until: believed) }
    let glance = min(change.last + Self.settling, change.first + Self.longest)
    return now >= glance ? .look(believesLosses: false) : .wait(until: glance)
  }

  mutating func looked(believesLosses: Bool) {
    if believesLosses { change = nil } else { change?.isSeen = true }
  }

  private var patience: Duration {
    switch latest {
    case .closed: Self.settling
    case .differs: Self.doubt
    case .written: Self.openDoubt
    }
  }
}
