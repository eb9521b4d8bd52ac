import DownloadModel
import FileReceiving
import RunDoors
import SystemPackage
import TerminalProgress

/// This process's run as other processes of the user find it: a record and a door, from its second second on.
final class PublishedRun: Sendable {
  private struct State: Sendable {
    var claim: RunClaim?
    /// Measured last.
    var snapshot: RunSnapshot?
    var visitors = 0
    var end: RunRecord.End?
  }

  private let records: RunRecords
  /// Made when it is needed: a short run has none.
  private let record: @Sendable () -> RunRecord
  private let feed: ProgressFeed
  /// From the start, because a reader knows only the files that started after it.
  private let reader: ProgressFeed.Reader
  private let controls: RunControls
  /// XDG_RUNTIME_DIR.
  private let runtime: String?
  private let isHandedOver: @Sendable () -> Bool
  private let state = Waiters(State())
  private let beginning = ContinuousClock.now
  private let broadcast: DoorBroadcast
  /// Events that wait for a slow visitor.
  private static let mostEvents = 4096

  init(
    _ record: @escaping @Sendable () -> RunRecord, in records: RunRecords, _ feed: ProgressFeed,
    _ controls: RunControls, runtime: String?,
    claim: RunClaim?, isHandedOver: @escaping @Sendable () -> Bool
  ) {
    self.isHandedOver = isHandedOver
    self.records = records
    self.record = record
    self.feed = feed
    reader = feed.reader(of: .files)
    self.controls = controls
    self.runtime = runtime
    state.withLock { $0.claim = claim }
    broadcast = DoorBroadcast(feed) { [reader, state] in Self.snapshot(reader, feed, state).fields }
  }

  /// - Parameter work: the run, with its last word.
  func run(while work: @Sendable () async -> ExitStatus) async -> ExitStatus {
    await withTaskGroup { group in
      group.addTask { await self.publish() }
      let status = await work()
      await end(status)
      group.cancelAll()
      return status
    }
  }

  private func publish() async {
    if state.withLock({ $0.claim }) == nil, record().number == 0 {
      // A short run writes nothing. A clock's sleep ends early only for a cancelled task.
      try? await Task.sleep(for: .seconds(1))
      if Task.isCancelled { return }
    }
    // Without a record the run is not found, and goes on.
    guard let claim = state.withLock({ $0.claim }) ?? (try? records.claim(record(), runtime: runtime)) else { return }
    let end = state.withLock { state in
      state.claim = claim
      return state.end
    }
    // It has ended meanwhile.
    if let end {
      claim.door?.close()
      try? claim.end(end)
    }
    await withDiscardingTaskGroup { group in
      group.addTask { await self.follow(claim) }
      group.addTask { await self.broadcast.run() }
      await claim.door?.run { await self.serve($0, number: claim.record.number) }
      group.cancelAll()
    }
  }

  /// Measures the rate, over the last five seconds.
  private func follow(_ claim: RunClaim) async {
    let start = ContinuousClock.now
    var earlier: [(at: Duration, received: Int64)] = []
    var outlook = RunOutlook()
    while !Task.isCancelled {
      let now = ContinuousClock.now - start
      let sample = reader.take()
      earlier.append((now, sample.received))
      if earlier.count > 6 { earlier.removeFirst() }
      let time = max(1, (now - earlier[0].at) / .seconds(1))
      let rate = Double(sample.received - earlier[0].received) / time
      outlook.update(sample, at: now)
      var snapshot = RunSnapshot(sample, rate: Int64(max(0, min(rate, 1e15))))
      snapshot.fraction = outlook.fraction
      snapshot.secondsLeft = outlook.timeLeft.map { $0 / .seconds(1) }
      state.withLock { $0.snapshot = snapshot }
      keepAdditions(in: claim)
      try? await Task.sleep(for: .seconds(1))  // ends early only for a cancelled task
    }
  }

