import DownloadCaching
import DownloadModel
import Downloads
import Glibc
import SystemPackage
import TerminalProgress

/// The keys typed at the controlling terminal, which the screen has set to give each at once, without echo. While a
/// question is asked they are its answer, else commands. On a thread of its own, because reading waits.
actor TerminalKeys {
  private nonisolated let executor = BlockingExecutor(label: "dlm.keys")
  nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }

  private nonisolated let descriptor: Int32
  private nonisolated let interruption = Interruption()
  private nonisolated let state = Waiters(State())
  private var decoder = KeyDecoder()
  /// What follows Escape within this time belongs to it: an arrow's bytes come together.
  private static let escapeTime = Duration.milliseconds(50)
  /// Between two looks whether the terminal is ours again.
  private static let foregroundTime = Duration.milliseconds(50)

  private struct State {
    /// Whether a question has the keys, and how many questions there were.
    var isAsking = false
    var asked = 0
    var typed: [TerminalKey] = []
    var hasEnded = false
  }

  /// - Returns: nil where there is no terminal.
  init?() {
    guard let descriptor = TerminalPrompt.open() else { return nil }
    // What is forgotten between a look and a read is not waited for. The open file is this reader's alone.
    _ = fcntl(descriptor, F_SETFL, O_NONBLOCK)
    self.descriptor = descriptor
  }

  deinit { close(descriptor) }

  /// Runs until the task is cancelled or the terminal is gone.
  /// - Parameter press: gets the keys that answer no question.
  func run(_ press: @Sendable (TerminalKey) async -> Void) async {
    await withTaskCancellationHandler {
      var rule = TypingRule()
      let start = ContinuousClock.now
      while let (keys, asked) = read(within: rule.due.map { $0 - start.duration(to: .now) }) {
        let free = keys.filter { !answer($0, asked) }
        for key in rule.take(free, at: start.duration(to: .now)) { await press(key) }
      }
    } onCancel: {
      interruption.raise()
    }
    state.withLock { $0.hasEnded = true }
  }

  /// - Parameter time: nil for as long as it takes.
  /// - Returns: what came at once, nothing after the time, and how many questions there were; nil if nothing comes.
  private func read(within time: Duration?) -> (keys: [TerminalKey], asked: Int)? {
    while true {
      if decoder.isWithin, !interruption.waitUntilReadable(descriptor, within: Self.escapeTime) {
        if let key = decoder.flush() { return ([key], asked) }
        continue
      }
      guard interruption.waitUntilReadable(descriptor, within: time) else {
        return time == nil || interruption.isRaised ? nil : ([], asked)
      }
      // In the background, what is typed is the shell's.
      guard isInForeground else {
        _ = interruption.waitUntilReadable(-1, within: Self.foregroundTime)
        continue
      }
      let before = asked
      let keys = read()
      if keys == nil, isInForeground { return nil }
      if let keys, !keys.isEmpty { return (keys, before) }
    }
  }

  /// True also where unknown: the read will say what is wrong.
  private var isInForeground: Bool { TerminalOutput(descriptor: descriptor).isInForeground }

  private func read() -> [TerminalKey]? {
    var bytes = [UInt8](repeating: 0, count: 1024)
    let count = Glibc.read(descriptor, &bytes, bytes.count)
    guard count > 0 else { return count < 0 && (errno == EINTR || errno == EAGAIN) ? [] : nil }
    return bytes[..<count].compactMap { decoder.take($0) }
  }

  private nonisolated var asked: Int { state.withLock { $0.asked } }

  /// - Returns: whether a question took or dropped it.
  private nonisolated func answer(_ key: TerminalKey, _ asked: Int) -> Bool {
    state.withLock { state in
      // A key typed before the question appeared was meant for something else.
      if state.isAsking, asked == state.asked { state.typed.append(key) }
      return state.isAsking
    }
  }

  // MARK: For questions, one at a time

  /// What was typed before is forgotten.
  nonisolated func ask() {
    tcflush(descriptor, TCIFLUSH)
    state.withLock { state in
      state.asked += 1
      state.isAsking = true
      state.typed = []
    }
  }

  /// Nil once the task is cancelled, or there are no more keys.
  nonisolated func next() async -> TerminalKey? {
    await state.wait { state -> TerminalKey?? in
      if state.hasEnded { return .some(nil) }
      if state.typed.isEmpty { return nil }
      return state.typed.removeFirst()
    } ?? nil
  }

  nonisolated func release() {
    state.withLock {
      $0.isAsking = false
      $0.typed = []
    }
  }
}

enum TerminalPrompt {
  /// The controlling terminal, since standard input may be the list; nil without one.
  static func open() -> Int32? {
    let terminal = Glibc.open("/dev/tty", O_RDWR | O_CLOEXEC | O_NOCTTY)
    return terminal >= 0 ? terminal : nil
  }

  /// - Returns: whether the answer was yes; nil where there is no terminal.
  static func confirm(_ question: String) -> Bool? {
    guard let terminal = open() else { return nil }
    defer { close(terminal) }
    say(TerminalText.sanitized(question), terminal)
    return ["y", "yes"].contains(line(terminal)?.lowercased())
  }

