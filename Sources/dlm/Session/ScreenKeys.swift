import DownloadModel
import Glibc
import TerminalProgress

/// The keys of a run that no question wants: each goes to the screen, and what it commands to the run.
struct ScreenKeys: Sendable {
  private let keys: TerminalKeys
  private let control: Wiring?
  private let renderer: ProgressRenderer
  private let stop: @Sendable () -> Void

  /// Time between two looks at the transfers of a file that a panel describes.
  private static let lookInterval = Duration.milliseconds(500)

  /// - Parameter stop: ends the run as the first Ctrl-C does.
  init(_ keys: TerminalKeys, _ control: Wiring?, _ renderer: ProgressRenderer, stop: @escaping @Sendable () -> Void) {
    (self.keys, self.control, self.renderer, self.stop) = (keys, control, renderer, stop)
  }

  /// Takes keys until the task is cancelled or the terminal is gone.
  func run() async {
    guard let control else { return await keys.run { _ in } }
    let (presses, pressed) = AsyncStream<Void>.makeStream(bufferingPolicy: .bufferingNewest(1))
    await withTaskGroup { group in
      group.addTask {
        await keys.run { key in
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
    case .pause: control.pause(true)
    case .goOn: control.pause(false)
    case .width(let change): await renderer.answer(QuestionMessages.width(control.widen(by: change)))
    case .skip(let id):
      if let meter = await renderer.meter(of: id) { await control.skip(id, meter) }
    }
  }

  /// As long as a panel describes a file, tells it what is known of the file's transfers.
  private func describe(_ control: Wiring) async {
    while !Task.isCancelled, let meter = await renderer.described {
      await renderer.describe(meter, by: await control.details(of: meter))
      // Cancelled, it ends by itself.
      try? await Task.sleep(for: Self.lookInterval)
    }
  }

  /// Whether keys are commands. They are read from the controlling terminal, which others may read too: a pager behind
  /// dlm, or whoever feeds it from there. So dlm takes none that somebody else may wait for.
  static func areTaken(isWanted: Bool, readsInput: Bool, by streams: Streams) -> Bool {
    guard isWanted, streams.isErrorControlling, !streams.isOutputPiped else { return false }
    // A list that is typed is not made of commands; and without a terminal for standard input somebody said that there
    // is nobody who types (xargs, `< /dev/null`), or a loop around dlm reads from elsewhere.
    return readsInput != streams.isInputTerminal
  }

  /// What the process's standard streams are.
  struct Streams: Sendable, Equatable {
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

extension ScreenKey {
  /// What a key means while no question is asked.
  init(_ key: TerminalKey) {
    self =
      switch key {
      case .text("?"), .text("h"): .help
      case .text("p"): .pause
      case .text("+"), .text("="): .more
      case .text("-"): .fewer
      case .up: .up
      case .down: .down
      case .text("s"): .skip
      case .text("d"): .details
      case .text("f"): .failures
      case .text("q"): .stop
      case .escape: .close
      default: .unknown
      }
  }
}
