import DownloadModel
import Synchronization

/// How progress is shown, as the user asks for it (`--progress`).
package enum ProgressStyle: String, Sendable, CaseIterable {
  case auto, bars, plain, json, none

  /// How progress is shown in the end.
  package enum Resolved: Sendable, Equatable { case bars, plain, json, none }

  /// Bars need a terminal whose cursor moves, even if asked for by name. A CI's terminal is a log.
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
