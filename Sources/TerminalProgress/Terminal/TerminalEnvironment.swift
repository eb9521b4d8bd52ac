/// Whether progress is written to a terminal, and the environment variables that describe it.
package struct TerminalEnvironment: Sendable {
  package var isTerminal: Bool
  private var variables: [String: String]

  package init(isTerminal: Bool, variables: [String: String]) {
    self.isTerminal = isTerminal
    self.variables = variables
  }

  /// The variable's value; `nil` if it is unset or empty, which mean the same here.
  subscript(_ name: String) -> String? { variables[name].flatMap { $0.isEmpty ? nil : $0 } }

  func isOn(_ name: String) -> Bool { self[name].map { !["0", "false"].contains($0.lowercased()) } ?? false }

  /// Whether cursor movement and colour make sense.
  var movesCursor: Bool { isTerminal && self["TERM"].map { $0 != "dumb" } ?? false }

  var isContinuousIntegration: Bool {
    isOn("CI") || ["JENKINS_URL", "TEAMCITY_VERSION", "TF_BUILD"].contains { self[$0] != nil }
  }

  /// The first of the three that is set decides (POSIX.1 §8.2).
  package var isUTF8: Bool {
    let locale = (self["LC_ALL"] ?? self["LC_CTYPE"] ?? self["LANG"] ?? "").lowercased()
    return locale.contains("utf-8") || locale.contains("utf8")
  }

  /// Linux's text console reads UTF-8, but its font has neither ticks nor partial blocks.
  var glyphs: Glyphs { isUTF8 && self["TERM"] != "linux" ? .unicode : .ascii }

  /// Whether bars may be drawn with blocks.
  package var drawsBlocks: Bool { !glyphs.isASCII }

  /// Strongest first: `NO_COLOR` (no-color.org), `CLICOLOR_FORCE` or `FORCE_COLOR` (not empty, not 0), the terminal.
  package var isColored: Bool {
    self["NO_COLOR"] == nil && (isOn("CLICOLOR_FORCE") || isOn("FORCE_COLOR") || movesCursor)
  }

  /// Terminals that save their title while another is shown; others would keep dlm's title.
  var takesTitle: Bool {
    movesCursor && ["xterm", "tmux", "foot", "alacritty"].contains { self["TERM"]?.hasPrefix($0) == true }
  }

  /// Terminals known to support `OSC 9;4`; others show it as a notification or as text.
  var takesTaskbarProgress: Bool {
    guard movesCursor else { return false }
    if self["WT_SESSION"] != nil || self["ConEmuANSI"] == "ON" { return true }
    return self["TERM_PROGRAM"].map { ["wezterm", "ghostty"].contains($0.lowercased()) } ?? false
  }
}
