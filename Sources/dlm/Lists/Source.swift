import DownloadModel

/// One SOURCE of the command line: what it names is seen from its form alone.
enum Source: Equatable, Sendable {
  case standardInput
  case address(String)
  case list(path: String)
  /// An address that a list is at (`--list`).
  case listAt(String)

  /// - Parameter isList: whether addresses are those of lists.
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

  /// How messages name it.
  var name: String {
    switch self {
    case .standardInput: "standard input"
    case .address: "command line"
    case .list(let path): path
    case .listAt(let text): Redaction.redactedAddress(text)
    }
  }
}

extension Source {
  /// Whose addresses the user's header lines are meant for, where a stranger's list is among the sources: the lists' own
  /// origins. Nil for all that is listed: then the user wrote it.
  static func homes(of sources: [Source]) -> [Address]? {
    let lists = sources.compactMap { source -> String? in
      if case .listAt(let text) = source { text } else { nil }
    }
    return lists.isEmpty ? nil : lists.compactMap { try? Address($0) }
  }
}
