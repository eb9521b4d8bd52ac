import CCurl
import DownloadModel
import Synchronization

/// Names one transfer of a loop, so that a cancellation that comes late cannot hit the next one.
struct TransferID: Hashable, Sendable { let number: UInt64 }

/// Owns the easy handles of one loop and is isolated on it: libcurl's callbacks and the tasks that download
/// enter it without a lock and without changing threads.
actor CurlAgent {
  nonisolated let loop: CurlLoop
  nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }

  private let settings: TransferSettings
  /// Every transfer that was ever made, so that libcurl's pointers to them stay good. No table of those that run:
  /// libcurl names an ended one by pointer, and only cancellations have to search.
  private var transfers: [CurlTransfer] = []
  private var idle: [CurlTransfer] = []
  private var isClosed = false
  /// Descriptors have run out once: idle connections are then not kept for long.
  private var isShort = false
  /// How many connections a host was seen to take of this loop; none for most.
  private var quotas: [String: Int] = [:]
  private let group: TransportGroup
  private var watch = UnansweredWatch()
  private let numbers = Atomic<UInt64>(0)
  private let logins = LoginMemory()

  init(_ loop: CurlLoop, _ options: TransportOptions) throws(CurlFailure) {
    self.loop = loop
    settings = try TransferSettings(options)
    group = options.group
  }

  /// For any caller.
  /// - Parameter goesOn: whether to return while a splittable body arrives.
  func fetch(_ request: TransferRequest, into sink: any BodySink, goesOn: Bool) async throws(DownloadError)
    -> TransferStage
  {
    let id = nextID()
    let result = await withTaskCancellationHandler {
      await withUnsafeContinuation {
        startUnlessCancelled(id, request, sink, goesOn ? .untilHead($0) : .untilEnd($0))
      }
    } onCancel: {
      loop.cancel(id)
    }
    return try result.get()
  }

  /// The same without entering the agent by a job: for callers that are isolated on the loop themselves.
  /// - Parameter isolation: the caller's. The closures below are in it because they name it; else Swift 6.3 would run
  ///   them in nobody's isolation, two more jobs a file.
  func fetchFromLoop(
    _ request: TransferRequest, into sink: any BodySink, goesOn: Bool, isolation: isolated any Actor
  ) async throws(DownloadError) -> TransferStage {
    let id = nextID()
    let result = await withTaskCancellationHandler {
      _ = isolation
      return await withUnsafeContinuation(isolation: isolation) { continuation in
        assumeIsolated {
          $0.startUnlessCancelled(
            id, request, sink, goesOn ? .untilHead(continuation) : .untilEnd(continuation))
        }
      }
    } onCancel: {
      loop.cancel(id)
    }
    return try result.get()
  }

  private nonisolated func nextID() -> TransferID {
    TransferID(number: numbers.wrappingAdd(1, ordering: .relaxed).newValue)
  }

  /// Cancelled before it began: `onCancel` has run, found nothing, and will not run again, so it is looked at here.
  /// Cancelled from here on: `onCancel` posts the id, which the loop reads only after this job has registered it.
  private func startUnlessCancelled(
    _ id: TransferID, _ request: TransferRequest, _ sink: any BodySink,
    _ waits: CurlTransfer.Asker.Waits
  ) {
    if Task.isCancelled {
      waits.end(.failure(DownloadError.cancelled.at(request.address)))
    } else {
      start(id, request, sink, waits)
    }
  }

  /// Adds a transfer to the loop; whoever waits is told when it has ended, or at once when it cannot begin.
  private func start(
    _ id: TransferID, _ request: TransferRequest, _ sink: any BodySink,
    _ waits: CurlTransfer.Asker.Waits
  ) {
    do {
      if isClosed { throw DownloadError.cancelled.at(request.address) }
      let transfer = try takeIdle()
      do {
        try transfer.prepare(
          request, into: sink, settings, running: transfers.count - idle.count,
          connections: loop.connectionCount)
        // Those idle for longer than a second are closed when the next transfer looks for one (CURLOPT_MAXAGE_CONN).
        if isShort { try transfer.easy.set(CURLOPT_MAXAGE_CONN, 1) }
        try loop.add(transfer.easy)
      } catch {
        _ = transfer.abort(.cancelled)  // lets go of the sink
        idle.append(transfer)
        throw error
      }
      transfer.asker = CurlTransfer.Asker(id: id, waits: waits)
    } catch {
      waits.end(.failure(Self.failure(error, request.address)))
    }
  }

  private func takeIdle() throws(CurlFailure) -> CurlTransfer {
    if let transfer = idle.popLast() { return transfer }
    let transfer = try CurlTransfer(
      settings, logins, loopContext: Unmanaged.passUnretained(loop).toOpaque(),
      cancel: { [loop] id in { loop.cancel(id) } }, onDrain: { [loop] end in loop.look(at: end) },
      onOpen: { [loop, group] socket, host, wasTrial in
        loop.socketDidOpen(socket, for: host)
        // Nothing is learnt from a new connection.
        if wasTrial { group.change(host) { $0.ended() } }
      })
    transfers.append(transfer)
    return transfer
  }

  private static func failure(_ error: any Error, _ address: Address) -> DownloadError {
    if let error = error as? DownloadError { return error }
    let cause: DownloadError.Cause =
      switch error {
      case let error as CurlFailure: .curl(code: Int32(error.code.rawValue), message: error.message)
      case let error as MultiFailure: .detail(error.message)
      default: .detail("\(error)")
      }
    return DownloadError(.transport, cause: cause, address: address.key, activity: "starting the transfer")
  }

  /// libcurl reports an easy handle as done.
  /// - Parameter handle: the easy handle's address.
  func finish(_ handle: UInt, _ code: CURLcode) {
    guard let easy = UnsafeMutableRawPointer(bitPattern: handle), let transfer = CurlTransfer.of(easy) else {
      return
    }
    finish(transfer, code)
  }

  private func finish(_ transfer: CurlTransfer, _ code: CURLcode) {
    switch transfer.finish(code) {
    case .ended(let result): letGo(transfer, with: result)
    case .redirected: follow(transfer)
    }
  }

  /// The next hop of a redirected transfer, on the same easy handle.
  private func follow(_ transfer: CurlTransfer) {
    do {
      try loop.remove(transfer.easy)
      try transfer.follow(settings)
      try loop.add(transfer.easy)
    } catch {
      let failure = transfer.current.map { Self.failure(error, $0.address) } ?? .cancelled
      letGo(transfer, with: transfer.abort(failure))
    }
  }

  /// Ends transfers whose answer is known, and whose body has not come to its end in time.
  /// - Returns: when the next of them is due.
  func endDrained(at now: UInt64) -> UInt64? {
    var next: UInt64?
    for transfer in transfers where transfer.asker != nil {
      guard let end = transfer.current?.drainsUntil else { continue }
      if end <= now {
        finish(transfer, CURLE_OK)
      } else {
        next = min(next ?? end, end)
      }
    }
    return next
  }

  func cancel(_ ids: [TransferID]) {
    let cancelled = Set(ids)
    // One that is not found ended while its cancellation was on the way.
    for transfer in transfers where transfer.asker.map({ cancelled.contains($0.id) }) == true {
      letGo(transfer, with: transfer.abort(.cancelled))
    }
  }

  /// Ends transfers that have stalled.
  /// - Parameter time: nanoseconds since the last look.
  /// - Returns: whether any goes on.
  func endStalled(_ stalls: StallWatch, after time: UInt64) -> Bool {
    var goesOn = false
    for transfer in transfers where transfer.asker != nil {
      if transfer.hasStalled(stalls, after: time) {
        letGo(transfer, with: transfer.abort(stalls.failure))
      } else {
        goesOn = true
      }
    }
    return goesOn
  }

  /// The loop itself is broken (out of memory, out of descriptors): nobody is left waiting.
  func failAll(_ message: String) {
    let error = DownloadError(
      .transport, cause: .detail(message), activity: "waiting for the network", isPassing: true)
    for transfer in transfers { letGo(transfer, with: transfer.abort(error)) }
  }

  /// Ends everything; transfers that come later are refused.
  func close() {
    isClosed = true
    for transfer in transfers { letGo(transfer, with: transfer.abort(.cancelled)) }
    if watch.isOn { group.unwatch() }
    watch = UnansweredWatch()
    group.leave(self)
    idle = []
    transfers = []
  }

  /// The easy handle leaves the multi handle first; then whoever waits goes on.
  private func letGo(_ transfer: CurlTransfer, with result: Result<TransferReceipt, DownloadError>) {
    guard let asker = transfer.asker else { return }  // idle
    note(transfer, result)
    if case .failure(let error) = result, error.code == .resources {
      if !isShort { loop.keepFewerConnections() }
      isShort = true
    }
    transfer.asker = nil
    do throws(MultiFailure) {
      try loop.remove(transfer.easy)
      idle.append(transfer)
      if !quotas.isEmpty, let host = transfer.place?.hostAndPort { trim(host) }
    } catch {
      // libcurl knows no such handle: it is not used again, and its result stands.
      assertionFailure("curl_multi_remove_handle: \(error.message)")
    }
    asker.waits.end(result)
  }

  // MARK: What a host takes (http.md 37, 38)

  func keep(_ wanted: [ConnectionQuota]) {
    for quota in wanted {
      quotas[quota.host] = quota.count
      trim(quota.host)
    }
  }

  /// Closes idle connections of a host beyond what this loop may have.
  private func trim(_ host: String) {
    guard let quota = quotas[host] else { return }
    let idle = loop.idleConnections(to: host)
    // Those that bring answers: what else is under way is about to be given back.
    let busy = busyConnections(to: host)
    for socket in idle.prefix(max(0, idle.count + busy - quota)) { loop.end(idleConnection: socket) }
  }

  /// Learns from a transfer that ended, where that is of use to others that wait.
  private func note(_ transfer: CurlTransfer, _ result: Result<TransferReceipt, DownloadError>) {
    let receipt = if case .success(let receipt) = result { receipt } else { TransferReceipt?.none }
    let isFirst = receipt?.reusedConnection == false
    // Of most transfers there is nothing to learn.
    guard isFirst || transfer.isTrial || group.isWatched, let host = transfer.place?.hostAndPort else {
      return
    }
    if transfer.isTrial, let waited = transfer.waitedBefore {
      let time = receipt == nil ? nil : transfer.answerTime
      group.change(host) { $0.ended(waited: waited, answered: time) }
    }
    if isFirst { watch.answered(host, after: transfer.answerTime) }
    if receipt != nil, group.isWatched { watch.count(host) }
  }

  /// Looks for requests that a host leaves unanswered while it answers others.
  /// - Parameter time: nanoseconds since the last look, as far as they count.
  /// - Returns: whether any waits for the first answer of its connection.
  func watchUnanswered(after time: UInt64) -> Bool {
    // What a rate limit holds back may have its answer.
    if settings.sharesConnections || settings.rateLimit != nil { return false }
    var waits: [String: UInt64] = [:]
    var isWaiting = false
    for transfer in transfers where transfer.asker != nil {
      isWaiting = isWaiting || transfer.wait != nil
      guard transfer.passTime(time), let wait = transfer.wait, let host = transfer.place?.hostAndPort else {
        continue
      }
      if wait >= OvertakenRule.leastWait { waits[host] = max(waits[host] ?? 0, wait) }
    }
    if watch.isOn != isWaiting { isWaiting ? group.watch() : group.unwatch() }
    watch.set(isOn: isWaiting, hosts: waits)
    if !waits.isEmpty, watch.begin() {
      // Nobody waits for it: it asks the other loops, each on its own thread, and ends.
      Task { await judge(waits) }
    }
    return isWaiting
  }

  private func judge(_ waits: [String: UInt64]) async {
    for (host, wait) in waits {
      var facts = OvertakenRule.Facts()
      for agent in group.agents {
        let (busy, idle, answers, first) = await agent.facts(of: host)
        facts.add(busy: busy, idle: idle, answers: answers, firstAnswer: first)
      }
      let trials = group.trials(at: host)
      switch OvertakenRule.judge(
        wait: wait, longest: settings.longestWait, facts, since: watch.mark(host), trials)
      {
      case .wait: break
      case .tryOne(let loop, let isIdle): tryOne(host, on: loop, isIdle: isIdle)
      case .giveBack(let answering):
        for agent in group.agents { await agent.giveBack(host, answering, on: facts.bestLoop) }
      }
      watch.see(host, facts)
    }
    watch.end()
  }

  /// Connections that have brought an answer, and have a transfer now.
  private func busyConnections(to host: String) -> Int {
    transfers.count { $0.asker != nil && $0.place?.hostAndPort == host && $0.isAnswered }
  }

  /// What this loop knows of a host.
  private func facts(of host: String) -> (busy: Int, idle: Int, answers: Int, firstAnswer: UInt64) {
    (
      busyConnections(to: host), loop.idleConnections(to: host).count, watch.answers(of: host),
      watch.firstAnswer(of: host)
    )
  }

  /// Gives the request that has waited longest back, to be asked again on a loop that has an answering connection.
  private func tryOne(_ host: String, on loop: Int, isIdle: Bool) {
    // One that came back waits longer each time.
    let waiting = waiting(for: host).filter { $0.wait / 2 >= $0.transfer.waitedBefore ?? 0 }
    guard let longest = waiting.max(by: { $0.wait < $1.wait }) else { return }
    group.change(host) { $0.pending += 1 }
    giveBack(longest.transfer, after: longest.wait, on: loop, isIdle: isIdle)
  }

  private func giveBack(_ host: String, _ answering: [Int], on loop: Int) {
    for (transfer, wait) in waiting(for: host)
    where wait >= OvertakenRule.leastWait && wait / 2 >= transfer.waitedBefore ?? 0 {
      giveBack(transfer, after: wait, on: loop, answering: answering)
    }
  }

  private func giveBack(
    _ transfer: CurlTransfer, after wait: UInt64, on loop: Int, isIdle: Bool = false, answering: [Int]? = nil
  ) {
    let overtaken = DownloadError.Overtaken(
      waited: .nanoseconds(wait), loop: loop, isIdle: isIdle, answering: answering)
    letGo(
      transfer,
      with: transfer.abort(
        DownloadError(
          .unanswered, activity: "waiting for the answer", isPassing: true, overtaken: overtaken)))
  }

  private func waiting(for host: String) -> [(transfer: CurlTransfer, wait: UInt64)] {
    transfers.compactMap { transfer in
      guard transfer.asker != nil, transfer.place?.hostAndPort == host, let wait = transfer.wait
      else {
        return nil
      }
      return (transfer, wait)
    }
  }
}
