import DownloadModel
import TestSupport
import Testing

@testable import DownloadScheduling

/// The story: four addresses that answered 500 held `-j 4` for half a minute, while another server's files waited.
@Suite("A file that waits for its next attempt holds no place (HTTP rule 12)")
struct WaitingFileTests {
  enum Event: Sendable {
    /// A lane of a share asks, and is given that file, or is to wait.
    case take(Int, Int?)
    /// A file fails, and is to be tried again at that millisecond.
    case rest(Int, until: Int)
    case end(Int)
    case time(Int)
  }

  struct Row: Sendable, CustomTestStringConvertible {
    let testDescription: String
    /// A letter is the host of a file.
    let list: String
    var widths = [1]
    var ceiling = 64
    var urgent: Set<Int> = []
    let events: [Event]
  }

  static let rows = [
    Row(
      testDescription: "one by one: the next goes meanwhile, and it goes before what was never asked for",
      list: "abb",
      events: [
        .take(0, 0), .rest(0, until: 500), .take(0, 1), .time(600), .end(1), .take(0, 0), .end(0), .take(0, 2),
      ]),
    Row(
      testDescription: "its time has not come: the others go first",
      list: "abb",
      events: [
        .take(0, 0), .rest(0, until: 500), .take(0, 1), .end(1), .take(0, 2), .end(2), .take(0, nil), .time(500),
        .take(0, 0),
      ]),
    Row(
      testDescription: "nor a place at its host; and there it goes first",
      list: "aaa", widths: [2], ceiling: 1,
      events: [
        .take(0, 0), .rest(0, until: 500), .take(0, 1), .time(600), .take(0, nil), .end(1), .take(0, 0), .end(0),
        .take(0, 2),
      ]),
    Row(
      testDescription: "any loop may go on with it",
      list: "ab", widths: [1, 1],
      events: [
        .take(0, 0), .rest(0, until: 500), .take(0, 1), .take(1, nil), .time(500), .take(1, 0), .end(1), .end(0),
      ]),
    Row(
      testDescription: "those that are to go first do",
      list: "aba", ceiling: 1, urgent: [2],
      events: [
        .take(0, 2), .end(2), .take(0, 0), .rest(0, until: 500), .take(0, 1), .time(600), .end(1), .take(0, 0),
      ]),
    Row(
      testDescription: "it fails again and again",
      list: "ab",
      events: [
        .take(0, 0), .rest(0, until: 10), .time(10), .take(0, 0), .rest(0, until: 30), .take(0, 1), .time(30),
        .end(1), .take(0, 0), .rest(0, until: 70), .take(0, nil), .time(70), .take(0, 0), .end(0),
      ]),
  ]

  private static func request(_ id: Int, at host: Character, path: Int, isFirst: Bool = false) throws -> DownloadRequest
  {
    DownloadRequest(id: id, address: try Address("http://\(host)/\(path)"), isFirst: isFirst)
  }

  private static func resting(_ request: DownloadRequest) -> BackoffEntry {
    BackoffEntry(request, TransferMeter())
  }

  private static func given(_ step: RequestQueueState.Step) -> Int? {
    if case .give(let request) = step { request.id } else { nil }
  }

