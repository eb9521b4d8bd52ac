import CurlTransport
import DownloadCaching
import DownloadModel
import Foundation
import Glibc
import Logging
import SystemPackage
import TerminalProgress

/// One `dlm get`, from its sources to its summary.
struct GetRun {
  let settings: Settings
  let outputName: String?
  let environment: [String: String]
  let folders: XDGFolders
  let store: RunHistoryStore
  /// `--failed`.
  let failedList: FailedListFile?
  let isVerbose: Bool
  /// The command as it was typed: the one that goes on with what is missing.
  let typed: GetCommand
  /// What the next run in this folder is to know.
  let options: RememberedOptions
  /// The run is only to be compared with the one before it.
  let plan: RepeatPlan?

  func run(_ sources: [Source], named arguments: [String]) async -> ExitStatus {
    let screen = ProgressScreen(settings.progress, environment: environment)
    guard let plan else { return await run(sources, arguments, screen, repeated: nil, early: nil) }
    if let free = ScratchFolder.room(in: settings.directory), free < plan.bytes {
      StandardError.say([RepeatWords.noRoom(plan, free: free)])
      return .diskFailed
    }
    if settings.progress != .none { StandardError.say(RepeatWords.announcement(plan)) }
    // From here on no signal may end the process at once: it would leave the scratch folder.
    let signals = Signals(.ending) { screen.restoreNow() }
    do throws(DownloadError) {
      let scratch = try ScratchFolder(inside: settings.directory)
      defer { scratch.remove() }
      return await run(
        sources, arguments, screen, repeated: RepeatedFiles(scratch: scratch), early: signals)
    } catch {
      StandardError.say(["dlm: \(FailureWords(error).line)"])
      return ExitStatus(failures: [error], rejections: [])
    }
  }

  /// - Parameter repeated: where the files of a run go that is only to be compared; nil for an ordinary one.
  private func run(
    _ sources: [Source], _ arguments: [String], _ screen: ProgressScreen, repeated: RepeatedFiles?,
    early: Signals?
  ) async -> ExitStatus {
    let log = RunLog(isVerbose: isVerbose)
    StandardError.say(folders.warnings)
    let usesPipe = sources.contains(.standardInput)
    let memory = RunMemory(store, arguments, options, log)
    let isRemembered = repeated == nil

    let board = ProgressBoard(isWatched: screen.style != .none, keepsBeginnings: screen.style == .json)
    let ledger: FailureLedger
    do {
      let folder = environment["TMPDIR"].flatMap { $0.isEmpty ? nil : $0 } ?? "/tmp"
      ledger = FailureLedger(spool: failedList == nil ? nil : try FailureSpool(in: folder))
    } catch {
      StandardError.say(["dlm: the temporary folder cannot be written: \(error); name another in TMPDIR"])
      return .diskFailed
    }
    let names = NameNumbers()
    let reader = ListReader(
      sources, outputName: outputName, checksum: settings.checksum, names: names, board: board,
      asking: ListAtAddress.Asking(settings, environment: environment),
      spool: usesPipe ? store.spoolPath.map(ListSpool.init) : nil,
      onRead: { if isRemembered { memory.read($0) } }, onReject: { ledger.add($0) })
    let cacheFolder = settings.usesCache ? folders.cache : nil
    let wiring: Wiring
    let cookies: CookieJar
    let cookiesBefore: [String]
    do throws(DownloadError) {
      cookies = try CookieJar(settings.cookieJar?.lines ?? [])
      cookiesBefore = settings.cookieJar == nil ? [] : try cookies.lines()
      wiring = try await Wiring(
        Self.settings(settings, repeated), mode: settings.mode, files: Self.count(sources),
        cacheFolder: cacheFolder.map { repeated?.index ?? $0 }, keyFolder: folders.cache,
        claimsFolder: repeated == nil ? folders.state : nil, names: names, board: board,
        cookies: cookies, log: log)
    } catch {
      StandardError.say(["dlm: \(FailureWords(error).line)"])
      return ExitStatus(failures: [error], rejections: [])
    }
    log.settings(settings, cacheFolder: folders.cache)

    let questions = QuestionQueue(
      asksConflicts: settings.conflicts == .ask && repeated == nil,
      asksNames: settings.asksNames && repeated == nil,
      isShown: screen.style == .bars,
      board: board)
    screen.asks(questions)
    let warnings = OnceCell<[CacheWarning]>()
    let atOnce = OnceCell<Int>()
    let elapsed = OnceCell<Duration>()
    let verdict = OnceCell<RepeatVerdict>()
    let start = ContinuousClock.now
    let signal = await Interruptible.run(screen, early: early) { [settings] in
      await screen.show(board) {
        let source = ListSource(reader)
        async let asking: Void? = questions?.run(
          settle: { question, decision throws(DownloadError) in try await wiring.settle(question, decision) },
          onFailure: { ledger.add($0) })
        let peak = await wiring.run(source) { request, result in
          log.ended(request, result)
          switch result {
          case .success(let outcome):
            repeated?.fetched.add(request, outcome)
            questions?.consider(request, outcome)
          case .failure(let error):
            ledger.add(error)
            if error.stopsWriting { source.stop() }
          }
        }
        atOnce.set(peak)
        log.atOnce(peak, settings)
        questions?.finish()
        await asking
        warnings.set(await wiring.close())
        elapsed.set(start.duration(to: .now))
        guard let repeated, ledger.isEmpty, !Task.isCancelled else { return }
        let standing = StandingFiles(settings, cacheFolder: cacheFolder)
        do throws(DownloadError) {
          verdict.set(
            try await repeated.compare(with: settings.directory) { request throws(DownloadError) in
              try await standing.path(of: request)
            })
        } catch {
          ledger.add(error)
        }
        await standing.close()
      }
    }
    let report = RunReport(
      mode: settings.mode, jobs: settings.adaptsJobs ? max(1, atOnce.value ?? 1) : settings.jobs,
      tally: board.tally,
      received: board.counter.value, elapsed: elapsed.value ?? start.duration(to: .now),
      failures: ledger.failures,
      rejections: ledger.rejections, moreFailures: ledger.more,
      signal: signal)
    let listDigest = await reader.listDigest
    let history =
      repeated == nil
      ? memory.ended(report, listDigest: listDigest, directory: settings.directory)
      : report.isWhole && verdict.value?.isSame == true
        ? memory.compared(report, listDigest: listDigest, directory: settings.directory) : nil
    StandardError.say((warnings.value ?? []).map { CacheWords.line($0) })
    StandardError.say(ProofWords.unused(settings.checksums?.unusedNames ?? []))
    var status = writeFailed(report, ledger.spool) ?? report.status
    if let words = keep(cookies, before: cookiesBefore) {
      StandardError.say([words])
      if status == .success { status = .diskFailed }
    }
    if status == .success, verdict.value?.isSame == false { status = .failed }
    let again = AgainWords(typed, isListKept: memory.isRemembered)
    summarize(report, report.isWhole ? history : nil, listDigest, again: again.line, verdict: verdict.value)
    return screen.hasLostData && status == .success ? .diskFailed : status
  }