  /// Asks for a secret, without echo.
  /// - Returns: nil where there is no terminal, or it was left with Ctrl-C.
  static func secret(_ question: String) -> String? {
    guard let terminal = open() else { return nil }
    defer { close(terminal) }
    var found = termios()
    guard tcgetattr(terminal, &found) == 0 else { return nil }
    var mode = found
    mode.c_lflag &= ~tcflag_t(ECHO)
    // Ctrl-Z and Ctrl-\ would leave the terminal without echo.
    withUnsafeMutableBytes(of: &mode.c_cc) { ($0[Int(VSUSP)], $0[Int(VQUIT)]) = (0, 0) }
    return Signals.hold { () -> String? in
      guard tcsetattr(terminal, TCSAFLUSH, &mode) == 0 else { return nil }
      say(TerminalText.sanitized(question), terminal)
      let answer = line(terminal)
      say("\n", terminal)
      tcsetattr(terminal, TCSAFLUSH, &found)
      return answer
    }
  }

  /// As the terminal has let it be edited; empty where that has gone, and for Ctrl-D.
  private static func line(_ terminal: Int32) -> String? {
    var wanted = pollfd(fd: terminal, events: Int16(POLLIN), revents: 0)
    // Not for ever: a signal taken by another thread does not wake this one.
    while poll(&wanted, 1, 100) <= 0 { if Signals.ending != nil { return nil } }
    var bytes = [UInt8](repeating: 0, count: 4096)
    let count = read(terminal, &bytes, bytes.count)
    return String(utf8: bytes.prefix(max(0, count)).prefix { $0 != 0x0A })
  }

  private static func say(_ text: String, _ terminal: Int32) {
    // A question that cannot be written is not seen: so its answer is no, and a secret is read all the same.
    try? FileDescriptor(rawValue: terminal).writeWhole(text.utf8)
  }
}

/// Keys that no question wants go to the screen, and what they command to the run.
struct ScreenKeys {
  let keys: TerminalKeys
  let control: Wiring?
  let renderer: ProgressRenderer
  let stop: @Sendable () -> Void
  /// Gets what was pasted; says whether it is more than a wrong key.
  let paste: @Sendable (String) -> Bool

  private static let lookInterval = Duration.milliseconds(500)

  func run() async {
    guard let control else { return await keys.run { _ in } }
    let (presses, pressed) = AsyncStream<Void>.makeStream(bufferingPolicy: .bufferingNewest(1))
    await withTaskGroup { group in
      group.addTask {
        await keys.run { key in
          if case .paste(let text) = key, paste(text) { return }
          if let command = await renderer.press(ScreenKey(key)) { await carryOut(command, control) }
          pressed.yield()
        }
        pressed.finish()
      }
      group.addTask { for await _ in presses { await describe(control) } }
    }
  }

  private func carryOut(_ command: ScreenCommand, _ control: Wiring) async {
    switch command {
    case .stop: stop()
    case .pause: control.downloads.pause(true)
    case .goOn: control.downloads.pause(false)
    case .width(let change): await renderer.answer(QuestionMessages.width(control.widen(by: change)))
    case .skip(let id):
      if let meter = await renderer.meter(of: id) { await control.downloads.skip(id, meter) }
    }
  }

  private func describe(_ control: Wiring) async {
    while !Task.isCancelled, let meter = await renderer.described {
      await renderer.describe(meter, by: await control.loops.details(of: meter))
      try? await Task.sleep(for: Self.lookInterval)
    }
  }

  /// Whether keys are commands. They come from the controlling terminal, so dlm takes none that others may read:
  /// a pager behind dlm, or a list that is typed.
  static func areTaken(isWanted: Bool, readsInput: Bool, by streams: Streams) -> Bool {
    guard isWanted, streams.isErrorControlling, !streams.isOutputPiped else { return false }
    // Without a terminal as standard input, somebody said that nobody types (xargs, `< /dev/null`), or a loop around
    // dlm reads from elsewhere.
    return readsInput != streams.isInputTerminal
  }

  struct Streams: Equatable {
    var isInputTerminal: Bool
    var isOutputPiped: Bool
    /// Whether standard error is the terminal that controls the process.
    var isErrorControlling: Bool

    static var ofProcess: Streams {
      var output = stat()
      let isOutputPiped = fstat(1, &output) == 0 && output.st_mode & S_IFMT == S_IFIFO
      return Streams(
        isInputTerminal: isatty(0) == 1, isOutputPiped: isOutputPiped, isErrorControlling: tcgetpgrp(2) >= 0)
    }
  }
}

// Here, since the display knows no terminal's keys.
extension ScreenKey {
  init(_ key: TerminalKey) {
    self =
      switch key {
      case .text("h"): .help
      case .text("="): .more
      case .text(let text): ScreenKey(rawValue: text) ?? .unknown
      case .up: .up
      case .down: .down
      case .escape: .close
      default: .unknown
      }
  }
}
