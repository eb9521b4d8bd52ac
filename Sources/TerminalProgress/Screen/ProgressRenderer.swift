package import DownloadModel
import Synchronization

/// The shell around bars or a log: it reads the feed at their pace, has frames made and writes them. It has a thread of
/// its own, as a terminal can be slow or stopped (Ctrl-S).
package actor ProgressRenderer {
  package nonisolated var unownedExecutor: UnownedSerialExecutor { thread.asUnownedSerialExecutor() }

  private let thread = BlockingExecutor(label: "dlm.progress")
  /// Nil once nothing can be written any more, so that the events of a long run do not pile up.
  private var reader: ProgressReader?
  private let output: any ProgressOutput
  private let time: Time
  private let cursor = CursorGuard()
  /// What gives the terminal back from any state at all; empty for a style that never takes it.
  package nonisolated let restoring: [UInt8]
  private let ended = AsyncStream<Never>.makeStream()
  /// Lines of others for the next frame; nil when none will come.
  private let notes = Lock<[String]?>([])
  private var bars: BarsDisplay?
  /// Made with its first line.
  private lazy var log = makeLog()
  private let makeLog: @Sendable () -> (any ProgressLog)?
  private var pace: FramePace
  private var isFinished = false
  private var isSuspended = false
  /// Why nothing is written any more: the terminal, the pipe or the file is gone.
  package private(set) var lost: OutputLost?

  private struct Time {
    let elapsed: @Sendable () -> Duration
    let sleep: @Sendable (Duration) async throws -> Void
    let spent: @Sendable () -> ProcessorTime
  }

  /// Nil for a style that shows nothing, which costs neither a thread nor a timer.
  /// - Parameter clock: monotonic; its `now` is the start of the run.
  package init?(
    feed: ProgressFeed, detail: ProgressFeed.Detail = .events, heading: RunHeading? = nil,
    style: ProgressStyle.Resolved, output: any ProgressOutput, environment: TerminalEnvironment,
    words: @autoclosure @escaping @Sendable () -> ProgressMessages, clock: some Clock<Duration> = ContinuousClock(),
    spent: @escaping @Sendable () -> ProcessorTime = { (.zero, .zero) }
  ) {
    let interval: Duration
    var log: @Sendable () -> (any ProgressLog)? = { nil }
    switch style {
    case .bars:
      // 20 frames a second: smooth to the eye, and no burden.
      interval = .milliseconds(50)
      bars = BarsDisplay(environment: environment, words: words(), heading: heading)
    case .plain:
      interval = .milliseconds(250)
      log = { PlainLog(isColored: environment.isColored, words: words()) }
    case .json:
      interval = .milliseconds(100)
      log = { JSONLog(words: words(), heading: heading) }
    case .none: return nil
    }
    makeLog = log
    restoring = bars.map { $0.restoring + TerminalMode.pasteOff } ?? []
    // One of several runs goes on where the one before it has just left the screen.
    pace = FramePace(interval, first: heading == nil ? interval : .zero)
    reader = feed.reader(of: detail)
    self.output = output
    let start = clock.now
    time = Time(
      elapsed: { start.duration(to: clock.now) },
      sleep: { try await clock.sleep(until: clock.now.advanced(by: $0), tolerance: nil) }, spent: spent)
  }

  /// Draws until `finish()` is called or the task is cancelled. To be called once.
  package func run() async {
    await withTaskGroup { group in
      group.addTask { await self.drawUntilFinished() }
      // Ends the sleep of the other at once, so that a short run is not held up by a frame's length.
      group.addTask { [ended] in for await _ in ended.stream {} }
      await group.next()
      group.cancelAll()
    }
  }

  /// Writes what is left to say, removes the region, and gives the terminal back. Nothing is drawn afterwards.
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
      write(bars?.end(sample, notes, size: size) ?? log?.end(sample, at: time.elapsed()) ?? [])
    }
    output.giveKeysBack(isForGood: false)
    cursor.giveBack()
  }

  /// Before the process stops (SIGTSTP): gives the terminal and its keys back. Nothing is drawn until `resume()`.
  package func suspend() {
    guard !isSuspended, !isFinished else { return }
    isSuspended = true
    giveBack(erases: output.isInForeground)
  }

  /// After the process goes on (SIGCONT): draws anew at the cursor's line. Also right without `suspend()` (SIGSTOP).
  package func resume() {
    guard !isFinished else { return }
    if !isSuspended { giveBack(erases: output.isInForeground) }
    isSuspended = false
    drawFrame()
  }

  /// Takes a key; what it changes of the screen is in the next frame.
  package func press(_ key: ScreenKey) -> ScreenCommand? { bars?.press(key, at: time.elapsed()) }

  /// Shows for a moment what the run has to say to a key.
  package func answer(_ note: String) { bars?.answer(note, at: time.elapsed()) }

  /// The meter of a file under way.
  package func meter(of id: Int) -> TransferMeter? { bars?.meter(of: id) }

  /// The file that a panel describes; nil for none.
  package var described: TransferMeter? { bars?.described }

  /// Has that panel show the transfers of its file.
  package func describe(_ meter: TransferMeter, by details: [TransferDetails]) { bars?.describe(meter, by: details) }

  /// Gives the terminal back from any thread, at once and for good; for a process that is about to end.
  package nonisolated func restoreNow() {
    if cursor.seal(), !restoring.isEmpty, output.isInForeground { output.writeAtOnce(restoring) }
    output.giveKeysBack(isForGood: true)
  }

  /// Writes whole lines above the region with the next frame; from any thread.
  /// - Returns: false once nothing is drawn any more: the caller writes them itself.
  package nonisolated func say(_ lines: [String]) -> Bool {
    notes.withLock { notes in
      notes?.append(contentsOf: lines)
      return notes != nil
    }
  }

  /// Gives the terminal back until the next frame; `erases` is false where the shell has had it since.
  private func giveBack(erases: Bool) {
    write(bars?.giveBack(erases: erases) ?? [])
    output.giveKeysBack(isForGood: false)
    cursor.giveBack()
  }

  private func drawUntilFinished() async {
    while !isFinished {
      do {
        try await time.sleep(pace.pause)
      } catch {
        return  // Cancelled: finish() has the last word.
      }
      // Nothing is awaited in between, so that both are of one thread.
      let before = time.spent()
      drawFrame()
      pace.take(before, time.spent(), at: time.elapsed())
    }
  }

  /// Events stay in the feed while the terminal takes nothing.
  func drawFrame() {
    guard !isFinished, !isSuspended, let reader, output.isReady else { return }
    var size = output.size ?? .usual
    let notes = notes.withLock { notes in
      defer { if notes != nil { notes = [] } }
      return notes ?? []
    }
    let isInForeground = output.isInForeground
    if !isInForeground {
      // The shell has the terminal: lines may scroll by, but there is no room for a region, and the cursor is its.
      giveBack(erases: false)
      size.rows = 0
    } else if bars != nil {
      output.takeKeys()
    }
    let sample = reader.take()
    let now = time.elapsed()
    let bytes = bars?.draw(sample, notes, at: now, size: size) ?? log?.draw(sample, at: now) ?? []
    write(isInForeground ? bytes : bytes + (bars?.giveBack(erases: false) ?? []))
    if !isInForeground { cursor.giveBack() }
  }

  private func write(_ bytes: [UInt8]) {
    guard !bytes.isEmpty, reader != nil, cursor.take() else { return }
    do {
      try output.write(bytes)
    } catch {
      lost = error  // The downloads do not suffer for it; the run says so at its end.
      reader = nil
      notes.withLock { $0 = nil }
    }
    // The second signal came in the middle of this write, and what it restored was drawn over.
    if cursor.isSealed { output.writeAtOnce(restoring) }
  }
}

/// What has been had of the processor so far: by the thread that draws, and by all threads of the process.
package typealias ProcessorTime = (drawing: Duration, process: Duration)

/// Whether the renderer has the terminal, which is given back exactly once: by the renderer, or by a second signal.
private final class CursorGuard: Sendable {
  private enum State: UInt8, AtomicRepresentable { case returned, taken, sealed }
  private let state = Atomic(State.returned)

  /// Before the first bytes of a frame. False once sealed: nothing may be drawn any more.
  func take() -> Bool {
    let (_, now) = state.compareExchange(expected: .returned, desired: .taken, ordering: .acquiringAndReleasing)
    return now != .sealed
  }

  /// After the bytes that gave it back.
  func giveBack() { _ = state.compareExchange(expected: .taken, desired: .returned, ordering: .acquiringAndReleasing) }

  /// For good, from any thread. True if it was taken and the caller has to give it back.
  func seal() -> Bool { state.exchange(.sealed, ordering: .acquiringAndReleasing) == .taken }

  var isSealed: Bool { state.load(ordering: .acquiring) == .sealed }
}
