// Long because: only here all parts of a run meet.
import Comparing
import DownloadCaching
import DownloadModel
import Downloads
import FileReceiving
import Glibc
import RunDoors
import Synchronization
import SystemPackage
import TerminalProgress

struct DownloadSession {
  private let order: DownloadOrder
  private let screen: ProgressScreen
  private let feed = ProgressFeed()
  private let log: RunLog?
  private let failures: FailureLog
  private let memory: RunMemory
  private let reader: ListReader
  private let watched: WatchedLines?
  private let wiring: Wiring
  private let keys: TerminalKeys?
  private let questions: QuestionQueue?
  private let trial: RepeatedFiles?
  private let events: EventRecord?
  private let observers: RunObservers
  private let handOver: HandOver

  static func run(_ order: DownloadOrder) async -> ExitStatus {
    let screen = ProgressScreen(
      order.settings.progress, readsInput: order.readsInput,
      keepsInput: !order.settings.output.asks && !order.takesCommands, environment: order.settings.environment)
    var trial: RepeatedFiles?
    defer { trial?.remove() }
    do {
      trial = try Self.trial(order, screen)
      StandardError.say(order.folders.warnings)
      if let jar = order.settings.connection.cookieJar, jar.isNew {
        order.settings.say(["dlm: --cookie-jar \(jar.path) does not exist: the run starts without cookies"])
      }
      if order.settings.own.background, let why = IdleClass.enter() {
        StandardError.say("dlm: --background: idle priority is not available (\(why)); going on at normal priority")
      }
      let session = try await DownloadSession(order, screen, trial)
      let claim = order.settings.own.detach ? try session.leaveTerminal() : nil
      guard let published = session.published(claim) else { return await session.close(await session.download()) }
      return await published.run { await session.close(await session.download()) }
    } catch {
      StandardError.say(error.line)
      return error.status
    }
  }

  // MARK: Open

  private static func trial(_ order: DownloadOrder, _ screen: ProgressScreen) throws(Refusal) -> RepeatedFiles? {
    let output = order.settings.output
    if let plan = order.plan {
      if let free = ScratchFolder.room(in: output.directory), free < plan.bytes {
        throw Refusal(RepeatMessages.noRoom(plan, free: free))
      }
      order.settings.say(RepeatMessages.announcement(plan))
    } else if !output.isStandardOutput {
      return nil
    }
    let signals = Signals(.ending) { screen.restoreNow() }
    do {
      var trial = RepeatedFiles(scratch: try ScratchFolder(inside: output.directory), signals: signals)
      if output.isStandardOutput {
        trial.output = OutputStream()
      } else {
        trial.index = order.cacheFolder.flatMap { try? ScratchFolder(below: $0.string) }
      }
      return trial
    } catch { throw Refusal(error) }
  }

