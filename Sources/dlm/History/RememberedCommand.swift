import DownloadModel
import Glibc
import Synchronization
import SystemPackage

/// A command as the next one in its folder takes it.
struct RememberedCommand: Decodable, Equatable {
  /// Lists by their whole path, addresses without credentials.
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
}

/// What a run was given and dlm does not store: the user must give it again if the run is repeated.
enum Withheld: Decodable, Equatable {
  /// `-H`, by the field's name.
  case header(name: String)
  /// `--proxy` with a login.
  case proxy
  /// Addresses of the command line or of a pipe with logins.
  case addressLogins

  fileprivate var json: JSONValue {
    switch self {
    case .header(let name): JSONValue(["header": JSONValue(["name": name])])
    case .proxy: JSONValue(["proxy": JSONValue([:])])
    case .addressLogins: JSONValue(["addressLogins": JSONValue([:])])
    }
  }
}
