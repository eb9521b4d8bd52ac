/// When a list that changes is read, and whether what is missing in it is believed: a pure rule.
///
/// A list is often seen half written: emptied and filled again, or gone for a moment. New lines may begin at once,
/// since they can only be too early; what is missing is believed when the writer has closed the list or another has
/// taken its name, and the list has been still since. Where nobody can tell whether it is being written, it must have
/// been still for longer.
struct ListStillness {
  enum Notice: Equatable {
    /// Bytes were written, or it was made or emptied: somebody has it open.
    case written
    /// Who wrote it has closed it, or it was renamed to its name, or removed: it is as it is meant to be.
    case closed
    /// It is another than before; how, nobody told.
    case differs
  }

  enum Step: Equatable {
    case rest
    case wait(until: Duration)
    case look(believesLosses: Bool)
  }

  /// Between the parts of one change.
  static let settling = Duration.milliseconds(200)
  /// For a list that changes without a pause.
  private static let longest = Duration.seconds(1)
  /// Where nobody tells who writes.
  static let doubt = Duration.seconds(5)
  /// For a writer that keeps the list open and writes nothing.
  static let openDoubt = Duration.seconds(30)

  private struct Change {
    var first: Duration
    var last: Duration
    /// It was read, and what is missing was not believed.
    var isSeen = false
  }

  private var change: Change?
  private var latest = Notice.closed

  mutating func note(_ notice: Notice, at now: Duration) {
    // Whoever looks again learns nothing of who writes.
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

  /// It was read, and has not changed since.
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