  /// Creates everything that can fail before the first byte.
  private init(_ order: DownloadOrder, _ screen: ProgressScreen, _ trial: RepeatedFiles?) async throws(Refusal) {
    self.order = order
    self.screen = screen
    self.trial = trial
    let settings = order.settings
    log = settings.shared.verbose ? RunLog() : nil
    failures = try Self.failureLog(order)
    events = try Self.eventRecord(order)
    memory = RunMemory(
      order.store, order.sources, order.options, log, directory: settings.output.directory, mode: settings.mode)
    let feed = feed
    if let sizes = order.plan?.sizes { feed.expect(sizes) }
    // Only a screen shows what is to come.
    let looksUp = screen.style != .none
    if memory.spoolPath != nil { order.store.removeOldSpools() }
    reader = Self.reader(order, failures, feed, memory.spoolPath) { [memory] reading in
      if trial == nil, let sizes = memory.read(reading, looksUp: looksUp) { feed.expect(sizes) }
    }
    watched = order.watching == nil ? nil : WatchedLines(order.sources, reader.names, feed)
    observers = RunObservers(settings, isTrial: trial != nil)
    handOver = HandOver(order, feed)
    do {
      wiring = try await Wiring(
        Self.settings(order, trial, observers.recorder), mode: settings.mode, files: order.fileCount,
        cacheFolder: trial.map { $0.cacheFolder(order.cacheFolder) } ?? order.cacheFolder,
        keyFolder: order.folders.cache,
        claimsFolder: trial == nil ? order.folders.state : nil, names: reader.names, watches: watched != nil,
        feed: feed, log: log)
    } catch { throw Refusal(error) }
    // Only now, because they may be in the output folder.
    if let refusal = Self.unwritable(settings) {
      _ = await wiring.loops.close()
      throw refusal
    }
    log?.settings(settings, cacheFolder: order.folders.cache)
    // Such a file has ended once all of it is written.
    if settings.output.isStandardOutput { feed.leaveOpen { _ in true } }
    let asked = trial == nil && settings.output.asks ? settings.output : nil
    keys = screen.style == .bars && (asked != nil || order.takesCommands) ? TerminalKeys() : nil
    if let asked, keys == nil { settings.say(QuestionMessages.unasked(asked)) }
    questions = keys.map {
      QuestionQueue(asked, unnamed: order.store.unnamedPath, keys: $0, feed: feed) { screen.showPicture($0) }
    }
    if let questions { settings.connection.onUnknownKey { await questions.ask($0) } }
  }

  private static func reader(
    _ order: DownloadOrder, _ failures: FailureLog, _ feed: ProgressFeed, _ spool: FilePath?,
    onRead: @escaping @Sendable (ListReader.Reading) -> Void
  ) -> ListReader {
    let settings = order.settings
    return ListReader(
      order.sources, order.marks, feed: feed,
      fetching: order.sources.contains(where: \.isListAt) ? Wiring.listFetching(settings) : nil,
      spool: spool.map(ListSpool.init), onRead: onRead,
      onFormat: { settings.say(["dlm: \($0)"]) }, onReject: { failures.add($0) })
  }

  private static func settings(_ order: DownloadOrder, _ trial: RepeatedFiles?, _ recorder: RunRecorder?) -> Settings {
    var settings = order.settings
    if let recorder { settings.connection.report { recorder.add($0) } }
    if let trial {
      settings.output.directory = trial.files.string
      settings.output.cache.heldDirectory = FilePath(trial.scratch.held(trial.files.string))
      settings.output.cache.receiving.conflictPolicy = .rename
      // All received bytes are dropped, so storing them is useless.
      settings.output.cache.store = .none
      settings.output.cache.receiving.reader = trial.output?.reader
    }
    return settings
  }

  private static func failureLog(_ order: DownloadOrder) throws(Refusal) -> FailureLog {
    guard order.settings.failedList != nil else { return FailureLog() }
    let folder = TemporaryFolder.path(order.settings.environment)
    let directory = order.settings.output.directory
    do { return FailureLog(spool: try FailureSpool(in: folder, of: directory)) } catch {
      throw Refusal(TroubleMessages.temporaryFolder(folder, error))
    }
  }

  private static func eventRecord(_ order: DownloadOrder) throws(Refusal) -> EventRecord? {
    guard let target = order.settings.events else { return nil }
    do { return try EventRecord(target) } catch {
      throw Refusal(TroubleMessages.notWritten(target, error), .folderUnusable)
    }
  }

  /// The refusal for an output that is written at the end; `nil` if all can be written.
  private static func unwritable(_ settings: Settings) -> Refusal? {
    let files = [
      settings.failedList, settings.report?.file, settings.summaryFile, settings.checksumFile, settings.listFile,
    ]
    return files.lazy.compactMap { $0?.obstacle }.first.map { Refusal($0, .folderUnusable) }
  }

  // MARK: Download

  @Sendable private func record() -> RunRecord {
    var record = memory.record(of: order.sources)
    record.number = order.typed.resumed ?? DetachedStart.resumed ?? 0
    record.isDetached = order.settings.own.detach
    return record
  }

  private var runtimeFolder: String? { order.settings.environment["XDG_RUNTIME_DIR"] }

