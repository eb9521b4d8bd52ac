/// Whether text may be coloured, as the user asks for it.
public enum ColorChoice: String, Sendable, CaseIterable {
  case auto, always, never

  /// Strongest first: the option, `NO_COLOR` (no-color.org: set and not empty), `CLICOLOR_FORCE` or
  /// `FORCE_COLOR` (not empty, not 0), the terminal.
  public func resolved(in environment: TerminalEnvironment) -> Bool {
    switch self {
    case .always: return true
    case .never: return false
    case .auto:
      if environment["NO_COLOR"] != nil { return false }
      if environment.isOn("CLICOLOR_FORCE") || environment.isOn("FORCE_COLOR") { return true }
      return environment.movesCursor
    }
  }
}
