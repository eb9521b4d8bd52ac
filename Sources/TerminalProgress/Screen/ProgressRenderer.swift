package import DownloadModel
import Synchronization

/// Drives the bars or a log: reads the feed at their pace, has frames made, and writes them. An actor on a thread of
/// its own, because a terminal can be slow or stopped (Ctrl-S).
package actor ProgressRenderer {
  package nonisolated var unownedExecutor: UnownedSerialExecutor { thread.asUnownedSerialExecutor() }

  private let thread = BlockingExecutor(label: "dlm.progress")
  /// `nil` once the output is lost, so that the events of a long run do not pile up.
  private var reader: ProgressFeed.Reader?
  private let output: any Output
  /// Since the start of the run.
  private let elapsed: @Sendable () -> Duration
  private let sleep: @Sendable (Duration) async throws -> Void
  private let cursor = CursorGuard()
  /// Bytes that restore the terminal from any state; empty for a style that never takes it.
  package nonisolated let restoring: [UInt8]
  private let ended = AsyncStream<Never>.makeStream()
  /// Lines of other writers for the next frame; `nil` after the last frame.
  private let notes = Lock<[String]?>([])
  private var bars: BarsDisplay?
  /// Created for its first line.
  private lazy var log = makeLog()
  private let makeLog: @Sendable () -> (any ProgressLog)?
  /// Between frames, whatever one costs.
  private let interval: Duration
  private let firstPause: Duration
  /// For outputs of other processes, because there may be many.
  private static let intervalOfViewers = Duration.milliseconds(200)
  private var isFinished = false
  private var isSuspended = false
  /// Why nothing is written any more: the terminal, the pipe or the file has failed.
  package private(set) var lost: TerminalOutput.Lost?

  /// `nil` for a style that shows nothing, which costs neither a thread nor a timer.
  /// - Parameters:
  ///   - most: events that wait for a slow output, which misses more. `nil` for an output of the run itself, which
  ///     misses none.
  ///   - start: of the run; `nil` for now.
  package init?(
    feed: ProgressFeed, detail: ProgressFeed.Detail = .events, keeping most: Int? = nil, heading: RunHeading? = nil,
    style: ProgressStyle.Resolved, output: any Output, environment: TerminalEnvironment,
    words: @autoclosure @escaping @Sendable () -> ProgressMessages, since start: ContinuousClock.Instant? = nil
  ) {
    self.init(
      feed: feed, detail: detail, keeping: most, heading: heading, style: style, output: output,
      environment: environment, words: words(), clock: ContinuousClock(), since: start)
  }

  /// - Parameter clock: monotonic.
  init?<Time: Clock<Duration>>(
    feed: ProgressFeed, detail: ProgressFeed.Detail = .events, keeping most: Int? = nil, heading: RunHeading? = nil,
    style: ProgressStyle.Resolved, output: any Output, environment: TerminalEnvironment,
    words: @autoclosure @escaping @Sendable () -> ProgressMessages, clock: Time, since start: Time.Instant? = nil
  ) {
    switch style {
    case .bars:
      // 10 frames a second: with fewer, what moves would jerk; with more, drawing would cost more.
      interval = most == nil ? .milliseconds(100) : Self.intervalOfViewers
      bars = BarsDisplay(environment: environment, words: words(), heading: heading, joins: most != nil)
      makeLog = { nil }
    case .plain:
      interval = .milliseconds(250)
      makeLog = { PlainLog(isColored: environment.isColored, words: words()) }
    case .json:
      interval = most == nil ? .milliseconds(100) : Self.intervalOfViewers
      makeLog = { JSONLog(words: words(), heading: heading, joins: most != nil) }
    case .none: return nil
    }
    restoring = bars.map { $0.restoring + TerminalMode.pasteOff } ?? []
    // One of several runs draws at once, because the previous one has just left the screen.
    firstPause = heading == nil ? interval : .zero
    reader = feed.reader(of: detail, keeping: most)
    self.output = output
    let start = start ?? clock.now
    elapsed = { start.duration(to: clock.now) }
    sleep = { try await clock.sleep(until: clock.now.advanced(by: $0), tolerance: nil) }
  }

  /// Draws until `finish()` is called or the task is cancelled. To be called once.
  package func run() async {
    await withTaskGroup { group in
      group.addTask { await self.drawUntilFinished() }
      // Ends the other task's sleep at once, so that a short run is not delayed by a frame's length.
      group.addTask { [ended] in for await _ in ended.stream {} }
      await group.next()
      group.cancelAll()
    }
  }

  /// Writes the remaining lines, removes the region, and restores the terminal. Nothing is drawn afterwards.
  package func finish() {
    guard !isFinished else { return }
    isFinished = true
    ended.continuation.finish()
    // In the background there is no room for a region, as in drawFrame.
    var size = output.size ?? .usual
    if isSuspended || !output.isInForeground {
      giveBack(erases: false)
      size.rows = 0
    }
    let notes = notes.withLock { $0.take() } ?? []
    if let sample = reader?.take() {
      write(bars?.end(sample, notes, size: size) ?? log?.end(sample, at: elapsed()) ?? [])
    }
    // The bars have given it back at their end.
    giveBack(erases: false)
  }

  /// Before the process stops (SIGTSTP): restores the terminal and its keys. Nothing is drawn until `resume()`.
  package func suspend() {
    guard !isSuspended, !isFinished else { return }
    isSuspended = true
    giveBack(erases: output.isInForeground)
  }

  /// After the process continues (SIGCONT): draws anew at the cursor's line. Also correct without `suspend()`
  /// (SIGSTOP).
  package func resume() {
    guard !isFinished else { return }
    if !isSuspended { giveBack(erases: output.isInForeground) }
    isSuspended = false
    drawFrame()
  }

  /// Handles a key; its effect on the screen is visible in the next frame.
  package func press(_ key: ScreenKey) -> ScreenCommand? { bars?.press(key, at: elapsed()) }

  /// Shows the run's reply to a key for a moment.
  package func answer(_ note: String) { bars?.screen.say(note, at: elapsed()) }

  /// Of the run at the last frame, in bytes a second.
  package var rate: Int64 { Int64(bars?.rate ?? 0) }

  /// The file in the details panel; `nil` for none.
  package var described: TransferMeter? { bars?.described }

  /// Passes the transfers of its file to that panel.
  package func describe(_ meter: TransferMeter, by details: [TransferDetails]) { bars?.describe(meter, by: details) }

  /// Restores the terminal from any thread, at once and permanently; for a process that is about to end.
  package nonisolated func restoreNow() {
    if cursor.seal(), !restoring.isEmpty, output.isInForeground { output.writeAtOnce(restoring) }
    output.giveKeysBack(isForGood: true)
  }

  /// Restores a terminal on which another process's frames were shown.
  package static var restoring: [UInt8] { FrameWriter.restoring(extra: "") }

  /// Writes whole lines above the region with the next frame; from any thread.
  /// - Returns: false once nothing is drawn any more: the caller must write them itself.
  package nonisolated func say(_ lines: [String]) -> Bool {
    notes.withLock { notes in
      notes?.append(contentsOf: lines)
      return notes != nil
    }
  }

  /// Restores the terminal until the next frame; `erases` is false if the shell has had it since.
  private func giveBack(erases: Bool) {
    write(bars?.giveBack(erases: erases) ?? [])
    output.giveKeysBack(isForGood: false)
    cursor.giveBack()
  }

  private func drawUntilFinished() async {
    var pause = firstPause
    while !isFinished {
      do {
        try await sleep(pause)
      } catch {
        return  // Cancelled: finish() writes the rest.
      }
      drawFrame()
      pause = interval
    }
  }

  /// Events stay in the feed while the terminal is not ready.
  func drawFrame() {
    guard !isFinished, !isSuspended, let reader, output.isReady else { return }
    var size = output.size ?? .usual
    let notes = notes.withLock { notes in
      defer { if notes != nil { notes = [] } }
      return notes ?? []
    }
    let isInForeground = output.isInForeground
    if !isInForeground {
      // The shell has the terminal: lines may scroll by, but there is no room for a region, and the cursor is the
      // shell's.
      giveBack(erases: false)
      size.rows = 0
    } else if bars != nil {
      output.takeKeys()
    }
    let sample = reader.take()
    let now = elapsed()
    let bytes = bars?.draw(sample, notes, at: now, size: size) ?? log?.draw(sample, at: now) ?? []
    write(isInForeground ? bytes : bytes + (bars?.giveBack(erases: false) ?? []))
    if !isInForeground { cursor.giveBack() }
  }

  private func write(_ bytes: [UInt8]) {
    guard !bytes.isEmpty, reader != nil, cursor.take() else { return }
    do {
      try output.write(bytes)
    } catch {
      lost = error  // The downloads continue; the run reports it at its end.
      reader = nil
      notes.withLock { $0 = nil }
    }
    // The second signal arrived in the middle of this write, which overwrote the restored screen.
    if cursor.isSealed { output.writeAtOnce(restoring) }
  }
}

