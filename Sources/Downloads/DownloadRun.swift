import CurlTransport
import DownloadCaching
package import DownloadModel
package import DownloadScheduling
import Synchronization

/// How one run goes, as values: made from a command line's settings, or from those of this library.
package struct RunPlan: Sendable {
  package var strategy: any DownloadStrategy
  /// Files at a time on each loop; as many loops are used as there are widths.
  package var widths: [Int]
  /// Transfers of one large file at a time, at most.
  package var segments: Int
  /// Finds how many files at a time are good, within the widths; nil for as many as there are lanes.
  package var adaptive: AdaptiveConcurrency?
  /// Files of one host at a time, at most.
  package var ceiling: Int
  package var retry: RetryPolicy
  package var order = RequestOrder.list
  /// Whether the list is read ahead for urgent requests from the beginning.
  package var looksAhead = false
  /// Which loop comes first, by its number.
  var firstLoop = 0

  package init(
    _ strategy: any DownloadStrategy, _ concurrency: RunConcurrency, ceiling: Int, retry: RetryPolicy
  ) {
    (self.strategy, self.ceiling, self.retry) = (strategy, ceiling, retry)
    (widths, segments) = (concurrency.widths, concurrency.segments)
  }
}

/// One run over network loops: a queue, a downloader on each loop, and the lanes of a strategy.
package final class DownloadRun: Sendable {
  /// What can be changed of a run while it goes on.
  private struct Running {
    let queue: RequestQueue
    /// In the order of the loops.
    let downloaders: [Downloader]
    /// Begins one more lane over a loop's share.
    let addLane: @Sendable (_ share: Int) -> Void
  }

  private struct State {
    /// Nil before and after the run.
    var running: Running?
    var isPaused = false
  }

  private let loops: [NetworkLoops.Loop]
  private let plan: RunPlan
  private let feed: ProgressFeed
  private let clock = PausableClock()
  private let state = Lock(State())

  /// - Parameter feed: is told of each step of each file.
  package init(_ plan: RunPlan, over loops: NetworkLoops, feed: ProgressFeed) {
    var plan = plan
    plan.widths = Array(plan.widths.prefix(loops.all.count))
    let first = plan.firstLoop
    self.loops = plan.widths.indices.map { loops.all[(first + $0) % loops.all.count] }
    (self.plan, self.feed) = (plan, feed)
  }

  /// Downloads everything that the source gives: a share of the lanes on each loop.
  /// - Parameters:
  ///   - scopes: by which single downloads are cancelled; nil where the list cannot change.
  ///   - news: of what happens to files, told at once, on their loops' threads.
  /// - Returns: how many files went at a time, and why.
  package func run(
    _ source: some RequestSource, scopes: DownloadScopes? = nil, news: Downloader.News
  ) async -> RunWidth {
    let queue = queue(over: source)
    scopes?.attach(queue) { news.onEnd($0, .failure(.cancelled)) }
    feed.hosts(from: { queue.waits })
    // The queue has what reads the feed's counter.
    defer { feed.hosts(from: nil) }
    let (more, addLane) = AsyncStream<Int>.makeStream()
    await queue.run { shares in
      let downloaders = loops.map { downloader(on: $0, news) }
      func lane(_ index: Int, width: Int) -> Lane {
        Lane(
          downloaders[index], on: loops[index].transport.taskExecutor, from: shares[index], width: width, scopes: scopes
        )
      }
      begin(Running(queue: queue, downloaders: downloaders) { addLane.yield($0) })
      async let extra: Void = withDiscardingTaskGroup { group in
        // Each is one file after the other, whatever the strategy is.
        for await index in more {
          let lane = lane(index, width: 1)
          group.addTask { await lane.run(SequentialStrategy()) }
        }
      }
      await withTaskGroup { group in
        for (index, width) in plan.widths.enumerated() {
          let lane = lane(index, width: width)
          group.addTask { [plan] in await lane.run(plan.strategy) }
        }
      }
      state.withLock { $0.running = nil }
      addLane.finish()
      await extra
    }
    return queue.width
  }

  private func queue(over source: some RequestSource) -> RequestQueue {
    RequestQueue(
      source, ceiling: plan.ceiling, widths: plan.widths, adaptive: plan.adaptive,
      received: { [feed] in feed.counter.value }, retry: plan.retry, clock: clock,
      random: { Double.random(in: 0..<1) }, order: plan.order, looksAhead: plan.looksAhead,
      limitConnections: { [loops] host, quotas in
        for (index, loop) in loops.enumerated() {
          loop.transport.keep(connectionsTo: host, atMost: quotas?[index])
        }
      })
  }

  private func downloader(on loop: NetworkLoops.Loop, _ news: Downloader.News) -> Downloader {
    Downloader(
      on: loop.transport.serialExecutor, store: loop.cache, transport: loop.transport, feed: feed, retry: plan.retry,
      clock: clock, random: { Double.random(in: 0..<1) }, segments: plan.segments, news: news)
  }

  private func begin(_ running: Running) {
    let isPaused = state.withLock { state in
      state.running = running
      return state.isPaused
    }
    if isPaused { running.queue.pause(true) }
  }

  // MARK: While it runs

  /// Holds the run, or lets it go on: no file begins, no transfer sends or receives a byte, and no limit of time counts
  /// meanwhile.
  package func pause(_ isPaused: Bool) {
    for loop in loops { loop.transport.hold(isPaused) }
    clock.pause(isPaused)
    let running = state.withLock { state in
      state.isPaused = isPaused
      return state.running
    }
    running?.queue.pause(isPaused)
  }

  /// Takes one file at a time more, or one less.
  /// - Returns: how many; nil before and after the run.
  package func widen(by change: Int) -> Int? {
    guard let running = state.withLock({ $0.running }) else { return nil }
    let (count, newLane) = running.queue.widen(by: change, most: Self.mostLanes)
    if let newLane { running.addLane(newLane) }
    feed.width(count)
    return count
  }

  /// More files at a time are of no use to anybody.
  private static let mostLanes = 512

  /// Gives one file up for this run, and keeps what has come of it.
  package func skip(_ id: Int, _ meter: TransferMeter) async {
    let downloaders = state.withLock { $0.running?.downloaders } ?? []
    for (index, downloader) in downloaders.enumerated() where await downloader.skip(id, meter) {
      for (other, downloader) in downloaders.enumerated() where other != index {
        await downloader.forgetSkip(id)
      }
      return
    }
  }
}
