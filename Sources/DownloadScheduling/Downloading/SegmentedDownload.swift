import DownloadModel

/// One large file, downloaded by as many transfers as make it faster.
///
///     segment 0   ├────────────►·······┊···················┊·············┤
///     segment 1                        ├───────►···········┊
///     segment 2                                            ├─────►·······┤
///
/// The first transfer is not disturbed. A free transfer takes half of the segment that would take longest (work
/// stealing), mostly bytes that no other transfer has requested. All are child tasks of the file's own task.
struct SegmentedDownload {
  let download: any DownloadTarget
  let meter: TransferMeter
  let transport: any Transport
  let retry: RetryPolicy
  let clock: any Clock<Duration>
  let random: @Sendable () -> Double
  /// Each further connection needs a permit of the file's host; the first uses the file's own slot.
  let share: LoopQueue
  let source: Address
  let ceiling: Int
  let onChange: @Sendable (_ count: Int, _ rate: Double?) -> Void

  private enum Event {
    /// A segment's transfer, by the segment's number; only the first one ends with a receipt.
    case ended(Int, TransferReceipt?, DownloadError?)
    /// A pause after a failure is over.
    case again
    case tick
    /// The file was given up, or all else has ended.
    case stopped
  }

  private struct State {
    var planner: SegmentPlanner
    /// Transfers in flight: where and when each started.
    var running: [Int: (position: Int64, since: Duration)]
    var permits = 0
    var failures = 0
    var pausing = 0
    var receipt: TransferReceipt?
    var failure: DownloadError?
    var isFatal = false
  }

  /// - Returns: the receipt, once no transfer is left; the download itself knows whether bytes are missing.
  /// - Throws: the failure that ended it; the download keeps the bytes received.
  nonisolated(nonsending) func run(_ first: RunningTransfer) async throws(DownloadError) -> TransferReceipt {
    let stopwatch = Stopwatch(clock)
    // The transfer may have ended already, and its segment with it.
    let open = download.openSegments
    let begin = open.first { $0.id == OpenSegment.first }?.position ?? 0
    var state = State(
      planner: SegmentPlanner(ceiling: ceiling, delay: first.delay, size: open.reduce(0) { $0 + $1.length }),
      running: [OpenSegment.first: (begin, .zero)])
    let (stops, stop) = AsyncStream<Never>.makeStream()
    meter.onStop { stop.finish() }
    await withTaskGroup(of: Event.self) { group in
      group.addTask {
        do throws(DownloadError) { return .ended(OpenSegment.first, try await first.receipt(), nil) } catch {
          return .ended(OpenSegment.first, nil, error)
        }
      }
      group.addTask {
        for await _ in stops {}
        return .stopped
      }
      send(.tick, after: state.planner.interval(at: .zero), &group)
      fill(at: .zero, &state, &group)
      while let event = await group.next() {
        take(event, &state, &group)
        if group.isCancelled { continue }
        if case .tick = event {
          let now = stopwatch.elapsed()
          look(at: now, &state)
          send(.tick, after: state.planner.interval(at: now), &group)
        }
        if !state.isFatal { fill(at: stopwatch.elapsed(), &state, &group) }
        if state.isFatal || state.running.isEmpty && state.pausing == 0 || isAllThere(state) { group.cancelAll() }
      }
    }
    if let failure = state.failure, state.isFatal || !download.openSegments.isEmpty { throw failure }
    return state.receipt
      ?? TransferReceipt(status: 206, bodyBytes: 0, proof: .length, effectiveURL: first.effectiveURL)
  }

  private func isAllThere(_ state: State) -> Bool {
    state.running[OpenSegment.first] == nil && download.openSegments.isEmpty
  }

  /// - Parameter pause: `nil` sends no event.
  private func send(_ event: Event, after pause: Duration?, _ group: inout TaskGroup<Event>) {
    guard let pause else { return }
    group.addTask { [clock] in
      try? await clock.sleep(for: pause)  // if cancelled, the loop notices by itself
      return event
    }
  }

  // MARK: What happened

  private func take(_ event: Event, _ state: inout State, _ group: inout TaskGroup<Event>) {
    switch event {
    case .tick: break
    case .stopped:
      if group.isCancelled { return }
      state.failure = .cancelled
      state.isFatal = true
    case .again: state.pausing -= 1
    case .ended(let id, let receipt, let error):
      let begun = state.running.removeValue(forKey: id)?.position ?? 0
      let position = download.openSegments.first { $0.id == id }?.position ?? begun
      do { try download.release(id) } catch {
        state.failure = error
        state.isFatal = true
      }
      // Once the first transfer has ended, another one uses the file's slot.
      if id == OpenSegment.first { state.receipt = receipt } else { learn(error, &state) }
      if state.permits > max(0, state.running.count - 1) {
        state.permits -= 1
        share.releasePermit(at: source.hostAndPort, after: id == OpenSegment.first ? nil : error)
      }
      guard let error else { return }
      if id == OpenSegment.first || !endsSplitting(error) { failed(error, &state) }
      if !group.isCancelled { pause(after: error, gain: position - begun, &state, &group) }
    }
  }

  private func learn(_ error: DownloadError?, _ state: inout State) {
    guard let error else { return state.failures = 0 }
    if endsSplitting(error) { state.planner.stop(at: state.running.count) }
  }

