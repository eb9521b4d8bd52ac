import DownloadModel
import Glibc
import Synchronization
import SystemPackage
import TerminalProgress

/// Shows the progress on standard error, and is the root of the task tree, which signals cancel.
final class ProgressScreen: Sendable {
  let style: ProgressStyle.Resolved
  private let environment: TerminalEnvironment
  private let variables: [String: String]
  private let output: TerminalOutput
  private let current = Lock<ProgressRenderer?>(nil)
  private let ending = Lock<Signals?>(nil)
  private let lost = Lock(false)
  /// Of a detached run, in place of the terminal.
  private let log = Lock<RunLogFile?>(nil)

  /// - Parameters:
  ///   - readsInput: whether the run reads standard input; at a terminal its keys then stay lines, ended by Ctrl-D.
  ///   - keepsInput: whether typed text is left for the program after dlm.
  init(
    _ style: ProgressStyle, readsInput: Bool = false, keepsInput: @autoclosure () -> Bool = false,
    environment variables: [String: String]
  ) {
    output = TerminalOutput(takesKeys: !readsInput || isatty(STDIN_FILENO) == 0, keepsInput: keepsInput())
    self.variables = variables
    environment = TerminalEnvironment(isTerminal: output.isTerminal, variables: variables)
    self.style = style.resolved(in: environment)
  }

  /// Lost JSON lines fail the run, because they are data.
  var hasLostData: Bool { lost.withLock { $0 } }

  func write(to file: RunLogFile) { log.withLock { $0 = file } }

  // MARK: Showing

  /// Only the end of the run waits for the terminal.
  /// - Parameters:
  ///   - control: receives the commands of keys; `nil` if keys only answer questions.
  ///   - paste: see `ScreenKeys`.
  func show<Value: Sendable>(
    _ feed: ProgressFeed, _ detail: ProgressFeed.Detail = .events, heading: RunHeading? = nil,
    keys: TerminalKeys? = nil, control: Wiring? = nil, handOver: HandOver? = nil,
    paste: @escaping @Sendable (String) -> Bool = { _ in false },
    while work: @Sendable () async -> Value
  ) async -> Value {
    guard
      let renderer = ProgressRenderer(
        feed: feed, detail: detail, heading: heading, style: style,
        // JSON lines are data, the only output on standard output.
        output: style == .json ? TerminalOutput(descriptor: STDOUT_FILENO) : log.withLock { $0 } ?? output,
        environment: environment,
        words: .forDisplay)
    else { return await work() }
    current.withLock { $0 = renderer }
    if style == .bars {
      CrashGuard.arm(STDERR_FILENO, restoring: renderer.restoring)
      StandardError.lead { renderer.say($0) }
    }
    async let drawing: Void = renderer.run()
    async let _: Void? = keys.map {
      ScreenKeys(keys: $0, control: control, renderer: renderer, stop: stop, handOver: handOver, paste: paste)
    }?.run()
    let value = await work()
    await renderer.finish()
    await drawing
    await close(renderer)
    return value
  }

  private func close(_ renderer: ProgressRenderer) async {
    StandardError.lead(to: nil)
    if style == .bars { CrashGuard.disarm() }
    if style == .json, let loss = await renderer.lost {
      lost.withLock { $0 = true }
      StandardError.say(TroubleMessages.outputLost(Errno(rawValue: loss.errno)))
    }
    current.withLock { $0 = nil }
  }

  // MARK: Signals

  /// Runs work that the first SIGINT, SIGTERM or SIGHUP cancels; a second one ends the process at once. SIGTSTP
  /// (Ctrl-Z) restores the terminal before it stops the process.
  /// - Parameters:
  ///   - early: signals that already count, because a clean-up must happen in every case.
  ///   - grace: after SIGTERM and SIGHUP, the work has this time to end by itself, after `begin` was called.
  /// - Returns: the result of the work, also when cancelled; and the signal that cancelled it.
  func runInterruptibly<Value: Sendable>(
    early: Signals? = nil, grace: (time: Duration, begin: @Sendable () -> Void)? = nil,
    _ work: @escaping @Sendable () async -> Value
  ) async -> (Value, signal: Int32?) {
    let signals = early ?? Signals(.ending) { self.restoreNow() }
    ending.withLock { $0 = signals }
    let stops = style == .bars ? Signals(.stopping) : nil
    return await withTaskGroup(of: (value: Value?, signal: Int32?).self) { group in
      group.addTask { (await work(), nil) }
      group.addTask {
        let signal = await signals.first { _ in true }
        if let grace, signal == SIGTERM || signal == SIGHUP {
          grace.begin()
          try? await Task.sleep(for: grace.time)  // ends early with the work
        }
        return (nil, signal)
      }
      if let stops { group.addTask { await self.stopAndGoOn(at: stops) } }
      var value: Value?
      var signal: Int32?
      while let end = await group.next() {
        // The first child that ends cancels the others; the work still returns, after it has cleaned up.
        group.cancelAll()
        signal = end.signal ?? signal
        value = end.value ?? value
      }
      if let value { return (value, signal) }
      preconditionFailure("the work is a child of the group, and returns")
    }
  }

  private func stopAndGoOn<Value>(at stops: Signals) async -> (Value?, Int32?) {
    for await signal in stops {
      if signal == SIGTSTP {
        await current.withLock { $0 }?.suspend()
        Signals.stopProcess()
      }
      // Also after SIGCONT: the stop may have been a SIGSTOP.
      await current.withLock { $0 }?.resume()
    }
    return (nil, nil)
  }

  /// Shows an image above the bars if the terminal can.
  /// - Returns: its format and size as a text; `nil` for another file.
  func showPicture(_ path: String) -> String? {
    guard let bytes = PicturePreview.read(path), let header = PicturePreview.header(bytes) else { return nil }
    if style == .bars, output.isInForeground, (output.size?.rows ?? 0) >= PicturePreview.leastRows,
      let text = PicturePreview.way(variables).flatMap({ PicturePreview.text(bytes, $0) })
    {
      _ = current.withLock { $0 }?.say([text])
    }
    return "\(header.format.rawValue), \(header.width) x \(header.height) pixels"
  }

  /// Ends the run like the first Ctrl-C.
  @Sendable func stop() { ending.withLock { $0 }?.deliver(SIGINT) }

  /// From any thread, for a process that is about to end.
  func restoreNow() { current.withLock { $0 }?.restoreNow() }
}
