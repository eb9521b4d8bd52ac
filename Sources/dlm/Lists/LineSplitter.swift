/// From blocks of bytes to lines, whatever the blocks cut through. A line ends with LF; a byte-order mark before
/// the first one is dropped; an endless line is cut off at the limit of ListLine plus one, which refuses it.
struct LineSplitter {
  private var rest: [UInt8] = []
  private var isFirst = true

  /// - Parameter block: the next bytes; an empty block is the end, and gives the last line if it had no LF.
  mutating func take(_ block: [UInt8]) -> [[UInt8]] {
    var lines: [[UInt8]] = []
    if block.isEmpty {
      if !rest.isEmpty { lines.append(rest) }
      rest = []
    }
    var start = 0
    while start < block.count {
      guard let end = block[start...].firstIndex(of: 0x0A) else { break }
      append(block[start..<end])
      lines.append(rest)
      rest = []
      start = end + 1
    }
    append(block[start...])
    if isFirst, !lines.isEmpty {
      isFirst = false
      if lines[0].starts(with: [0xEF, 0xBB, 0xBF]) { lines[0].removeFirst(3) }
    }
    return lines
  }

  private mutating func append(_ bytes: ArraySlice<UInt8>) {
    rest += bytes.prefix(max(0, ListLine.limit + 1 - rest.count))
  }
}
