/// Splits blocks of bytes into lines. LF ends a line; a byte-order mark at the start is dropped; an endless line is cut
/// at ListLine's limit plus one byte, so that it is rejected.
struct LineSplitter {
  private var rest: [UInt8] = []
  private var isFirst = true

  /// - Parameter block: an empty one is the end, and returns a last line without LF.
  mutating func take(_ block: [UInt8]) -> [[UInt8]] {
    var lines = [[UInt8]]()
    var start = 0
    while let end = block[start...].firstIndex(of: 0x0A) {
      rest.keep(block[start..<end])
      lines.append(rest)
      rest = []
      start = end + 1
    }
    rest.keep(block[start...])
    if block.isEmpty, !rest.isEmpty {
      lines.append(rest)
      rest = []
    }
    if isFirst, !lines.isEmpty {
      isFirst = false
      if lines[0].starts(with: [0xEF, 0xBB, 0xBF]) { lines[0].removeFirst(3) }
    }
    return lines
  }
}

extension [UInt8] {
  /// Appends bytes of a line or value, up to ListLine's limit plus one byte.
  mutating func keep(_ bytes: ArraySlice<UInt8>) { self += bytes.prefix(ListLine.limit + 1 - count) }
}
