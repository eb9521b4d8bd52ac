/// Cutting a text to a number of cells, never through a character.
package enum TextCut {
  /// Keeps the beginning; `ellipsis` replaces the rest.
  static func atEnd(_ text: String, to width: Int, ellipsis: String) -> String {
    if CellWidth.of(text) <= width { return text }
    let mark = CellWidth.of(ellipsis)
    return width > mark ? text.prefix(count(text, width - mark)) + ellipsis : String(text.prefix(count(text, width)))
  }

  /// Keeps both ends: the last third, or more if a file's extension needs it.
  static func inMiddle(_ text: String, to width: Int, ellipsis: String) -> String {
    if CellWidth.of(text) <= width { return text }
    let mark = CellWidth.of(ellipsis)
    // Too narrow for two useful ends.
    guard width >= mark + 6 else { return atEnd(text, to: width, ellipsis: ellipsis) }
    var end = width / 3
    if let dot = text.lastIndex(of: "."), dot != text.startIndex {
      let ending = CellWidth.of(text[dot...])
      if ending > end, ending <= width / 2 { end = ending }
    }
    let tail = text.suffix(count(text.reversed(), end))
    return text.prefix(count(text, width - mark - CellWidth.of(tail))) + ellipsis + tail
  }

  /// Cuts each name in its middle. Names that would look equal are cut shortly before they start to differ.
  static func apart(_ names: [String], to width: Int, ellipsis: String) -> [String] {
    var cut = names.map { inMiddle($0, to: width, ellipsis: ellipsis) }
    guard cut != names, width >= 12 else { return cut }
    for alike in Dictionary(grouping: cut.indices, by: { cut[$0] }).values {
      let first = names[alike[0]]
      let others = alike.filter { names[$0] != first }
      guard let same = others.map({ zip(first, names[$0]).prefix { $0 == $1 }.count }).min() else { continue }
      for index in alike {
        let tail = names[index].dropFirst(max(same - 3, width / 4))
        let head = max(width / 4, width - CellWidth.of(ellipsis) - CellWidth.of(tail))
        let start = names[index].prefix(count(names[index], head)) + ellipsis
        cut[index] = start + atEnd(String(tail), to: width - CellWidth.of(start), ellipsis: ellipsis)
      }
    }
    return cut
  }

  /// Short names of URLs: their last segments. URLs with equal last segments stay whole, cut so that they differ.
  package static func ends(of addresses: [String], to width: Int, ellipsis: String) -> [String: String] {
    let texts = Dictionary(addresses.map { ($0, TerminalText.sanitized($0)) }) { $1 }
    func end(_ text: String) -> String { text.split(separator: "/").last.map(String.init) ?? text }
    let alike = Dictionary(grouping: Set(texts.values), by: end)
    let names = texts.values.map { text in alike[end(text)]?.count == 1 ? end(text) : text }
    return Dictionary(uniqueKeysWithValues: zip(texts.keys, apart(names, to: width, ellipsis: ellipsis)))
  }

  /// How many characters fit, from the first on.
  private static func count(_ characters: some Sequence<Character>, _ width: Int) -> Int {
    var used = 0
    return characters.prefix {
      used += CellWidth.of($0)
      return used <= width
    }.count
  }
}
