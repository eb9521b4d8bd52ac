import DownloadModel
import Synchronization
import TestSupport
import Testing

@testable import DownloadScheduling

/// A file that arrives from its start, as fast as the test says; further transfers take the end of it.
private final class LargeFile: DownloadTarget {
  private struct State {
    var segments: [OpenSegment]
    var lastID = OpenSegment.first
    var areRefused = false
  }

  private let address: Address
  private let state: Lock<State>

  init(_ address: Address, size: Int64) {
    self.address = address
    state = Lock(State(segments: [OpenSegment(id: OpenSegment.first, position: 0, end: size, isTaken: true)]))
  }

  var areRefused: Bool { state.withLock { $0.areRefused } }
  /// Whether a segment lacks bytes and no transfer fills it.
  var hasFree: Bool { openSegments.contains { !$0.isTaken } }

  /// The first transfer brought more.
  func receive(_ count: Int64) { state.withLock { $0.segments[0].position += count } }

  /// All bytes of a segment are there.
  func complete(_ id: Int) {
    state.withLock { state in
      for index in state.segments.indices where state.segments[index].id == id {
        state.segments[index].position = state.segments[index].end
      }
    }
  }

  var openSegments: [OpenSegment] { state.withLock { $0.segments.filter { $0.length > 0 } } }

  func takeSegment(of id: Int, from offset: Int64) throws(DownloadError) -> (id: Int, target: any SegmentTarget)? {
    state.withLock { state in
      // As a real one: once refused, none is given any more.
      guard !state.areRefused,
        let index = state.segments.firstIndex(where: { $0.id == id && $0.end > offset })
      else { return nil }
      if !state.segments[index].isTaken {
        state.segments[index].isTaken = true
        return (id, Piece(self, address, id))
      }
      state.lastID += 1
      let end = state.segments[index].end
      state.segments[index].end = offset
      state.segments.append(OpenSegment(id: state.lastID, position: offset, end: end, isTaken: true))
      return (state.lastID, Piece(self, address, state.lastID))
    }
  }

  func release(_ segment: Int) throws(DownloadError) {
    state.withLock { state in
      for index in state.segments.indices where state.segments[index].id == segment {
        state.segments[index].isTaken = false
      }
    }
  }

  func refuseSegments() { state.withLock { $0.areRefused = true } }
  func ask(for size: RequestSize) {}
  func takeRunning() -> RunningTransfer? { nil }
  func nextTransfer() throws(DownloadError) -> TransferRequest? { nil }
  func finish(_ receipt: TransferReceipt) throws(DownloadError) -> Bool { true }
  func accept(_ head: ResponseHead) throws(DownloadError) -> BodyDisposition { .write }
  func write(_ bytes: UnsafeRawBufferPointer) throws(DownloadError) -> SinkDemand { .more }
}

private struct Piece: SegmentTarget {
  let file: LargeFile
  let address: Address
  let id: Int

  init(_ file: LargeFile, _ address: Address, _ id: Int) { (self.file, self.address, self.id) = (file, address, id) }

  func nextTransfer() throws(DownloadError) -> TransferRequest? { TransferRequest(address: address) }
  func finish(_ receipt: TransferReceipt) throws(DownloadError) -> Bool { true }
  func accept(_ head: ResponseHead) throws(DownloadError) -> BodyDisposition { .write }
  func write(_ bytes: UnsafeRawBufferPointer) throws(DownloadError) -> SinkDemand { .more }
}

/// The transport of further segments: one answer after the other, the last one for ever after.
private final class Further: Transport {
  enum Answer: Sendable {
    case bytes
    case failure(DownloadError)
    /// Nothing comes until the transfer is cancelled.
    case silence
  }

  private let answers: [Answer]
  private let asked = Lock(0)

  /// How often the run's own limit is still found to be reached.
  private let limited: Lock<Int>

  init(_ answers: [Answer], limited: Int) {
    self.answers = answers
    self.limited = Lock(limited)
  }

  func isAtLimit(at place: Address) -> Bool {
    limited.withLock { limited in
      limited -= 1
      return limited >= 0
    }
  }

  var count: Int { asked.withLock { $0 } }