  /// `nil` for a run that is only for a comparison, and without a folder for its record.
  private func published(_ claim: RunClaim?) -> PublishedRun? {
    guard trial == nil, let state = order.folders.state else { return nil }
    return PublishedRun(
      record, in: RunRecords(below: state), feed,
      RunControls(wiring: wiring, stop: screen.stop, add: { await add($0, into: $1) }, retry: retry),
      runtime: runtimeFolder, claim: claim, isHandedOver: { handOver.isOn })
  }

  /// Everything that can be wrong has been said by now, but of the lists.
  private func leaveTerminal() throws(Refusal) -> RunClaim {
    for path in order.sources.compactMap(\.path) where access(path, R_OK) != 0 {
      let reason = Rejection.Reason.unreadable(errno: errno)
      throw Refusal(
        RejectionMessages(Rejection(list: path, line: nil, text: "", reason: reason)).said, .sourceUnreadable)
    }
    guard let state = order.folders.state else {
      throw Refusal("dlm: --detach needs a folder for the record of the run: set HOME or XDG_STATE_HOME")
    }
    do {
      let claim = try RunRecords(below: state).claim(record(), runtime: runtimeFolder)
      let log = RunLogFile(claim.folder.appending("\(claim.record.number).log").string)
      try DetachedStart.leave(as: claim.record.number, log)
      screen.write(to: log)
      return claim
    } catch {
      throw Refusal("dlm: --detach: \(state) cannot be written: \(error); mend that, or run without --detach")
    }
  }

  private func download() async -> RunReport {
    let grace = order.settings.own.grace.map { time in
      (time.duration, { @Sendable in endSoon(within: time.duration) })
    }
    let (fetched, signal) = await screen.runInterruptibly(early: trial?.signals, grace: grace) {
      async let _: Void = wiring.schedule.run()
      let control = keys != nil && order.takesCommands ? wiring : nil
      let show = { @Sendable in
        await screen.show(feed, keys: keys, control: control, handOver: handOver, paste: paste) { await fetch() }
      }
      guard let events else { return await show() }
      return await events.record(feed, while: show)
    }
    var report = fetched
    report.signal = await trial?.output?.failure == nil ? signal : nil
    if let watched { report.watched(watched) }
    return report
  }

  private func endSoon(within time: Duration) {
    order.settings.say(["dlm: stopping: no more files start; running ones have \(Quantity.duration(time)) to finish"])
    reader.stop()
    watched?.stop()
    wiring.downloads.endSoon()
  }

  private func fetch() async -> RunReport {
    observers.recorder?.begin()
    let start = ContinuousClock.now
    async let asking: Void? = questions?.run(
      carryOut: { decision, question throws(DownloadError) in
        let path = try await wiring.loops.carryOut(decision, on: question.outcome, of: question.request)
        observers.settled(question.request, .success(question.outcome(after: decision, at: path)))
        return path
      }, onFailure: { failures.add($0) }, fetch: { _ = await add($0.map { .address($0) }, keepers: -1) })
    // Unstructured, because a signal does not end the work on complete files.
    let hooks = observers.hooks.map { hooks in Task { await hooks.run() } }
    async let _: Void? = trial?.output?.follow(orElse: screen.stop)
    let width = await fetchAll()
    if let output = trial?.output { await finish(output) }
    observers.recorder?.end(width)
    log?.atOnce(width.peak, order.settings)
    questions?.finish()
    await asking
    feed.leaveUndecided()
    let warnings = await wiring.loops.close()
    let elapsed = ContinuousClock.now - start
    observers.hooks?.finish()
    await withTaskCancellationHandler {
      await hooks?.value
    } onCancel: {
      Hooks.end()
    }
    return await report(width, warnings, await compare(), after: elapsed)
  }