  /// Those of a run into a scratch folder, where there is nobody's file to be asked about.
  private static func settings(_ settings: Settings, _ repeated: RepeatedFiles?) -> Settings {
    guard let repeated else { return settings }
    var settings = settings
    settings.directory = repeated.files.string
    settings.conflicts = .rename
    return settings
  }

  /// - Returns: why the cookies could not be kept; nil if they were, or nobody wanted that.
  private func keep(_ cookies: CookieJar, before: [String]) -> String? {
    guard let file = settings.cookieJar, cookies.holdsCookies else { return nil }
    do throws(DownloadError) {
      return file.save(before: before, after: try cookies.lines(), now: WallClock.seconds())
    } catch {
      return "dlm: \(FailureWords(error).line)"
    }
  }

  /// - Returns: the exit status if the list cannot be written; what failed then stands in the summary.
  private func writeFailed(_ report: RunReport, _ spool: FailureSpool?) -> ExitStatus? {
    guard let failedList else { return nil }
    do {
      try failedList.write(FailedList(report), more: report.moreFailures > 0 ? spool : nil)
      return nil
    } catch {
      StandardError.say([
        "dlm: \(failedList.name) cannot be written: \(error); choose another file with --failed"
      ])
      return report.status == .success ? .diskFailed : report.status
    }
  }

  private func summarize(
    _ report: RunReport, _ history: RunHistory?, _ listDigest: String, again: String,
    verdict: RepeatVerdict?
  ) {
    let comparison = history?.comparison(for: report.measurement(listDigest), in: report.mode)
    let words = SummaryWords(report, comparedWith: comparison, again: again, isRepeat: plan != nil)
    var lines = settings.progress == .none ? words.failureLines : words.lines
    if let verdict, settings.progress != .none || !verdict.isSame { lines += RepeatWords.verdict(verdict) }
    if settings.progress != .none, comparison == nil, verdict?.isSame != false {
      if let plan, verdict != nil {
        lines.append(RepeatWords.nothingToCompare(plan.other))
      } else if plan == nil, report.tally.bodies == 0, let measured = history?.measured(listDigest) {
        lines.append(SummaryWords.earlier(measured.fast, measured.slow))
      }
    }
    StandardError.say(lines)
  }

  /// How many files the sources name; nil where that is known only when their lists are read.
  private static func count(_ sources: [Source]) -> Int? {
    let isAddress = sources.allSatisfy { if case .address = $0 { true } else { false } }
    return isAddress ? sources.count : nil
  }
}
