import Glibc
import Synchronization

/// Restores cursor and echo should dlm crash, or be quit with Ctrl-\, while bars stand. The handler may only do what is
/// async-signal-safe, so what it needs lies in memory that is allocated once and never moves.
enum CrashGuard {
  fileprivate static let signals = [SIGQUIT, SIGILL, SIGTRAP, SIGABRT, SIGBUS, SIGFPE, SIGSEGV]

  /// - Parameter restoring: what the terminal must be sent to leave any state of the bars.
  static func arm(_ terminal: Int32, restoring: [UInt8]) {
    var found = termios()
    guard tcgetattr(terminal, &found) == 0 else { return }
    let state = state()
    (state.pointee.terminal, state.pointee.mode) = (terminal, found)
    state.pointee.count = min(restoring.count, state.pointee.text.count)
    for index in 0..<state.pointee.count { state.pointee.text[index] = restoring[index] }
    armed.store(UInt(bitPattern: state), ordering: .releasing)
    for number in signals { install(number, state) }
  }

  static func disarm() { armed.store(0, ordering: .releasing) }

  /// Allocated at its first use and never freed.
  private static func state() -> UnsafeMutablePointer<CrashState> {
    if let known = UnsafeMutablePointer<CrashState>(bitPattern: kept.load(ordering: .acquiring)) { return known }
    let made = UnsafeMutablePointer<CrashState>.allocate(capacity: 1)
    made.initialize(to: CrashState())
    kept.store(UInt(bitPattern: made), ordering: .releasing)
    return made
  }

  /// A signal that is ignored stays ignored.
  private static func install(_ number: Int32, _ state: UnsafeMutablePointer<CrashState>) {
    var found = sigaction()
    guard sigaction(number, nil, &found) == 0 else { return }
    // SIG_IGN is the address 1, which Swift cannot compare a function with. Since an earlier `arm`, it is ours.
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

private struct CrashState {
  var terminal: Int32 = -1
  var mode = termios()
  var text = InlineArray<256, UInt8>(repeating: 0)
  var count = 0
  /// Indexed by the signal's number: what was done about it before.
  var actions = InlineArray<32, sigaction>(repeating: sigaction())
}

private let armed = Atomic<UInt>(0)
private let kept = Atomic<UInt>(0)

/// Async-signal-safe. What was done before about the signal follows: mostly the end of the process, or a backtrace.
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
  // The fault of an instruction repeats when this returns. A signal that was sent is sent again, blocked until then.
  let isOfInstruction = number == SIGSEGV || number == SIGBUS || number == SIGILL || number == SIGFPE
  if !isOfInstruction || (info?.pointee.si_code ?? 0) <= 0 { raise(number) }
}