  private func report(
    _ width: RunWidth, _ warnings: [CacheWarning], _ verdict: RepeatVerdict?, after elapsed: Duration
  ) async -> RunReport {
    let mode = order.settings.mode
    let jobs = order.settings.jobs
    var tally = feed.tally
    // The user has decided about the names.
    if questions != nil, order.settings.output.asks { tally.numbered = 0 }
    // Keys may have changed the number.
    let adaptsJobs = order.settings.adaptsJobs || mode == .auto || width.peak > jobs
    return RunReport(
      mode: mode, jobs: adaptsJobs ? max(1, width.peak) : jobs, adaptsJobs: adaptsJobs,
      width: width, tally: tally, received: feed.counter.value, elapsed: elapsed,
      failures: failures.failures, rejections: failures.rejections, moreFailures: failures.more,
      listing: await reader.isWhole || watched != nil ? .whole : .brokenOff, warnings: warnings, verdict: verdict)
  }

  private func fetchAll() async -> RunWidth {
    guard let watched else {
      let count = screen.style == .none ? nil : ListCount(sources: order.sources, marks: order.marks)
      async let _: Void? = count?.run(feed)
      return await wiring.run(reader, onEnd: ended)
    }
    let watcher = ListWatcher(
      order: order, lines: watched, askAnew: { await wiring.loops.askAnew() },
      giveUp: { await wiring.downloads.giveUp($0, as: .cancelled) }, onRead: { memory.read($0, looksUp: false) })
    async let _: Void = watcher.run()
    return await wiring.run(watched, isWanted: watched.isWanted, onEnd: ended)
  }

  @Sendable private func ended(_ request: DownloadRequest, _ result: DownloadResult) {
    log?.ended(request, result)
    observers.recorder?.ended(request, result)
    trial?.fetched.ended(request, result)
    if questions?.ended(request, result) != true { observers.settled(request, result) }
    watched?.ended(request, result.mapError { $0.of(request) })
    guard case .failure(let error) = result else { return }
    // Failures of watched lists are reported by their lines.
    if watched == nil { failures.add(error.of(request)) }
    if error.stopsWriting {
      reader.stop()
      watched?.stop()
    }
  }

  private func finish(_ output: OutputStream) async {
    if let trial, let file = trial.fetched.all.last {
      feed.prompt(["  waiting until standard output is read"])
      feed.settle(file.request, await output.finish(file.outcome, at: trial.scratch.held(file.path)))
      feed.prompt([])
    }
    if let failure = await output.failure, await !output.isReaderGone { failures.add(failure) }
  }

  // MARK: Additions during the run

  private static let lastAdded = Atomic(1 << 40)

  /// Adds URLs and lists to the run as if they were at the end of its list.
  /// - Returns: `nil` if the run is over.
  private func add(_ sources: [Source], into folder: String? = nil, keepers: Int = 0) async -> Addition? {
    var marks = order.marks
    let isOfOneFile = marks.outputName != nil || marks.checksum != nil
    marks.outputName = nil
    marks.checksum = nil
    marks.folder = folder
    // Greater than the numbers of all lists.
    let first = Self.lastAdded.wrappingAdd(1 << 24, ordering: .relaxed).oldValue
    let names = watched == nil ? reader.names : NameNumbers()
    let rejected = Lock<[String]>([])
    let requests = await ListReader(
      sources, marks, names: names, first: first,
      onReject: { [failures] rejection in
        failures.add(rejection)
        rejected.withLock { $0.append(RejectionMessages(rejection).line) }
      }
    ).all()
    let new = watched.map { $0.add(requests) } ?? requests.filter { !$0.isRepeat }
    let isTaken = wiring.add(watched == nil ? new ?? [] : [], keepers: keepers)
    guard let new, isTaken else { return nil }
    // With options for one file, or for lists, they would mean something else.
    if !isOfOneFile, !order.sources.contains(where: \.isListAt) { memory.add(sources, into: folder, new) }
    let addition = Addition(
      added: new.count, known: requests.count - new.count, rejected: rejected.withLock { $0 })
    order.settings.say(["dlm: " + QuestionMessages.added(addition, to: "this run")])
    return addition
  }

  /// - Returns: how many failed files are tried again; `nil` if the run is over.
  @Sendable private func retry(_ ids: Set<Int>?) -> Int? {
    // So that the run does not end in between.
    guard watched == nil, wiring.add([], keepers: 1) else { return nil }
    let requests = feed.takeFailed(ids)
    failures.forget(requests)
    _ = wiring.add(requests, keepers: -1)
    return requests.count
  }