  func run(_ transfer: TransferRequest, into sink: any ByteSink) async throws(DownloadError) -> TransferStage {
    let number = asked.withLock { asked in
      asked += 1
      return asked
    }
    switch answers[min(number, answers.count) - 1] {
    case .bytes:
      if let piece = sink as? Piece { piece.file.complete(piece.id) }
      return .ended(TransferReceipt(status: 206, bodyBytes: 0, proof: .length))
    case .failure(let error): throw error
    case .silence:
      try? await Task.sleep(for: .seconds(3600))
      throw .cancelled
    }
  }
}

@Suite("One large file by several transfers: what the end of each of them means", .timeLimit(.minutes(hangMinutes)))
struct SegmentedDownloadTests {
  struct Row: Sendable, CustomTestStringConvertible {
    let testDescription: String
    fileprivate let further: [Further.Answer]
    /// How the first transfer ends.
    var first: DownloadError?
    /// How often a further one is asked for; nil for at least once.
    var count: Int? = 1
    /// Whether the file is not divided any more.
    var refuses = false
    /// What ends it; nil for no failure.
    var failure: DownloadError.Code?
    /// How often the run's own limit is found to hold all transfers back.
    var limited = 0
  }

  private static let reset = DownloadError(.reset, isTransient: true)
  private static let busy = DownloadError(.status, cause: .http(status: 503), isTransient: true)
  private static let noRange = DownloadError(.range, isTransient: true)

  static let rows = [
    Row(testDescription: "further ones bring the end", further: [.bytes], count: nil),
    Row(testDescription: "the server gives no ranges: the first goes on alone", further: [.failure(noRange)]),
    Row(testDescription: "the host takes no more: the first goes on alone", further: [.failure(busy)]),
    Row(
      testDescription: "the server forbids a second connection: the first goes on alone",
      further: [.failure(DownloadError(.status, cause: .http(status: 403)))]),
    Row(
      testDescription: "a passing failure: tried again after a pause", further: [.failure(reset), .bytes], count: nil),
    Row(testDescription: "no byte comes: the file is not divided", further: [.silence], refuses: true),
    Row(
      testDescription: "a failure for good ends all of it", further: [.failure(DownloadError(.diskFull))],
      failure: .diskFull),
    Row(
      testDescription: "the first breaks, and its bytes are missing", further: [.failure(noRange)], first: reset,
      failure: .reset),
    Row(
      testDescription: "the first breaks, and a further one brings the rest", further: [.bytes], first: reset,
      count: nil),
    // The story: with --limit-rate 3M, two files were fetched over sixty-four connections.
    Row(testDescription: "the user's limit is reached: none is asked for", further: [], count: 0, limited: .max),
    // The story: a burst at the start reached the limit, and the file stayed with one slow connection.
    Row(testDescription: "the user's limit is reached at first", further: [.bytes], count: nil, limited: 4),
  ]

  @Test(arguments: rows) func whatAnEndMeans(_ row: Row) async throws {
    let request = DownloadRequest(id: 0, address: try Address("http://a/f"))
    let clock = ManualClock()
    let queue = RequestQueue(
      RequestList([request]), ceiling: 8, retry: RetryPolicy(), clock: clock, random: { 0.5 })
    try await queue.run { shares in
      let share = shares[0]
      _ = await share.next()
      try await check(row, request, share, clock)
      share.ended(request, wasAsked: true)
    }
  }

  /// "over 3 connections" was said where two were open at once: the file's own place counted when the first had ended.
  @Test func theFirstLeavesItsPlaceToAnother() async throws {
    let request = DownloadRequest(id: 0, address: try Address("http://a/f"))
    let clock = ManualClock()
    let queue = RequestQueue(
      RequestList([request]), ceiling: 8, retry: RetryPolicy(), clock: clock, random: { 0.5 })
    try await queue.run { shares in
      _ = await shares[0].next()
      let file = LargeFile(request.address, size: 256 << 20)
      let further = Further([.bytes, .silence], limited: 0)
      let first = RunningTransfer { _ in }
      first.answered((nil, .milliseconds(20)))
      let segmented = SegmentedDownload(
        download: file, meter: TransferMeter(), transport: further, retry: RetryPolicy(), clock: clock, random: { 0.5 },
        share: shares[0], source: try Address("http://a/f"), ceiling: 2, onChange: { _, _ in })
      let run = Task { try? await segmented.run(first) }
      while further.count < 2 {
        clock.advance(by: .milliseconds(5))
        file.receive(100_000)
        try await Task.sleep(for: .milliseconds(1))
      }
      file.complete(OpenSegment.first)
      first.end(.success(TransferReceipt(status: 200, bodyBytes: 1, proof: .length)))
      while further.count < 3 {
        clock.advance(by: .milliseconds(5))
        try await Task.sleep(for: .milliseconds(1))
      }
      run.cancel()
      _ = await run.value
      shares[0].ended(request, wasAsked: true)
    }
    #expect(queue.width.connections == 2)
  }

