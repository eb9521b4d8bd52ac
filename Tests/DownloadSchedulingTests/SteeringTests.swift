import DownloadModel
import TestSupport
import Testing

@testable import DownloadScheduling

@Suite("What the user changes while a run goes on")
struct SteeringTests {
  // MARK: The clock

  @Test(.timeLimit(.minutes(hangMinutes))) func timeStandsStillInAPause() async throws {
    let clock = PausableClock()
    let start = clock.now
    clock.pause(true)
    let paused = clock.now
    try await Task.sleep(for: .milliseconds(20))
    #expect(clock.now == paused)
    let sleeping = Task {
      try await clock.sleep(until: paused.advanced(by: .milliseconds(30)), tolerance: nil)
      return clock.now
    }
    try await Task.sleep(for: .milliseconds(200))
    #expect(clock.now == paused)
    clock.pause(true)  // twice is once
    clock.pause(false)
    clock.pause(false)
    let woken = try await sleeping.value
    #expect(paused.duration(to: woken) >= .milliseconds(30))
    #expect(start <= paused)
  }

  @Test(.timeLimit(.minutes(hangMinutes))) func aSleeperIsCancelledInAPause() async {
    let clock = PausableClock()
    clock.pause(true)
    let sleeping = Task { try await clock.sleep(for: .seconds(3600)) }
    sleeping.cancel()
    await #expect(throws: CancellationError.self) { try await sleeping.value }
  }

  // MARK: Files at a time

  /// Lanes by share, files at a time where that is found out, changes, and the numbers and new lanes that come
  /// of them.
  @Test(
    arguments: [
      ([4], nil, [1], [5], [0]), ([4], nil, [-1, 1, 1], [3, 4, 5], [nil, nil, 0]),
      ([2, 1], nil, [1, 1], [4, 5], [1, 0]), ([1], nil, [-1, -1], [1, 1], [nil, nil]),
      ([7], nil, [1, 1], [8, 8], [0, nil]),
      // Two to begin with, and as many as the user says from then on.
      ([64], 64, [1, -1], [3, 2], [nil, nil]),
    ] as [([Int], Int?, [Int], [Int], [Int?])])
  func widths(lanes: [Int], ceiling: Int?, changes: [Int], counts: [Int], added: [Int?]) {
    var run = RunLimiter(widths: lanes, adaptive: ceiling.map { AdaptiveConcurrency(ceiling: $0) })
    for (index, change) in changes.enumerated() {
      let (count, newLane) = run.widen(by: change, most: 8)
      #expect(count == counts[index])
      #expect(newLane == added[index])
    }
  }

  @Test func theUsersNumberIsTheMost() {
    var concurrency = AdaptiveConcurrency(ceiling: 64)
    concurrency.follow(5)
    #expect(concurrency.limit == 5)
    for file in 1...200 { _ = concurrency.ended(files: file, isFull: true) }
    #expect(concurrency.limit == 5)
    concurrency.failed(at: .seconds(1))
    #expect(concurrency.limit == 2, "transfers that break still count")
  }

  /// Time alone lets more begin while nothing ends: lanes that wait are handed what there is room for then.
  @Test func lanesThatWaitAreHandedWhatThereIsRoomForInTime() throws {
    var state = RequestQueueState(
      ceiling: 16, widths: [8], retry: RetryPolicy(), adaptive: AdaptiveConcurrency(ceiling: 8))
    var list = try (0..<20).map { try request($0) }[...]
    func settle(_ milliseconds: Int) -> [Int?] {
      state.settle(at: .milliseconds(milliseconds), received: { 0 }) { list.popFirst() }.map(\.request?.id)
    }
    for ticket in 1...8 { state.lanes.append(WaitingLane(ticket: ticket, share: 0)) }
    #expect(settle(0) == [0, 1])
    #expect(settle(0) == [] && state.due(at: .zero) == .milliseconds(5))
    #expect(settle(1) == [])
    #expect(settle(6) == [2, 3] && settle(7) == [])
    #expect(state.due(at: .milliseconds(7)) == .milliseconds(8.5))
    _ = state.ended(try request(0), share: 0, wasAsked: true)
    #expect(settle(8) == [4])
    #expect(state.due(at: .milliseconds(9)) == .milliseconds(13), "as long again from the file that ended")
  }