  /// What was added is resumed, too.
  private func keepAdditions(in claim: RunClaim) {
    let now = record()
    guard now.words != claim.record.words else { return }
    // If it cannot be written, the run goes on.
    try? claim.change { record in
      record.words = now.words
      record.withheld += now.withheld.filter { !record.withheld.contains($0) }
    }
  }

  private func end(_ status: ExitStatus) async {
    let tally = feed.tally
    var end = RunRecord.End(
      status: status.rawValue, at: WallClock.milliseconds(), done: tally.done, failed: tally.failed,
      bytes: tally.finishedBytes + tally.keptBytes)
    end.isHandedOver = isHandedOver()
    end.failures = Self.failures(feed)
    let ended = end
    let claim = state.withLock { state in
      state.end = ended
      return state.claim
    }
    _ = await state.wait { $0.visitors == 0 ? true : nil }
    if let claim { keepAdditions(in: claim) }
    claim?.door?.close()
    try? claim?.end(ended)  // else it looks as if it had been killed
  }

  // MARK: Visitors

  /// Failures that a snapshot names.
  private static let mostFailures = 20

  private static func snapshot(
    _ reader: ProgressFeed.Reader, _ feed: ProgressFeed, _ state: Waiters<State>
  ) -> RunSnapshot {
    let last = state.withLock { $0.snapshot }
    var now = RunSnapshot(reader.take(), rate: last?.rate ?? 0)
    now.fraction = last?.fraction
    now.secondsLeft = last?.secondsLeft
    now.failures = failures(feed)
    return now
  }

  private static func failures(_ feed: ProgressFeed) -> [RunSnapshot.Failure] {
    feed.failures(most: mostFailures).map { request, error in
      let message = Redaction.redacted(ProgressMessages.forDisplay.failure(error))
      return RunSnapshot.Failure(id: request.id, url: request.address.redacted, message: message)
    }
  }

  private func serve(_ visitor: DoorVisitor, number: Int) async {
    state.withLock { $0.visitors += 1 }
    defer { state.withLock { $0.visitors -= 1 } }
    visitor.send(["type": "hello", "v": 1, "run": number])
    await withTaskGroup { group in
      group.addTask { await self.converse(visitor) }
      group.addTask {
        // `nil` if this visitor has gone: the others go on.
        if await self.state.wait({ $0.end }) != nil { await self.broadcast.end() }
      }
      await group.next()
      group.cancelAll()
    }
    if let end = state.withLock({ $0.end }) { visitor.send(["type": "ended", "status": end.status]) }
  }

  private func converse(_ visitor: DoorVisitor) async {
    await withDiscardingTaskGroup { group in
      var watch: VisitorWatch?
      while let line = await visitor.next() {
        guard let command = DoorCommand(json: line.utf8) else {
          visitor.send(["error": "not a command"])
          continue
        }
        do throws(RunControls.Refused) {
          var answer: JSONFields = [:]
          switch command.verb {
          case "status": answer = Self.snapshot(reader, feed, state).fields
          case "watch" where command.watch?.style == nil || command.watch?.style == .json: broadcast.add(visitor)
          case "watch":
            await watch?.end()
            let next = VisitorWatch(
              visitor, command.watch ?? DoorCommand.Watch(), feed, keeping: Self.mostEvents, since: beginning)
            watch = next
            group.addTask { await next?.run(self.controls) }
          case "size", "press": await watch?.take(command, controls)
          case "unwatch":
            broadcast.remove(visitor)
            await watch?.end()
          default: answer = try await controls.carryOut(command)
          }
          if let claim = state.withLock({ $0.claim }) { keepAdditions(in: claim) }
          visitor.send(answer.merging(["id": command.id, "ok": true]) { $1 })
        } catch { visitor.send(["id": command.id, "error": error.why]) }
      }
      broadcast.remove(visitor)
      await watch?.end()
      group.cancelAll()
    }
  }
}
