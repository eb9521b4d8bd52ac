public import DownloadModel

/// The shell around a display: it looks at the board now and then, has the frame made, and writes it.
///
/// It runs on a thread of its own, as a terminal can be slow or stopped (Ctrl-S). Nobody waits for it but who
/// calls `finish()`.
public actor ProgressRenderer {
  public nonisolated var unownedExecutor: UnownedSerialExecutor { thread.asUnownedSerialExecutor() }

  private let thread = BlockingExecutor(label: "dlm.progress")
  private let board: ProgressBoard
  private let output: any ProgressOutput
  private let elapsed: @Sendable () -> Duration
  private let sleep: @Sendable (Duration) async throws -> Void
  private let cursor = CursorGuard()
  private let restoring: [UInt8]
  private let ended = AsyncStream<Never>.makeStream()
  private var display: any ProgressDisplay
  private var isFinished = false
  private var isSuspended = false
  /// Set when nobody reads any more: why, from then on.
  public private(set) var lost: OutputLost?

  /// - Parameters:
  ///   - board: one that keeps events, unless the style is `none`.
  ///   - clock: monotonic; its `now` is the start of the run.
  public init(
    board: ProgressBoard, style: ProgressStyle.Resolved, isColored: Bool, output: any ProgressOutput,
    environment: TerminalEnvironment, words: ProgressWords,
    clock: some Clock<Duration> = ContinuousClock()
  ) {
    self.board = board
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

  /// Writes what is left to say, removes the region, and gives the terminal back. Nothing is drawn afterwards.
  public func finish() {
    guard !isFinished else { return }
    isFinished = true
    ended.continuation.finish()
    if lost == nil { write(display.end(board.take(), at: elapsed(), size: output.size ?? .usual)) }
    cursor.giveBack()
  }

  /// Before the process stops (SIGTSTP): removes the region and shows the cursor.
  public func suspend() {
    guard !isSuspended, !isFinished else { return }
    isSuspended = true
    write(display.suspend())
    cursor.giveBack()
  }

  /// After the process goes on (SIGCONT): draws anew from the line where the cursor stands. Also right if nobody
  /// could call `suspend()` before (SIGSTOP).
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

  /// Events stay on the board while the terminal takes nothing.
  func drawFrame() {
    guard !isFinished, !isSuspended, output.isReady else { return }
    guard lost == nil else {
      _ = board.take()  // Or the events of a long run would pile up unread.
      return
    }
    var size = output.size ?? .usual
    guard !output.isInForeground else {
      write(display.draw(board.take(), at: elapsed(), size: size))
      return
    }
    // The shell has the terminal: lines may scroll by, but there is no room for a region, and the cursor is its.
    size.rows = 0
    write(display.draw(board.take(), at: elapsed(), size: size) + display.suspend())
    cursor.giveBack()
  }

  private func write(_ bytes: [UInt8]) {
    guard !bytes.isEmpty, lost == nil, cursor.take() else { return }
    do throws(OutputLost) {
      try output.write(bytes)
    } catch {
      lost = error  // The downloads are not to suffer for it; whoever started the run may say it.
    }
    // The second signal came in the middle of this write, and what it restored was drawn over.
    if cursor.isSealed { output.writeAtOnce(restoring) }
  }
}
