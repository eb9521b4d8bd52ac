import Foundation
import Glibc

/// A command that runs beside the test, from `init` on.
package final class CommandRun: Sendable {
  package let processID: Int32
  private let core: CommandCore

  /// Starts the command.
  /// - Parameters:
  ///   - executable: a path, or a name that is looked up in this process's PATH.
  ///   - environment: all of it; nil gives the command this process's own.
  ///   - folder: its working folder; nil for this process's own.
  /// - Throws: when it cannot be started.
  package init(
    _ executable: String, _ arguments: [String] = [], environment: [String: String]? = nil,
    input: CommandInput = .bytes([]), folder: String? = nil
  ) throws(SupportFailure) {
    let pipes = try CommandPipes()
    defer { pipes.closeChildSide() }
    do throws(SupportFailure) {
      let environment = environment ?? ProcessInfo.processInfo.environment
      // posix_spawn's own way to change the folder is not in Swift's Glibc module; env(1) becomes the
      // command, with the same process id.
      let moved = folder.map { ["--chdir=\($0)", executable] + arguments }
      processID = try CommandSpawn.start(
        moved == nil ? executable : "/usr/bin/env", moved ?? arguments, environment: environment, pipes: pipes
      )
    } catch {
      pipes.closeOwnSide()
      throw error
    }
    core = CommandCore(processID: processID)
    if case .bytes(let bytes) = input {
      core.monitor.withState { state in
        state.input = [bytes]
        state.inputEnds = true
      }
    }
    core.startThreads(pipes)
  }

  /// A command that a failed test left behind is killed, so that nothing outlives the tests.
  deinit { _ = core.send(SIGKILL) }

  /// Runs a command to its end.
  package static func result(
    of executable: String, _ arguments: [String] = [], environment: [String: String]? = nil,
    input: [UInt8] = [], folder: String? = nil
  ) async throws(SupportFailure) -> CommandResult {
    let run = try CommandRun(
      executable, arguments, environment: environment, input: .bytes(input), folder: folder)
    return try await run.waitForExit()
  }

  /// - Returns: false when the command has already ended.
  @discardableResult
  package func send(_ signal: Int32) -> Bool { core.send(signal) }

  /// Gives more standard input to a command that was started with `.open`. Never blocks.
  package func write(_ bytes: [UInt8]) { core.monitor.withState { $0.input.append(bytes) } }

  package func closeInput() { core.monitor.withState { $0.inputEnds = true } }

  /// What it has said so far.
  package var outputText: String { String(decoding: core.monitor.withState { $0.output }, as: UTF8.self) }
  package var errorText: String { String(decoding: core.monitor.withState { $0.errors }, as: UTF8.self) }

  package var hasEnded: Bool { core.monitor.withState { $0.ending != nil } }

  /// Suspends until the text has appeared on standard output.
  /// - Throws: when the output has ended without it, after a long safety limit, or when the task is
  ///   cancelled.
  package func wait(forOutput text: String) async throws(SupportFailure) {
    try await wait(for: text, in: \.output)
  }

  /// Suspends until there are so many bytes on standard output.
  package func wait(forOutputBytes count: Int) async throws(SupportFailure) {
    try await core.monitor.wait(for: "\(count) bytes from process \(processID)") {
      $0.result != nil || $0.output.count >= count
    }
  }

  /// The same for standard error.
  package func wait(forErrorOutput text: String) async throws(SupportFailure) {
    try await wait(for: text, in: \.errors)
  }

  /// Suspends until the process has ended and both its streams are read to their end.
  /// - Parameter limit: only a safety net against a command that hangs.
  package func waitForExit(within limit: Duration = safetyLimit) async throws(SupportFailure) -> CommandResult {
    try await core.monitor.wait(for: "process \(processID) to end", within: limit) { $0.result != nil }
    guard let result = core.monitor.withState({ $0.result }) else {
      throw SupportFailure("process \(processID) has no result")
    }
    return result
  }

  /// Blocks the calling thread instead.
  /// - Returns: false when it still runs at the deadline.
  func blockUntilExit(before deadline: Date? = nil) -> Bool {
    core.monitor.block(until: { $0.ending != nil }, before: deadline)
  }

  private func wait(
    for text: String, in stream: any KeyPath<CommandCore.State, [UInt8]> & Sendable
  ) async throws(SupportFailure) {
    let wanted = Array(text.utf8)
    try await core.monitor.wait(for: "\"\(text)\" from process \(processID)") {
      $0.result != nil || $0[keyPath: stream].firstRange(of: wanted) != nil
    }
    let said = core.monitor.withState { $0[keyPath: stream] }
    guard said.firstRange(of: wanted) != nil else {
      throw SupportFailure(
        "process \(processID) ended without \"\(text)\"; it said: \(outputText)\(errorText)")
    }
  }
}