extension ProgressRenderer {
  /// The destination of progress. `TerminalOutput` is the real one; tests read the characters.
  package protocol Output: Sendable {
    /// Whether bytes would be accepted at once. A stopped terminal (Ctrl-S) or a full pipe is not ready.
    var isReady: Bool { get }

    /// Whether this process may draw on the terminal. A job in the background (`&`, `bg`) shares it with the shell.
    var isInForeground: Bool { get }

    /// The current size of the window; `nil` without a window or if unknown.
    var size: TerminalSize? { get }

    /// Writes everything, however long that takes.
    func write(_ bytes: [UInt8]) throws(TerminalOutput.Lost)

    /// Turns off echo and line mode: typed characters are keys. Only in the foreground; costs nothing if already done.
    func takeKeys()

    /// Restores echo and line mode, from any thread. After `isForGood`, `takeKeys` does nothing.
    func giveKeysBack(isForGood: Bool)

    /// Writes the bytes with a single call if the output is ready, else drops them. Allocates nothing.
    func writeAtOnce(_ bytes: [UInt8])
  }
}

/// Of an output that is no terminal of this process.
extension ProgressRenderer.Output {
  package var isReady: Bool { true }
  package var isInForeground: Bool { true }
  package var size: TerminalSize? { nil }
  package func takeKeys() {}
  package func giveKeysBack(isForGood: Bool) {}
  package func writeAtOnce(_ bytes: [UInt8]) {}
}

/// Whether the renderer has the terminal, which is restored exactly once: by the renderer, or by a second signal.
private final class CursorGuard: Sendable {
  private enum State: UInt8, AtomicRepresentable { case returned, taken, sealed }
  private let state = Atomic(State.returned)

  /// Before the first bytes of a frame. False once sealed: nothing may be drawn any more.
  func take() -> Bool {
    let (_, now) = state.compareExchange(expected: .returned, desired: .taken, ordering: .acquiringAndReleasing)
    return now != .sealed
  }

  /// After the bytes that restored it.
  func giveBack() { _ = state.compareExchange(expected: .taken, desired: .returned, ordering: .acquiringAndReleasing) }

  /// Permanently, from any thread. True if it was taken and the caller has to restore it.
  func seal() -> Bool { state.exchange(.sealed, ordering: .acquiringAndReleasing) == .taken }

  var isSealed: Bool { state.load(ordering: .acquiring) == .sealed }
}