  /// Its transfers have failed and pause, and the clock stands still: nothing but the stop can end it.
  @Test func aFileThatIsGivenUpInAPauseEndsAtOnce() async throws {
    let request = DownloadRequest(id: 0, address: try Address("http://a/f"))
    let clock = ManualClock()
    let queue = RequestQueue(
      RequestList([request]), ceiling: 8, retry: RetryPolicy(), clock: clock, random: { 0.5 })
    try await queue.run { shares in
      _ = await shares[0].next()
      let file = LargeFile(request.address, size: 256 << 20)
      let further = Further([.failure(Self.reset)], limited: 0)
      let first = RunningTransfer { _ in }
      first.answered((nil, .milliseconds(20)))
      let meter = TransferMeter()
      let segmented = SegmentedDownload(
        download: file, meter: meter, transport: further, retry: RetryPolicy(), clock: clock, random: { 0.5 },
        share: shares[0], source: try Address("http://a/f"), ceiling: 2, onChange: { _, _ in })
      let run = Task { () async -> DownloadError? in
        do throws(DownloadError) { _ = try await segmented.run(first) } catch { return error }
        return nil
      }
      while further.count < 1 {
        clock.advance(by: .milliseconds(5))
        file.receive(100_000)
        try await Task.sleep(for: .milliseconds(1))
      }
      first.end(.failure(Self.reset))
      meter.stop(as: .skipped)
      #expect(await run.value?.code == .cancelled)
      shares[0].ended(request, wasAsked: true)
    }
  }

  private func check(
    _ row: Row, _ request: DownloadRequest, _ share: LoopQueue, _ clock: ManualClock
  ) async throws {
    let file = LargeFile(request.address, size: 64 << 20)
    let further = Further(row.further, limited: row.limited)
    let cancelled = Lock<RunningTransfer?>(nil)
    let first = RunningTransfer { _ in cancelled.withLock { $0 }?.end(.failure(.cancelled)) }
    cancelled.withLock { $0 = first }
    // As from afar, so that it is divided after twenty milliseconds.
    first.answered((nil, .milliseconds(20)))
    let segmented = SegmentedDownload(
      download: file, meter: TransferMeter(), transport: further, retry: RetryPolicy(), clock: clock, random: { 0.5 },
      share: share, source: try Address("http://a/f"), ceiling: 2, onChange: { _, _ in })
    let run = Task { () async -> Result<TransferReceipt, DownloadError> in
      do throws(DownloadError) { return .success(try await segmented.run(first)) } catch { return .failure(error) }
    }
    let isFatal = row.failure != nil && row.first == nil
    var looks = 0
    while further.count < row.further.count
      || !(isFatal || row.count == nil || row.refuses || file.hasFree || row.limited == .max && looks > 100)
      || row.refuses && !file.areRefused
    {
      looks += 1
      // Twenty million bytes a second.
      clock.advance(by: .milliseconds(5))
      file.receive(100_000)
      try await Task.sleep(for: .milliseconds(1))
    }
    if !isFatal {
      if row.first == nil { file.complete(OpenSegment.first) }
      first.end(
        row.first.map { .failure($0) }
          ?? .success(TransferReceipt(status: 200, bodyBytes: 1, proof: .length)))
    }
    let ended = Lock(false)
    async let moving: Void = {
      while !ended.withLock({ $0 }) {
        clock.advance(by: .milliseconds(100))
        try? await Task.sleep(for: .milliseconds(1))
      }
    }()
    let result = await run.value
    ended.withLock { $0 = true }
    await moving
    switch result {
    case .success: #expect(row.failure == nil)
    case .failure(let error): #expect(error.code == row.failure)
    }
    if let count = row.count { #expect(further.count == count) }
    #expect(file.areRefused == row.refuses)
    if row.count == nil { #expect(file.openSegments.isEmpty) }
    cancelled.withLock { $0 = nil }
  }
}
