/// A command of a folder, and the result of its run.
struct RunHistory: Equatable {
  let run: String
  let command: RememberedCommand
  /// `nil` during a run, and after one that says nothing about its mode (`RunReport.isThrough`).
  var last: PastRun?

  private static let most = 16

  /// The result of a folder's events, the newest last. Earlier runs are included, because a void run makes the one
  /// before it the last again, and several may run at once.
  static func all(_ events: [RunEvent]) -> [RunHistory] {
    var all: [RunHistory] = []
    for event in events {
      switch event {
      case .began(let run, var command):
        // A list that is used again has already lost its logins.
        if let before = all.last?.command, before.sources == command.sources,
          before.withheld.contains(.addressLogins), !command.withheld.contains(.addressLogins)
        {
          command.withheld.append(.addressLogins)
        }
        all.append(RunHistory(run: run, command: command))
        if all.count > most { all.removeFirst() }
      case .ended(let run, let past):
        guard past.directory != nil, let index = all.lastIndex(where: { $0.run == run }) else { continue }
        var ended = all.remove(at: index)
        ended.last = past
        all.append(ended)
      case .void(let run): all.removeAll { $0.run == run }
      }
    }
    return all
  }

  /// Fewer events with the same result: the newer half of the runs that downloaded files, and those whose times still
  /// count.
  static func fewer(_ events: [RunEvent]) -> [RunEvent] {
    let commands = Dictionary(all(events).map { ($0.run, $0.command) }) { $1 }
    let runs = events.compactMap(\.ended)
    let fetching = runs.filter { $0.fetched > 0 }
    let newest = fetching.suffix(fetching.count / 2)
    var older = fetching.count - newest.count
    let times = Dictionary(newest.map { ($0.listDigest, $0.listDigest) }) { $1 }.mapValues { RunTimes(runs, of: $0) }
    return events.compactMap { event in
      switch event {
      case .began(let run, _): return commands[run].map { .began(run: run, $0) }
      case .ended(let run, var past):
        let isStanding = times[past.listDigest]?[past.mode] == past
        if past.fetched > 0 { older -= 1 }
        let isNew = past.fetched > 0 && older < 0
        guard isStanding || isNew || run.flatMap({ commands[$0] }) != nil else { return nil }
        if isStanding { past.isOfAll = true }
        return .ended(run: run, past)
      case .void: return nil
      }
    }
  }
}
