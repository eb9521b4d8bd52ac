import DownloadModel
import Synchronization
import SystemPackage

/// What the lines of a list mean, in a format that is read line by line.
protocol LineRule {
  var said: String? { get }
  /// What the list says of its files that dlm does not do; each once.
  var passedOver: [String] { get }

  /// - Parameter text: a line without its end.
  /// - Returns: what is known with it, perhaps of the lines before.
  mutating func take(_ text: String, base: Address?) throws(Rejection.NoList) -> [ListLine]
  /// - Returns: what was left open for more lines.
  mutating func end() -> [ListLine]
}

extension LineRule {
  var said: String? { nil }
  var passedOver: [String] { [] }
  mutating func end() -> [ListLine] { [] }
}
