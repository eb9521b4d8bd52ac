/// What is known of the place that progress is written to: a terminal or not, and the environment variables.
public struct TerminalEnvironment: Sendable {
  public var isTerminal: Bool
  private var variables: [String: String]

  /// - Parameter variables: the process's environment.
  public init(isTerminal: Bool, variables: [String: String]) {
    (self.isTerminal, self.variables) = (isTerminal, variables)
  }

  /// The variable's value; nil if it is not set or empty, which mean the same here.
  subscript(_ name: String) -> String? { variables[name].flatMap { $0.isEmpty ? nil : $0 } }

  func isOn(_ name: String) -> Bool { self[name].map { !["0", "false"].contains($0.lowercased()) } ?? false }

  /// Whether cursor movement and colour make sense at all.
  var movesCursor: Bool { isTerminal && self["TERM"].map { $0 != "dumb" } ?? false }

  var isContinuousIntegration: Bool {
    isOn("CI") || ["JENKINS_URL", "TEAMCITY_VERSION", "TF_BUILD"].contains { self[$0] != nil }
  }

  /// The first of the three that is set decides (POSIX.1 §8.2).
  public var isUTF8: Bool {
    let locale = (self["LC_ALL"] ?? self["LC_CTYPE"] ?? self["LANG"] ?? "").lowercased()
    return locale.contains("utf-8") || locale.contains("utf8")
  }

  /// The text console of Linux reads UTF-8 but its font has neither ticks nor partial blocks.
  var glyphs: Glyphs { isUTF8 && self["TERM"] != "linux" ? .unicode : .ascii }

  /// Whether bars may be drawn with blocks.
  public var drawsBlocks: Bool { glyphs == .unicode }

  /// Whether text is coloured. Strongest first: `NO_COLOR` (no-color.org: set and not empty), `CLICOLOR_FORCE` or
  /// `FORCE_COLOR` (not empty, not 0), the terminal.
  public var isColored: Bool {
    self["NO_COLOR"] == nil && (isOn("CLICOLOR_FORCE") || isOn("FORCE_COLOR") || movesCursor)
  }

  /// Terminals known to take `OSC 9;4`; others show it as a notification or as text.
  var takesTaskbarProgress: Bool {
    guard movesCursor else { return false }
    if self["WT_SESSION"] != nil || self["ConEmuANSI"] == "ON" { return true }
    return self["TERM_PROGRAM"].map { ["wezterm", "ghostty"].contains($0.lowercased()) } ?? false
  }
}

/// How progress is shown, as the user asks for it (`--progress`).
public enum ProgressStyle: String, Sendable, CaseIterable {
  case auto, bars, plain, json, none

  /// How progress is shown in the end.
  public enum Resolved: Sendable, Equatable { case bars, plain, json, none }

  /// Bars move the cursor, so they need a terminal that can, even if asked for by name; everything else (a pipe, a
  /// file, a dumb terminal) gets lines. A CI's terminal is a log, and is read later.
  public func resolved(in environment: TerminalEnvironment) -> Resolved {
    switch self {
    case .none: .none
    case .plain: .plain
    case .json: .json
    case .bars: environment.movesCursor ? .bars : .plain
    case .auto: environment.movesCursor && !environment.isContinuousIntegration ? .bars : .plain
    }
  }
}
