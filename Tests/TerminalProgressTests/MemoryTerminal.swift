import Synchronization
import TerminalProgress

/// A terminal in memory: counts the writes and keeps what stands on the screen.
final class MemoryTerminal: ProgressOutput {
  struct State {
    var emulator: TerminalEmulator
    var text = ""
    var writes = 0
    var isReady = true
    var isLost = false
    var isInForeground = true
    var duringWrite: (@Sendable () -> Void)?
  }

  private let state: Mutex<State>

  init(columns: Int = 80, rows: Int = 24) {
    state = Mutex(State(emulator: TerminalEmulator(columns: columns, rows: rows)))
  }

  func with<Result: Sendable>(_ body: (inout State) -> Result) -> Result { state.withLock { body(&$0) } }

  var emulator: TerminalEmulator { with { $0.emulator } }
  var lines: [String] { emulator.lines }
  var writes: Int { with { $0.writes } }
  var text: String { with { $0.text } }

  var isReady: Bool { with { $0.isReady } }
  var isInForeground: Bool { with { $0.isInForeground } }
  var size: TerminalSize? { with { TerminalSize(columns: $0.emulator.columns, rows: $0.emulator.rows) } }

  func write(_ bytes: [UInt8]) throws(OutputLost) {
    let (isLost, duringWrite) = with { ($0.isLost, $0.duringWrite) }
    if isLost { throw OutputLost(errno: 5) }
    duringWrite?()
    take(bytes)
  }

  func writeAtOnce(_ bytes: [UInt8]) { take(bytes) }

  private func take(_ bytes: [UInt8]) {
    with {
      $0.writes += 1
      $0.text += String(decoding: bytes, as: UTF8.self)
      $0.emulator.feed(bytes)
    }
  }
}
