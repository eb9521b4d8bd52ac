import DownloadModel

/// The meaning of a list's lines, in a format that is read line by line.
protocol LineRule {
  var said: String { get }
  /// Options in the list that dlm does not support; each once.
  var passedOver: Set<String> { get }

  /// - Parameter text: a line without its end.
  /// - Returns: the entries that are complete with it, perhaps of earlier lines.
  mutating func take(_ text: String, base: Address?) throws(Rejection.NoList) -> [ListLine]
  /// - Returns: the entries that were still open for more lines.
  mutating func end() -> [ListLine]
}

extension LineRule {
  var passedOver: Set<String> { [] }
  mutating func end() -> [ListLine] { [] }
}
