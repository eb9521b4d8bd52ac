public import DownloadModel
import Synchronization

/// The shell around a display: a reader of the feed at the display's pace, which has the frame made and
/// writes it.
///
/// It runs on a thread of its own, as a terminal can be slow or stopped (Ctrl-S). Only the caller of
/// `finish()` waits for it.
public actor ProgressRenderer {
  public nonisolated var unownedExecutor: UnownedSerialExecutor { thread.asUnownedSerialExecutor() }

  private let thread = BlockingExecutor(label: "dlm.progress")
  private let feed: ProgressFeed
  private var reader: ProgressReader
  private let output: any ProgressOutput
  private let elapsed: @Sendable () -> Duration
  private let sleep: @Sendable (Duration) async throws -> Void
  private let cursor = CursorGuard()
  private let restoring: [UInt8]
  private let ended = AsyncStream<Never>.makeStream()
  private var display: any ProgressDisplay
  private var isFinished = false
  private var isSuspended = false
  /// Why nothing is written any more: the terminal, the pipe or the file is gone.
  public private(set) var lost: OutputLost?

  /// - Parameters:
  ///   - detail: what is shown; the totals alone are for a run that is measured.
  ///   - clock: monotonic; its `now` is the start of the run.
  public init(
    feed: ProgressFeed, detail: ProgressFeed.Detail = .events, style: ProgressStyle.Resolved, isColored: Bool,
    output: any ProgressOutput,
    environment: TerminalEnvironment, words: ProgressMessages,
    clock: some Clock<Duration> = ContinuousClock()
  ) {
    self.feed = feed
    // For a style that shows nothing, nothing is kept.
    reader = feed.reader(of: style == .none ? .totals : detail)
    self.output = output
    let start = clock.now
    elapsed = { start.duration(to: clock.now) }
    sleep = { try await clock.sleep(until: clock.now.advanced(by: $0), tolerance: nil) }
    display =
      switch style {
      case .bars: BarsDisplay(environment: environment, isColored: isColored, words: words)
      case .plain: PlainLog(isColored: isColored, words: words)
      case .json: JSONLog(words: words)
      case .none: SilentDisplay()
      }
    restoring = display.restoring
  }

  /// Draws until `finish()` is called or the task is cancelled. To be called once.
  public func run() async {
    await withTaskGroup { group in
      group.addTask { await self.drawUntilFinished() }
      // Ends the sleep of the other at once, so that a short run is not held up by a frame's length.
      group.addTask { [ended] in for await _ in ended.stream {} }
      await group.next()
      group.cancelAll()
    }
  }

  /// Writes what is left to say, removes the region, and gives the terminal back. Nothing is drawn
  /// afterwards.
  public func finish() {
    guard !isFinished else { return }
    isFinished = true
    ended.continuation.finish()
    if lost == nil { write(display.end(reader.take(), at: elapsed(), size: output.size ?? .usual)) }
    cursor.giveBack()
  }

  /// Before the process stops (SIGTSTP): removes the region and shows the cursor.
  public func suspend() {
    guard !isSuspended, !isFinished else { return }
    isSuspended = true
    write(display.suspend())
    cursor.giveBack()
  }

  /// After the process goes on (SIGCONT): draws anew from the line where the cursor stands. Also right if
  /// `suspend()` could not be called before (SIGSTOP).
  public func resume() {
    guard !isFinished else { return }
    suspend()
    isSuspended = false
    drawFrame()
  }

  /// Gives the terminal back from any thread, at once and for good; for a process that is about to end.
  public nonisolated func restoreNow() {
    if cursor.seal(), !restoring.isEmpty { output.writeAtOnce(restoring) }
  }

  private func drawUntilFinished() async {
    while !isFinished {
      do {
        try await sleep(display.interval)
      } catch {
        return  // Cancelled: finish() has the last word.
      }
      drawFrame()
    }
  }

  /// Events stay in the feed while the terminal takes nothing.
  func drawFrame() {
    guard !isFinished, !isSuspended, lost == nil, output.isReady else { return }
    var size = output.size ?? .usual
    guard !output.isInForeground else {
      write(display.draw(reader.take(), at: elapsed(), size: size))
      return
    }
    // The shell has the terminal: lines may scroll by, but there is no room for a region, and the cursor is
    // its.
    size.rows = 0
    write(display.draw(reader.take(), at: elapsed(), size: size) + display.suspend())
    cursor.giveBack()
  }

  private func write(_ bytes: [UInt8]) {
    guard !bytes.isEmpty, lost == nil, cursor.take() else { return }
    do throws(OutputLost) {
      try output.write(bytes)
    } catch {
      lost = error  // The downloads do not suffer for it; the run says so at its end.
      reader = feed.reader(of: .totals)  // Or the events of a long run would pile up unread.
    }
    // The second signal came in the middle of this write, and what it restored was drawn over.
    if cursor.isSealed { output.writeAtOnce(restoring) }
  }
}

/// A way to show progress: numbers in, bytes out. It neither waits nor writes.
protocol ProgressDisplay: Sendable {
  /// Time between two looks at the numbers.
  var interval: Duration { get }

  /// - Parameter now: since the start, on a monotonic clock.
  /// - Returns: nothing if there is nothing new to show.
  mutating func draw(_ sample: ProgressSample, at now: Duration, size: TerminalSize) -> [UInt8]

  /// The last words: every event that is left, and the terminal as it was found.
  mutating func end(_ sample: ProgressSample, at now: Duration, size: TerminalSize) -> [UInt8]

  /// Gives the terminal back for a while; the next `draw` takes it again.
  mutating func suspend() -> [UInt8]

  /// What gives the terminal back from any state at all; empty if it is never taken.
  var restoring: [UInt8] { get }
}

/// Shows nothing.
private struct SilentDisplay: ProgressDisplay {
  let interval = Duration.seconds(1)
  let restoring: [UInt8] = []

  func draw(_ sample: ProgressSample, at now: Duration, size: TerminalSize) -> [UInt8] { [] }
  func end(_ sample: ProgressSample, at now: Duration, size: TerminalSize) -> [UInt8] { [] }
  func suspend() -> [UInt8] { [] }
}

/// Whether the renderer has the terminal, which is given back exactly once: by the renderer, or by a second
/// signal.
private final class CursorGuard: Sendable {
  private enum State: UInt8, AtomicRepresentable { case returned, taken, sealed }
  private let state = Atomic(State.returned)

  /// Before the first bytes of a frame. False once sealed: nothing may be drawn any more.
  func take() -> Bool {
    let (_, now) = state.compareExchange(
      expected: .returned, desired: .taken, ordering: .acquiringAndReleasing)
    return now != .sealed
  }

  /// After the bytes that gave it back.
  func giveBack() {
    _ = state.compareExchange(expected: .taken, desired: .returned, ordering: .acquiringAndReleasing)
  }

  /// For good, from any thread. True if it was taken and the caller has to give it back.
  func seal() -> Bool { state.exchange(.sealed, ordering: .acquiringAndReleasing) == .taken }

  var isSealed: Bool { state.load(ordering: .acquiring) == .sealed }
}
