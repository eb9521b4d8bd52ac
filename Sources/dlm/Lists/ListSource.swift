import DownloadModel
import Glibc
import Synchronization

/// One SOURCE of the command line, known by its form alone.
enum Source: Equatable, Sendable {
  case standardInput
  case address(String)
  case list(path: String)
  /// `--list`, or a preset's id
  case listAt(String)

  /// - Parameter isList: whether addresses are those of lists (`--list`).
  init(_ argument: String, isList: Bool = false) {
    if argument == "-" {
      self = .standardInput
    } else if Preset.named(by: argument) != nil, access(argument, F_OK) != 0 {
      self = .listAt(argument)
    } else if argument.contains("://") || DataAddress.isMeant(argument) || Redaction.isLoginWithoutScheme(argument) {
      // A login without a scheme is refused as an address, and so neither shown nor remembered.
      self = isList ? .listAt(argument) : .address(argument)
    } else {
      self = .list(path: argument)
    }
  }

  static func isFetchable(_ text: String) -> Bool {
    if case .address = ListLine(Array(text.utf8)) { true } else { false }
  }

  var isAddress: Bool { if case .address = self { true } else { false } }

  var isListAt: Bool { if case .listAt = self { true } else { false } }

  var path: String? { if case .list(let path) = self { path } else { nil } }

  var name: String {
    switch self {
    case .standardInput: "standard input"
    case .address: "command line"
    case .list(let path): path
    case .listAt(let text):
      Preset.named(by: text).map { "\($0.preset.name): \($0.address)" } ?? Redaction.redactedAddress(text)
    }
  }
}

/// The requests of a run, in the order in which sources were named. Lists are read in blocks as requests are wanted, so
/// that a slow pipe holds up nothing else and an endless one is never held in memory.
final class ListSource: RequestSource {
  private let buffer = Lock(Buffer())
  private let reader: ListReader

  private struct Buffer {
    /// The next one is last, to be taken without a copy.
    var requests: [DownloadRequest] = []
    var isComplete = false
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

  func stop() {
    reader.interrupt()
    put([], isComplete: true)
  }

  /// Whether the list goes on and nothing is buffered; another lane may have refilled it.
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
