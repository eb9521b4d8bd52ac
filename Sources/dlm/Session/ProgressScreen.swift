import DownloadCaching
import DownloadModel
import Foundation
import Glibc
import Synchronization
import SystemPackage
import TerminalProgress

/// Shows this process's progress, on standard error as its terminal and its user allow; and the root of the
/// task tree, which the process's signals cancel.
final class ProgressScreen: Sendable {
  let style: ProgressStyle.Resolved
  private let environment: TerminalEnvironment
  private let output = TerminalOutput()
  private let questions = Mutex<QuestionQueue?>(nil)
  private let current = Mutex<ProgressRenderer?>(nil)
  private let lost = Mutex<OutputLost?>(nil)

  init(_ style: ProgressStyle, environment variables: [String: String]) {
    environment = TerminalEnvironment(isTerminal: output.isTerminal, variables: variables)
    self.style = style.resolved(in: environment)
  }

  /// Sets the queue that may use the terminal's keys.
  func asks(_ questions: QuestionQueue?) { self.questions.withLock { $0 = questions } }

  /// Whether JSON lines were lost. They are data: the run's files are not affected, but the reader of the
  /// lines is.
  var hasLostData: Bool { lost.withLock { $0 != nil } }

  // MARK: Showing

  /// Shows a run while `work` runs. Only the end of the run waits for the terminal.
  /// - Returns: what `work` returned.
  func show<Value: Sendable>(
    _ feed: ProgressFeed, _ detail: ProgressFeed.Detail = .events, while work: @Sendable () async -> Value
  ) async -> Value {
    let renderer = renderer(of: feed, detail)
    current.withLock { $0 = renderer }
    async let drawing: Void = renderer.run()
    let value = await work()
    await renderer.finish()
    await drawing
    if style == .json, let lost = await renderer.lost {
      self.lost.withLock { $0 = lost }
      StandardError.say([TroubleMessages.outputLost(Errno(rawValue: lost.errno))])
    }
    current.withLock { $0 = nil }
    return value
  }

  private func renderer(of feed: ProgressFeed, _ detail: ProgressFeed.Detail) -> ProgressRenderer {
    ProgressRenderer(
      feed: feed, detail: detail, style: style, isColored: ColorChoice.auto.resolved(in: environment),
      // JSON lines are data, and the only output on standard output.
      output: style == .json ? TerminalOutput(descriptor: STDOUT_FILENO) : output,
      environment: environment,
      words: ProgressMessages(
        failure: { FailureMessages($0).line }, cause: { FailureMessages($0).cause },
        rejection: { RejectionMessages($0).line },
        timestamp: {
          Date().formatted(.iso8601.year().month().day().time(includingFractionalSeconds: true)) + "Z"
        }))
  }

  // MARK: Signals

  /// A child of the root task that ended.
  private enum Event<Value: Sendable>: Sendable {
    case worked(Value)
    case signalled(Int32)
    /// A child that was cancelled and has no result.
    case ended
  }

  /// Runs work that signals cancel: SIGINT, SIGTERM and SIGHUP once, so that it puts away what it has; a
  /// second one ends the process at once. SIGTSTP (Ctrl-Z) gives the terminal back before it stops.
  /// - Parameter early: signals that count already, because something is to be put away whatever happens from
  ///   then on.
  /// - Returns: what the work returned, also when it was cancelled; and the signal that cancelled it.
  func runInterruptibly<Value: Sendable>(
    early: Signals? = nil, _ work: @escaping @Sendable () async -> Value
  ) async -> (Value, signal: Int32?) {
    let signals = early ?? Signals(.ending) { self.restoreNow() }
    let stops = style == .bars ? Signals(.stopping) : nil
    return await withTaskGroup(of: Event<Value>.self) { group in
      group.addTask { .worked(await work()) }
      group.addTask { await signals.first { _ in true }.map { .signalled($0) } ?? .ended }
      if let stops { group.addTask { await self.stopAndGoOn(at: stops) } }
      var signal: Int32?
      while let event = await group.next() {
        // The first child that ends cancels the others. The work still returns, after it has cleaned up.
        group.cancelAll()
        switch event {
        case .worked(let value): return (value, signal)
        case .signalled(let number): signal = number
        case .ended: break
        }
      }
      preconditionFailure("the work is a child of the group, and ends with an event")
    }
  }

  private func stopAndGoOn<Value>(at stops: Signals) async -> Event<Value> {
    for await _ in stops {
      questions.withLock { $0 }?.restoreNow()
      await current.withLock { $0 }?.suspend()
      kill(getpid(), SIGSTOP)
      questions.withLock { $0 }?.takeKeys()
      await current.withLock { $0 }?.resume()
    }
    return .ended
  }

  /// Gives the terminal back at once, from any thread, for a process that is about to end.
  func restoreNow() {
    questions.withLock { $0 }?.restoreNow()
    current.withLock { $0 }?.restoreNow()
  }
}

/// Lets other processes see how far a run has come (`dlm cache status`): a reader of its feed that writes a
/// file.
struct RunningSnapshots {
  private let folder: FilePath
  /// Where the run's files go.
  private let directory: String

  /// - Returns: nil without a folder for dlm's state.
  init?(state: FilePath?, directory: String) {
    guard let state else { return nil }
    folder = Self.folder(below: state)
    self.directory = directory
  }

  /// - Parameter state: `$XDG_STATE_HOME/dlm`.
  static func folder(below state: FilePath) -> FilePath { state.appending("running") }

  /// Writes a snapshot a second until the task is cancelled, and takes it away then. A run that is over
  /// sooner leaves nothing and writes nothing.
  func follow(_ feed: ProgressFeed) async {
    let file = RunningDownloadsFile(in: folder)
    let start = ContinuousClock.now
    // Of the last five seconds: the rate is what came in that time.
    var earlier: [(at: Duration, received: Int64)] = [(.zero, 0)]
    for await sample in feed.samples(of: .files, every: .seconds(1)) {
      if Task.isCancelled { break }
      let now = start.duration(to: .now)
      let rate = Double(sample.received - earlier[0].received) / ((now - earlier[0].at) / .seconds(1))
      earlier.append((now, sample.received))
      if earlier.count > 5 { earlier.removeFirst() }
      // By now the folder is there, or this is its name as it was given.
      let directory = RunMemory.canonical(directory) ?? directory
      await file.write(
        RunningDownloads(sample, directory: directory, rate: Int64(max(0, min(rate, 1e15)))))
    }
    await file.remove()
  }
}
