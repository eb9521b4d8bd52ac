import CurlTransport
import DownloadCaching
package import DownloadModel
package import DownloadScheduling
package import FileReceiving
import Synchronization

/// One run over network loops: a queue, a downloader on each loop, and the lanes of a strategy.
package final class DownloadRun: Sendable {
  /// Controls of a run that is in progress.
  private struct Running {
    let queue: RequestQueue
    let downloaders: [Downloader]
    /// Receives the share of one more lane.
    let addLane: AsyncStream<Int>.Continuation
  }

  private struct State {
    /// `nil` before and after the run.
    var running: Running?
    var isPaused = false
  }

  private let loops: [NetworkLoops.Loop]
  private let plan: RunPlan
  private let feed: ProgressFeed
  private let store: (any DownloadStore)?
  private let clock = PausableClock()
  private let state = Lock(State())

  /// - Parameter store: stores the received bytes; `nil` for the loops' own caches.
  package init(_ plan: RunPlan, over loops: NetworkLoops, feed: ProgressFeed, store: (any DownloadStore)? = nil) {
    var plan = plan
    plan.widths = Array(plan.widths.prefix(loops.all.count))
    let first = plan.firstLoop
    self.loops = plan.widths.indices.map { loops.all[(first + $0) % loops.all.count] }
    (self.plan, self.feed, self.store) = (plan, feed, store)
  }

  /// Downloads everything that the source gives: a share of the lanes on each loop.
  package func run(_ source: some RequestSource, news: Downloader.News) async -> RunWidth {
    await withTaskCancellationHandler {
      await download(source, news: news)
    } onCancel: {
      loops.first?.cache.stopWaiting()
    }
  }

  private func download(_ source: some RequestSource, news: Downloader.News) async -> RunWidth {
    let queue = queue(over: source)
    feed.hosts(from: { [plan] in (queue.waits, plan.sharesConnections ? 0 : queue.further) })
    // The queue holds the feed's counter, so the feed must not keep holding the queue.
    defer { feed.hosts(from: nil) }
    async let _: Void = flushRows()
    await queue.run { shares in
      let downloaders = loops.map { downloader(on: $0, news) }
      let (added, addLane) = AsyncStream<Int>.makeStream()
      let isPaused = state.withLock { state in
        state.running = Running(queue: queue, downloaders: downloaders, addLane: addLane)
        return state.isPaused
      }
      if isPaused { queue.pause(true) }
      await runLanes(and: added) { [loops] index, width in
        Lane(downloaders[index], on: loops[index].transport.taskExecutor, from: shares[index], width: width)
      }
    }
    for (request, kept) in queue.unfinished {
      let result = DownloadResult.failure(.cancelled.at(request.address))
      feed.end(request, result, kept: kept)
      news.onEnd(request, result)
    }
    var width = queue.width
    if plan.sharesConnections { width.connections = width.peak }
    return width
  }

  /// Writes the rows of finished files, again and again until the lanes have ended, and then once more.
  private func flushRows() async {
    var isOver = false
    while !isOver {
      // A clock's sleep ends early only for a cancelled task.
      isOver = (try? await Task.sleep(for: DownloadCache.longestWait)) == nil
      // Unstructured, because the end of the lanes cancels this task, and must not cut a write short that waits for
      // another process. A cancelled run does so.
      await Task { await loops.first?.cache.flush() }.value
    }
  }

  /// Runs the strategy's lanes. Lanes that are added before the strategy ends run beside it, as plain loops.
  private func runLanes(
    and added: AsyncStream<Int>, _ lane: @escaping @Sendable (_ share: Int, _ width: Int) -> Lane
  ) async {
    async let extra: Void = withDiscardingTaskGroup { group in
      for await share in added { group.addTask { await lane(share, 1).run(SequentialStrategy()) } }
    }
    await withTaskGroup { group in
      for (share, width) in plan.widths.enumerated() {
        group.addTask { [plan] in await lane(share, width).run(plan.strategy) }
      }
    }
    state.withLock { $0.running.take() }?.addLane.finish()
    await extra
  }

  private func queue(over source: some RequestSource) -> RequestQueue {
    RequestQueue(
      source, ceiling: plan.ceiling, lowered: plan.lowered, opening: plan.opening, widths: plan.widths,
      adaptive: plan.adaptive, received: { [feed] in feed.counter.value }, retry: plan.retry, clock: clock,
      random: { Double.random(in: 0..<1) }, order: plan.order, looksAhead: plan.looksAhead,
      rates: plan.rates,
      notes: loops.first?.cache.claims, isBackground: plan.isBackground,
      connections: { [loops] host in loops.map { $0.transport.connections(to: host) } },
      limitConnections: { [loops] host, quotas in
        for (index, loop) in loops.enumerated() { loop.transport.keep(connectionsTo: host, atMost: quotas?[index]) }
      })
  }

  private func downloader(on loop: NetworkLoops.Loop, _ news: Downloader.News) -> Downloader {
    Downloader(
      on: loop.transport.serialExecutor, store: store ?? loop.cache, transport: loop.transport, feed: feed,
      retry: plan.retry,
      clock: clock, random: { Double.random(in: 0..<1) }, segments: plan.segments, news: news)
  }

  // MARK: During the run

  /// Pauses or resumes the run: while paused, no file starts, no byte is sent or received, and no time limit counts.
  package func pause(_ isPaused: Bool) {
    for loop in loops { loop.transport.hold(isPaused) }
    clock.pause(isPaused)
    feed.pause(isPaused)
    let running = state.withLock { state in
      state.isPaused = isPaused
      return state.running
    }
    running?.queue.pause(isPaused)
  }

  /// Starts no more files, and ends with those in flight.
  package func endSoon() { state.withLock { $0.running }?.queue.endSoon() }

  /// Adds requests as if they were at the end of the list; their numbers are greater than all of its.
  /// - Parameter keepers: the change in the number of callers that may still add requests and so keep the run open.
  /// - Returns: false before and after the run.
  package func add(_ requests: [DownloadRequest], keepers: Int = 0) -> Bool {
    guard state.withLock({ $0.running })?.queue.add(requests, keepers: keepers) == true else { return false }
    feed.add(requests.count)
    return true
  }

  /// Changes the number of files at a time.
  /// - Returns: the new number; `nil` before and after the run.
  package func widen(by change: Int) -> Int? {
    guard let running = state.withLock({ $0.running }) else { return nil }
    let (count, newLane) = running.queue.widen(by: change, most: Self.mostLanes)
    if let newLane { running.addLane.yield(newLane) }
    feed.width(count)
    return count
  }

  /// A higher number of files at a time is useless.
  private static let mostLanes = 512

  /// Lets files that have not started go before all others.
  package func prefer(_ ids: Set<Int>) { state.withLock { $0.running }?.queue.prefer(ids) }

  /// Ends files with an error for this run, and keeps their downloaded parts. Files in flight are found in the feed, so
  /// that must have a reader of more than totals.
  package func giveUp(_ ids: Set<Int>, as error: DownloadError) async {
    guard let running = state.withLock({ $0.running }) else { return }
    for downloader in running.downloaders { await downloader.giveUp(ids, as: error, in: running.queue) }
  }
}

extension ProcessClaims: HostNotes {}
