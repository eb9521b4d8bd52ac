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
  let failedList: String?
  let isVerbose: Bool

  func run(_ sources: [Source], named arguments: [String]) async -> ExitStatus {
    let log = RunLog(isVerbose: isVerbose)
    let usesPipe = sources.contains(.standardInput)
    let stored = store.load()
    var history = store.newHistory(
      usesPipe ? [store.spoolPath.string] : arguments.map(Self.remembered), after: stored)
    // Now, so that even a killed run can be repeated by name.
    if history.sources != stored?.sources { remember(history, log) }

    let screen = ProgressScreen(settings.progress, environment: environment)
    let board = ProgressBoard(isWatched: screen.style != .none, keepsBeginnings: screen.style == .json)
    let ledger: FailureLedger
    do {
      let folder = environment["TMPDIR"].flatMap { $0.isEmpty ? nil : $0 } ?? "/tmp"
      ledger = FailureLedger(spool: failedList == nil ? nil : try FailureSpool(in: folder))
    } catch {
      StandardError.say(["dlm: the temporary folder cannot be written: \(error); name another in TMPDIR"])
      return .diskFailed
    }
    let reader = ListReader(
      sources, outputName: outputName, checksum: settings.checksum, board: board,
      spool: usesPipe ? ListSpool(store.spoolPath) : nil, onReject: { ledger.add($0) })
    let wiring: Wiring
    do throws(DownloadError) {
      wiring = try await Wiring(
        settings, mode: settings.mode, files: Self.count(sources),
        cacheFolder: settings.usesCache ? folders.cache : nil, board: board, log: log)
    } catch {
      StandardError.say(["dlm: \(FailureWords(error).line)"])
      return ExitStatus(failures: [error], rejections: [])
    }
    log.settings(settings, cacheFolder: folders.cache)

    let questions = QuestionQueue(
      asksConflicts: settings.conflicts == .ask, asksNames: settings.asksNames,
      isShown: screen.style == .bars,
      board: board)
    screen.asks(questions)
    let warnings = OnceCell<[CacheWarning]>()
    let atOnce = OnceCell<Int>()
    let start = ContinuousClock.now
    let signal = await Interruptible.run(screen) { [settings] in
      await screen.show(board) {
        let source = ListSource(reader)
        async let asking: Void? = questions?.run(
          settle: { question, decision throws(DownloadError) in try await wiring.settle(question, decision) },
          onFailure: { ledger.add($0) })
        let peak = await wiring.run(source) { request, result in
          log.ended(request, result)
          switch result {
          case .success(let outcome): questions?.consider(request, outcome)
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
      }
    }
    let report = RunReport(
      mode: settings.mode, jobs: settings.adaptsJobs ? max(1, atOnce.value ?? 1) : settings.jobs,
      tally: board.tally,
      received: board.counter.value, elapsed: start.duration(to: .now), failures: ledger.failures,
      rejections: ledger.rejections, moreFailures: ledger.more,
      signal: signal)
    let this = await history.add(report, listDigest: reader.listDigest)
    if report.isWhole { remember(history, log) }
    StandardError.say((warnings.value ?? []).map { CacheWords.line($0) })
    StandardError.say(ProofWords.unused(settings.checksums?.unusedNames ?? []))
    let status = writeFailed(report, ledger.spool) ?? report.status
    summarize(report, this.flatMap { history.comparison(for: $0, in: report.mode) }, usesPipe: usesPipe)
    return status
  }

  /// - Returns: the exit status if the list cannot be written; what failed then stands in the summary.
  private func writeFailed(_ report: RunReport, _ spool: FailureSpool?) -> ExitStatus? {
    guard let failedList else { return nil }
    // Beside it and renamed: the list that is there may be the one that was just run again.
    let draft = FilePath(failedList + ".part")
    do {
      let file = try FileDescriptor.open(
        draft, .writeOnly, options: [.create, .truncate, .closeOnExec],
        permissions: FilePermissions(rawValue: 0o666))
      try file.closeAfter {
        try file.writeAll(FailedList(report).text.utf8)
        if report.moreFailures > 0 { try spool?.copy(to: file) }
      }
      guard rename(draft.string, failedList) == 0 else { throw Errno(rawValue: errno) }
      return nil
    } catch {
      StandardError.say([
        "dlm: \(failedList) cannot be written: \(error); choose another file with --failed"
      ])
      return report.status == .success ? .diskFailed : report.status
    }
  }

  private func summarize(_ report: RunReport, _ comparison: RunHistory.Comparison?, usesPipe: Bool) {
    let again = CommandLineWords.again(
      Array(CommandLine.arguments.dropFirst()), usesStandardInput: usesPipe)
    let words = SummaryWords(report, comparedWith: comparison, again: again)
    StandardError.say(settings.progress == .none ? words.failureLines : words.lines)
  }

  private func remember(_ history: RunHistory, _ log: RunLog) {
    do {
      try store.save(history)
    } catch {
      log.historyNotSaved(error)
    }
  }

  /// How many files the sources name; nil where that is known only when their lists are read.
  private static func count(_ sources: [Source]) -> Int? {
    let isAddress = sources.allSatisfy { if case .address = $0 { true } else { false } }
    return isAddress ? sources.count : nil
  }

  /// How a source is named in the history: lists by their whole path, addresses without credentials.
  private static func remembered(_ argument: String) -> String {
    switch Source(argument) {
    case .standardInput: argument
    case .address(let text): (try? Address(text))?.key ?? ""
    case .list(let path): URL(fileURLWithPath: path).path
    }
  }
}

extension RunReport {
  /// Whether it says something about the mode: it ran to its end.
  var isWhole: Bool { signal == nil && failures.isEmpty && rejections.isEmpty && tally.done > 0 }
}

extension RunHistory {
  /// - Returns: the run as noted; nil when it says nothing about its mode.
  mutating func add(_ report: RunReport, listDigest: String) -> Run? {
    guard report.isWhole else { return nil }
    let run = Run(
      listDigest: listDigest, jobs: report.jobs, fetched: report.tally.fetched,
      transferredBytes: report.tally.fetchedBytes, seconds: report.elapsed / .seconds(1), endedAt: Date())
    runs[report.mode.rawValue] = run
    return run
  }
}
