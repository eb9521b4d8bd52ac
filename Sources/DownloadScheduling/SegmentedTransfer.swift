import DownloadModel

/// One large file, fetched by as many transfers as bring more.
///
///     trunk   ├────────────►·······┊···················┊·············┤
///     part 1                       ├───────►···········┊
///     part 2                                           ├─────►·······┤
///
/// The first transfer goes on undisturbed. Others take the end of what it has before it; whoever is free takes the
/// larger half of what would take longest (work stealing). All are children of the file's own task.
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

  private static let interval = Duration.milliseconds(20)
  /// Once the number stands: a place that another file gives back is found by it.
  private static let longInterval = Duration.milliseconds(250)

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
    var state = State(pace: SegmentPace(ceiling: ceiling, delay: trunk.delay))
    // It may have ended already, its span with it.
    let begin = target.openSpans.first { $0.id == OpenSpan.trunk }?.position ?? 0
    state.running[OpenSpan.trunk] = (begin, .zero)
    await withTaskGroup(of: Event.self) { group in
      group.addTask {
        .trunk(await Self.result { () async throws(DownloadError) in try await trunk.receipt() })
      }
      addTick(after: Self.interval, &group)
      while let event = await group.next() {
        take(event, &state)
        if group.isCancelled { continue }
        switch event {
        case .tick:
          look(at: stopwatch.elapsed(), &state)
          addTick(after: state.pace.isSettled ? Self.longInterval : Self.interval, &group)
        case .part(_, _, let error?), .trunk(.failure(let error)): pause(after: error, &state, &group)
        default: break
        }
        fill(at: stopwatch.elapsed(), &state, &group)
        if state.isFatal || state.running.isEmpty && state.pausing == 0 { group.cancelAll() }
      }
    }
    if let failure = state.failure, state.isFatal || !target.openSpans.isEmpty { throw failure }
    return state.receipt
      ?? TransferReceipt(status: 206, bodyBytes: 0, framing: .length, redirectedTo: trunk.answeredBy)
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
    let allFlow = spans.allSatisfy { span in
      state.running[span.id].map { span.position > $0.position } ?? true
    }
    if state.pace.look(at: now, remaining: remaining, active: state.running.count, allFlow: allFlow) {
      onChange(state.pace.wanted, state.pace.rate)
    }
  }

  /// Starts transfers up to the number that is wanted, as far as there is something for them to do.
  private func fill(at now: Duration, _ state: inout State, _ group: inout TaskGroup<Event>) {
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
      group.addTask { [transport] in .part(target, id, await Self.fetch(target, transport)) }
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
