/// What is known of the place that progress is written to: a terminal or not, and the environment variables.
public struct TerminalEnvironment: Sendable {
  public var isTerminal: Bool
  private var variables: [String: String]

  /// - Parameter variables: the process's environment.
  public init(isTerminal: Bool, variables: [String: String]) {
    self.isTerminal = isTerminal
    self.variables = variables
  }

  /// The variable's value; nil if it is not set or empty, which mean the same here.
  subscript(_ name: String) -> String? { variables[name].flatMap { $0.isEmpty ? nil : $0 } }

  func isOn(_ name: String) -> Bool {
    guard let value = self[name]?.lowercased() else { return false }
    return value != "0" && value != "false"
  }

  /// Whether cursor movement and colour make sense at all.
  var movesCursor: Bool { isTerminal && self["TERM"].map { $0 != "dumb" } ?? false }

  var isContinuousIntegration: Bool {
    isOn("CI") || ["JENKINS_URL", "TEAMCITY_VERSION", "TF_BUILD"].contains { self[$0] != nil }
  }

  /// The first of the three that is set decides (POSIX.1 §8.2).
  private var isUTF8: Bool {
    let locale = self["LC_ALL"] ?? self["LC_CTYPE"] ?? self["LANG"] ?? ""
    let lower = locale.lowercased()
    return lower.contains("utf-8") || lower.contains("utf8")
  }

  /// The text console of Linux reads UTF-8 but its font has neither ticks nor partial blocks.
  var glyphs: Glyphs { isUTF8 && self["TERM"] != "linux" ? .unicode : .ascii }

  /// Terminals known to take `OSC 9;4`; others show it as a notification or as text.
  var takesTaskbarProgress: Bool {
    guard movesCursor else { return false }
    if self["WT_SESSION"] != nil || self["ConEmuANSI"] == "ON" { return true }
    return self["TERM_PROGRAM"].map { ["wezterm", "ghostty"].contains($0.lowercased()) } ?? false
  }
}
