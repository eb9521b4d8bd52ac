import DownloadModel

/// One SOURCE of the command line: what it names is seen from its form alone.
enum Source: Equatable, Sendable {
  case standardInput
  case address(String)
  case list(path: String)

  init(_ argument: String) {
    if argument == "-" {
      self = .standardInput
    } else if argument.contains("://") || Redaction.isLoginWithoutScheme(argument) {
      // The second is refused as an address, and so neither shown nor remembered with its login.
      self = .address(argument)
    } else {
      self = .list(path: argument)
    }
  }

  /// How messages name it.
  var name: String {
    switch self {
    case .standardInput: "standard input"
    case .address: "command line"
    case .list(let path): path
    }
  }
}
