/// What a key means while bars stand and no question is asked.
public enum ScreenKey: Sendable, Equatable, CaseIterable {
  case help, pause, more, fewer, up, down, skip, details, failures, stop
  /// Escape: closes what is open.
  case close
  /// A key that means nothing.
  case unknown
}

/// What a key asks of the run.
public enum ScreenCommand: Sendable, Equatable {
  case pause, goOn
  /// One file at a time more, or one less.
  case width(change: Int)
  /// Give up one file for this run, and keep what has come of it.
  case skip(id: Int)
  /// As the first Ctrl-C.
  case stop
}

/// What keys have changed of the screen: a value, and a pure function from it and a key to the next one and a command.
struct ScreenState: Sendable, Equatable {
  enum Panel: Sendable, Equatable {
    case help
    /// Of a file under way.
    case details(id: Int)
    /// - Parameter skipped: how many of the latest failures are below the lowest line.
    case failures(skipped: Int)
  }

  /// What the last key has led to, where nothing else shows it.
  enum Note: Sendable, Equatable {
    case unknownKey, selectFirst, nothingSelected, hasEnded, skipping, stopping
    /// What the run has to say to a command.
    case text(String)
  }

  /// What is on the screen when a key comes.
  struct Surroundings: Sendable, Equatable {
    /// The files that have a row, from the top.
    var rows: [Int]
    /// How many failures can be shown.
    var failures = 0
  }

  /// How long a note stands.
  private static let noteTime = Duration.seconds(4)

  private(set) var panel: Panel?
  private(set) var isPaused = false
  /// The file whose row is selected.
  private(set) var selected: Int?
  /// Which row that was, from the top: where it has ended, the next arrow begins there.
  private var place: Int?
  private var standing: Standing?

  private struct Standing: Sendable, Equatable {
    var note: Note
    var until: Duration
  }

  func note(at now: Duration) -> Note? { standing.flatMap { now < $0.until ? $0.note : nil } }

  mutating func say(_ note: Note, at now: Duration) {
    standing = Standing(note: note, until: now + Self.noteTime)
  }

  /// - Returns: what the run is to do.
  mutating func press(_ key: ScreenKey, _ around: Surroundings, at now: Duration) -> ScreenCommand? {
    standing = nil
    switch key {
    case .help: panel = panel == .help ? nil : .help
    case .close: panel = nil
    case .failures: if case .failures = panel { panel = nil } else { panel = .failures(skipped: 0) }
    case .up, .down: move(by: key == .up ? -1 : 1, around)
    case .details:
      if case .details = panel {
        panel = nil
      } else if let id = target(around, at: now) {
        panel = .details(id: id)
      }
    case .skip:
      guard let id = target(around, at: now) else { return nil }
      say(.skipping, at: now)
      return .skip(id: id)
    case .pause:
      isPaused.toggle()
      return isPaused ? .pause : .goOn
    case .more: return .width(change: 1)
    case .fewer: return .width(change: -1)
    case .stop:
      say(.stopping, at: now)
      return .stop
    case .unknown: say(.unknownKey, at: now)
    }
    return nil
  }

  /// Before each frame: a file that has ended is neither selected nor described.
  /// - Parameter isUnderWay: of all files, also those without a row.
  mutating func settle(_ rows: [Int], isUnderWay: (Int) -> Bool, at now: Duration) {
    if let selected, !rows.contains(selected) { self.selected = nil }
    if let selected { place = rows.firstIndex(of: selected) }
    if case .details(let id) = panel, !isUnderWay(id) {
      panel = nil
      say(.hasEnded, at: now)
    }
  }

  private mutating func move(by step: Int, _ around: Surroundings) {
    if case .failures(let skipped) = panel {
      panel = .failures(skipped: min(max(0, skipped - step), max(0, around.failures - 1)))
      return
    }
    guard !around.rows.isEmpty else { return }
    var goal = step > 0 ? 0 : around.rows.count - 1
    if let selected, let index = around.rows.firstIndex(of: selected) {
      goal = index + step
    } else if let place {
      goal = place
    }
    let index = min(max(0, goal), around.rows.count - 1)
    (selected, place) = (around.rows[index], index)
    if case .details = panel { panel = .details(id: around.rows[index]) }
  }

  /// The file that a key is about: the one described, the one selected, or the only one.
  private mutating func target(_ around: Surroundings, at now: Duration) -> Int? {
    if case .details(let id) = panel { return id }
    if let selected, around.rows.contains(selected) { return selected }
    if around.rows.count == 1 { return around.rows[0] }
    say(around.rows.isEmpty ? .nothingSelected : .selectFirst, at: now)
    return nil
  }
}
