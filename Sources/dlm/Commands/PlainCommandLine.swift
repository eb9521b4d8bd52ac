/// `dlm get` as it is nearly always typed, read without the parser.
///
/// The parser finds out what options there are by reflection, for which the runtime looks through all
/// conformances of the program again and again: that is half of what a small file costs. Where each word is a
/// source, or an option of the table with a value that it takes, no more has to be known. All else is the
/// parser's, whose texts people see: help, mistakes, several letters behind one dash, what follows `--`.
enum PlainCommandLine {
  /// - Parameter words: what follows `get`.
  /// - Returns: what the parser would give; nil if a word is none of those.
  static func get(_ words: [String]) -> GetCommand? {
    var command = GetCommand.blank
    var sources: [String] = []
    var rest = words[...]
    while let word = rest.popFirst() {
      guard isDashed(word) else {
        // An empty one is a mistake, of which the parser has something to say.
        if word.isEmpty { return nil }
        sources.append(word)
        continue
      }
      guard let option = Option(word) else { return nil }
      let value = option.row.isFlag ? nil : option.value ?? rest.popFirst()
      // A value that begins with a dash may be the next option.
      if option.value == nil, let value, value.isEmpty || value.utf8.first == UInt8(ascii: "-") { return nil }
      guard option.row.set(value, in: &command) else { return nil }
    }
    command.sources = sources
    return command
  }

  /// Standard input is a source.
  private static func isDashed(_ word: String) -> Bool { word.utf8.first == UInt8(ascii: "-") && word != "-" }

  /// A word such as `--jobs`, `--jobs=4`, `-j` or `-j4`.
  private struct Option {
    let row: OptionTable.Row
    let value: String?

    init?(_ word: String) {
      let text = word.utf8.starts(with: "--".utf8) ? word.dropFirst(2) : word.dropFirst()
      if text.utf8.count + 2 == word.utf8.count {
        let parts = text.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
        guard let row = OptionTable.rows.first(where: { $0.name == parts[0] }) else { return nil }
        (self.row, value) = (row, parts.count > 1 ? String(parts[1]) : nil)
      } else {
        guard let row = OptionTable.rows.first(where: { $0.letter == text.first }) else { return nil }
        let joined = text.dropFirst()
        // A sign between them is a matter of the parser.
        if joined.first == "=" { return nil }
        (self.row, value) = (row, joined.isEmpty ? nil : String(joined))
      }
      if row.isFlag, value != nil { return nil }
      if value?.isEmpty == true { return nil }
    }
  }
}
