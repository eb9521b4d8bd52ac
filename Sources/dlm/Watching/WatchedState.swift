import DownloadModel
import FileReceiving

/// The lines of the watched lists, and the state of each. Work lasts as long as its line; cancelled work ends by
/// itself, and `ended` is called as for any other end.
struct WatchedState {
  /// A line that was removed and has nothing in flight.
  typealias Removed = (request: DownloadRequest, was: WatchNews.Removed)

  struct Effects {
    /// Requests that the run has, and that must end.
    var cancel: Set<Int> = []
    var removed: [Removed] = []
  }

  private enum Life {
    /// It starts when removed lines of its URL, which may still have its file, have ended.
    case behind
    /// The run has it, or may take it.
    case underWay
    case ended
  }

  private struct Line {
    var request: DownloadRequest
    var life: Life
    /// Its last result; a check that was cancelled leaves it unchanged.
    var result: DownloadResult?
    var isLeaving = false

    var isCutShort: Bool { if case .failure(let error) = result { error.code == .cancelled } else { false } }

    var word: WatchNews.Removed {
      switch result {
      case nil: .waiting
      case .success: .done
      case .failure: isCutShort ? .running : .failed
      }
    }
  }

  private var lines: [Int: Line] = [:]
  private var lists: [[Int]]
  /// By URL: how many removed lines have not ended, and which lines wait for them.
  private var leaving: [Address: (count: Int, behind: [Int])] = [:]
  /// Requests that the run has not taken yet, in order.
  private var waiting: ArraySlice<DownloadRequest> = []
  private var lastID = -1
  private var active = 0
  private(set) var hasFirst = false

  init(lists count: Int) { lists = Array(repeating: [], count: count) }

  var count: Int { lines.count }
  func count(of list: Int) -> Int { lists[list].count }
  func keys(of list: Int) -> [DownloadRequest.Key] { lists[list].compactMap { lines[$0]?.request.key } }
  func has(_ address: Address) -> Bool { lines.values.contains { $0.request.address.isSameResource(as: address) } }
  func isLeaving(_ id: Int) -> Bool { lines[id]?.isLeaving == true }
  var isIdle: Bool { active == 0 }
  /// Whether no line is waiting, or was cancelled by the end of the run.
  var isSettled: Bool { lines.values.allSatisfy { $0.isLeaving || $0.result != nil && !$0.isCutShort } }

  var failures: [DownloadError] {
    lists.joined().compactMap { id in
      guard let line = lines[id], !line.isCutShort, case .failure(let error) = line.result else { return nil }
      return error
    }
  }

  // MARK: Work starts

  mutating func take() -> DownloadRequest? { waiting.popFirst() }

  private mutating func start(_ id: Int) {
    lines[id]?.life = .underWay
    guard let request = lines[id]?.request else { return }
    waiting.append(request)
    hasFirst = hasFirst || request.isFirst
  }

  private mutating func begin(_ request: DownloadRequest, _ numbers: NameNumbers) -> Int {
    var request = request
    request.number(by: numbers)
    lastID += 1
    request.id = lastID
    active += 1
    lines[lastID] = Line(request: request, life: .behind)
    if leaving[request.address]?.behind.append(lastID) == nil { start(lastID) }
    return lastID
  }

  /// Checks every line again that has ended, except those that the user gave up.
  /// - Returns: their number.
  mutating func askAgain() -> Int {
    let before = active
    for id in lists.joined() {
      guard let line = lines[id], line.life == .ended else { continue }
      if case .failure(let error) = line.result, error.code == .skipped { continue }
      lines[id]?.request.isRepeat = true
      active += 1
      start(id)
    }
    return active - before
  }

  // MARK: A list changes

  /// - Parameters:
  ///   - mayLose: whether lines may be removed; if not, new ones only start.
  ///   - numbers: numbers a request's name among all names of the run.
  mutating func change(
    _ list: Int, by change: ListChange, to new: [DownloadRequest], mayLose: Bool, numbers: NameNumbers
  ) -> Effects {
    let old = lists[list]
    var effects = Effects()
    if mayLose { for place in change.removed { remove(old[place], &effects) } }
    lists[list] = zip(new, change.lines).map { request, line in
      switch line {
      case .restarted(let place) where mayLose:
        remove(old[place], &effects)
        return begin(request, numbers)
      case .kept(let place), .restarted(let place): return old[place]
      case .started: return begin(request, numbers)
      }
    }
    if !mayLose { lists[list] += change.removed.map { old[$0] } }
    if effects.cancel.isEmpty { return effects }
    // Requests that the run has not taken end here.
    for request in waiting where effects.cancel.remove(request.id) != nil {
      effects.removed += ended(request.id, .failure(.cancelled))
    }
    waiting.removeAll { lines[$0.id] == nil }
    return effects
  }

  private mutating func remove(_ id: Int, _ effects: inout Effects) {
    guard let line = lines[id] else { return }
    switch line.life {
    case .underWay:
      lines[id]?.isLeaving = true
      leaving[line.request.address, default: (0, [])].count += 1
      effects.cancel.insert(id)
      return
    case .behind:
      leaving[line.request.address]?.behind.removeAll { $0 == id }
      active -= 1
    case .ended: break
    }
    lines[id] = nil
    effects.removed.append((line.request, line.word))
  }

  // MARK: Work ends

  mutating func ended(_ id: Int, _ result: DownloadResult) -> [Removed] {
    guard var line = lines[id] else { return [] }
    active -= 1
    let last = line.result
    line.life = .ended
    line.result = result
    if line.isCutShort, last != nil { line.result = last }
    lines[id] = line
    guard line.isLeaving else { return [] }
    lines[id] = nil
    let address = line.request.address
    leaving[address]?.count -= 1
    if leaving[address]?.count == 0 {
      for next in leaving.removeValue(forKey: address)?.behind ?? [] { start(next) }
    }
    return [(line.request, line.word)]
  }
}