  @Test(arguments: rows) func order(_ row: Row) throws {
    var state = RequestQueueState(
      ceiling: row.ceiling, widths: row.widths, retry: RetryPolicy(), looksAhead: !row.urgent.isEmpty)
    let list = try row.list.enumerated().map {
      try Self.request($0.offset, at: $0.element, path: $0.offset, isFirst: row.urgent.contains($0.offset))
    }
    var (left, now, shares) = (list[...], Duration.zero, [Int: Int]())
    if !row.urgent.isEmpty { state.window.readAhead(besides: 0) { left.popFirst() } }
    for event in row.events {
      switch event {
      case .take(let share, let id):
        let taken = Self.given(state.step(for: share, at: now) { left.popFirst() })
        #expect(taken == id)
        if let taken { shares[taken] = share }
      case .rest(let id, let time):
        _ = state.retry(Self.resting(list[id]), share: try #require(shares[id]), until: .milliseconds(time))
      case .end(let id): _ = state.ended(list[id], share: try #require(shares[id]), wasAsked: true)
      case .time(let time): now = .milliseconds(time)
      }
    }
  }

  /// Whoever shared the failure shares the wait: else the server would be asked at once for each of them.
  @Test func equalOnesRestAlong() throws {
    var state = RequestQueueState(ceiling: 64, widths: [2], retry: RetryPolicy())
    let list = try (0..<2).map { try Self.request($0, at: "a", path: 0) }
    var left = list[...]
    func take(_ time: Int) -> Int? { Self.given(state.step(for: 0, at: .milliseconds(time)) { left.popFirst() }) }
    #expect(take(0) == 0 && take(0) == 1)
    let early = state.retry(Self.resting(list[1]), share: 0, until: nil)
    #expect(!early, "nobody rests")
    _ = state.retry(Self.resting(list[0]), share: 0, until: .milliseconds(500))
    let along = state.retry(Self.resting(list[1]), share: 0, until: nil)
    #expect(along && take(499) == nil)
    #expect(take(500) == 0 && take(500) == 1)
  }

  /// Of a list without end, all of whose files fail, no more is read than of any other.
  @Test func whatRestsIsBounded() throws {
    var state = RequestQueueState(ceiling: 64, widths: [4], retry: RetryPolicy())
    var drawn = 0
    func take(at now: Duration) throws -> DownloadRequest? {
      let next = try Self.request(drawn, at: "a", path: drawn)
      guard
        case .give(let request) = state.step(
          for: 0, at: now,
          {
            drawn += 1
            return next
          })
      else { return nil }
      return request
    }
    while let request = try take(at: .zero) { _ = state.retry(Self.resting(request), share: 0, until: .seconds(1)) }
    #expect(drawn == 1024 && state.hosts.held == 1024)
    // Each of them, once, and no further one.
    for id in 0..<1024 {
      let request = try #require(try take(at: .seconds(1)))
      #expect(request.id == id)
      _ = state.retry(Self.resting(request), share: 0, until: .seconds(2))
    }
    let none = try take(at: .seconds(1))
    #expect(none == nil && drawn == 1024)
    #expect(state.refused.unfinished.count == 1024)
  }

  /// A run does not end before what rests has ended, and a lane that waits is handed it in time.
  @Test func aLaneThatWaitsIsHandedIt() throws {
    var state = RequestQueueState(ceiling: 64, widths: [1], retry: RetryPolicy())
    let request = try Self.request(0, at: "a", path: 0)
    #expect(Self.given(state.step(for: 0, at: .zero) { request }) == 0)
    state.window.reader = .isDone
    _ = state.retry(Self.resting(request), share: 0, until: .milliseconds(500))
    state.lanes.append(WaitingLane(ticket: 1, share: 0))
    let early = state.settle(at: .zero, received: { 0 }) { nil }
    #expect(early.isEmpty && state.due(at: .zero) == .milliseconds(500))
    let handed = state.settle(at: .milliseconds(500), received: { 0 }) { nil }
    #expect(handed.map(\.request?.id) == [0])
    _ = state.ended(request, share: 0, wasAsked: true)
    #expect(state.refused.unfinished.isEmpty)
    guard case .end = state.step(for: 0, at: .milliseconds(500), { nil }) else { return #expect(Bool(false)) }
  }

  @Test func itIsTakenOut() throws {
    var state = RequestQueueState(ceiling: 64, widths: [1], retry: RetryPolicy())
    let request = try Self.request(0, at: "a", path: 0)
    _ = state.step(for: 0, at: .zero) { request }
    _ = state.retry(Self.resting(request), share: 0, until: .milliseconds(500))
    let withdrawn = state.withdraw([0])
    #expect(withdrawn.map(\.id) == [0] && state.hosts.held == 0 && state.refused.unfinished.isEmpty)
  }
}
