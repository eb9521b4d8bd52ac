// Long because: what is made before the first byte is closed after the last one, by the same owner.

import Comparing
import DownloadCaching
import DownloadModel
import SystemPackage
import TerminalProgress

/// What one `dlm get` must do, by its command line and its settings.
struct DownloadOrder: Sendable {
  let settings: Settings
  let sources: [Source]
  /// The name of a single address's file.
  let outputName: String?
  let environment: [String: String]
  let folders: XDGFolders
  let store: RunHistoryStore
  /// The command as it was typed, which continues with what is missing.
  let typed: GetCommand
  /// The options that the next run in this folder should know.
  let options: RememberedOptions
  /// Set if the run is only to be compared with the one before it; nil for an ordinary one.
  let plan: RepeatPlan?
  /// `--watch`; nil for a run over its lists as they are.
  let watching: WatchOrder?

  /// Where lasting entries are kept; nil for a run without the cache.
  var cacheFolder: FilePath? { settings.output.usesCache ? folders.cache : nil }

  /// What decides which of its requests go first.
  var listOrdering: ListOrdering {
    ListOrdering(first: settings.order.first, indexFolder: settings.order.usesSizes ? cacheFolder : nil)
  }

  /// Whether only failures are shown.
  var isQuiet: Bool { settings.isSilent }
  /// `--failed`.
  var failedList: OutputFile? { settings.failedList }

  /// Whether the list, or some of it, comes through standard input.
  var readsInput: Bool { sources.contains(.standardInput) }

  /// Whether keys are commands, if there are bars.
  var takesCommands: Bool {
    ScreenKeys.areTaken(isWanted: settings.takesKeys, readsInput: readsInput, by: .ofProcess)
  }

  /// How many files the sources name; nil where that is known only when their lists are read.
  var fileCount: Int? { sources.allSatisfy(\.isAddress) ? sources.count : nil }
}

/// One `dlm get`: open, download, close.
struct DownloadSession: Sendable {
  private let order: DownloadOrder
  private let screen: ProgressScreen
  private let feed: ProgressFeed
  private let log: RunLog
  private let failures: FailureLog
  private let memory: RunMemory
  private let reader: ListReader
  /// The lines of a run that watches its lists.
  private let watched: WatchedLines?
  private let wiring: Wiring
  private let keys: TerminalKeys?
  private let questions: QuestionQueue?
  private let trial: Trial?
  /// `--events`.
  private let events: EventRecord?
  /// What `--report` shows; nil without it.
  private let recorder: RunRecorder?

  /// A run that is only to be compared: its scratch folder, and the signals, which are caught since before that folder
  /// was made.
  private struct Trial: Sendable {
    let files: RepeatedFiles
    let signals: Signals
  }

  /// Why a session does not begin.
  struct Refusal: Error {
    let lines: [String]
    let status: ExitStatus

    init(_ lines: [String], _ status: ExitStatus) { (self.lines, self.status) = (lines, status) }

    init(_ error: DownloadError) {
      self.init(FailureMessages(error).said, ExitStatus(failures: [error], rejections: []))
    }
  }

  static func run(_ order: DownloadOrder) async -> ExitStatus {
    do throws(Refusal) {
      let session = try await open(order)
      let result = await session.download()
      return await session.close(result)
    } catch {
      StandardError.say(error.lines)
      return error.status
    }
  }

  // MARK: Open

  /// Makes everything that can fail before the first byte.
  private static func open(_ order: DownloadOrder) async throws(Refusal) -> DownloadSession {
    let screen = ProgressScreen(
      order.settings.progress, readsInput: order.readsInput,
      keepsInput: !order.settings.output.asks && !order.takesCommands, environment: order.environment)
    guard let plan = order.plan else { return try await open(order, screen, nil) }
    let trial = try trial(plan, order, screen)
    do throws(Refusal) {
      return try await open(order, screen, trial)
    } catch {
      trial.files.scratch.remove()
      throw error
    }
  }

