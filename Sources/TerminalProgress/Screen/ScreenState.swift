/// The meaning of a key while bars are shown and no question is open.
package enum ScreenKey: String, Sendable, CaseIterable {
  case help = "?", pause = "p", more = "+", fewer = "-", faster = ">", slower = "<", skip = "s", details = "d",
    failures = "f", stop = "q", handOver = "b"
  case up, down
  /// Escape: closes the open panel.
  case close
  case unknown
}

/// The effects of keys on the screen: a value, and a pure function from it and a key to the next value and a command.
struct ScreenState {
  enum Panel: Equatable {
    case help
    case details(id: Int)
    /// `skipped` of the latest are below the lowest line.
    case failures(skipped: Int)
  }

  private static let noteTime = Duration.seconds(4)

  private(set) var panel: Panel?
  /// Of the run, also by others.
  var isPaused = false
  private(set) var selected: Int?
  /// The index of the selected row, from the top: after its file has ended, the next arrow starts there.
  private var place: Int?
  /// The reply to the last key, if nothing else shows its effect.
  private var standing: (note: String, until: Duration)?

  func note(at now: Duration) -> String? { standing.flatMap { now < $0.until ? $0.note : nil } }

  mutating func say(_ note: String, at now: Duration) { standing = (note, now + Self.noteTime) }

  /// `rows` are the files that have a row, from the top; `failures` is the number that can be shown.
  mutating func press(_ key: ScreenKey, rows: [Int], failures: Int = 0, at now: Duration) -> ScreenCommand? {
    standing = nil
    switch key {
    case .help: panel = panel == .help ? nil : .help
    case .close: panel = nil
    case .failures: if case .failures = panel { panel = nil } else { panel = .failures(skipped: 0) }
    case .up, .down: move(by: key == .up ? -1 : 1, rows, failures)
    case .details:
      if case .details = panel {
        panel = nil
      } else if let id = target(rows, at: now) {
        panel = .details(id: id)
      }
    case .skip:
      guard let id = target(rows, isOnlyOneEnough: false, at: now) else { return nil }
      say("skipping it: what can be resumed is saved", at: now)
      return .skip(id: id)
    case .pause:
      isPaused.toggle()  // until the next sample
      return isPaused ? .pause : .goOn
    case .more: return .width(change: 1)
    case .fewer: return .width(change: -1)
    case .faster, .slower: return .limit(isFaster: key == .faster)
    case .stop:
      say("stopping: partial files are saved", at: now)
      return .stop
    case .handOver: return .handOver
    case .unknown: say("? shows the keys", at: now)
    }
    return nil
  }

  /// Before each frame: a file that has ended is neither selected nor described. `rows` lacks files without a row.
  mutating func settle(_ rows: [Int], isUnderWay: (Int) -> Bool, at now: Duration) {
    if let selected, !rows.contains(selected) { self.selected = nil }
    if let selected { place = rows.firstIndex(of: selected) }
    if case .details(let id) = panel, !isUnderWay(id) {
      panel = nil
      say("that file is done", at: now)
    }
  }

  private mutating func move(by step: Int, _ rows: [Int], _ failures: Int) {
    if case .failures(let skipped) = panel {
      panel = .failures(skipped: min(max(0, skipped - step), max(0, failures - 1)))
      return
    }
    guard !rows.isEmpty else { return }
    let current = selected.flatMap { rows.firstIndex(of: $0) }
    let goal = current.map { $0 + step } ?? place ?? (step > 0 ? 0 : rows.count - 1)
    let index = min(max(0, goal), rows.count - 1)
    selected = rows[index]
    place = index
    if case .details = panel { panel = .details(id: rows[index]) }
  }

  /// The file that a key applies to: the described one, the selected one, or the only one.
  private mutating func target(_ rows: [Int], isOnlyOneEnough: Bool = true, at now: Duration) -> Int? {
    if case .details(let id) = panel { return id }
    if let selected, rows.contains(selected) { return selected }
    if isOnlyOneEnough, rows.count == 1 { return rows[0] }
    say(rows.isEmpty ? "there is no file to select" : "select a file first, with the arrows", at: now)
    return nil
  }
}
