import DownloadModel
import RunDoors
import TerminalProgress

/// The lines of JSON, made once for all visitors that watch them. Each gets a snapshot first. A visitor that has not
/// read the last lines misses the next ones, and then gets another snapshot.
final class DoorBroadcast: ProgressRenderer.Output {
  private struct Listener: Sendable {
    let visitor: DoorVisitor
    var lacksSnapshot: Bool
  }

  private struct State: Sendable {
    var listeners: [Listener] = []
    var isRunning = false
    var hasEnded = false
  }

  private let state = Waiters(State())
  private let feed: ProgressFeed
  private let snapshot: @Sendable () -> JSONFields

  init(_ feed: ProgressFeed, snapshot: @escaping @Sendable () -> JSONFields) {
    self.feed = feed
    self.snapshot = snapshot
  }

  func add(_ visitor: DoorVisitor) {
    state.withLock { state in
      state.listeners.removeAll { $0.visitor === visitor }
      guard !state.hasEnded else { return }
      // At once: of a run that makes no progress, the next line may be long in coming. Events before the first lines
      // are in a second one.
      send(snapshot(), to: visitor)
      state.listeners.append(Listener(visitor: visitor, lacksSnapshot: !state.isRunning))
    }
  }

  private func send(_ snapshot: JSONFields, to visitor: DoorVisitor) {
    visitor.send(snapshot.merging(["type": "snapshot"]) { $1 })
  }

  func remove(_ visitor: DoorVisitor) { state.withLock { $0.listeners.removeAll { $0.visitor === visitor } } }

  /// Writes while there are listeners, until `end()`.
  func run() async {
    while await waitForListeners() {
      guard
        let renderer = ProgressRenderer(
          feed: feed, keeping: .max, style: .json, output: self,
          environment: TerminalEnvironment(isTerminal: false, variables: [:]), words: .forDisplay)
      else { return }
      await withTaskGroup { group in
        group.addTask { await renderer.run() }
        group.addTask { [state] in _ = await state.wait { $0.hasEnded || $0.listeners.isEmpty ? true : nil } }
        await group.next()
        group.cancelAll()
      }
      await renderer.finish()
      state.withLock { $0.isRunning = false }
    }
  }

  /// - Returns: false once it has ended.
  private func waitForListeners() async -> Bool {
    let isAsked = await state.wait { state -> Bool? in
      if state.hasEnded { return false }
      if state.listeners.isEmpty { return nil }
      state.isRunning = true
      return true
    }
    return isAsked == true
  }

  /// Returns when the last line, the summary, is written.
  func end() async {
    state.withLock { $0.hasEnded = true }
    _ = await state.wait { $0.isRunning ? nil : true }
  }

  // MARK: Output

  func write(_ bytes: [UInt8]) {
    state.withLock { state in
      for index in state.listeners.indices {
        let visitor = state.listeners[index].visitor
        guard visitor.isReady else {
          state.listeners[index].lacksSnapshot = true
          continue
        }
        if state.listeners[index].lacksSnapshot { send(snapshot(), to: visitor) }
        visitor.send(bytes)
        state.listeners[index].lacksSnapshot = false
      }
    }
  }
}
