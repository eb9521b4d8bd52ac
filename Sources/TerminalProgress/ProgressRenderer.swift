public import DownloadModel
import Synchronization

/// The shell around a display: a reader of the feed at the display's pace, which has the frame made and writes it.
///
/// It runs on a thread of its own, as a terminal can be slow or stopped (Ctrl-S). Only the caller of `finish()` waits
/// for it.
public actor ProgressRenderer {
  public nonisolated var unownedExecutor: UnownedSerialExecutor { thread.asUnownedSerialExecutor() }

  private let thread = BlockingExecutor(label: "dlm.progress")
  private let feed: ProgressFeed
  private let isOneOfSeveral: Bool
  private var reader: ProgressReader
  private let output: any ProgressOutput
  private let elapsed: @Sendable () -> Duration
  private let spent: @Sendable () -> ProcessorTime
  private let sleep: @Sendable (Duration) async throws -> Void
  private let cursor = CursorGuard()
  /// What gives the terminal back from any state at all; empty for a style that never takes it.
  public nonisolated let restoring: [UInt8]
  private let ended = AsyncStream<Never>.makeStream()
  /// Lines of others that wait for the next frame; nil when there is none any more.
  private let notes = Lock<[String]?>([])
  private var display: any ProgressDisplay
  private var isFinished = false
  private var isSuspended = false
  /// Why nothing is written any more: the terminal, the pipe or the file is gone.
  public private(set) var lost: OutputLost?

  /// - Parameters:
  ///   - detail: what is shown; the totals alone are for a run that is measured.
  ///   - heading: of a run that is one of several.
  ///   - clock: monotonic; its `now` is the start of the run.
  ///   - spent: the processor's time so far, of the calling thread and of the process.
  /// - Returns: nil for a style that shows nothing, which costs neither a thread nor a timer.
  public init?(
    feed: ProgressFeed, detail: ProgressFeed.Detail = .events, heading: RunHeading? = nil,
    style: ProgressStyle.Resolved, isColored: Bool, output: any ProgressOutput,
    environment: TerminalEnvironment, words: ProgressMessages, clock: some Clock<Duration> = ContinuousClock(),
    spent: @escaping @Sendable () -> ProcessorTime = { ProcessorTime(drawing: .zero, process: .zero) }
  ) {
    switch style {
    case .bars:
      display = BarsDisplay(environment: environment, isColored: isColored, words: words, heading: heading)
    case .plain: display = PlainLog(isColored: isColored, words: words)
    case .json: display = JSONLog(words: words, heading: heading)
    case .none: return nil
    }
    restoring = display.restoring.isEmpty ? [] : display.restoring + TerminalMode.pasteOff
    self.feed = feed
    isOneOfSeveral = heading != nil
    reader = feed.reader(of: detail)
    self.output = output
    let start = clock.now
    self.spent = spent
    elapsed = { start.duration(to: clock.now) }
    sleep = { try await clock.sleep(until: clock.now.advanced(by: $0), tolerance: nil) }
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
    // In the background there is no room for a region, as in drawFrame.
    var size = output.size ?? .usual
    if isSuspended || !output.isInForeground {
      leaveToOthers()
      size.rows = 0
    }
    display.take(notes: notes.withLock { $0.take() } ?? [])
    if lost == nil { write(display.end(reader.take(), at: elapsed(), size: size)) }
    output.giveKeysBack(isForGood: false)
    cursor.giveBack()
  }

  /// Before the process stops (SIGTSTP): removes the region, shows the cursor and gives the keys back. Until `resume()`
  /// nothing is drawn.
  public func suspend() {
    guard !isSuspended, !isFinished else { return }
    isSuspended = true
    giveBack()
  }

  /// After the process goes on (SIGCONT): draws anew from the line where the cursor stands, if the terminal is ours.
  /// Also right if `suspend()` could not be called before (SIGSTOP).
  public func resume() {
    guard !isFinished else { return }
    if !isSuspended { giveBack() }
    isSuspended = false
    drawFrame()
  }

  // MARK: Keys

  /// Takes a key. What it changes of the screen is in the next frame.
  /// - Returns: what the run is to do.
  public func press(_ key: ScreenKey) -> ScreenCommand? { display.press(key, at: elapsed()) }

  /// Shows for a moment what the run has to say to a key.
  public func answer(_ note: String) { display.answer(note, at: elapsed()) }

  /// The meter of a file under way.
  public func meter(of id: Int) -> TransferMeter? { display.meter(of: id) }

  /// The file of which a panel shows all that is known; nil for none.
  public var described: TransferMeter? { display.described }

  /// Has that panel show transfers of that file.
  public func describe(_ meter: TransferMeter, by details: [TransferDetails]) {
    display.describe(meter, by: details)
  }

  /// Gives the terminal back from any thread, at once and for good; for a process that is about to end.
  public nonisolated func restoreNow() {
    if cursor.seal(), !restoring.isEmpty, output.isInForeground { output.writeAtOnce(restoring) }
    output.giveKeysBack(isForGood: true)
  }

  /// Writes lines above the region with the next frame, whole; from any thread.
  /// - Returns: false when nothing is drawn any more, and whoever has something to say writes it himself.
  public nonisolated func say(_ lines: [String]) -> Bool {
    notes.withLock { notes in
      notes?.append(contentsOf: lines)
      return notes != nil
    }
  }

  private func takeNotes() -> [String] {
    notes.withLock { notes in
      defer { if notes != nil { notes = [] } }
      return notes ?? []
    }
  }

  private func giveBack() {
    guard output.isInForeground else { return leaveToOthers() }
    write(display.suspend())
    output.giveKeysBack(isForGood: false)
    cursor.giveBack()
  }

  /// The shell has had the terminal since, so that no cell and no mode is ours to restore.
  private func leaveToOthers() {
    write(display.leave())
    output.giveKeysBack(isForGood: false)
    cursor.giveBack()
  }

  private func drawUntilFinished() async {
    var pace = FramePace()
    // One of several runs goes on where the one before it has just left the screen.
    var pause = isOneOfSeveral ? .zero : display.interval
    while !isFinished {
      do {
        try await sleep(pause)
      } catch {
        return  // Cancelled: finish() has the last word.
      }
      // Nothing is awaited in between, so that both are of one thread.
      let before = spent()
      drawFrame()
      pause = pace.pause(display.interval, at: elapsed(), after: (before, spent()))
    }
  }

  /// Events stay in the feed while the terminal takes nothing.
  func drawFrame() {
    guard !isFinished, !isSuspended, lost == nil, output.isReady else { return }
    var size = output.size ?? .usual
    display.take(notes: takeNotes())
    guard !output.isInForeground else {
      if !restoring.isEmpty { output.takeKeys() }
      write(display.draw(reader.take(), at: elapsed(), size: size))
      return
    }
    // The shell has the terminal: lines may scroll by, but there is no room for a region, and the cursor is its.
    leaveToOthers()
    size.rows = 0
    write(display.draw(reader.take(), at: elapsed(), size: size) + display.leave())
    cursor.giveBack()
  }

  private func write(_ bytes: [UInt8]) {
    guard !bytes.isEmpty, lost == nil, cursor.take() else { return }
    do throws(OutputLost) {
      try output.write(bytes)
    } catch {
      lost = error  // The downloads do not suffer for it; the run says so at its end.
      reader = feed.reader(of: .totals)  // Or the events of a long run would pile up unread.
      notes.withLock { $0 = nil }
    }
    // The second signal came in the middle of this write, and what it restored was drawn over.
    if cursor.isSealed { output.writeAtOnce(restoring) }
  }
}

