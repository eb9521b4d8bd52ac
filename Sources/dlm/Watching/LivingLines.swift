import DownloadModel

/// The lines of the watched lists, and how far each has come: the rules of `WatchedLines`, without its lock.
///
/// Each piece of work lives as long as its line. What is to be done outside is in `Effects`: what must be
/// cancelled ends by itself, and that is told to `ended` like any other end.
struct LivingLines {
  struct Effects {
    /// Requests for the run, in order.
    var start: [DownloadRequest] = []
    /// The numbers of requests that must end.
    var cancel: Set<Int> = []
    /// Lines that are gone, with nothing of theirs under way.
    var removed: [Removed] = []
  }

  struct Removed {
    var request: DownloadRequest
    var was: WatchNews.Removed
  }

  private typealias Result = Swift.Result<DownloadOutcome, DownloadError>

  private enum Life {
    /// It begins when a removed line of the same address has ended, which may still have its file.
    case behind(Int)
    /// The run has it.
    case underWay
    case ended(Result)
    /// The run has it again, to ask whether it has changed.
    case again(Result)

    var result: Result? {
      switch self {
      case .behind, .underWay: nil
      case .ended(let result), .again(let result): result
      }
    }
  }

  private struct Line {
    var request: DownloadRequest
    var life: Life
    /// Removed from its list; it is only waited for.
    var isLeaving = false
    /// Lines that begin when this one has ended.
    var behind: [Int] = []
  }

  private var lines: [Int: Line] = [:]
  /// The lines of each list, in its order, and what they ask for.
  private var lists: [[Int]]
  private var keys: [[DownloadRequest.Key]]
  /// Removed lines whose work has not ended yet, by address.
  private var leaving: [Address: Int] = [:]
  private var lastID = -1
  /// Lines that the run has, or that begin when another has ended.
  private var active = 0

  init(lists count: Int) {
    lists = Array(repeating: [], count: count)
    keys = Array(repeating: [], count: count)
  }

  /// All lines, those included that are removed and not ended yet.
  var count: Int { lines.count }
  /// The lines of one list.
  func count(of list: Int) -> Int { lists[list].count }
  /// What they ask for.
  func keys(of list: Int) -> [DownloadRequest.Key] { keys[list] }
  /// Whether nothing is under way or waiting.
  var isIdle: Bool { active == 0 }
  /// Whether every line has come to something: none waits, and none was cut short by the end of the run.
  var isSettled: Bool {
    lines.values.allSatisfy { line in
      if case .failure(let error) = line.life.result { return line.isLeaving || error.code != .cancelled }
      return line.isLeaving || line.life.result != nil
    }
  }

  /// Why lines failed, in their order.
  var failures: [DownloadError] {
    lists.joined().compactMap { id in
      guard case .failure(let error) = lines[id]?.life.result, error.code != .cancelled else { return nil }
      return error
    }
  }

  // MARK: A list changes

  /// - Parameters:
  ///   - change: from what the list had (`keys(of:)`) to what it has now.
  ///   - new: its lines as they are now.
  ///   - mayLose: whether lines may go; else only new ones begin.
  ///   - isUnderWay: whether a line's download has begun.
  ///   - numbered: gives a request its name's number, among the names of all lines there ever were.
  /// - Returns: what is to be done.
  mutating func change(
    _ list: Int, by change: ListChange, to new: [DownloadRequest], mayLose: Bool,
    isUnderWay: (Int) -> Bool = { _ in false }, numbered: (DownloadRequest) -> DownloadRequest
  ) -> Effects {
    let old = lists[list]
    var effects = Effects()
    var now: [Int] = []
    if mayLose { for place in change.removed { remove(old[place], &effects) } }
    for (request, line) in zip(new, change.lines) {
      switch line {
      case .kept(let place): now.append(old[place])
      case .restarted(let place):
        guard mayLose else {
          now.append(old[place])
          continue
        }
        remove(old[place], &effects)
        now.append(begin(numbered(request), &effects))
      case .started: now.append(begin(numbered(request), &effects))
      }
    }
    if !mayLose { now += change.removed.map { old[$0] } }
    lists[list] = now
    keys[list] = mayLose ? new.map(\.key) : now.compactMap { lines[$0]?.request.key }
    passOn(&effects, isUnderWay)
    return effects
  }