  private static func open(
    _ order: DownloadOrder, _ screen: ProgressScreen, _ trial: Trial?
  ) async throws(Refusal) -> DownloadSession {
    StandardError.say(order.folders.warnings)
    if order.settings.order.isBackground, let why = IdleClass.enter() {
      StandardError.say([TroubleMessages.noIdleClass(why)])
    }
    let log = RunLog(isVerbose: order.settings.isVerbose)
    let feed = ProgressFeed()
    let failures = try failureLog(order)
    let events = try eventRecord(order)
    try checkReport(order)
    let memory = RunMemory(
      order.store, order.sources, order.options, log, directory: order.settings.output.directory,
      mode: order.settings.mode)
    let reader = reader(order, feed, failures, trial == nil ? memory : nil)
    let watched = order.watching.map { _ in WatchedLines(order.sources, reader.names, feed) }
    let recorder = order.settings.report.map { _ in RunRecorder() }
    let wiring: Wiring
    do throws(DownloadError) {
      wiring = try await Wiring(
        settings(order, trial, recorder), mode: order.settings.mode, files: order.fileCount,
        cacheFolder: order.cacheFolder.map { trial?.files.index ?? $0 }, keyFolder: order.folders.cache,
        claimsFolder: trial == nil ? order.folders.state : nil, names: reader.names,
        watches: watched != nil, feed: feed, log: log)
    } catch {
      throw Refusal(error)
    }
    log.settings(order.settings, cacheFolder: order.folders.cache)
    let asks = order.settings.output.asks && trial == nil
    let keys = screen.style == .bars && (asks || order.takesCommands) ? TerminalKeys() : nil
    if asks, keys == nil, !order.isQuiet {
      StandardError.say(QuestionMessages.unasked(order.settings.output))
    }
    let questions = QuestionQueue(
      asksConflicts: order.settings.output.cache.conflictPolicy == .ask && trial == nil,
      asksNames: order.settings.output.asksNames && trial == nil, keys: keys, feed: feed
    ) { screen.showPicture($0) }
    return DownloadSession(
      order: order, screen: screen, feed: feed, log: log, failures: failures, memory: memory,
      reader: reader, watched: watched, wiring: wiring, keys: keys, questions: questions, trial: trial,
      events: events, recorder: recorder)
  }

  /// Prepares a run that is only to be compared.
  private static func trial(
    _ plan: RepeatPlan, _ order: DownloadOrder, _ screen: ProgressScreen
  ) throws(Refusal) -> Trial {
    let directory = order.settings.output.directory
    if let free = ScratchFolder.room(in: directory), free < plan.bytes {
      throw Refusal([RepeatMessages.noRoom(plan, free: free)], .diskFailed)
    }
    if !order.isQuiet { StandardError.say(RepeatMessages.announcement(plan)) }
    // From here on, no signal may end the process at once, because that would leave the scratch folder behind.
    let signals = Signals(.ending) { screen.restoreNow() }
    do throws(DownloadError) {
      return Trial(files: RepeatedFiles(scratch: try ScratchFolder(inside: directory)), signals: signals)
    } catch {
      throw Refusal(error)
    }
  }

  /// The settings of a run into a scratch folder, where no file of the user can be in the way.
  private static func settings(
    _ order: DownloadOrder, _ trial: Trial?, _ recorder: RunRecorder?
  ) -> Settings {
    var settings = order.settings
    if let recorder { settings.connection.report { recorder.add($0) } }
    if let trial {
      settings.output.directory = trial.files.files.string
      settings.output.cache.conflictPolicy = .rename
      // What comes is dropped, and so would be its index.
      settings.output.cache.store = .none
    }
    return settings
  }

  private static func failureLog(_ order: DownloadOrder) throws(Refusal) -> FailureLog {
    guard order.failedList != nil else { return FailureLog() }
    let folder = TemporaryFolder.path(order.environment)
    do throws(Errno) {
      return FailureLog(spool: try FailureSpool(in: folder))
    } catch {
      throw Refusal([TroubleMessages.temporaryFolder(folder, error)], .diskFailed)
    }
  }

