/// How a command ended, and all that it said.
public struct CommandResult: Sendable {
  public enum Ending: Sendable, Equatable {
    case exited(Int32)
    case signalled(Int32)
  }

  public let ending: Ending
  public let output: [UInt8]
  public let errors: [UInt8]

  public var outputText: String { String(decoding: output, as: UTF8.self) }
  public var errorText: String { String(decoding: errors, as: UTF8.self) }

  /// The exit status; nil when a signal ended it.
  public var status: Int32? {
    if case .exited(let status) = ending { status } else { nil }
  }
}