/// What a command reads on its standard input.
package enum CommandInput: Sendable {
  /// These bytes and then the end; none by default.
  case bytes([UInt8])
  /// A pipe that the test feeds with `write` and ends with `closeInput`.
  case open
}

/// How a command ended, and all that it said.
package struct CommandResult: Sendable {
  package enum Ending: Sendable, Equatable {
    case exited(Int32)
    case signalled(Int32)
  }

  package let ending: Ending
  package let output: [UInt8]
  package let errors: [UInt8]

  package var outputText: String { String(decoding: output, as: UTF8.self) }
  package var errorText: String { String(decoding: errors, as: UTF8.self) }

  /// The exit status; nil when a signal ended it.
  package var status: Int32? {
    if case .exited(let status) = ending { status } else { nil }
  }
}

/// What the threads of one command share: they read both streams, so that a full pipe never blocks the
/// command, feed its input, and wait for its end.
final class CommandCore: Sendable {
  struct State {
    var output: [UInt8] = []
    var errors: [UInt8] = []
    /// Output streams that have not ended.
    var openStreams = 2
    /// Set when the process is reaped: from then on its id may belong to another.
    var ending: CommandResult.Ending?
    var input: [[UInt8]] = []
    var inputEnds = false

    var result: CommandResult? {
      guard let ending, openStreams == 0 else { return nil }
      return CommandResult(ending: ending, output: output, errors: errors)
    }
  }

  let monitor = Monitor(State())
  let processID: pid_t

  init(processID: pid_t) { self.processID = processID }

  func startThreads(_ pipes: CommandPipes) {
    Thread.detachNewThread { self.read(pipes.outputRead, into: \.output) }
    Thread.detachNewThread { self.read(pipes.errorsRead, into: \.errors) }
    Thread.detachNewThread { self.feed(pipes.inputWrite) }
    Thread.detachNewThread { self.reap() }
  }

  /// - Returns: false when the process has ended.
  func send(_ signal: Int32) -> Bool {
    monitor.withState { $0.ending == nil && kill(processID, signal) == 0 }
  }

  private func read(_ descriptor: Int32, into stream: any WritableKeyPath<State, [UInt8]> & Sendable) {
    var piece = [UInt8](repeating: 0, count: 65_536)
    while true {
      let count = Glibc.read(descriptor, &piece, piece.count)
      if count < 0, errno == EINTR { continue }
      if count <= 0 { break }
      let slice = Array(piece[..<count])
      monitor.withState { $0[keyPath: stream] += slice }
    }
    close(descriptor)
    monitor.withState { $0.openStreams -= 1 }
  }

  private func feed(_ descriptor: Int32) {
    // A command that does not read to the end must not kill the test: this thread gets EPIPE instead.
    var pipe = sigset_t()
    sigemptyset(&pipe)
    sigaddset(&pipe, SIGPIPE)
    pthread_sigmask(SIG_BLOCK, &pipe, nil)
    while let bytes = nextInput(), write(bytes, to: descriptor) {}
    close(descriptor)
  }

  private func nextInput() -> [UInt8]? {
    _ = monitor.block { !$0.input.isEmpty || $0.inputEnds || $0.ending != nil }
    return monitor.withState { $0.input.isEmpty ? nil : $0.input.removeFirst() }
  }

  private func write(_ bytes: [UInt8], to descriptor: Int32) -> Bool {
    var rest = bytes[...]
    while !rest.isEmpty {
      let count = rest.withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress, $0.count) }
      if count < 0, errno == EINTR { continue }
      if count <= 0 { return false }
      rest = rest.dropFirst(count)
    }
    return true
  }

  private func reap() {
    // WNOWAIT leaves the id taken, so that the reaping itself can be done under the lock that `send` takes.
    var info = siginfo_t()
    while waitid(P_PID, id_t(processID), &info, WEXITED | WNOWAIT) != 0, errno == EINTR {}
    monitor.withState { state in
      var status: Int32 = 0
      _ = waitpid(processID, &status, 0)
      // WIFEXITED and its kin are macros, which Swift does not import.
      let signal = status & 0x7f
      state.ending = signal == 0 ? .exited((status >> 8) & 0xff) : .signalled(signal)
    }
  }
}
