import DownloadModel

/// One large file, fetched by as many transfers as bring more.
///
///     trunk   ├────────────►·······┊···················┊·············┤
///     part 1                       ├───────►···········┊
///     part 2                                           ├─────►·······┤
///
/// The first transfer goes on undisturbed. Others take the end of what it has before it, and ask for it a piece at a
/// time; whoever is free takes half of what would take longest (work stealing), mostly what nobody has asked for yet. All
/// are children of the file's own task.
struct SegmentedTransfer: Sendable {
  let target: any SplittableTarget
  let transport: any Transport
  let retry: RetryPolicy
  let clock: any Clock<Duration>
  let random: @Sendable () -> Double
  let places: HostPlaces
  let ceiling: Int
  /// Told of each change in the number of transfers.
  let onChange: @Sendable (_ count: Int, _ rate: Double?) -> Void

  private enum Event: Sendable {
    case trunk(Result<TransferReceipt, DownloadError>)
    case part(any DownloadTarget, Int, DownloadError?)
    /// A part's failure was waited out.
    case again
    case tick
  }

  private struct State {
    var pace: SegmentPace
    /// Transfers under way: what they began with, and when.
    var running: [Int: (position: Int64, since: Duration)] = [:]
    var failures = 0
    /// Waiting to try again.
    var pausing = 0
    var receipt: TransferReceipt?
    var failure: DownloadError?
    var isFatal = false
  }

  /// - Parameter trunk: the transfer whose body has begun.
  /// - Returns: when nothing is fetched any more; whether that is all, the target knows.
  /// - Throws: a failure that ended it; what came is in the target.
  nonisolated(nonsending) func run(_ trunk: RunningTransfer) async throws(DownloadError) -> TransferReceipt {
    let stopwatch = Stopwatch(clock)
    // It may have ended already, its span with it.
    let spans = target.openSpans
    var state = State(
      pace: SegmentPace(
        ceiling: ceiling, delay: trunk.delay, size: spans.reduce(0) { $0 + $1.length }))
    let begin = spans.first { $0.id == OpenSpan.trunk }?.position ?? 0
    state.running[OpenSpan.trunk] = (begin, .zero)
    await withTaskGroup(of: Event.self) { group in
      group.addTask {
        .trunk(await Self.result { () async throws(DownloadError) in try await trunk.receipt() })
      }
      addTick(after: state.pace.interval(at: .zero), &group)
      while let event = await group.next() {
        take(event, &state)
        if group.isCancelled { continue }
        switch event {
        case .tick:
          let now = stopwatch.elapsed()
          look(at: now, &state)
          addTick(after: state.pace.interval(at: now), &group)
        case .part(_, _, let error?), .trunk(.failure(let error)): pause(after: error, &state, &group)
        default: break
        }
        fill(at: stopwatch.elapsed(), &state, &group)
        if state.isFatal || state.running.isEmpty && state.pausing == 0 || isAllThere(state) {
          group.cancelAll()
        }
      }
    }
    if let failure = state.failure, state.isFatal || !target.openSpans.isEmpty { throw failure }
    return state.receipt
      ?? TransferReceipt(status: 206, bodyBytes: 0, framing: .length, redirectedTo: trunk.answeredBy)
  }

  /// Whether those that are under way have nothing to bring: they wait for answers that others made needless.
  private func isAllThere(_ state: State) -> Bool {
    state.running[OpenSpan.trunk] == nil && target.openSpans.isEmpty
  }

  private static func result<Value: Sendable>(
    _ body: () async throws(DownloadError) -> Value
  ) async -> Result<Value, DownloadError> {
    do throws(DownloadError) { return .success(try await body()) } catch { return .failure(error) }
  }

  private func addTick(after interval: Duration, _ group: inout TaskGroup<Event>) {
    group.addTask { [clock] in
      try? await clock.sleep(for: interval)  // cancelled: the loop sees that itself
      return .tick
    }
  }

  // MARK: What happened

  private func take(_ event: Event, _ state: inout State) {
    switch event {
    case .tick: break
    case .again: state.pausing -= 1
    case .trunk(let result):
      state.running[OpenSpan.trunk] = nil
      release(target, &state)
      switch result {
      case .success(let receipt): state.receipt = receipt
      case .failure(let error): failed(error, &state)
      }
    case .part(let part, let id, let error):
      state.running[id] = nil
      release(part, &state)
      guard let error else {
        state.failures = 0
        return places.giveBack()
      }
      if HostPace.isRefusal(error) {
        places.refused(error)
        state.pace.stop(at: state.running.count)
      } else {
        places.giveBack()
        if error.code == .range { state.pace.stop(at: state.running.count) }
        failed(error, &state)
      }
    }
  }

  private func release(_ part: any DownloadTarget, _ state: inout State) {
    do throws(DownloadError) { try target.release(part) } catch {
      state.failure = error
      state.isFatal = true
    }
  }