  /// Work that is to be cancelled goes on as that of an equal line whose own has not begun; then that one's
  /// is cancelled. One that has begun waits for the same transfer, and gets it (`InFlight.handOn`).
  private mutating func passOn(_ effects: inout Effects, _ isUnderWay: (Int) -> Bool) {
    if effects.cancel.isEmpty { return }
    let cancelled = effects.cancel.compactMap { id in lines[id].map { ($0.request.key, id) } }
    var given = Dictionary(cancelled) { isUnderWay($1) ? $1 : $0 }
    for list in lists.indices {
      for place in lists[list].indices {
        let heir = lists[list][place]
        guard let line = lines[heir], let id = given[line.request.key], heir != id, !isUnderWay(heir)
        else { continue }
        switch line.life {
        case .behind, .ended: continue
        case .underWay, .again: break
        }
        given[line.request.key] = nil
        lists[list][place] = id
        let behind = lines[id]?.behind ?? []
        lines[id]?.isLeaving = false
        lines[id]?.behind = []
        lines[heir]?.isLeaving = true
        lines[heir]?.behind = behind
        for next in behind { lines[next]?.life = .behind(heir) }
        leaving[line.request.address] = heir
        effects.cancel.remove(id)
        effects.cancel.insert(heir)
      }
    }
  }

  private mutating func begin(_ request: DownloadRequest, _ effects: inout Effects) -> Int {
    var request = request
    lastID += 1
    request.id = lastID
    active += 1
    if let before = leaving[request.address] {
      lines[before]?.behind.append(lastID)
      lines[lastID] = Line(request: request, life: .behind(before))
    } else {
      lines[lastID] = Line(request: request, life: .underWay)
      effects.start.append(request)
    }
    return lastID
  }

  private mutating func remove(_ id: Int, _ effects: inout Effects) {
    guard let line = lines[id] else { return }
    switch line.life {
    case .underWay, .again:
      lines[id]?.isLeaving = true
      leaving[line.request.address] = id
      effects.cancel.insert(id)
    case .behind(let other):
      lines[other]?.behind.removeAll { $0 == id }
      active -= 1
      drop(line, .waiting, &effects)
    case .ended(let result): drop(line, Self.word(for: result), &effects)
    }
  }

  private mutating func drop(_ line: Line, _ was: WatchNews.Removed, _ effects: inout Effects) {
    lines[line.request.id] = nil
    effects.removed.append(Removed(request: line.request, was: was))
  }

  private static func word(for result: Result) -> WatchNews.Removed {
    if case .success = result { .done } else { .failed }
  }

  // MARK: Work ends

  /// A line's work has ended.
  mutating func ended(_ id: Int, _ result: Swift.Result<DownloadOutcome, DownloadError>) -> Effects {
    var effects = Effects()
    guard let line = lines[id] else { return effects }
    active -= 1
    guard line.isLeaving else {
      lines[id]?.life = .ended(Self.standing(result, after: line.life.result))
      return effects
    }
    if leaving[line.request.address] == id { leaving[line.request.address] = nil }
    drop(line, Self.word(for: result, of: line), &effects)
    for next in line.behind {
      guard let request = lines[next]?.request else { continue }
      lines[next]?.life = .underWay
      effects.start.append(request)
    }
    return effects
  }

  private static func word(for result: Result, of line: Line) -> WatchNews.Removed {
    if case .failure(let error) = result, error.code == .cancelled {
      return line.life.result.map(word) ?? .running
    }
    return word(for: result)
  }

  /// A question that was cut short says nothing.
  private static func standing(_ result: Result, after last: Result?) -> Result {
    guard let last, case .failure(let error) = result, error.code == .cancelled else { return result }
    return last
  }

  // MARK: Asking again

  /// Has every line that has come to something be asked about again, but for those that the user gave up.
  mutating func askAgain() -> [DownloadRequest] {
    lists.joined().compactMap { id -> DownloadRequest? in
      guard let line = lines[id], case .ended(let result) = line.life else { return nil }
      if case .failure(let error) = result, error.code == .skipped { return nil }
      lines[id]?.life = .again(result)
      lines[id]?.request.isRepeat = true
      active += 1
      return lines[id]?.request
    }
  }
}
