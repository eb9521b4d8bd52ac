import DownloadModel
import Synchronization
import SystemPackage
import TerminalProgress

/// The JSON lines of a run, beside its display (`--events`): another reader of the same feed.
final class EventRecord: Sendable {
  private let target: OutputFile
  private let descriptor: FileDescriptor
  private let lost = Lock<OutputLost?>(nil)

  /// Begins a new file. A pipe waits for its reader.
  /// - Throws: Errno.
  init(_ target: OutputFile) throws(Errno) {
    self.target = target
    descriptor = try target.open()
  }

  deinit {
    if case .descriptor = target { return }
    try? descriptor.close()  // a write that failed has been told
  }

  /// Whether lines were lost: they are data.
  var hasLostData: Bool { lost.withLock { $0 != nil } }

  /// Writes the lines of a run while `work` runs.
  func record<Value: Sendable>(_ feed: ProgressFeed, while work: @Sendable () async -> Value) async -> Value {
    guard
      let renderer = ProgressRenderer(
        feed: feed, style: .json, output: TerminalOutput(descriptor: descriptor.rawValue),
        environment: TerminalEnvironment(isTerminal: false, variables: [:]), words: DisplayWords.all)
    else { return await work() }
    async let writing: Void = renderer.run()
    let value = await work()
    await renderer.finish()
    await writing
    if let loss = await renderer.lost {
      lost.withLock { $0 = loss }
      StandardError.say([TroubleMessages.notWritten(target.name, Errno(rawValue: loss.errno))])
    }
    return value
  }
}
