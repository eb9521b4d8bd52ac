import CCurl
import DownloadModel
import Synchronization

// Long because: which transfers run, wait, end and keep their connections is private to the agent.

/// Owns the easy handles of one loop and is isolated on it: libcurl's callbacks and the tasks that download enter it
/// without a lock and without changing threads.
actor CurlAgent {
  nonisolated let loop: CurlLoop
  nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }

  private let settings: TransferSettings
  /// Every transfer that was ever made, so that libcurl's pointers to them stay valid. Running transfers need no table:
  /// libcurl reports an ended one by pointer, and only cancellations have to search.
  private var transfers: [CurlTransfer] = []
  private var idle: [CurlTransfer] = []
  private var isClosed = false
  /// Descriptors ran out once, so idle connections are not kept for long any more.
  private var isShort = false
  /// How many connections to a host this loop may have; most hosts have no entry.
  private var permits: [String: Int] = [:]
  private let group: TransportGroup
  private var watch = UnansweredWatch()
  private let numbers = Atomic<UInt64>(0)
  private let logins = LoginMemory()
  private var sharing: SharingWait
  /// Prepared, but not added to the loop: transfers that wait for a connection that they may share.
  private var waitingToShare: [CurlTransfer] = []

  init(_ loop: CurlLoop, _ options: TransportOptions) throws(CurlFailure) {
    self.loop = loop
    settings = try TransferSettings(options)
    group = options.group
    sharing = SharingWait(longest: options.sharingWait)
  }

  /// Runs one transfer as `Transport.run` specifies; for any caller.
  /// - Parameter triedProxy: the proxy whose login this transfer tries; it is told when the transfer has ended.
  func run(
    _ request: TransferRequest, into sink: any ByteSink, _ triedProxy: Proxy?
  ) async throws(DownloadError) -> TransferStage {
    let id = nextID()
    let result = await withTaskCancellationHandler {
      await withUnsafeContinuation { begin(request, into: sink, Completion(id, triedProxy, $0)) }
    } onCancel: {
      loop.cancel(Cancellation(id: id, reason: .starter))
    }
    return try result.get()
  }

  /// The same without a job to enter the agent: for callers that are isolated on the loop themselves.
  /// - Parameter isolation: the caller's. The closures below are isolated to it because they name it; otherwise Swift
  ///   6.3 would run them in no isolation, which costs two more jobs for each file.
  func runFromLoop(
    _ request: TransferRequest, into sink: any ByteSink, _ triedProxy: Proxy?, isolation: isolated any Actor
  ) async throws(DownloadError) -> TransferStage {
    let id = nextID()
    let result = await withTaskCancellationHandler {
      _ = isolation
      return await withUnsafeContinuation(isolation: isolation) { continuation in
        assumeIsolated { $0.begin(request, into: sink, Completion(id, triedProxy, continuation)) }
      }
    } onCancel: {
      loop.cancel(Cancellation(id: id, reason: .starter))
    }
    return try result.get()
  }

  var connectionCount: Int { loop.connectionCount }

  private nonisolated func nextID() -> TransferID {
    TransferID(number: numbers.wrappingAdd(1, ordering: .relaxed).newValue)
  }

  /// Adds a transfer to the loop. The completion is called when it has ended, or at once if it cannot begin.
  ///
  /// If the task was cancelled before this, `onCancel` has run, has found nothing and will not run again, so
  /// cancellation is checked here. If it is cancelled from here on, `onCancel` posts the id, which the loop reads only
  /// after this job has registered it.
  private func begin(_ request: TransferRequest, into sink: any ByteSink, _ completion: Completion) {
    do {
      if isClosed || Task.isCancelled { throw DownloadError.cancelled.at(request.address) }
      let transfer = try takeIdle()
      do {
        try transfer.prepare(
          request, into: sink, settings, running: transfers.count - idle.count, connections: loop.connectionCount)
        // Connections that were idle for more than a second are closed when the next transfer looks for one
        // (CURLOPT_MAXAGE_CONN).
        if isShort { try transfer.easy.set(CURLOPT_MAXAGE_CONN, 1) }
        if !waitsToShare(transfer) { try loop.add(transfer.easy) }
        if transfers.count - idle.count == 1 { loop.expectsAnswer() }
      } catch {
        _ = transfer.abort(.cancelled)  // releases the sink
        idle.append(transfer)
        throw error
      }
      transfer.completion = completion
    } catch {
      completion.end(.failure(Self.failure(error).at(request.address)))
    }
  }

  private func takeIdle() throws(CurlFailure) -> CurlTransfer {
    if let transfer = idle.popLast() { return transfer }
    let transfer = try CurlTransfer(settings, logins, on: loop, group)
    transfers.append(transfer)
    return transfer
  }

  private static func failure(_ error: any Error) -> DownloadError {
    if let error = error as? DownloadError { return error }
    let cause: DownloadError.Cause =
      switch error {
      case let error as CurlFailure: .curl(code: Int32(error.code.rawValue), message: error.message)
      case let error as MultiFailure: .detail(error.message)
      default: .detail("\(error)")
      }
    return DownloadError(.transport, cause: cause, activity: "starting the transfer")
  }

  /// libcurl reports an easy handle as done.
  /// - Parameter handle: the easy handle's address.
  func finish(_ handle: UInt, _ code: CURLcode) {
    guard let easy = UnsafeMutableRawPointer(bitPattern: handle), let transfer = CurlTransfer.of(easy) else { return }
    finish(transfer, code)
  }

  private func finish(_ transfer: CurlTransfer, _ code: CURLcode) {
    switch transfer.finish(code) {
    case .ended(let result): letGo(transfer, with: result)
    case .goesOn: follow(transfer)
    }
  }

  /// Sends the next request of a transfer, on the same easy handle.
  private func follow(_ transfer: CurlTransfer) {
    do {
      try loop.remove(transfer.easy)
      try transfer.follow(settings)
      try loop.add(transfer.easy)
    } catch {
      letGo(transfer, with: transfer.abort(Self.failure(error)))
    }
  }

  /// Ends transfers whose answer is known but whose body did not end in time.
  /// - Returns: when the next of them is due.
  func endDrained(at now: UInt64) -> UInt64? {
    var next: UInt64?
    for transfer in transfers where transfer.completion != nil {
      guard let end = transfer.drainDeadline else { continue }
      if end <= now {
        finish(transfer, CURLE_OK)
      } else {
        next = min(next ?? end, end)
      }
    }
    return next
  }

  /// Decodes further pieces of the bodies that wait for it.
  func decodeOn() {
    for transfer in transfers where transfer.isBehind && transfer.completion != nil {
      let code = transfer.easy.goOn()
      if code != CURLE_OK { finish(transfer, code) }
    }
  }

  /// Removes cancelled transfers, except those that their sinks keep.
  func cancel(_ cancellations: [Cancellation]) {
    let reasons = Dictionary(grouping: cancellations, by: \.id)
    for transfer in transfers {
      // If the transfer is not found, it ended while its cancellation was on the way.
      guard let id = transfer.completion?.id, let reasons = reasons[id] else { continue }
      if !reasons.allSatisfy({ transfer.isKept(after: $0.reason) }) {
        letGo(transfer, with: transfer.abort(.cancelled))
      }
    }
  }

  func details(of meter: TransferMeter) -> [TransferDetails] {
    transfers.filter { $0.completion != nil && $0.meter === meter }
      .sorted { ($0.completion?.id.number ?? 0) < ($1.completion?.id.number ?? 0) }.map(\.details)
  }

  /// Ends the transfers that fill a file.
  /// - Returns: whether there were any.
  func cancel(_ meter: TransferMeter) -> Bool {
    let own = transfers.filter { $0.completion != nil && $0.meter === meter }
    for transfer in own { letGo(transfer, with: transfer.abort(.cancelled)) }
    return !own.isEmpty
  }

  /// All transfers were held for so many nanoseconds.
  func wereHeld(for time: UInt64) {
    for transfer in transfers where transfer.completion != nil { transfer.wasHeld(for: time, settings) }
  }

  /// Ends transfers that have stalled.
  /// - Parameter time: nanoseconds since the last check.
  /// - Returns: whether any transfer goes on.
  func endStalled(_ stalls: StallWatch, after time: UInt64) -> Bool {
    var goesOn = false
    for transfer in transfers where transfer.completion != nil {
      if transfer.hasStalled(stalls, after: time) {
        letGo(transfer, with: transfer.abort(stalls.failure))
      } else {
        goesOn = true
      }
    }
    return goesOn
  }

  /// The loop itself is broken (out of memory, out of descriptors): fails all transfers, so that no task waits for
  /// ever.
  func failAll(_ message: String) {
    let error = DownloadError(
      .transport, cause: .detail(message), activity: "waiting for the network", isTransient: true)
    waitingToShare = []
    for transfer in transfers { letGo(transfer, with: transfer.abort(error)) }
  }

  /// Ends everything; later transfers are refused.
  func close() {
    isClosed = true
    // Else the end of one would begin those that wait for it.
    waitingToShare = []
    for transfer in transfers { letGo(transfer, with: transfer.abort(.cancelled)) }
    if watch.isOn { group.unwatch() }
    watch = UnansweredWatch()
    group.leave(self)
    idle = []
    transfers = []
  }

  /// The easy handle leaves the multi handle first; then the completion is called.
  private func letGo(_ transfer: CurlTransfer, with result: Result<TransferReceipt, DownloadError>) {
    guard let completion = transfer.completion else { return }  // idle
    note(transfer, result)
    if case .failure(let error) = result, error.code == .resources {
      if !isShort { loop.keepFewerConnections() }
      isShort = true
    }
    transfer.completion = nil
    let wasWaiting = waitingToShare.firstIndex { $0 === transfer }
    if let wasWaiting { waitingToShare.remove(at: wasWaiting) }
    do throws(MultiFailure) {
      // Does nothing for a transfer that has not begun.
      try loop.remove(transfer.easy)
      idle.append(transfer)
      if case .failure = result, let socket = transfer.answerWait.socket { loop.forgetIfClosed(socket) }
      if !permits.isEmpty, let host = transfer.destination?.hostAndPort { trim(host) }
    } catch {
      // libcurl does not know the handle: it is not used again, and its result stands.
      assertionFailure("curl_multi_remove_handle: \(error.message)")
    }
    if wasWaiting == nil, sharing.isOn, let host = transfer.destination?.hostAndPort, sharing.meet(host) {
      beginWaiting(for: host, isFresh: false)
    }
    completion.end(result)
  }

  // MARK: Connections that transfers share (HTTP/2)

  /// Whether a transfer that is about to begin waits instead.
  private func waitsToShare(_ transfer: CurlTransfer) -> Bool {
    guard let place = transfer.destination, settings.mayShareConnections(to: place),
      !sharing.mayBegin(place.hostAndPort, at: monotonicNanoseconds()), let deadline = sharing.deadline
    else { return false }
    waitingToShare.append(transfer)
    loop.look(at: deadline)
    return true
  }

  /// Begins transfers that have waited in vain for a connection to share.
  /// - Returns: when the next of them are due.
  func endSharingWaits(at now: UInt64) -> UInt64? {
    for host in sharing.overdue(at: now) { beginWaiting(for: host, isFresh: true) }
    return waitingToShare.isEmpty ? nil : sharing.deadline
  }

  /// - Parameter isFresh: whether each gets a connection of its own.
  private func beginWaiting(for host: String, isFresh: Bool) {
    let ready = waitingToShare.filter { $0.destination?.hostAndPort == host }
    if ready.isEmpty { return }
    waitingToShare.removeAll { $0.destination?.hostAndPort == host }
    for transfer in ready {
      do {
        if isFresh { try transfer.useFreshConnection() }
        try loop.add(transfer.easy)
      } catch {
        letGo(transfer, with: transfer.abort(Self.failure(error)))
      }
    }
  }

  // MARK: How many connections a host takes (HTTP rules 37, 38)

  /// Sets how many connections to some hosts this loop may have.
  func keep(_ wanted: [ConnectionLimit]) {
    for wanted in wanted {
      permits[wanted.host] = wanted.count
      trim(wanted.host)
    }
  }

  /// Closes idle connections of a host beyond the number that this loop may have.
  private func trim(_ host: String) {
    guard let permits = permits[host] else { return }
    let idle = loop.idleConnections(to: host)
    // Counts only connections that have brought an answer, because the requests on the others are about to be returned.
    let busy = busyConnections(to: host)
    for socket in idle.prefix(max(0, idle.count + busy - permits)) { loop.end(idleConnection: socket) }
  }

  /// Learns from a transfer that ended, where that helps requests that wait.
  private func note(_ transfer: CurlTransfer, _ result: Result<TransferReceipt, DownloadError>) {
    let receipt = if case .success(let receipt) = result { receipt } else { TransferReceipt?.none }
    let isFirst = receipt != nil && !transfer.reusedConnection
    // Nothing can be learnt from most transfers.
    guard isFirst || transfer.answerWait.isTrial || group.isWatched, let host = transfer.destination?.hostAndPort else {
      return
    }
    if transfer.answerWait.isTrial, let waited = transfer.answerWait.before {
      let time = receipt == nil ? nil : transfer.answerTime
      group.change(host) { $0.ended(waited: waited, answered: time) }
    }
    if isFirst { watch.answered(host, after: transfer.answerTime) }
    if receipt != nil, group.isWatched { watch.count(host) }
  }

  /// Looks for requests that a host leaves unanswered while it answers others.
  /// - Parameter time: nanoseconds since the last check, as far as they count.
  /// - Returns: whether any request waits for the first answer of its connection.
  func watchUnanswered(after time: UInt64) -> Bool {
    // Under a rate limit, an answer may be there but not read yet.
    if settings.sharesConnections || settings.rateLimit != nil { return false }
    var waits: [String: LongestWaits] = [:]
    var isWaiting = false
    for transfer in transfers where transfer.completion != nil {
      isWaiting = isWaiting || transfer.wait != nil
      guard transfer.passTime(time), let wait = transfer.wait, let host = transfer.destination?.hostAndPort else {
        continue
      }
      if wait >= OvertakenRule.leastWait {
        waits[host, default: LongestWaits()].add(wait, isUnsent: transfer.isUnsent)
      }
    }
    if watch.isOn != isWaiting { isWaiting ? group.watch() : group.unwatch() }
    watch.set(isOn: isWaiting, hosts: Set(waits.keys))
    if !waits.isEmpty, watch.begin() {
      // No task waits for this one: it asks the other loops, each on its own thread, and ends.
      Task { await judge(waits) }
    }
    return isWaiting
  }

  /// Of the requests to one host.
  private struct LongestWaits {
    private(set) var all: UInt64 = 0
    /// Of those whose connections are not up.
    private(set) var unsent: UInt64 = 0

    mutating func add(_ wait: UInt64, isUnsent: Bool) {
      all = max(all, wait)
      if isUnsent { unsent = max(unsent, wait) }
    }
  }

  private func judge(_ waits: [String: LongestWaits]) async {
    for (host, wait) in waits {
      var facts = OvertakenRule.Facts()
      for agent in group.agents {
        let (busy, idle, answers, first) = await agent.facts(of: host)
        facts.add(busy: busy, idle: idle, answers: answers, firstAnswer: first)
      }
      let trials = group.trials(at: host)
      switch OvertakenRule.judge(
        wait: wait.all, unsent: wait.unsent, longest: settings.longestWait, facts, since: watch.mark(host), trials)
      {
      case .wait: break
      case .tryOne(let loop, let isIdle): tryOne(host, on: loop, isIdle: isIdle)
      case .move(let loop): move(host, to: loop)
      case .giveBack(let answering):
        for agent in group.agents { await agent.giveBack(host, answering, on: facts.bestLoop) }
      }
      watch.see(host, facts)
    }
    watch.end()
  }

  /// How many connections have brought an answer and have a transfer now.
  private func busyConnections(to host: String) -> Int {
    transfers.count { $0.completion != nil && $0.destination?.hostAndPort == host && $0.isAnswered }
  }

  /// What this loop knows of a host.
  private func facts(of host: String) -> (busy: Int, idle: Int, answers: Int, firstAnswer: UInt64) {
    (
      busyConnections(to: host), loop.idleConnections(to: host).count, watch.answers(of: host),
      watch.firstAnswer(of: host)
    )
  }

  /// Returns the request that has waited longest, so that it is asked again on a loop that has an answering connection.
  private func tryOne(_ host: String, on loop: Int, isIdle: Bool) {
    // A request that was returned before must wait longer each time.
    let waiting = waiting(for: host).filter { $0.wait / 2 >= $0.transfer.answerWait.before ?? 0 }
    guard let longest = waiting.max(by: { $0.wait < $1.wait }) else { return }
    group.change(host) { $0.pending += 1 }
    giveBack(longest.transfer, after: longest.wait, on: loop, isIdle: isIdle)
  }

  /// Returns the request that has waited longest for its connection, so that it is asked on an idle one.
  private func move(_ host: String, to loop: Int) {
    let unsent = waiting(for: host).filter(\.transfer.isUnsent)
    guard let longest = unsent.max(by: { $0.wait < $1.wait }) else { return }
    group.change(host) { $0.pending += 1 }
    giveBack(longest.transfer, after: longest.wait, on: loop, isIdle: true)
  }

  private func giveBack(_ host: String, _ answering: [Int], on loop: Int) {
    for (transfer, wait) in waiting(for: host)
    where wait >= OvertakenRule.leastWait && wait / 2 >= transfer.answerWait.before ?? 0 {
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
        DownloadError(.unanswered, activity: "waiting for the answer", isTransient: true, overtaken: overtaken)))
  }

  /// Requests to a host that wait for the first answer of their connection, and for how many nanoseconds.
  private func waiting(for host: String) -> [(transfer: CurlTransfer, wait: UInt64)] {
    transfers.compactMap { transfer in
      guard transfer.completion != nil, transfer.destination?.hostAndPort == host, let wait = transfer.wait else {
        return nil
      }
      return (transfer, wait)
    }
  }
}
