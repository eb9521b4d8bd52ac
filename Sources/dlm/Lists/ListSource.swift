import DownloadModel
import Synchronization

/// One SOURCE of the command line; its form alone decides what it is.
enum Source: Equatable, Sendable {
  case standardInput
  case address(String)
  case list(path: String)
  /// The address of a list (`--list`).
  case listAt(String)

  /// - Parameter isList: whether addresses are addresses of lists.
  init(_ argument: String, isList: Bool = false) {
    if argument == "-" {
      self = .standardInput
    } else if argument.contains("://") || Redaction.isLoginWithoutScheme(argument) {
      // The second is refused as an address, and so neither shown nor remembered with its login.
      self = isList ? .listAt(argument) : .address(argument)
    } else {
      self = .list(path: argument)
    }
  }

  var isAddress: Bool { if case .address = self { true } else { false } }

  var isListAt: Bool { if case .listAt = self { true } else { false } }

  /// Of a list file.
  var path: String? { if case .list(let path) = self { path } else { nil } }

  var name: String {
    switch self {
    case .standardInput: "standard input"
    case .address: "command line"
    case .list(let path): path
    case .listAt(let text): Redaction.redactedAddress(text)
    }
  }
}

/// The requests of a run: command-line addresses, list files and standard input, in the order they were named. Lists
/// are read in blocks as requests are wanted, on the reader's own thread, so a pipe that is slow holds up nothing but
/// the next request, and one that never ends is never held in memory.
final class ListSource: RequestSource {
  private let buffer = Lock(Buffer())
  private let reader: ListReader

  private struct Buffer {
    /// The next one last, which is taken without a copy.
    var requests: [DownloadRequest] = []
    var isComplete = false
    /// What the reader said of the rest.
    var outlook = SourceOutlook(goesOn: true, hasFirst: false)
  }

  init(_ reader: ListReader) { self.reader = reader }

  nonisolated(nonsending) func next() async -> DownloadRequest? {
    while true {
      let (request, isComplete) = buffer.withLock { ($0.requests.popLast(), $0.isComplete) }
      if request != nil || isComplete { return request }
      await withTaskCancellationHandler {
        await reader.refill(self)
      } onCancel: {
        reader.interrupt()
      }
    }
  }

  func takeAtOnce() -> DownloadRequest? { buffer.withLock { $0.requests.popLast() } }

  var outlook: SourceOutlook {
    buffer.withLock { buffer in
      var outlook = buffer.outlook
      if outlook.left != nil { outlook.left = buffer.requests.count }
      return outlook
    }
  }

  /// Gives nothing more. Lists that are being read are not read any further.
  func stop() {
    reader.interrupt()
    put([], isComplete: true)
  }

  /// Whether the list goes on and nothing of it is buffered; another lane may have refilled meanwhile.
  var isEmpty: Bool { buffer.withLock { $0.requests.isEmpty && !$0.isComplete } }

  func put(
    _ requests: [DownloadRequest], isComplete: Bool,
    _ outlook: SourceOutlook = SourceOutlook(goesOn: true, hasFirst: false)
  ) {
    buffer.withLock { buffer in
      // A stopped source stays stopped, also if a block was on its way.
      if !buffer.isComplete { buffer = Buffer(requests: requests.reversed(), isComplete: isComplete, outlook: outlook) }
    }
  }
}