  /// - Returns: whether the text was links, about which a question is asked. The run stays open until its answer.
  @Sendable private func paste(_ text: String) -> Bool {
    let links = text.split(whereSeparator: \.isWhitespace).map(String.init)
    guard trial == nil, !links.isEmpty, links.allSatisfy({ Source.isFetchable($0) }), wiring.add([], keepers: 1)
    else { return false }
    questions?.ask(links)
    return true
  }

  /// Compares the files. A failure is skipped, and reported with the other failures.
  /// - Returns: `nil` for an ordinary run, and for one without a verdict.
  private func compare() async -> RepeatVerdict? {
    guard let trial, order.plan != nil, !trial.fetched.all.isEmpty, !Task.isCancelled,
      !failures.failures.contains(where: \.stopsWriting)
    else { return nil }
    do {
      return try await MainThread.leave { () async throws(DownloadError) in
        try await trial.compare(with: order.settings, cacheFolder: order.cacheFolder)
      }
    } catch {
      failures.add(error)
      return nil
    }
  }

  // MARK: Close

  private func close(_ report: RunReport) async -> ExitStatus {
    if handOver.isOn { return goOnDetached() }
    let listDigest = await reader.listDigest
    let isRemembered = memory.ended(report, listDigest: listDigest, isTrial: trial != nil)
    let isTold = isRemembered && report.isThrough && !order.settings.isSilent
    let times = isTold ? memory.times(of: listDigest) : nil
    let downgrading = await reader.downgrading.union(watched?.downgrading ?? [])
    order.settings.say(RejectionMessages.downgrades(downgrading))
    StandardError.say(report.warnings.map { CacheMessages.warning($0) })
    StandardError.say(
      SummaryMessages.unusedChecksums(order.settings.output.cache.receiving.checksums?.unusedNames ?? []))
    // Each is tried, even if an earlier one failed.
    let troubles = keepFailures(report) + keepCookies() + keepReport(report)
    StandardError.say(troubles)
    if await trial?.output?.isReaderGone == true { return .brokenPipe }
    summarize(report, times, listDigest)
    // After the summary, because they may read all files.
    var hasLists = true
    if let lists = observers.lists {
      hasLists = await screen.runInterruptibly {
        await MainThread.leave { await lists.write(isCut: report.signal != nil) }
      }.0
    }
    let status = ExitStatus(
      report, hasKeptAll: troubles.isEmpty && hasLists, hasLostData: screen.hasLostData || events?.hasLostData == true)
    let untold = keepSummary(report, status, await reader.share, isWhole: await reader.isWhole)
    StandardError.say(untold)
    let last = untold.isEmpty || status != .success ? status : .unwritten
    await runDoneHook(last, report.tally)
    return last
  }

  /// - Returns: 75, so that what a shell would do after the run waits.
  private func goOnDetached() -> ExitStatus {
    // The next run reads them.
    StandardError.say(keepCookies())
    do {
      let number = try handOver.start(with: memory)
      StandardError.say(LoginManager.warning)
      StandardError.say("run \(number) goes on · dlm attach \(number)")
      return .tryAgain
    } catch let status as ExitStatus { return status } catch let refusal as Refusal {
      StandardError.say(refusal.line)
      return refusal.status
    } catch { return .failed }
  }

  private func runDoneHook(_ status: ExitStatus, _ tally: ProgressTally) async {
    guard let hooks = observers.hooks, order.settings.own.onDone != nil else { return }
    _ = await screen.runInterruptibly {
      await withTaskCancellationHandler {
        await hooks.done(status, tally)
      } onCancel: {
        Hooks.end()
      }
    }
  }

  // Each returns messages about what could not be written.

  private func keepFailures(_ report: RunReport) -> [String] {
    let more = report.moreFailures > 0 ? failures.spool : nil
    return order.settings.failedList?.keep(
      FailedList.text(report, in: order.settings.output.directory), more: more) ?? []
  }