  /// The story: a list came in two pieces, and what came second filled the run; the clock had been looked at
  /// before, when it was not full, so nobody looked again before the first file ended.
  @Test func theClockRunsFromWhereTheRunIsFull() throws {
    var state = RequestQueueState(
      ceiling: 64, widths: [32, 32], retry: RetryPolicy(), adaptive: AdaptiveConcurrency(ceiling: 64))
    var list = try (0..<64).map { try request($0) }[...]
    for ticket in 1...64 { state.lanes.append(WaitingLane(ticket: ticket, share: ticket % 2)) }
    let none = state.settle(at: .zero, received: { 0 }) { nil }
    #expect(none.isEmpty && state.due(at: .zero) == nil)
    state.received(list.popFirst())
    var (now, begun) = (Duration.milliseconds(20), 0)
    while begun < 64 {
      begun += state.settle(at: now, received: { 0 }) { list.popFirst() }.count
      guard begun < 64 else { break }
      now = try #require(state.due(at: now), "\(begun) have begun, and nobody looks again")
    }
  }

  /// HTTP rule 56: a host that was never met gets eight. Meanwhile its silence says how many it is to get after that.
  @Test func whatAnUnknownHostIsToGetIsKnownWhenItAnswers() throws {
    var state = RequestQueueState(
      ceiling: 64, opening: 8, widths: [32, 32], retry: RetryPolicy(), adaptive: AdaptiveConcurrency(ceiling: 64))
    var list = try (0..<100).map { try request($0) }[...]
    for ticket in 1...64 { state.lanes.append(WaitingLane(ticket: ticket, share: ticket % 2)) }
    var now = Duration.zero
    func settle() -> Int { state.settle(at: now, received: { 0 }) { list.popFirst() }.count }
    var begun = settle()
    while let due = state.due(at: now) {
      now = due
      begun += settle()
    }
    #expect(begun == 8 && now < .milliseconds(20))
    #expect(state.hosts.waits(at: now).map(\.limit) == [8])
    for _ in 0..<8 { state.hosts.answered(at: "a") }
    begun += settle()
    #expect(begun == 64)
  }

  /// Files that are here already came from the host in an earlier run.
  @Test func aHostWhoseFilesAreHereIsNotUnknown() throws {
    var state = RequestQueueState(ceiling: 64, opening: 8, widths: [64], retry: RetryPolicy())
    var list = try (0..<100).map { try request($0) }[...]
    for ticket in 1...64 { state.lanes.append(WaitingLane(ticket: ticket, share: 0)) }
    func settle() -> Int { state.settle(at: .zero, received: { 0 }) { list.popFirst() }.count }
    #expect(settle() == 8)
    for id in 0..<8 { _ = state.ended(try request(id), share: 0, wasAsked: false) }
    #expect(settle() == 56)
  }

  // MARK: A pause

  private func request(_ id: Int) throws -> DownloadRequest {
    DownloadRequest(id: id, address: try Address("http://a/\(id)"))
  }

  private func given(_ step: RequestQueueState.Step) -> Int? {
    if case .give(let request) = step { request.id } else { nil }
  }

  @Test func nothingNewBeginsInAPause() throws {
    var state = RequestQueueState(ceiling: 16, widths: [4], retry: RetryPolicy())
    var list = try (0..<2).map { try request($0) }[...]
    let first = state.step(for: 0, at: .zero) { list.popFirst() }
    #expect(given(first) == 0)
    state.run.isPaused = true
    guard case .wait = state.step(for: 0, at: .zero, { list.popFirst() }) else { return #expect(Bool(false)) }
    state.lanes.append(WaitingLane(ticket: 7, share: 0))
    _ = state.ended(try request(0), share: 0, wasAsked: true)
    let none = state.settle(at: .zero, received: { 0 }) { list.popFirst() }
    #expect(none.isEmpty)
    state.run.isPaused = false
    let handed = state.settle(at: .zero, received: { 0 }) { list.popFirst() }
    #expect(handed.map(\.lane.ticket) == [7] && handed.first?.request?.id == 1)
  }

  /// Where nothing is left to begin, the run ends, paused or not.
  @Test func aPausedRunEnds() throws {
    var state = RequestQueueState(ceiling: 16, widths: [4], retry: RetryPolicy())
    let only = try request(0)
    let first = state.step(for: 0, at: .zero) { only }
    #expect(given(first) == 0)
    guard case .wait = state.step(for: 0, at: .zero, { nil }) else { return #expect(Bool(false)) }
    let reads = state.window.takeReading(besides: state.hosts.held)
    #expect(reads)
    state.received(nil)
    state.run.isPaused = true
    state.lanes.append(WaitingLane(ticket: 7, share: 0))
    let none = state.settle(at: .zero, received: { 0 }) { nil }
    #expect(none.isEmpty)
    _ = state.ended(only, share: 0, wasAsked: true)
    let handed = state.settle(at: .zero, received: { 0 }) { nil }
    #expect(handed.map(\.lane.ticket) == [7] && handed.first?.request == nil)
  }
}
