import CCurl
import DownloadModel
import Synchronization

/// Owns the easy handles of one loop and is isolated on it: libcurl's callbacks and the downloading tasks enter it
/// without a lock and without changing threads.
actor CurlAgent {
  nonisolated let loop: CurlLoop
  nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }

  private let settings: TransferSettings
  /// Every transfer of this agent, so that libcurl's pointers to them stay valid.
  private var transfers: [CurlTransfer] = []
  private var idle: [CurlTransfer] = []
  private var isClosed = false
  /// Descriptors ran out once, so idle connections are no longer kept for long.
  private var isShort = false
  /// How many connections to a host this loop may have; most hosts have no entry.
  private var permits: [String: Int] = [:]
  private var crowded: Set<String> = []
  private(set) var health = HostHealth()
  private let group: TransportGroup
  private let numbers = Atomic<UInt64>(0)

  init(_ loop: CurlLoop, _ options: TransportOptions) throws(CurlFailure) {
    self.loop = loop
    settings = try TransferSettings(options)
    group = options.group
  }

  /// - Parameter isolation: the caller's if it is on the loop, else the agent's. The closures name it to be isolated to
  ///   it; otherwise Swift 6.3 would run them in no isolation, which costs two more jobs for each file.
  func run(
    _ request: TransferRequest, into sink: any ByteSink, _ triedProxy: Proxy?, isolation: isolated any Actor
  ) async throws(DownloadError) -> TransferStage {
    let id = TransferID(number: numbers.wrappingAdd(1, ordering: .relaxed).newValue)
    let result = await withTaskCancellationHandler {
      _ = isolation
      return await withUnsafeContinuation(isolation: isolation) { continuation in
        assumeIsolated { $0.begin(request, into: sink, Completion(id, triedProxy, continuation)) }
      }
    } onCancel: {
      loop.inbox.cancel(Cancellation(id: id, reason: .starter))
    }
    return try result.get()
  }

  /// Cancellation is checked here: an earlier `onCancel` found nothing, and does not run again. A later one posts the
  /// id, which the loop reads only after this job has registered it.
  private func begin(_ request: TransferRequest, into sink: any ByteSink, _ completion: Completion) {
    let isOver = isClosed || Task.isCancelled || request.isStopped
    if isOver { return completion.end(.failure(.cancelled.at(request.address))) }
    do throws(CurlFailure) {
      let transfer = if let known = idle.popLast() { known } else { try makeTransfer() }
      do {
        try transfer.begin(
          request, into: sink, completion, running: transfers.count - idle.count,
          connections: loop.poll.connectionCount)
        if !health.detours.isEmpty { try transfer.take(Array(health.detours.values)) }
        // Closes connections that were idle for over a second when libcurl looks for a connection.
        if isShort { try transfer.easy.set(CURLOPT_MAXAGE_CONN, 1) }
        try loop.add(transfer.easy)
        if transfer.isOverlooked { loop.timers.watchUnanswered(true, at: CurlLoop.now) }
        if transfers.count - idle.count == 1 { loop.expectsAnswer = true }
      } catch {
        // So that the report contains it, too.
        _ = transfer.result(error.error())
        transfer.release()
        idle.append(transfer)
        throw error
      }
    } catch {
      completion.end(.failure(error.error().at(request.address)))
    }
  }

  private func makeTransfer() throws(CurlFailure) -> CurlTransfer {
    let transfer = try CurlTransfer(settings, on: loop)
    transfers.append(transfer)
    return transfer
  }

  /// libcurl has finished the request of a transfer: another one follows on the same easy handle, or this is the end.
  func finish(_ transfer: CurlTransfer, _ code: CURLcode) {
    transfer.requestDidEnd(code)
    let reconnects = transfer.reconnects(after: code)
    guard transfer.goesOn else { return letGo(transfer, with: transfer.result(code)) }
    if let host = transfer.host { note(transfer, of: host, hasAnswer: !reconnects) }
    if reconnects, let socket = transfer.answerWait.socket { loop.poll.forgetIfClosed(socket) }
    do {
      try loop.remove(transfer.easy)
      try transfer.follow()
      try loop.add(transfer.easy)
    } catch {
      letGo(transfer, with: transfer.result(error.error()))
    }
  }

  /// Ends overdue drains, and lets transfers go on that waited for their limit.
  /// - Returns: when the next is due.
  func meetDeadlines(at now: UInt64) -> UInt64? {
    for transfer in transfers {
      if let end = transfer.drainDeadline, end <= now { finish(transfer, CURLE_OK) }
      if transfer.isDue(at: now) { goOn(transfer) }
    }
    return transfers.compactMap { $0.deadline(at: now) }.min()
  }

  func decodeOn() {
    for transfer in transfers where transfer.isBehind { goOn(transfer) }
  }

  private func goOn(_ transfer: CurlTransfer) {
    let code = transfer.goOn()
    if code != CURLE_OK { finish(transfer, code) }
  }

  func cancel(_ cancellations: [Cancellation]) {
    let reasons = Dictionary(grouping: cancellations, by: \.id)
    for transfer in transfers {
      // If the transfer is not found, it ended while its cancellation was queued.
      guard let id = transfer.id, let reasons = reasons[id] else { continue }
      if !reasons.allSatisfy({ transfer.isKept(after: $0.reason) }) {
        letGo(transfer, with: transfer.result(.cancelled))
      }
    }
  }

  func details(of meter: TransferMeter) -> [TransferDetails] {
    transfers.filter { $0.meter === meter }.sorted { ($0.id?.number ?? 0) < ($1.id?.number ?? 0) }
      .map { $0.easy.details }
  }

  func cancel(_ meter: TransferMeter) {
    let own = transfers.filter { $0.meter === meter && !$0.isKept(after: .starter) }
    for transfer in own { letGo(transfer, with: transfer.result(.cancelled)) }
  }

  /// All transfers were paused for this many nanoseconds.
  func wereHeld(for time: UInt64) {
    for transfer in transfers where transfer.isRunning { transfer.wasHeld(for: time) }
  }

  /// - Parameter time: nanoseconds since the last check.
  /// - Returns: whether any transfer is still running.
  func endStalled(_ stalls: StallWatch, after time: UInt64) -> Bool {
    for transfer in transfers where transfer.isRunning {
      if let failure = transfer.slowness(stalls, after: time) {
        letGo(transfer, with: transfer.hasWholeFile ? transfer.result(CURLE_OK) : transfer.result(failure))
      }
    }
    let goesOn = transfers.contains(where: \.isRunning)
    if time > 0 { lookForCollapses(after: time) }
    return goesOn
  }

  // MARK: Hosts whose rate has collapsed (HTTP rule 39)

  private func lookForCollapses(after time: UInt64) {
    let all = Dictionary(grouping: transfers.filter(\.isRunning), by: { $0.host ?? "" })
    health.keepRates(of: all.keys)
    let patience = settings.options.collapseTime.nanoseconds
    for (host, transfers) in all {
      // Under a rate limit, the user determines the throughput.
      if transfers.contains(where: \.isLimited) { continue }
      let coming = transfers.filter { $0.gain != nil }
      let bytes = coming.reduce(0) { $0 + ($1.gain ?? 0) }
      let step = health.paces[host, default: HostPace()].look(bytes, by: coming.count, after: time, patience)
      // Bytes that arrived and are not read wait for this machine's disk.
      if step == .goOn || coming.count(where: { $0.easy.hasUnread }) * 2 > coming.count { continue }
      if case .move(let count) = step {
        // Unstructured: no task waits for it. It looks up the host's addresses, and ends.
        Task { await move(host, count) }
      } else {
        let connections = Array(repeating: (transfers.count + 1) / 2, count: group.agents.count)
        let slow = coming.filter { $0.isAtHome && $0.mayBeContinued }
        requeue(slow.suffix(coming.count / 2), of: host, .limit(to: connections))
      }
    }
  }

  /// Moves the transfers of a host to new connections to its next address, unless all were tried.
  private func move(_ host: String, _ count: Int) async {
    let network = settings.options.network
    guard let place = transfers.first(where: { $0.host == host })?.place, settings.options.proxies[place.scheme] == nil,
      network.usesSystemAddresses
    else { return }
    let known = await settings.options.lookUp(place.host).filter { network.allows($0) }
    let all = transfers.filter { $0.host == host }
    let used = Set(all.compactMap { $0.easy.text(CURLINFO_PRIMARY_IP) })
    guard !isClosed, health.move(place, among: known, besides: used, count: count) else { return }
    // Transfers that cannot continue elsewhere finish where they are; their connections close afterwards.
    do {
      for transfer in all where !transfer.mayBeContinued { try transfer.easy.set(CURLOPT_FORBID_REUSE, 1) }
    } catch { assertionFailure("CURLOPT_FORBID_REUSE takes any number: \(error.message)") }
    let own = group.agents.firstIndex { $0 === self } ?? 0
    requeue(all.filter(\.mayBeContinued)[...], of: host, .retry(loop: own, isIdle: true))
    for socket in loop.poll.idleConnections(to: host) { loop.end(idleConnection: socket) }
  }

  private func requeue(_ slow: ArraySlice<CurlTransfer>, of host: String, _ remedy: HostNews.Remedy) {
    let error = DownloadError(
      .tooSlow, cause: .detail(health.paces[host]?.words ?? ""), activity: "receiving", isTransient: true,
      isRequeued: true)
    for transfer in slow { requeue(transfer, .collapsed(remedy), error) }
  }

  /// Ends a request that has not failed. The queue hears the reason first.
  private func requeue(_ transfer: CurlTransfer, _ news: HostNews, _ error: DownloadError) {
    transfer.tell(news)
    letGo(transfer, with: transfer.result(error))
  }

  /// The loop itself has failed (out of memory, out of descriptors), and no task may wait forever.
  func failAll(_ message: String) {
    endAll(DownloadError(.transport, message, "waiting for the network", isTransient: true))
  }

  private func endAll(_ error: DownloadError) {
    for transfer in transfers { letGo(transfer, with: transfer.result(error)) }
  }

  func close() {
    isClosed = true
    endAll(.cancelled)
    if health.isWatching { group.watch(false) }
    health = HostHealth()
    group.leave(self)
    idle = []
    transfers = []
  }

  /// The easy handle leaves the multi handle first; then the completion is called.
  private func letGo(_ transfer: CurlTransfer, with result: Result<TransferReceipt, DownloadError>) {
    guard let host = transfer.host else { return }  // idle
    let hasAnswer = if case .success = result { true } else { false }
    note(transfer, of: host, hasAnswer: hasAnswer)
    if case .failure(let error) = result, error.code == .resources {
      if !isShort { loop.keepFewerConnections() }
      isShort = true
    }
    let socket = transfer.answerWait.socket
    let completion = transfer.release()
    do {
      try loop.remove(transfer.easy)
      if !health.detours.isEmpty { try transfer.easy.set(CURLOPT_FORBID_REUSE, 0) }
      idle.append(transfer)
      if case .failure = result, let socket { loop.poll.forgetIfClosed(socket) }
      if !permits.isEmpty { crowded.insert(host) }
    } catch {
      // libcurl does not know the handle: it is not used again, and its result is valid.
      assertionFailure("curl_multi_remove_handle: \(error.message)")
    }
    completion?.end(result)
  }

  // MARK: The connection limit of a host (HTTP rules 37, 38)

  func keep(_ wanted: [ConnectionLimit]) {
    for wanted in wanted {
      permits[wanted.host] = wanted.count
      crowded.insert(wanted.host)
    }
  }

  /// Closes idle connections beyond this loop's permits, and those that the server has ended. All finished transfers
  /// must be delivered first: otherwise their connections, which libcurl has made idle, also count as busy.
  func trim() {
    while let host = crowded.popFirst() {
      guard let permits = permits[host] else { continue }
      let idle = loop.poll.idleConnections(to: host)
      // Requests on unanswered connections are about to be requeued, so those connections do not count.
      let busy = transfers.count { $0.host == host && $0.isAnswered }
      let surplus = max(0, idle.count + busy - permits)
      for socket in loop.poll.endedConnections(to: host) + idle.prefix(surplus) { loop.end(idleConnection: socket) }
    }
  }

  // MARK: Requests that a host leaves unanswered (HTTP rule 38)

  private func note(_ transfer: CurlTransfer, of host: String, hasAnswer: Bool) {
    if let waited = transfer.answerWait.trial {
      group.change(host) { $0.ended(waited: waited, answered: hasAnswer ? transfer.answerTime : nil) }
    }
    guard hasAnswer else { return }
    if !transfer.easy.reusedConnection {
      health.answered(host, after: transfer.answerTime, connect: transfer.connectTime)
    }
    if group.isWatched { health.count(host) }
  }

  /// Has the hosts judged that leave requests unanswered while they answer others, which may requeue the requests; and
  /// lets overlooked transfers go on.
  /// - Returns: whether to look again: a request waits for the first answer of its connection (never with HTTP/2 or a
  ///   rate limit), or may be overlooked.
  func watchUnanswered(after time: UInt64) -> Bool {
    let overlooks = transfers.contains(where: \.isOverlooked)
    if overlooks { loop.actOnAll() }
    // Under a rate limit, hosts seem busy for longer than they are.
    if settings.options.usesHTTP2 || settings.options.limits.total.isOn { return overlooks }
    var waits: [String: HostHealth.Waits] = [:]
    var isWaiting = false
    for transfer in transfers where transfer.wait != nil {
      isWaiting = true
      guard transfer.passTime(time), let wait = transfer.wait, wait >= HostHealth.leastWait, transfer.isAtHome,
        let host = transfer.host
      else { continue }
      let isUnaccepted = transfer.isUnaccepted
      if isUnaccepted, transfer.isFurther || !transfer.answerWait.mayConnectAgain { continue }
      waits[host, default: HostHealth.Waits()].add(wait, isUnaccepted: isUnaccepted)
    }
    if health.isWatching != isWaiting { group.watch(isWaiting) }
    health.watch(isWaiting, waits.keys)
    if !waits.isEmpty, !health.isJudging {
      health.isJudging = true
      // Unstructured: no task waits for it. It asks the other loops, each on its own thread, and ends.
      Task { [waits] in await judge(waits) }
    }
    return isWaiting || overlooks
  }

  private func judge(_ waits: [String: HostHealth.Waits]) async {
    for (host, waits) in waits {
      var facts: [HostHealth.Facts] = []
      for agent in group.agents { facts.append(await agent.facts(of: host)) }
      guard let verdict = health.judge(host, waits, longest: settings.longestWait, facts, group.trials(at: host))
      else { continue }
      switch verdict.remedy {
      case .retry: tryOne(host, verdict)
      case .limit: for agent in group.agents { await agent.requeueAll(host, verdict) }
      }
    }
    health.isJudging = false
  }

  private func facts(of host: String) -> HostHealth.Facts {
    let idle = loop.poll.idleConnections(to: host).count
    let all = transfers.filter { $0.host == host }
    return HostHealth.Facts(
      busy: all.count(where: \.isAnswered), idle: idle, accepted: idle + all.count { !$0.isUnaccepted },
      all: idle + all.count, answers: health.answers[host] ?? 0, first: health.firstAnswers[host])
  }

  /// Requeues the request that has waited longest, to be retried on a loop that has a connection for it.
  private func tryOne(_ host: String, _ verdict: HostHealth.Verdict) {
    let meant = unanswered(host, verdict).filter {
      // A cancelled further segment is not requeued.
      !$0.isFurther && $0.answerWait.mayReturn && ($0.answerWait.mayConnectAgain || !$0.isUnaccepted)
    }
    guard let longest = meant.max(by: { $0.answerWait.time < $1.answerWait.time }) else { return }
    group.change(host) { $0.pending += 1 }
    requeue(longest, verdict)
  }

  private func requeueAll(_ host: String, _ verdict: HostHealth.Verdict) {
    for transfer in unanswered(host, verdict) { requeue(transfer, verdict) }
  }

  private func requeue(_ transfer: CurlTransfer, _ verdict: HostHealth.Verdict) {
    let activity = transfer.isUnaccepted ? "connecting" : "waiting for the answer"
    let error = DownloadError(.unanswered, activity: activity, isTransient: true, isRequeued: true)
    requeue(transfer, .unanswered(for: .nanoseconds(transfer.answerWait.time), verdict.remedy), error)
  }

  private func unanswered(_ host: String, _ verdict: HostHealth.Verdict) -> [CurlTransfer] {
    transfers.filter {
      $0.host == host && $0.isAtHome && $0.wait ?? 0 >= HostHealth.leastWait
        && (verdict.isUnaccepted ? $0.isUnaccepted && $0.answerWait.mayConnectAgain : $0.answerWait.mayReturn)
    }
  }
}
