import Foundation

/// A command that runs beside the test, from `init` on.
public final class CommandRun: Sendable {
  public let processID: Int32
  private let core: CommandCore

  /// Starts the command.
  /// - Parameters:
  ///   - executable: a path, or a name that is looked up in this process's PATH.
  ///   - environment: all of it; nil gives the command this process's own.
  ///   - folder: its working folder; nil for this process's own.
  /// - Throws: when it cannot be started.
  public init(
    _ executable: String, _ arguments: [String] = [], environment: [String: String]? = nil,
    input: CommandInput = .bytes([]), folder: String? = nil
  ) throws(SupportFailure) {
    let pipes = try CommandPipes()
    defer { pipes.closeChildSide() }
    do throws(SupportFailure) {
      let environment = environment ?? ProcessInfo.processInfo.environment
      // posix_spawn's own way to change the folder is not in Swift's Glibc module; env(1) becomes the command,
      // with the same process id.
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
  public static func result(
    of executable: String, _ arguments: [String] = [], environment: [String: String]? = nil,
    input: [UInt8] = [], folder: String? = nil
  ) async throws(SupportFailure) -> CommandResult {
    let run = try CommandRun(
      executable, arguments, environment: environment, input: .bytes(input), folder: folder)
    return try await run.waitForExit()
  }

  /// - Returns: false when the command has already ended.
  @discardableResult
  public func send(_ signal: Int32) -> Bool { core.send(signal) }

  /// Gives more standard input to a command that was started with `.open`. Never blocks.
  public func write(_ bytes: [UInt8]) { core.monitor.withState { $0.input.append(bytes) } }

  public func closeInput() { core.monitor.withState { $0.inputEnds = true } }

  /// What it has said so far.
  public var outputText: String { String(decoding: core.monitor.withState { $0.output }, as: UTF8.self) }
  public var errorText: String { String(decoding: core.monitor.withState { $0.errors }, as: UTF8.self) }

  public var hasEnded: Bool { core.monitor.withState { $0.ending != nil } }

  /// Suspends until the text has appeared on standard output.
  /// - Throws: when the output has ended without it, after a long safety limit, or when the task is cancelled.
  public func wait(forOutput text: String) async throws(SupportFailure) {
    try await wait(for: text, in: \.output)
  }

  /// The same for standard error.
  public func wait(forErrorOutput text: String) async throws(SupportFailure) {
    try await wait(for: text, in: \.errors)
  }

  /// Suspends until the process has ended and both its streams are read to their end.
  /// - Parameter limit: only a safety net against a command that hangs.
  public func waitForExit(within limit: Duration = .seconds(60)) async throws(SupportFailure) -> CommandResult
  {
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
