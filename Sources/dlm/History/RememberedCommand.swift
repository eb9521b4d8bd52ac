import DownloadModel

/// A command in the form in which the next one in its folder repeats it.
struct RememberedCommand: Decodable, Equatable {
  /// Lists by their absolute path, URLs without credentials.
  var sources: [String]
  /// As the user would type them; see `RememberedOptions`.
  var options: [String] = []
  var withheld: [Withheld] = []
  /// The output folder, absolute.
  var directory: String?
  var mode: DownloadMode?

  var json: JSONValue {
    JSONValue([
      "sources": sources, "options": options, "withheld": withheld.map(\.json), "directory": directory,
      "mode": mode?.rawValue,
    ])
  }

  /// Options of a run that dlm does not store: the user must give them again if the run is repeated.
  enum Withheld: Decodable, Equatable {
    /// `-H`, identified by the field's name.
    case header(name: String)
    /// `--proxy` with a login.
    case proxy
    /// `--user`.
    case login
    /// Another option whose URL has a login.
    case option(name: String)
    /// URLs with logins, from the command line or a pipe.
    case addressLogins

    /// What the user gives again.
    var option: String {
      switch self {
      case .header(let name): "-H '\(name): …'"
      case .proxy: "--proxy with its login"
      case .option(let name): "--\(name) with its login"
      case .login: "--user"
      case .addressLogins: "the logins of the URLs (name them again, or use --netrc-file)"
      }
    }

    fileprivate var json: JSONValue {
      switch self {
      case .header(let name): JSONValue(["header": JSONValue(["name": name])])
      case .option(let name): JSONValue(["option": JSONValue(["name": name])])
      case .proxy, .login, .addressLogins: JSONValue(["\(self)": JSONValue([:])])
      }
    }
  }
}
