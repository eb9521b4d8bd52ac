import DownloadModel
import Glibc
import TerminalProgress
import SystemPackage

/// The keys typed at the terminal, which the screen has set to give each at once and without echo: one owner reads them
/// all. While a question is asked they are its answer, the rest of the time commands.
final class TerminalKeys: Sendable {
  private let reader: KeyReader
  private let state = Waiters(State())

  private struct State {
    /// Whether a question has the keys, and since when: the number of questions so far.
    var isAsking = false
    var asked = 0
    var typed: [TerminalKey] = []
    var hasEnded = false
  }

  /// - Returns: nil where there is no terminal to read keys from.
  init?() {
    guard let reader = KeyReader() else { return nil }
    self.reader = reader
  }

  /// Reads keys until the task is cancelled or the terminal is gone.
  /// - Parameter press: gets those that answer no question.
  func run(_ press: @Sendable (TerminalKey) async -> Void) async {
    while let (keys, asked) = await reader.next(asked: { state.withLock { $0.asked } }) {
      for key in TerminalKey.joiningPastes(keys.filter { !answer($0, asked) }) { await press(key) }
    }
    state.withLock { $0.hasEnded = true }
  }

  /// - Returns: whether the key is a question's, or was typed before that appeared.
  private func answer(_ key: TerminalKey, _ asked: Int) -> Bool {
    state.withLock { state in
      // Typed before the question appeared, it was meant for something else.
      if state.isAsking, asked == state.asked { state.typed.append(key) }
      return state.isAsking
    }
  }

  // MARK: For questions, one at a time

  /// A question appears: from now on the keys are its answer, and what was typed before is forgotten.
  func ask() {
    reader.forget()
    state.withLock { state in
      state.asked += 1
      (state.isAsking, state.typed) = (true, [])
    }
  }

  /// The next key of the answer; nil once the task is cancelled, or there are no more keys.
  func next() async -> TerminalKey? {
    await state.wait { state -> TerminalKey?? in
      if state.hasEnded { return .some(nil) }
      if state.typed.isEmpty { return nil }
      return state.typed.removeFirst()
    } ?? nil
  }

  /// The question is answered, or given up.
  func release() { state.withLock { ($0.isAsking, $0.typed) = (false, []) } }
}

/// Reads the controlling terminal, on a thread of its own, because users take their time.
private actor KeyReader {
  private nonisolated let executor = BlockingExecutor(label: "dlm.keys")
  nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }

  private let descriptor: Int32
  private nonisolated let interruption = Interruption()
  private var decoder = KeyDecoder()
  /// What follows Escape within this time belongs to it: an arrow's bytes arrive together.
  private static let escapeTime = Duration.milliseconds(50)
  /// Time between two looks whether the terminal is ours again.
  private static let foregroundTime = Duration.milliseconds(50)

  init?() {
    guard let descriptor = TerminalPrompt.open() else { return nil }
    guard isatty(descriptor) == 1 else {
      close(descriptor)
      return nil
    }
    self.descriptor = descriptor
  }

  deinit { close(descriptor) }

  /// Waits for keys.
  /// - Parameter asked: the number of questions so far.
  /// - Returns: what came at once, and how many questions had been asked before it was read; nil once the task is
  ///   cancelled, or the terminal is gone.
  func next(asked: @Sendable () -> Int) async -> (keys: [TerminalKey], asked: Int)? {
    await withTaskCancellationHandler {
      _ = self
      while true {
        if decoder.isWithin, !interruption.waitUntilReadable(descriptor, within: Self.escapeTime) {
          let keys = decoder.flush()
          if !keys.isEmpty { return (keys, asked()) }
          continue
        }
        guard interruption.waitUntilReadable(descriptor) else { return nil }
        // What is typed while the shell has the terminal is the shell's.
        guard isInForeground else {
          _ = interruption.waitUntilReadable(-1, within: Self.foregroundTime)
          continue
        }
        let before = asked()
        guard let keys = read() else {
          if isInForeground { return nil }
          continue
        }
        if !keys.isEmpty { return (keys, before) }
      }
    } onCancel: {
      interruption.raise()
    }
  }

  /// True also where that is not known: the read will say what is wrong.
  private var isInForeground: Bool {
    let group = tcgetpgrp(descriptor)
    return group < 0 || group == getpgrp()
  }

  /// - Returns: nil if the terminal is gone.
  private func read() -> [TerminalKey]? {
    var bytes = [UInt8](repeating: 0, count: 1024)
    let count = Glibc.read(descriptor, &bytes, bytes.count)
    guard count > 0 else { return count < 0 && errno == EINTR ? [] : nil }
    return bytes[..<count].flatMap { decoder.take($0) }
  }

  /// Forgets what was typed and not read yet.
  nonisolated func forget() { tcflush(descriptor, TCIFLUSH) }
}
