import DownloadModel
import Synchronization
import SystemPackage
import TerminalProgress

/// Writes the JSON lines of `--events`: another reader of the feed beside the display.
final class EventRecord: Sendable {
  private let file: OutputFile
  private let descriptor: FileDescriptor
  private let lost = Lock(false)

  /// Waits for a pipe's reader.
  init(_ file: OutputFile) throws(Errno) {
    self.file = file
    descriptor = try file.open()
  }

  deinit {
    if case .descriptor = file.target { return }
    try? descriptor.close()  // a failed write was already reported
  }

  /// Lost lines fail the run, because they are data.
  var hasLostData: Bool { lost.withLock { $0 } }

  func record<Value: Sendable>(_ feed: ProgressFeed, while work: @Sendable () async -> Value) async -> Value {
    guard
      let renderer = ProgressRenderer(
        feed: feed, style: .json, output: TerminalOutput(descriptor: descriptor.rawValue),
        environment: TerminalEnvironment(isTerminal: false, variables: [:]), words: .forDisplay)
    else { return await work() }
    async let writing: Void = renderer.run()
    let value = await work()
    await renderer.finish()
    await writing
    if let loss = await renderer.lost {
      lost.withLock { $0 = true }
      StandardError.say(TroubleMessages.notWritten(file, Errno(rawValue: loss.errno)))
    }
    return value
  }
}
