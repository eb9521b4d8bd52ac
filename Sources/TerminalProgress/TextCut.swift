/// Cutting a text to a number of cells, never through a character.
enum TextCut {
  /// Keeps the beginning; `ellipsis` stands for the rest.
  static func atEnd(_ text: String, to width: Int, ellipsis: String) -> String {
    if CellWidth.of(text) <= width { return text }
    let mark = CellWidth.of(ellipsis)
    guard width > mark else { return String(head(text, width)) }
    return head(text, width - mark) + ellipsis
  }

  /// Keeps both ends, of which the last third, or more where a file's extension needs it.
  static func inMiddle(_ text: String, to width: Int, ellipsis: String) -> String {
    if CellWidth.of(text) <= width { return text }
    let mark = CellWidth.of(ellipsis)
    // Too narrow for two ends that say anything.
    guard width >= mark + 6 else { return atEnd(text, to: width, ellipsis: ellipsis) }
    var end = width / 3
    if let dot = text.lastIndex(of: "."), dot != text.startIndex {
      let ending = CellWidth.of(text[dot...])
      if ending > end, ending <= width / 2 { end = ending }
    }
    let tail = tail(text, end)
    return head(text, width - mark - CellWidth.of(tail)) + ellipsis + tail
  }

  private static func head(_ text: String, _ width: Int) -> Substring {
    var used = 0
    var end = text.startIndex
    while end < text.endIndex {
      used += CellWidth.of(text[end])
      if used > width { break }
      end = text.index(after: end)
    }
    return text[..<end]
  }

  private static func tail(_ text: String, _ width: Int) -> Substring {
    var used = 0
    var start = text.endIndex
    while start > text.startIndex {
      let before = text.index(before: start)
      used += CellWidth.of(text[before])
      if used > width { break }
      start = before
    }
    return text[start...]
  }
}
