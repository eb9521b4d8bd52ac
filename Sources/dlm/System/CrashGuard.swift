import Glibc
import Synchronization

/// Restores cursor and echo if dlm crashes, or is ended with Ctrl-\, while bars are shown. The handler may only call
/// async-signal-safe functions, so its data is in memory that is allocated once and never moves.
enum CrashGuard {
  /// - Parameter restoring: bytes that restore the terminal from any state of the bars.
  static func arm(_ terminal: Int32, restoring: [UInt8]) {
    var found = termios()
    guard tcgetattr(terminal, &found) == 0, let state = UnsafeMutablePointer<CrashState>(bitPattern: place) else {
      return
    }
    state.pointee.terminal = terminal
    state.pointee.mode = found
    state.pointee.count = min(restoring.count, state.pointee.text.count)
    for index in 0..<state.pointee.count { state.pointee.text[index] = restoring[index] }
    armed.store(place, ordering: .releasing)
    // The kernel resets the signal's action before the handler runs.
    let flags = Int32(truncatingIfNeeded: SA_RESETHAND) | Int32(SA_ONSTACK)
    for number in [SIGQUIT, SIGILL, SIGTRAP, SIGABRT, SIGBUS, SIGFPE, SIGSEGV] {
      Signals.install(number, giveTerminalBack, flags)
    }
  }

  static func disarm() { armed.store(0, ordering: .releasing) }

  /// The address of the state, which is never freed.
  private static let place: UInt = {
    let made = UnsafeMutablePointer<CrashState>.allocate(capacity: 1)
    made.initialize(to: CrashState())
    return UInt(bitPattern: made)
  }()
}

private struct CrashState {
  var terminal: Int32 = -1
  var mode = termios()
  var text = InlineArray<256, UInt8>(repeating: 0)
  var count = 0
}

private let armed = Atomic<UInt>(0)

/// Async-signal-safe.
private func giveTerminalBack(_ number: Int32) {
  if let state = UnsafeMutablePointer<CrashState>(bitPattern: armed.load(ordering: .acquiring)) {
    let terminal = state.pointee.terminal
    // In the background the terminal is the shell's.
    if tcgetpgrp(terminal) == getpgrp() {
      _ = write(terminal, &state.pointee.text, state.pointee.count)
      tcsetattr(terminal, TCSANOW, &state.pointee.mode)
    }
  }
  // The signal is blocked until this returns; then the process ends as it would have.
  raise(number)
}
