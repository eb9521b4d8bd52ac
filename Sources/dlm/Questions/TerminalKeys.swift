import DownloadModel
import Glibc
import TerminalProgress

/// The keys typed at the controlling terminal, which the screen has set to deliver each at once, without echo. While a
/// question is open they are its answer, else commands. An actor on a thread of its own, because reading blocks.
actor TerminalKeys {
  private nonisolated let executor = BlockingExecutor(label: "dlm.keys")
  nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }

  private nonisolated let descriptor: Int32
  private nonisolated let interruption = Interruption()
  private nonisolated let state = Waiters(State())
  private var decoder = KeyDecoder()
  /// Bytes that follow Escape within this time belong to it: an arrow's bytes arrive together.
  private static let escapeTime = Duration.milliseconds(50)
  /// Polling interval for the return to the foreground.
  private static let foregroundTime = Duration.milliseconds(50)

  private struct State {
    /// Whether a question has the keys, and how many questions there were.
    var isAsking = false
    var asked = 0
    var typed: [TerminalKey] = []
    var hasEnded = false
  }

  /// - Returns: `nil` without a terminal.
  init?() {
    guard let descriptor = TerminalPrompt.open() else { return nil }
    // Non-blocking, because input may be discarded between a check and a read. The open file is this reader's alone.
    _ = fcntl(descriptor, F_SETFL, O_NONBLOCK)
    self.descriptor = descriptor
  }

  deinit { close(descriptor) }

  /// Runs until the task is cancelled or the terminal is gone.
  /// - Parameter press: receives the keys that answer no question.
  func run(_ press: @Sendable (TerminalKey) async -> Void) async {
    await withTaskCancellationHandler {
      var rule = TypingRule()
      let start = ContinuousClock.now
      while let (keys, asked) = read(within: rule.due.map { $0 - (ContinuousClock.now - start) }) {
        let free = keys.filter { !answer($0, asked) }
        for key in rule.take(free, at: ContinuousClock.now - start) { await press(key) }
      }
    } onCancel: {
      interruption.raise()
    }
    state.withLock { $0.hasEnded = true }
  }

  /// - Parameter time: `nil` for no limit.
  /// - Returns: the keys of one read, empty after the time, and the number of questions so far; `nil` if no more keys
  ///   will arrive.
  private func read(within time: Duration?) -> (keys: [TerminalKey], asked: Int)? {
    while true {
      if decoder.isWithin, !interruption.waitUntilReadable(descriptor, within: Self.escapeTime) {
        if let key = decoder.flush() { return ([key], asked) }
        continue
      }
      guard interruption.waitUntilReadable(descriptor, within: time) else {
        return time == nil || interruption.isRaised ? nil : ([], asked)
      }
      // In the background, typed input is the shell's.
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

  /// True also if unknown: the read then reports the error.
  private var isInForeground: Bool { TerminalOutput(descriptor: descriptor).isInForeground }

  private func read() -> [TerminalKey]? {
    var bytes = [UInt8](repeating: 0, count: 1024)
    let count = Glibc.read(descriptor, &bytes, bytes.count)
    guard count > 0 else { return count < 0 && (errno == EINTR || errno == EAGAIN) ? [] : nil }
    return bytes[..<count].compactMap { decoder.take($0) }
  }

  private nonisolated var asked: Int { state.withLock { $0.asked } }

  /// - Returns: whether a question used or dropped it.
  private nonisolated func answer(_ key: TerminalKey, _ asked: Int) -> Bool {
    state.withLock { state in
      // A key typed before the question appeared does not answer it.
      if state.isAsking, asked == state.asked { state.typed.append(key) }
      return state.isAsking
    }
  }

  // MARK: For questions, one at a time

  /// Discards keys that were typed before.
  nonisolated func ask() {
    tcflush(descriptor, TCIFLUSH)
    state.withLock { state in
      state.asked += 1
      state.isAsking = true
      state.typed = []
    }
  }

  /// `nil` once the task is cancelled, or there are no more keys.
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

extension TerminalKeys {
  /// Which keys are commands. Letters of typed words are not: a word meant for a shell ("ls", "quit") would act. So a
  /// letter waits until it is known to be alone. Signs and arrows act at once; a held key counts once.
  struct TypingRule {
    /// A key that follows a letter sooner belongs to the same typing.
    static let moment = Duration.milliseconds(300)

    /// Equal letters that may still turn out to be typing.
    private var held: [TerminalKey] = []
    private var isTyping = false
    /// The typed part of a line.
    private var line = ""
    /// The end of the moment after the last key.
    private var end = Duration.zero

    /// When the held keys count as alone, unless more follow; `nil` if none is held.
    var due: Duration? { held.isEmpty ? nil : end }

    /// - Parameter keys: the keys of one read; empty if none arrived in time.
    /// - Returns: the commands. Typing is returned as a paste, which commands nothing.
    mutating func take(_ keys: [TerminalKey], at now: Duration) -> [TerminalKey] {
      guard !keys.isEmpty || now >= end else { return [] }
      let all = held + keys
      held = []
      guard !keys.isEmpty else { return all }
      let typed = all.filter(\.isTyped)
      isTyping = Set(typed).count > 1 || isTyping && now < end && !typed.isEmpty
      end = now + Self.moment
      if isTyping || all == [.enter] && !line.isEmpty { return [.paste(take(typed))] }
      line = ""
      let sure = all.lastIndex { !$0.isLetter }.map { $0 + 1 } ?? 0
      held = Array(all[sure...])
      return Array(all[..<sure])
    }

    /// - Returns: the pasted text, or the line that has ended; empty for a part of a line.
    private mutating func take(_ typed: [TerminalKey]) -> String {
      var whole = ""
      for key in typed {
        switch key {
        case .text(let text): line += text
        case .backspace: _ = line.popLast()
        case .paste(let text): whole = text
        case .enter: (whole, line) = (line, "")
        default: break
        }
      }
      return whole
    }
  }
}

// Defined here, because the module TerminalProgress does not know `TerminalKey`.
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
