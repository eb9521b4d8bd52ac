import DownloadModel
import TestSupport
import Testing

@testable import DownloadScheduling

@Suite("What the user changes while a run goes on")
struct SteeringTests {
  // MARK: The clock

  @Test(.timeLimit(.minutes(1))) func timeStandsStillInAPause() async throws {
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

  @Test(.timeLimit(.minutes(1))) func aSleeperIsCancelledInAPause() async {
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

  /// One lane waits for the time at which more may begin; the others are woken by it. When a file had ended,
  /// lanes were told a time that was over, and asked again and again.
  @Test func oneLaneOpens() throws {
    var state = RequestQueueState(
      ceiling: 16, widths: [8], retry: RetryPolicy(), adaptive: AdaptiveConcurrency(ceiling: 8))
    var next = 0
    func step(_ milliseconds: Int) throws -> RequestQueueState.Step {
      if state.isOpening { state.open(at: .milliseconds(milliseconds), received: 0) }
      var step = state.step(for: 0, at: .milliseconds(milliseconds))
      while case .draw = step {
        step = state.drawn(try request(next), for: 0, at: .milliseconds(milliseconds))
        next += 1
      }
      return step
    }
    for id in 0..<2 { #expect(given(try step(0)) == id) }
    guard case .wait(let opener, .milliseconds(3)?) = try step(0) else { return #expect(Bool(false)) }
    guard case .wait(let other, nil) = try step(1) else { return #expect(Bool(false)) }
    #expect(state.takeLanesToWake().isEmpty)
    state.stopWaiting(opener)
    #expect(given(try step(4)) == 2)
    #expect(state.takeLanesToWake() == [other])
    #expect(given(try step(4)) == 3)
    guard case .wait(_, .milliseconds(7)?) = try step(5) else { return #expect(Bool(false)) }
    _ = state.ended(try request(0), share: 0, wasAsked: true)
    #expect(!state.isOpening)
    #expect(given(try step(6)) == 4)
    guard case .wait(_, nil) = try step(9) else { return #expect(Bool(false)) }
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
    guard case .draw = state.step(for: 0, at: .zero) else { return #expect(Bool(false)) }
    let first = try request(0)
    #expect(given(state.drawn(first, for: 0, at: .zero)) == 0)
    state.pause(true)
    guard case .wait(let ticket, _) = state.step(for: 0, at: .zero) else { return #expect(Bool(false)) }
    #expect(state.takeLanesToWake().isEmpty)
    _ = state.ended(first, share: 0, wasAsked: true)
    state.pause(false)
    #expect(state.takeLanesToWake() == [ticket])
    guard case .draw = state.step(for: 0, at: .zero) else { return #expect(Bool(false)) }
    #expect(given(state.drawn(try request(1), for: 0, at: .zero)) == 1)
  }

  /// Where nothing is left to begin, the run ends, paused or not.
  @Test func aPausedRunEnds() throws {
    var state = RequestQueueState(ceiling: 16, widths: [4], retry: RetryPolicy())
    guard case .draw = state.step(for: 0, at: .zero) else { return #expect(Bool(false)) }
    let only = try request(0)
    #expect(given(state.drawn(only, for: 0, at: .zero)) == 0)
    guard case .draw = state.step(for: 0, at: .zero) else { return #expect(Bool(false)) }
    guard case .readBeside = state.drawn(nil, for: 0, at: .zero) else { return #expect(Bool(false)) }
    state.received(nil)
    state.pause(true)
    guard case .wait(let ticket, _) = state.step(for: 0, at: .zero) else { return #expect(Bool(false)) }
    #expect(state.takeLanesToWake().isEmpty)
    _ = state.ended(only, share: 0, wasAsked: true)
    #expect(state.takeLanesToWake() == [ticket])
    guard case .end = state.step(for: 0, at: .zero) else { return #expect(Bool(false)) }
  }
}
