import SystemPackage

/// Where the value of a setting is from, strongest first.
enum SettingOrigin: Equatable {
  case option(String)
  /// Of the environment.
  case variable(String)
  case file(FilePath, line: Int?)
  case builtIn

  /// As messages name it: `DLM_JOBS`, `.dlm.conf:3`.
  var name: String {
    switch self {
    case .option(let name): name
    case .variable(let name): name
    case .file(let path, let line): line.map { "\(path):\($0)" } ?? "\(path)"
    case .builtIn: "built-in"
    }
  }

  /// For programs.
  var kind: String {
    switch self {
    case .option: "option"
    case .variable: "environment"
    case .file: "file"
    case .builtIn: "built-in"
    }
  }
}