  private static func eventRecord(_ order: DownloadOrder) throws(Refusal) -> EventRecord? {
    guard let target = order.settings.events else { return nil }
    do throws(Errno) {
      return try EventRecord(target)
    } catch {
      throw Refusal([TroubleMessages.notWritten(target.name, error)], .diskFailed)
    }
  }

  /// A report that cannot be written is better told before the run than after it.
  private static func checkReport(_ order: DownloadOrder) throws(Refusal) {
    // Its folder may be the output folder, which is not made yet.
    guard let file = order.settings.report, let why = file.obstacle, why != .noSuchFileOrDirectory else { return }
    throw Refusal([TroubleMessages.notWritten(file.name, why, option: "--report")], .diskFailed)
  }

  /// - Parameter memory: nil for a run that is not remembered.
  private static func reader(
    _ order: DownloadOrder, _ feed: ProgressFeed, _ failures: FailureLog, _ memory: RunMemory?
  ) -> ListReader {
    ListReader(
      order.sources, outputName: order.outputName, checksum: order.settings.output.checksum,
      ordering: order.listOrdering, feed: feed, fetching: Wiring.listFetching(order.settings, order.environment),
      spool: order.sources.contains(.standardInput) ? order.store.spoolPath.map(ListSpool.init) : nil,
      onRead: { memory?.read($0) }, onReject: { failures.add($0) })
  }

  // MARK: Download

  /// The result of the run.
  struct Result: Sendable {
    let report: RunReport
    /// Warnings of the cache; none of these problems failed a download.
    let warnings: [CacheWarning]
    /// How a run that should be compared compares with the files that are here; nil where that is unknown.
    let verdict: RepeatVerdict?
  }

  /// What the work resulted in, beside what the feed and the FailureLog know.
  private struct Fetched: Sendable {
    /// How many files went at a time, and why.
    let width: RunWidth
    let elapsed: Duration
    let warnings: [CacheWarning]
    let verdict: RepeatVerdict?
  }

  /// Runs lanes, questions and the screen until the run ends or a signal ends it.
  private func download() async -> Result {
    let (fetched, signal) = await screen.runInterruptibly(early: trial?.signals) {
      // The child is cancelled and awaited at the end of this closure.
      async let _: Void? = snapshots?.follow(feed)
      return await recorded {
        await screen.show(feed, keys: keys, control: order.takesCommands ? control : nil) { await fetch() }
      }
    }
    let settings = order.settings
    let isListWhole = if watched == nil { await reader.isWhole } else { true }
    // The number may have been changed by keys.
    let adaptsJobs = settings.adaptsJobs || settings.mode == .auto || fetched.width.peak > settings.jobs
    var report = RunReport(
      mode: settings.mode, jobs: adaptsJobs ? max(1, fetched.width.peak) : settings.jobs,
      adaptsJobs: adaptsJobs, tally: feed.tally, received: feed.counter.value,
      elapsed: fetched.elapsed, failures: failures.failures, rejections: failures.rejections,
      moreFailures: failures.more, isListWhole: isListWhole, signal: signal)
    if settings.mode == .auto { report.lesson = fetched.width.lesson }
    if let watched { report.watched(watched) }
    return Result(report: report, warnings: fetched.warnings, verdict: fetched.verdict)
  }

  private var control: RunControl {
    RunControl(
      details: { [wiring] in await wiring.details(of: $0) }, pause: { [wiring] in wiring.pause($0) },
      widen: { [wiring] in wiring.widen(by: $0) }, skip: { [wiring] in await wiring.skip($0, $1) })
  }

  private func recorded(_ work: @Sendable () async -> Fetched) async -> Fetched {
    if let events { await events.record(feed, while: work) } else { await work() }
  }

  /// The snapshot file for other processes; nil for a run without the cache, or only to be compared.
  private var snapshots: RunningSnapshots? {
    order.cacheFolder == nil || trial != nil
      ? nil : RunningSnapshots(state: order.folders.state, directory: order.settings.output.directory)
  }