/// Which of several runs it is.
public struct RunHeading: Sendable {
  /// With bars, what stands above its files.
  let lines: [String]
  /// What the plan line of JSON adds.
  let fields: [String: JSONValue]

  public init(_ lines: [String], fields: [String: JSONValue]) { (self.lines, self.fields) = (lines, fields) }
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

  /// Takes lines of others that are to stand above what is drawn next.
  mutating func take(notes: [String])

  /// Gives the terminal back for a while; the next `draw` takes it again.
  mutating func suspend() -> [UInt8]

  /// Gives the terminal back without touching a cell, where others have written meanwhile.
  mutating func leave() -> [UInt8]

  /// What gives the terminal back from any state at all; empty if it is never taken.
  var restoring: [UInt8] { get }

  /// Takes a key.
  /// - Returns: what the run is to do.
  mutating func press(_ key: ScreenKey, at now: Duration) -> ScreenCommand?
  mutating func answer(_ note: String, at now: Duration)
  func meter(of id: Int) -> TransferMeter?
  /// The file whose transfers are to be described; nil for none.
  var described: TransferMeter? { get }
  mutating func describe(_ meter: TransferMeter, by details: [TransferDetails])
}

/// What shows lines has no keys, and is in nobody's way: it never takes the terminal, and others write their lines
/// themselves.
extension ProgressDisplay {
  var restoring: [UInt8] { [] }
  mutating func suspend() -> [UInt8] { [] }
  mutating func leave() -> [UInt8] { [] }
  mutating func take(notes: [String]) {}
  mutating func press(_ key: ScreenKey, at now: Duration) -> ScreenCommand? { nil }
  mutating func answer(_ note: String, at now: Duration) {}
  func meter(of id: Int) -> TransferMeter? { nil }
  var described: TransferMeter? { nil }
  mutating func describe(_ meter: TransferMeter, by details: [TransferDetails]) {}
}

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
  func giveBack() {
    _ = state.compareExchange(expected: .taken, desired: .returned, ordering: .acquiringAndReleasing)
  }

  /// For good, from any thread. True if it was taken and the caller has to give it back.
  func seal() -> Bool { state.exchange(.sealed, ordering: .acquiringAndReleasing) == .taken }

  var isSealed: Bool { state.load(ordering: .acquiring) == .sealed }
}
