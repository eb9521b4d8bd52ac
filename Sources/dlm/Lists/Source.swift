import DownloadModel
import FileReceiving
import Glibc
import SystemPackage

/// One SOURCE of the command line, identified by its form alone.
enum Source: Equatable {
  case standardInput
  case address(String)
  case list(path: String)
  /// `--list`, a preset's id, or a folder of a file server
  case listAt(String)

  /// - Parameter isList: whether URLs are those of lists (`--list`).
  init(_ argument: String, isList: Bool = false) {
    if argument == "-" {
      self = .standardInput
    } else if Preset.named(by: argument) != nil, access(argument, F_OK) != 0 {
      self = .listAt(argument)
    } else if argument.contains("://") || DataAddress.isMeant(argument) || Redaction.isLoginWithoutScheme(argument) {
      // A login without a scheme is rejected as a URL, and so neither shown nor remembered.
      let isFolder = ListLine(argument.utf8).address?.isServerFolder == true
      self = isList || isFolder ? .listAt(argument) : .address(argument)
    } else {
      self = .list(path: argument)
    }
  }

  static func isFetchable(_ text: String) -> Bool { ListLine(text.utf8).address != nil }

  var isAddress: Bool { if case .address = self { true } else { false } }

  /// True for a pipe, for example.
  var isReadOnce: Bool {
    path.map { FilePath($0).fileType != S_IFREG } ?? (self == .standardInput)
  }

  var isListAt: Bool { if case .listAt = self { true } else { false } }

  var path: String? { if case .list(let path) = self { path } else { nil } }

  /// The list's file, links followed; `nil` without a file.
  var standing: StandingFile? { path.flatMap(RunMemory.canonical).flatMap(StandingFile.of) }

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
