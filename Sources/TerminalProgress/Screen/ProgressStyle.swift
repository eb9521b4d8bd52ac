/// The display of progress that the user requested (`--progress`).
package enum ProgressStyle: String, Sendable, CaseIterable {
  case auto, bars, plain, json, none

  /// The display of progress that is used.
  package enum Resolved: Sendable { case bars, plain, json, none }

  /// Bars need a terminal whose cursor moves, even if requested by name. A CI's terminal is a log.
  package func resolved(in environment: TerminalEnvironment) -> Resolved {
    switch self {
    case .none: .none
    case .plain: .plain
    case .json: .json
    case .bars: environment.movesCursor ? .bars : .plain
    case .auto: environment.movesCursor && !environment.isContinuousIntegration ? .bars : .plain
    }
  }
}