  /// Whether a further transfer's failure only means that the file gets no more transfers. Some servers answer 403 to a
  /// second connection.
  private func endsSplitting(_ error: DownloadError) -> Bool {
    error.code == .range || error.isRefusal || error.code == .status && !error.isTransient
  }

  private func failed(_ error: DownloadError, _ state: inout State) {
    // A fatal error has cancelled the others. Without ranges, the transfers that the server does answer download the
    // rest.
    if state.isFatal || error.code == .range { return }
    // The transfer had nothing left to receive.
    if error.code == .cancelled, isAllThere(state) { return }
    if state.failure == nil || !error.isTransient { state.failure = error }
    // `tooSlow` is about the rate of the whole file.
    if !error.isTransient || error.code == .tooSlow { state.isFatal = true }
  }

  /// - Parameter gain: bytes that the transfer received.
  private func pause(
    after error: DownloadError, gain: Int64, _ state: inout State, _ group: inout TaskGroup<Event>
  ) {
    // If only one transfer is wanted, the failure goes to the caller without a pause.
    guard error.isTransient, !error.isRefusal, state.planner.wanted > 1 else { return }
    state.failures = gain < Attempts.progress ? state.failures + 1 : 0
    guard let delay = retry.delay(after: error, failures: state.failures, elapsed: .zero, random: random()) else {
      return state.planner.stop(at: state.running.count)
    }
    state.pausing += 1
    send(.again, after: delay, &group)
  }

  // MARK: The next steps

  private func look(at now: Duration, _ state: inout State) {
    let open = download.openSegments
    let remaining = open.reduce(0) { $0 + $1.length }
    // A transfer whose segment was removed still waits for its answer, so it has received nothing.
    let allFlow = state.running.allSatisfy { id, begun in
      open.contains { $0.id == id && $0.position > begun.position }
    }
    let active = transport.isAtLimit(at: source) ? 0 : state.running.count
    if state.planner.look(at: now, remaining: remaining, active: active, allFlow: allFlow) {
      onChange(state.planner.wanted, state.planner.rate)
    }
  }

  private func fill(at now: Duration, _ state: inout State, _ group: inout TaskGroup<Event>) {
    if state.planner.wanted > 1 { download.ask(for: state.planner.requestSize) }
    while state.planner.wanted > 1, state.running.count + state.pausing < state.planner.wanted {
      // A further connection would only take its share of the rate limit from other files.
      if transport.isAtLimit(at: source) { return }
      guard let choice = choose(at: now, state) else { return }
      let needsPermit = !state.running.isEmpty
      if needsPermit, !share.acquirePermit(at: source.hostAndPort) { return }
      let taken: (id: Int, target: any SegmentTarget)?
      do { taken = try download.takeSegment(of: choice.segment, from: choice.offset) } catch {
        if needsPermit { share.releasePermit(at: source.hostAndPort) }
        return failed(error, &state)
      }
      guard let (id, target) = taken else {
        if needsPermit { share.releasePermit(at: source.hostAndPort) }
        return
      }
      if needsPermit { state.permits += 1 }
      state.running[id] = (choice.offset, now)
      let patience = state.planner.patienceWithProbe
      group.addTask {
        guard let patience else { return .ended(id, nil, await fetch(target)) }
        return .ended(id, nil, await probe(target, id, from: choice.offset, patience))
      }
    }
  }

  private func choose(at now: Duration, _ state: State) -> SegmentChoice? {
    let open = download.openSegments
    var rates: [Int: Double] = [:]
    for segment in open {
      if let begun = state.running[segment.id], now > begun.since, segment.position > begun.position {
        rates[segment.id] = Double(segment.position - begun.position) / ((now - begun.since) / .seconds(1))
      }
    }
    let typical = rates.isEmpty ? 1 : rates.values.reduce(0, +) / Double(rates.count)
    return SegmentChoice.next(open, rates: rates, typical: typical, worthwhile: state.planner.worthwhile)
  }

  /// Downloads the first further segment, and gives it up if no byte arrives in time: a cache that downloads the file
  /// from its start for each request would halve the speed of the first transfer meanwhile.
  private func probe(
    _ target: any SegmentTarget, _ id: Int, from offset: Int64, _ patience: Duration
  ) async -> DownloadError? {
    await withTaskGroup(of: (isOver: Bool, error: DownloadError?).self) { group in
      group.addTask { (true, await fetch(target)) }
      group.addTask { [clock] in
        try? await clock.sleep(for: patience)  // if cancelled, the segment has ended
        return (false, nil)
      }
      defer { group.cancelAll() }
      while let (isOver, error) = await group.next() {
        if isOver { return error }
        // If the segment is gone, the first transfer has reached it.
        let hasBegun = download.openSegments.contains { $0.id == id && $0.position > offset }
        if hasBegun || group.isCancelled { continue }
        download.refuseSegments()
        group.cancelAll()
        _ = await group.next()
        return DownloadError(.range, cause: .detail("no segment came"), activity: "splitting")
      }
      return nil
    }
  }

  private func fetch(_ target: any SegmentTarget) async -> DownloadError? {
    do {
      while var next = try target.nextTransfer() {
        next.onNews = { share.heard($0, of: source.hostAndPort) }
        // A server may send less than requested (RFC 9110 §14.2).
        if try target.finish(try await transport.fetch(next, into: target)) { return nil }
      }
      return nil
    } catch {
      return error
    }
  }
}
