import Glibc
import Synchronization

/// Gives the terminal back should dlm crash, or be quit with Ctrl-\, while bars stand: the cursor, and echo.
///
/// A handler of such a signal may only do what is async-signal-safe: it loads an address and makes system calls. So
/// what it needs lies in memory that is allocated once and never moves.
enum CrashGuard {
  fileprivate static let signals = [SIGQUIT, SIGILL, SIGTRAP, SIGABRT, SIGBUS, SIGFPE, SIGSEGV]

  /// - Parameters:
  ///   - terminal: what the bars are written to.
  ///   - restoring: gives the terminal back from any state.
  static func arm(_ terminal: Int32, restoring: [UInt8]) {
    var found = termios()
    guard tcgetattr(terminal, &found) == 0 else { return }
    let place = place()
    place.storeBytes(of: terminal, toByteOffset: CrashPlace.terminal, as: Int32.self)
    place.storeBytes(of: found, toByteOffset: CrashPlace.mode, as: termios.self)
    let text = restoring.prefix(CrashPlace.room)
    place.storeBytes(of: text.count, toByteOffset: CrashPlace.count, as: Int.self)
    for (index, byte) in text.enumerated() {
      place.storeBytes(of: byte, toByteOffset: CrashPlace.text + index, as: UInt8.self)
    }
    armed.store(UInt(bitPattern: place), ordering: .releasing)
    for number in signals { install(number, place) }
  }

  /// From here on there is nothing to give back. The handlers stay, and do nothing.
  static func disarm() { armed.store(0, ordering: .releasing) }

  /// Allocated at its first use, and kept for the process's life.
  private static func place() -> UnsafeMutableRawPointer {
    if let known = UnsafeMutableRawPointer(bitPattern: kept.load(ordering: .acquiring)) { return known }
    let made = UnsafeMutableRawPointer.allocate(byteCount: CrashPlace.size, alignment: MemoryLayout<Int>.alignment)
    kept.store(UInt(bitPattern: made), ordering: .releasing)
    return made
  }

  /// What is ignored stays so.
  private static func install(_ number: Int32, _ place: UnsafeMutableRawPointer) {
    var found = sigaction()
    guard sigaction(number, nil, &found) == 0 else { return }
    // SIG_IGN is the address 1, which Swift cannot compare a function with. Armed before, it is ours.
    let handler = withUnsafeBytes(of: found.__sigaction_handler) { $0.load(as: Int.self) }
    var action = sigaction()
    action.__sigaction_handler.sa_sigaction = giveTerminalBack
    let own = withUnsafeBytes(of: action.__sigaction_handler) { $0.load(as: Int.self) }
    guard handler != 1, handler != own else { return }
    place.storeBytes(of: found, toByteOffset: CrashPlace.action(number), as: sigaction.self)
    action.sa_flags = Int32(SA_SIGINFO | SA_ONSTACK)
    sigaction(number, &action, nil)
  }
}

/// Where in the guard's memory what lies.
private enum CrashPlace {
  static let terminal = 0
  static let count = 8
  static let mode = 16
  static let text = mode + MemoryLayout<termios>.stride
  /// More than what restores a terminal takes.
  static let room = 256
  /// What was done about each signal before.
  static func action(_ number: Int32) -> Int {
    (text + room) + Int(number) * MemoryLayout<sigaction>.stride
  }
  static let size = action(32)
}

private let armed = Atomic<UInt>(0)
private let kept = Atomic<UInt>(0)

/// Async-signal-safe. It gives the terminal back, and leaves the rest to what would have been done without it: mostly
/// the end of the process, or a backtrace before it.
private func giveTerminalBack(
  _ number: Int32, _ info: UnsafeMutablePointer<siginfo_t>?, _ context: UnsafeMutableRawPointer?
) {
  if let place = UnsafeMutableRawPointer(bitPattern: armed.load(ordering: .acquiring)) {
    let terminal = place.load(fromByteOffset: CrashPlace.terminal, as: Int32.self)
    // In the background the terminal is the shell's.
    if tcgetpgrp(terminal) == getpgrp() {
      let count = place.load(fromByteOffset: CrashPlace.count, as: Int.self)
      _ = write(terminal, place + CrashPlace.text, count)
      tcsetattr(terminal, TCSANOW, (place + CrashPlace.mode).assumingMemoryBound(to: termios.self))
    }
  }
  guard let place = UnsafeMutableRawPointer(bitPattern: kept.load(ordering: .acquiring)) else { return }
  sigaction(number, (place + CrashPlace.action(number)).assumingMemoryBound(to: sigaction.self), nil)
  // What an instruction did it does again when this returns. What was sent is sent again, and held back until then.
  let isOfInstruction = number == SIGSEGV || number == SIGBUS || number == SIGILL || number == SIGFPE
  if !isOfInstruction || (info?.pointee.si_code ?? 0) <= 0 { raise(number) }
}