  private func keepCookies() -> [String] {
    guard let file = order.settings.connection.cookieJar else { return [] }
    do {
      guard let cookies = try wiring.loops.cookies() else { return [] }
      let trouble = file.save(before: cookies.before, after: cookies.after, now: WallClock.seconds())
      return [trouble].compactMap(\.self)
    } catch { return [FailureMessages(error).said] }
  }

  private func keepReport(_ report: RunReport) -> [String] {
    guard let file = order.settings.report, let recorder = observers.recorder else { return [] }
    let run = RunMeasurement(
      mode: ComparedMode(report.mode, jobs: report.adaptsJobs ? nil : report.jobs), round: 1, wall: report.elapsed,
      files: report.tally.bodies, bytes: report.tally.bodyBytes, details: recorder.details)
    let facts = ReportFacts(
      list: order.sources.map(\.name).joined(separator: " "),
      headline: SummaryMessages(report: report).headline)
    return file.write(ComparisonReport(measurements: [run]), facts)
  }

  private func keepSummary(
    _ report: RunReport, _ status: ExitStatus, _ share: JSONValue?, isWhole: Bool
  ) -> [String] {
    guard let file = order.settings.summaryFile else { return [] }
    var more: JSONFields = [
      "mode": report.mode.rawValue, "atOnce": report.jobs, "why": report.lesson.map(LessonMessages.word),
      "status": status.rawValue, "rejected": report.tally.rejected, "notBegun": report.tally.notBegun, "shard": share,
      "failures": JSONValue.list(report.failures.map(FailureMessages.json)),
      "failed_list": order.settings.failedList?.name,
    ]
    // An interrupted list counts as complete, and a share of it would be that of another list.
    if share != nil, !isWhole { more["files"] = JSONValue.null }
    let text = ProgressMessages.forDisplay.summary(
      report.tally, transferred: report.received, elapsed: report.elapsed, more: more)
    return file.keep(text)
  }

  /// A command for the list of `--failed`, whose lines contain the folder if possible.
  private func failedAgain(_ typed: GetCommand) -> String {
    guard let list = order.settings.failedList, case .file = list.target else { return "" }
    var command = typed
    command.sources = [list.name]
    command.own.failed = nil
    if FailedList.folder(order.settings.output.directory) != nil { command.own.directory = nil }
    return AgainMessages(command).line
  }

  private func summarize(_ report: RunReport, _ times: RunTimes?, _ listDigest: String) {
    let comparison = times?.comparison(for: report.past(listDigest))
    let isWhole = report.signal == nil && report.failures.isEmpty
    let asksServers = report.signal == nil && report.failures.allSatisfy(FailureMessages.isOffline)
    var typed = order.typed
    if !typed.sources.isEmpty { typed.sources += memory.added }
    let again = isWhole ? nil : AgainMessages(typed, isListKept: memory.isRemembered, asksServers: asksServers)
    let messages = SummaryMessages(
      report: report, comparison: comparison, again: again?.line ?? "", note: again?.note ?? "",
      lists: order.sources.map { order.marks.form.shard?.name(of: $0.name) ?? $0.name }, isRepeat: trial != nil,
      shortens: !order.settings.shared.verbose && StandardError.isTerminal,
      failedList: order.settings.failedList?.name, failedAgain: failedAgain(typed))
    var lines = order.settings.isSilent ? messages.quietLines : messages.lines
    if let plan = order.plan, !order.settings.isSilent || report.verdict?.isAsHere != true {
      lines +=
        report.verdict.map { RepeatMessages.verdict($0, failed: report.tally.failed) } ?? [RepeatMessages.nothing]
      if report.verdict?.isSame == true, comparison == nil { lines.append(RepeatMessages.nothingToCompare(plan.other)) }
    } else if comparison == nil, report.tally.bodies == 0, let (fast, slow) = times?.measured {
      lines.append(SummaryMessages.earlier(fast, slow))
    }
    StandardError.say(lines)
  }
}