  private func fetch() async -> Fetched {
    recorder?.begin()
    let start = ContinuousClock.now
    let source = ListSource(reader)
    async let asking: Void? = questions?.run(
      carryOut: { decision, question throws(DownloadError) in
        try await wiring.carryOut(decision, on: question)
      }, onFailure: { failures.add($0) })
    let width =
      if let watched { await fetch(watched) } else {
        await wiring.run(source) { request, result in note(request, result, from: source) }
      }
    recorder?.end(mostAtOnce: width.peak)
    log.atOnce(width.peak, order.settings)
    questions?.finish()
    await asking
    let warnings = await wiring.close()
    let elapsed = start.duration(to: .now)
    return Fetched(width: width, elapsed: elapsed, warnings: warnings, verdict: await compare())
  }

  /// Runs until a signal, or a disk that takes nothing more, ends it.
  private func fetch(_ watched: WatchedLines) async -> RunWidth {
    let watcher = ListWatcher(
      order: order, lines: watched, askAnew: { await wiring.askAnew() }, onRead: { memory.read($0) })
    // The child is cancelled and awaited when the lanes have ended.
    async let _: Void = watcher.run()
    return await wiring.run(watched, scopes: watched.scopes) { request, result in
      log.ended(request, result)
      if case .success(let outcome) = result { questions?.consider(request, outcome) }
      if case .failure(let error) = result, error.stopsWriting { watched.stop() }
      watched.ended(request, result.mapError { $0.named(by: request.provenance) })
    }
  }

  /// Called when a file ended, on its loop's thread.
  private func note(
    _ request: DownloadRequest, _ result: Swift.Result<DownloadOutcome, DownloadError>, from source: ListSource
  ) {
    log.ended(request, result)
    recorder?.end(of: request, result)
    switch result {
    case .success(let outcome):
      trial?.files.fetched.add(request, outcome)
      questions?.consider(request, outcome)
    case .failure(let error):
      failures.add(error.named(by: request.provenance))
      if error.stopsWriting { source.stop() }
    }
  }

  /// Compares what came; what failed is left out, and told with the other failures.
  /// - Returns: nil for an ordinary run, and for one of which nothing can be said.
  private func compare() async -> RepeatVerdict? {
    guard let trial, !trial.files.fetched.all.isEmpty, !Task.isCancelled,
      !failures.failures.contains(where: \.stopsWriting)
    else { return nil }
    let standing = StandingFiles(order.settings, cacheFolder: order.cacheFolder)
    var verdict: RepeatVerdict?
    do throws(DownloadError) {
      verdict = try await trial.files.compare(with: order.settings.output.directory, standing)
    } catch {
      failures.add(error)
    }
    await standing.close()
    return verdict
  }

  // MARK: Close

  /// Writes the summary, and saves what must be kept: failures, cookies, history.
  private func close(_ result: Result) async -> ExitStatus {
    defer { trial?.files.scratch.remove() }
    let listDigest = await reader.listDigest
    let times = remember(result, listDigest)
    let downgrading = await reader.downgrading.union(watched?.downgrading ?? [])
    if !order.isQuiet { StandardError.say(RejectionMessages.downgrades(downgrading)) }
    StandardError.say(result.warnings.map { CacheMessages.warning($0) })
    StandardError.say(SummaryMessages.unusedChecksums(order.settings.output.cache.checksums?.unusedNames ?? []))
    let hasKeptFailures = keepFailures(result.report)
    let hasKeptCookies = keepCookies()
    let hasKeptReport = keepReport(result.report)
    summarize(result, times, listDigest)
    let status = ExitStatus(
      result.report, hasKeptAll: hasKeptFailures && hasKeptCookies && hasKeptReport,
      isAsHere: result.verdict?.isAsHere ?? true, hasLostData: screen.hasLostData || events?.hasLostData == true)
    return keepSummary(result.report, status)
  }

