/// A `dlm get` of sources and known options with valid values, read by the table of options. The parser reads all other
/// command lines, because it explains mistakes and requests for help. It examines the type of every option, which takes
/// a fifth of a small file's time.
struct PlainWords {
  private var sources: [String] = []
  private var typed: [String: [String]] = [:]

  /// - Parameter words: those after `get`.
  /// - Returns: `nil` if the parser must read them.
  init?(_ words: [String]) {
    var words = words[...]
    while let word = words.popFirst() {
      guard Self.isOption(word) else {
        sources.append(word)
        continue
      }
      let parts = word.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
      guard let row = OptionTable.row(spelled: parts[0]) else { return nil }
      if row.kind == .flag {
        guard parts.count == 1 else { return nil }
        typed[row.name] = ["yes"]
        continue
      }
      // The parser knows more forms: -j8, -j=8, and values that start with a dash.
      let isWithValue = parts.count == 2 && word.hasPrefix("--") && !parts[1].isEmpty
      let value = isWithValue ? String(parts[1]) : parts.count == 1 ? words.popFirst() : nil
      guard let value, isWithValue || !Self.isOption(value) else { return nil }
      typed[row.name, default: []].append(value)
    }
  }

  private static func isOption(_ word: String) -> Bool { word.utf8.first == UInt8(ascii: "-") && word != "-" }

  /// - Returns: `nil` if a value is invalid.
  func command() -> GetCommand? {
    var command = OptionTable.$givesInitialValues.withValue(true) {
      var command = GetCommand()
      command.own = GetOptions()
      command.lists = ListOptions()
      command.shared = RunOptions()
      return command
    }
    command.sources = sources
    command.given = Set(typed.keys)
    let areValid = typed.allSatisfy { name, texts in OptionTable.row(name).take(&command, texts) }
    return areValid ? command : nil
  }
}
