import DownloadModel
import Downloads
import Glibc
import TerminalProgress

/// Passes keys that answer no question to the screen, and their commands to the run.
struct ScreenKeys {
  let keys: TerminalKeys
  let control: Wiring?
  let renderer: ProgressRenderer
  let stop: @Sendable () -> Void
  let handOver: HandOver?
  /// Receives pasted text; returns whether it was used, and so not a wrong key.
  let paste: @Sendable (String) -> Bool

  private static let lookInterval = Duration.milliseconds(500)

  func run() async {
    guard let control else { return await keys.run { _ in } }
    let (presses, pressed) = AsyncStream<Void>.makeStream(bufferingPolicy: .bufferingNewest(1))
    await withTaskGroup { group in
      group.addTask {
        await keys.run { key in
          if case .paste(let text) = key, paste(text) { return }
          if let command = await renderer.press(ScreenKey(key)) {
            await Self.carryOut(command, control, renderer, handOver, stop: stop)
          }
          pressed.yield()
        }
        pressed.finish()
      }
      group.addTask { for await _ in presses { await Self.describe(control, renderer) } }
    }
  }

  static func carryOut(
    _ command: ScreenCommand, _ control: Wiring, _ renderer: ProgressRenderer, _ handOver: HandOver? = nil,
    stop: @Sendable () -> Void
  ) async {
    switch command {
    case .stop: stop()
    case .handOver: if let handOver { await renderer.answer(handOver.press(stop: stop)) }
    case .pause: control.downloads.pause(true)
    case .goOn: control.downloads.pause(false)
    case .width(let change): await renderer.answer(QuestionMessages.width(control.widen(by: change)))
    case .limit(let isFaster):
      let limit = control.schedule.change(isFaster: isFaster, at: await renderer.rate)
      await renderer.answer(QuestionMessages.limit(limit))
    case .skip(let id): await control.downloads.giveUp([id], as: .skipped)
    }
  }

  static func describe(_ control: Wiring, _ renderer: ProgressRenderer) async {
    while !Task.isCancelled, let meter = await renderer.described {
      await renderer.describe(meter, by: await control.loops.details(of: meter))
      try? await Task.sleep(for: Self.lookInterval)
    }
  }

  /// Whether keys are commands. They come from the controlling terminal, so dlm takes none that another program may
  /// read: a pager behind dlm, or the input of a typed list.
  static func areTaken(isWanted: Bool, readsInput: Bool, by streams: Streams) -> Bool {
    guard isWanted, streams.isErrorControlling, !streams.isOutputPiped else { return false }
    // If standard input is not a terminal, the caller has excluded typing (xargs, `< /dev/null`), or a loop around dlm
    // reads from another file.
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