  /// Writes `--report`.
  /// - Returns: false if it is wanted and could not be written.
  private func keepReport(_ report: RunReport) -> Bool {
    guard let file = order.settings.report, let recorder else { return true }
    let run = RunMeasurement(
      mode: ComparedMode(report.mode, jobs: report.adaptsJobs ? nil : report.jobs), round: 1, wall: report.elapsed,
      files: report.tally.bodies, bytes: report.received, details: recorder.details)
    let facts = ReportFacts(
      list: order.sources.map(\.name).joined(separator: " "), command: "dlm get",
      headline: SummaryMessages(report, comparedWith: nil, again: "", isRepeat: false).headline)
    guard let trouble = file.write(ComparisonReport(measurements: [run]), facts) else { return true }
    StandardError.say([trouble])
    return false
  }

  /// Writes `--summary-json`.
  /// - Returns: the status, which a file that cannot be written changes where all else went well.
  private func keepSummary(_ report: RunReport, _ status: ExitStatus) -> ExitStatus {
    guard let file = order.settings.summaryFile else { return status }
    let text = RunSummaryJSON.text(
      report.tally, transferred: report.received, rejected: report.rejections.count,
      elapsed: report.elapsed, words: DisplayWords.all,
      more: [
        "mode": .text(report.mode.rawValue), "atOnce": .of(report.jobs),
        "why": .of(report.lesson.map(LessonMessages.word)), "status": .of(status.rawValue),
      ])
    do {
      try file.write(text)
      return status
    } catch {
      StandardError.say([TroubleMessages.notWritten(file.name, error, option: "--summary-json")])
      return status == .success ? .unwritten : status
    }
  }

  /// - Returns: how long the list took in earlier runs, where the summary may say something about it.
  private func remember(_ result: Result, _ listDigest: String) -> RunTimes? {
    let (report, directory) = (result.report, order.settings.output.directory)
    if trial == nil {
      guard memory.ended(report, listDigest: listDigest, directory: directory) else { return nil }
    } else {
      guard report.isThrough, result.verdict?.isSame == true else { return nil }
      memory.compared(report, listDigest: listDigest, directory: directory)
    }
    return report.isThrough && !order.isQuiet ? memory.times(of: listDigest) : nil
  }

  /// - Returns: false if the list of failures is wanted and cannot be written; then the summary shows the failures.
  private func keepFailures(_ report: RunReport) -> Bool {
    guard let list = order.failedList else { return true }
    do {
      try list.write(FailedList(report).text, more: report.moreFailures > 0 ? failures.spool : nil)
      return true
    } catch {
      StandardError.say([TroubleMessages.failedListLost(list.name, error)])
      return false
    }
  }

  /// - Returns: false if there are cookies to keep and they could not be written.
  private func keepCookies() -> Bool {
    guard let file = order.settings.connection.cookieJar else { return true }
    do throws(DownloadError) {
      guard let cookies = try wiring.cookies() else { return true }
      guard
        let trouble = file.save(before: cookies.before, after: cookies.after, now: WallClock.seconds())
      else { return true }
      StandardError.say([trouble])
    } catch {
      StandardError.say(FailureMessages(error).said)
    }
    return false
  }

  private func summarize(_ result: Result, _ times: RunTimes?, _ listDigest: String) {
    let (report, verdict) = (result.report, result.verdict)
    let comparison = times?.comparison(for: report.past(listDigest))
    let messages = SummaryMessages(
      report, comparedWith: comparison,
      again: AgainMessages(
        order.typed, isListKept: memory.isRemembered,
        asksServers: report.signal == nil && report.failures.allSatisfy(FailureMessages.isOffline)
      ).line, isRepeat: order.plan != nil)
    var lines = order.isQuiet ? messages.quietLines : messages.lines
    if let plan = order.plan, !order.isQuiet || verdict?.isAsHere != true {
      lines +=
        verdict.map { RepeatMessages.verdict($0, failed: report.tally.failed) } ?? [RepeatMessages.nothing]
      if verdict?.isSame == true, comparison == nil {
        lines.append(RepeatMessages.nothingToCompare(plan.other))
      }
    } else if comparison == nil, report.tally.bodies == 0, let (fast, slow) = times?.measured {
      lines.append(SummaryMessages.earlier(fast, slow))
    }
    StandardError.say(screen.wrapped(lines))
  }
}