  private func failed(_ error: DownloadError, _ state: inout State) {
    // Parts that the server will not give leave the file to those that it does give.
    if error.code == .enough || error.code == .range { return }
    // Taken out, because nothing is left for it to bring.
    if error.code == .cancelled, isAllThere(state) { return }
    if state.failure == nil || !error.isPassing { state.failure = error }
    if !error.isPassing { state.isFatal = true }
  }

  private func pause(after error: DownloadError, _ state: inout State, _ group: inout TaskGroup<Event>) {
    // Of a file that is not split, the failure is told as it is.
    guard error.isPassing, !HostPace.isRefusal(error), state.pace.wanted > 1 else { return }
    state.failures += 1
    guard
      let delay = retry.delay(after: error, failures: state.failures, elapsed: .zero, random: random())
    else { return state.pace.stop(at: state.running.count) }
    state.pausing += 1
    group.addTask { [clock] in
      try? await clock.sleep(for: delay)  // cancelled: the loop sees that itself
      return .again
    }
  }

  // MARK: What is to be done

  private func look(at now: Duration, _ state: inout State) {
    let spans = target.openSpans
    let remaining = spans.reduce(0) { $0 + $1.length }
    // One that has been overtaken waits for its answer without a span: it has brought nothing.
    let allFlow = state.running.allSatisfy { id, begun in
      spans.contains { $0.id == id && $0.position > begun.position }
    }
    if state.pace.look(at: now, remaining: remaining, active: state.running.count, allFlow: allFlow) {
      onChange(state.pace.wanted, state.pace.rate)
    }
  }

  /// Starts transfers up to the number that is wanted, as far as there is something for them to do.
  private func fill(at now: Duration, _ state: inout State, _ group: inout TaskGroup<Event>) {
    if state.pace.wanted > 1 { target.ask(for: state.pace.piece) }
    while state.pace.wanted > 1, state.running.count + state.pausing < state.pace.wanted {
      let spans = target.openSpans
      guard let choice = choose(spans, at: now, state), places.take() else { return }
      let part: (id: Int, target: any DownloadTarget)?
      do throws(DownloadError) { part = try target.takePart(of: choice.span, from: choice.offset) } catch {
        places.giveBack()
        return failed(error, &state)
      }
      guard let (id, target) = part else { return places.giveBack() }
      state.running[id] = (choice.offset, now)
      if let patience = state.pace.patienceWithProbe {
        group.addTask { .part(target, id, await probe(target, id, from: choice.offset, patience)) }
      } else {
        group.addTask { [transport] in .part(target, id, await Self.fetch(target, transport)) }
      }
    }
  }

  private func choose(_ spans: [OpenSpan], at now: Duration, _ state: State) -> SegmentChoice? {
    var rates: [Int: Double] = [:]
    for span in spans {
      guard let begun = state.running[span.id], now > begun.since, span.position > begun.position else {
        continue
      }
      rates[span.id] = Double(span.position - begun.position) / ((now - begun.since) / .seconds(1))
    }
    let typical = rates.isEmpty ? 1 : rates.values.reduce(0, +) / Double(rates.count)
    return SegmentChoice.next(spans, rates: rates, typical: typical, worthwhile: state.pace.worthwhile)
  }

  /// The first part, to its end; or given up if nothing comes. A cache that fetches the file from its start for each
  /// request would halve what the first transfer gets, for as long as the part waits for its turn.
  private func probe(
    _ part: any DownloadTarget, _ id: Int, from offset: Int64, _ patience: Duration
  ) async -> DownloadError? {
    await withTaskGroup(of: (isOver: Bool, error: DownloadError?).self) { group in
      group.addTask { [transport] in (true, await Self.fetch(part, transport)) }
      group.addTask { [clock] in
        try? await clock.sleep(for: patience)  // cancelled: the part is over
        return (false, nil)
      }
      defer { group.cancelAll() }
      while let (isOver, error) = await group.next() {
        if isOver { return error }
        // Without a span it has been overtaken.
        let hasBegun = target.openSpans.contains { $0.id == id && $0.position > offset }
        if hasBegun || group.isCancelled { continue }
        target.refuseParts()
        group.cancelAll()
        _ = await group.next()
        return DownloadError(.range, cause: .detail("no part came"), activity: "splitting")
      }
      return nil
    }
  }

  /// A part, to its end.
  private static func fetch(_ part: any DownloadTarget, _ transport: any Transport) async -> DownloadError? {
    do throws(DownloadError) {
      while true {
        let receipt = try await transport.fetch(try part.nextTransfer(), into: part)
        // A server may send less than was asked for (RFC 9110 §14.2).
        if try part.isWhole(after: receipt) { return nil }
      }
    } catch {
      return error.code == .enough ? nil : error
    }
  }
}
