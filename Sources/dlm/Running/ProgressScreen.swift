import DownloadModel
import Foundation
import Glibc
import Synchronization
import TerminalProgress

/// This process's place for progress: standard error, as its terminal and its user allow.
final class ProgressScreen: Sendable {
  let style: ProgressStyle.Resolved
  private let environment: TerminalEnvironment
  private let output = TerminalOutput()
  private let asking = Mutex<QuestionQueue?>(nil)
  private let current = Mutex<ProgressRenderer?>(nil)
  private let lost = Mutex<OutputLost?>(nil)

  init(_ style: ProgressStyle, environment variables: [String: String]) {
    environment = TerminalEnvironment(isTerminal: output.isTerminal, variables: variables)
    self.style = style.resolved(in: environment)
  }

  /// Shows the board while `work` runs. Nothing of it waits for the terminal, but its end does.
  func show(_ board: ProgressBoard, while work: @Sendable () async -> Void) async {
    let renderer = ProgressRenderer(
      board: board, style: style, isColored: ColorChoice.auto.resolved(in: environment),
      // JSON is data, and all that ever stands on standard output.
      output: style == .json ? TerminalOutput(descriptor: STDOUT_FILENO) : output,
      environment: environment,
      words: ProgressWords(
        failure: { FailureWords($0).line }, cause: { FailureWords($0).cause },
        rejection: { RejectionWords($0).line },
        timestamp: {
          Date().formatted(.iso8601.year().month().day().time(includingFractionalSeconds: true)) + "Z"
        }))
    current.withLock { $0 = renderer }
    async let drawing: Void = renderer.run()
    await work()
    await renderer.finish()
    await drawing
    if style == .json, let lost = await renderer.lost {
      self.lost.withLock { $0 = lost }
      StandardError.say([StandardOutput.lost(lost.errno)])
    }
    current.withLock { $0 = nil }
  }

  /// Whether JSON lines were lost, which are data: the files of the run are none the worse, but what reads the lines is.
  var hasLostData: Bool { lost.withLock { $0 != nil } }

  /// Names who may have the terminal's keys.
  func asks(_ questions: QuestionQueue?) { asking.withLock { $0 = questions } }

  /// Gives the terminal back at once, from any thread, for a process that is about to end.
  func restoreNow() {
    asking.withLock { $0 }?.restoreNow()
    current.withLock { $0 }?.restoreNow()
  }

  /// Gives the terminal back before the process stops, and takes it again after it goes on.
  func suspend() async {
    asking.withLock { $0 }?.restoreNow()
    await current.withLock { $0 }?.suspend()
  }
  func resume() async {
    asking.withLock { $0 }?.takeKeys()
    await current.withLock { $0 }?.resume()
  }
}
