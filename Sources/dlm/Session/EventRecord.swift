import ArgumentParser
import DownloadModel
import Glibc
import Synchronization
import SystemPackage
import TerminalProgress

/// Where `--events` writes: a file, or a descriptor that the caller has opened (`fd:3`).
enum EventTarget: Equatable {
  case file(FilePath)
  case descriptor(Int32)

  /// - Throws: `ValidationError` for what names neither, and for a descriptor that cannot be written.
  init(_ text: String) throws {
    guard text.utf8.starts(with: "fd:".utf8) else {
      if text.isEmpty { throw ValidationError(UsageMessages.noEventTarget(text)) }
      self = .file(FilePath(text))
      return
    }
    guard let number = Int32(text.dropFirst(3)), number >= 0 else {
      throw ValidationError(UsageMessages.noEventTarget(text))
    }
    let flags = fcntl(number, F_GETFL)
    guard flags >= 0, flags & O_ACCMODE != O_RDONLY else {
      throw ValidationError(UsageMessages.closedEventTarget(number))
    }
    self = .descriptor(number)
  }

  var name: String {
    switch self {
    case .file(let path): path.string
    case .descriptor(let number): UsageMessages.descriptor(number)
    }
  }
}

/// The JSON lines of a run, beside its display (`--events`): another reader of the same feed.
final class EventRecord: Sendable {
  private let target: EventTarget
  private let descriptor: Int32
  private let lost = Mutex<OutputLost?>(nil)

  /// Opens the file, and empties it. A pipe waits for its reader.
  /// - Throws: Errno; ELOOP for a link, which may lead to another user's file.
  init(_ target: EventTarget) throws(Errno) {
    self.target = target
    switch target {
    case .descriptor(let number): descriptor = number
    case .file(let path):
      let raw = open(path.string, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC | O_NOCTTY, 0o666)
      if raw < 0 { throw Errno(rawValue: errno) }
      descriptor = raw
    }
  }

  deinit { if case .file = target { close(descriptor) } }

  /// Whether lines were lost: they are data.
  var hasLostData: Bool { lost.withLock { $0 != nil } }

  /// Writes the lines of a run while `work` runs.
  func record<Value: Sendable>(_ feed: ProgressFeed, while work: @Sendable () async -> Value) async -> Value {
    guard
      let renderer = ProgressRenderer(
        feed: feed, style: .json, isColored: false, output: TerminalOutput(descriptor: descriptor),
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
