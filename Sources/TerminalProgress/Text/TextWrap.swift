/// Wraps messages between words for a narrow window. Text to be copied (a command, a URL below its cause) is alone on
/// an indented line, which is not wrapped.
package enum TextWrap {
  private static let indent = "    "

  /// `text` alone if it fits into `columns`.
  package static func lines(_ text: String, columns: Int) -> [String] {
    guard columns > 0, CellWidth.of(text) > columns, !text.hasPrefix(indent) else { return [text] }
    return wrapped(text, columns)
  }

  /// `text` in lines of at most `cells`: wrapped between words, and within a word that is longer.
  static func filled(_ text: String, cells: Int) -> [String] {
    guard CellWidth.of(text) > cells else { return [text] }
    return wrapped(text, cells, behind: String(text.prefix { $0 == " " })).flatMap { line in
      var parts = [String]()
      var rest = line
      while CellWidth.of(rest) > cells, case let part = TextCut.atEnd(rest, to: cells, ellipsis: ""), !part.isEmpty {
        parts.append(part)
        rest.removeFirst(part.count)
      }
      return parts + [rest]
    }
  }

  /// - Parameter label: the start of the first line, as wide as the margin of the others; without a label the others
  ///   are indented.
  package static func wrapped(_ text: String, _ columns: Int, behind label: String? = nil) -> [String] {
    let start = label ?? String(text.prefix { $0 == " " })
    let margin = label.map { String(repeating: " ", count: $0.count) } ?? indent
    var lines: [String] = []
    var line = start
    for word in text.split(separator: " ") {
      let next = line == start ? line + word : line + " " + word
      if CellWidth.of(next) <= columns || line == start {
        line = next
      } else {
        lines.append(line)
        line = margin + word
      }
    }
    return lines + [line]
  }
}
