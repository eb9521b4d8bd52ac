extension Sequence<UInt8> {
  /// Where these bytes first differ from others, in words; nil if they are equal.
  ///
  /// For whole files: `#expect(a == b)` on megabytes spends minutes on describing what is different.
  public func firstDifference(from expected: some Sequence<UInt8>) -> String? {
    var offset = 0
    var others = expected.makeIterator()
    for byte in self {
      guard let other = others.next() else { return "there is more than the \(offset) bytes expected" }
      if byte != other { return "byte \(offset) is \(byte), not \(other)" }
      offset += 1
    }
    return others.next() == nil ? nil : "it ends after \(offset) bytes"
  }
}
