/// How progress is shown, as the user asks for it (`--progress`).
public enum ProgressStyle: String, Sendable, CaseIterable {
  case auto, bars, plain, json, none

  /// How progress is shown in the end.
  public enum Resolved: Sendable, Equatable { case bars, plain, json, none }

  /// Bars move the cursor, so they need a terminal that can, even if asked for by name; everything else
  /// (a pipe, a file, a dumb terminal) gets lines. A CI's terminal is a log that nobody watches live.
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
