extension StringProtocol where SubSequence == Substring {
  /// The text before the first separator, and the text behind it: `nil` without one.
  package func halves(at separator: Character) -> (Substring, Substring?) {
    let parts = split(separator: separator, maxSplits: 1, omittingEmptySubsequences: false)
    return (parts[0], parts.dropFirst().first)
  }
}
