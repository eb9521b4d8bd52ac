import Glibc
import Synchronization

/// Gives the terminal back should dlm crash, or be quit with Ctrl-\, while bars stand: the cursor, and echo. A handler
/// of such a signal may only do what is async-signal-safe: it loads an address and makes system calls. So what it needs
/// lies in memory that is allocated once and never moves.
enum CrashGuard {
  fileprivate static let signals = [SIGQUIT, SIGILL, SIGTRAP, SIGABRT, SIGBUS, SIGFPE, SIGSEGV]

  /// - Parameter restoring: gives the terminal back from any state.
  static func arm(_ terminal: Int32, restoring: [UInt8]) {
    var found = termios()
    guard tcgetattr(terminal, &found) == 0 else { return }
    let state = state()
    (state.pointee.terminal, state.pointee.mode) = (terminal, found)
    state.pointee.count = min(restoring.count, CrashState.room)
    for (index, byte) in restoring.prefix(CrashState.room).enumerated() { state.pointee.text[index] = byte }
    armed.store(UInt(bitPattern: state), ordering: .releasing)
    for number in signals { install(number, state) }
  }

  /// From here on there is nothing to give back. The handlers stay, and do nothing.
  static func disarm() { armed.store(0, ordering: .releasing) }

  /// Allocated at its first use, and kept for the process's life.
  private static func state() -> UnsafeMutablePointer<CrashState> {
    if let known = UnsafeMutablePointer<CrashState>(bitPattern: kept.load(ordering: .acquiring)) { return known }
    let made = UnsafeMutablePointer<CrashState>.allocate(capacity: 1)
    made.initialize(to: CrashState())
    kept.store(UInt(bitPattern: made), ordering: .releasing)
    return made
  }

  /// What is ignored stays so.
  private static func install(_ number: Int32, _ state: UnsafeMutablePointer<CrashState>) {
    var found = sigaction()
    guard sigaction(number, nil, &found) == 0 else { return }
    // SIG_IGN is the address 1, which Swift cannot compare a function with. Armed before, it is ours.
    let handler = withUnsafeBytes(of: found.__sigaction_handler) { $0.load(as: Int.self) }
    var action = sigaction()
    action.__sigaction_handler.sa_sigaction = giveTerminalBack
    let own = withUnsafeBytes(of: action.__sigaction_handler) { $0.load(as: Int.self) }
    guard handler != 1, handler != own else { return }
    state.pointee.actions[Int(number)] = found
    action.sa_flags = Int32(SA_SIGINFO | SA_ONSTACK)
    sigaction(number, &action, nil)
  }
}

/// What a handler needs.
private struct CrashState {
  /// More than what restores a terminal takes.
  static let room = 256

  var terminal: Int32 = -1
  var mode = termios()
  var text = InlineArray<256, UInt8>(repeating: 0)
  var count = 0
  /// What was done about each signal before.
  var actions = InlineArray<32, sigaction>(repeating: sigaction())
}

private let armed = Atomic<UInt>(0)
private let kept = Atomic<UInt>(0)

/// Async-signal-safe. It gives the terminal back, and leaves the rest to what would have been done without it: mostly
/// the end of the process, or a backtrace before it.
private func giveTerminalBack(
  _ number: Int32, _ info: UnsafeMutablePointer<siginfo_t>?, _ context: UnsafeMutableRawPointer?
) {
  if let state = UnsafeMutablePointer<CrashState>(bitPattern: armed.load(ordering: .acquiring)) {
    let terminal = state.pointee.terminal
    // In the background the terminal is the shell's.
    if tcgetpgrp(terminal) == getpgrp() {
      _ = write(terminal, &state.pointee.text, state.pointee.count)
      tcsetattr(terminal, TCSANOW, &state.pointee.mode)
    }
  }
  guard let state = UnsafeMutablePointer<CrashState>(bitPattern: kept.load(ordering: .acquiring)) else { return }
  sigaction(number, &state.pointee.actions[Int(number)], nil)
  // What an instruction did it does again when this returns. What was sent is sent again, and held back until then.
  let isOfInstruction = number == SIGSEGV || number == SIGBUS || number == SIGILL || number == SIGFPE
  if !isOfInstruction || (info?.pointee.si_code ?? 0) <= 0 { raise(number) }
}
