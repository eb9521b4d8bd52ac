import ArgumentParser
import Glibc

/// From its root, the parser looks at every option of all commands several times: so the command that is named first
/// gets the words alone. What it does not take (a mistake, `--help`) goes through the root, whose texts are whole.
enum CommandLineParse {
  static func command(_ words: [String]) throws -> any ParsableCommand {
    let words = withCommand(words)
    if let command = directly(words) { return command }
    if let mistake = unknownWord(words) { throw ValidationError(mistake) }
    return try DLM.parseAsRoot(words)
  }

  /// As it is typed: `dlm cache list`.
  static func name(of command: any ParsableCommand) -> String {
    let type = Swift.type(of: command)
    let name = type.configuration.commandName ?? ""
    for parent in commands where parent.configuration.subcommands.contains(where: { $0 == type }) {
      return "dlm \(names(of: [parent])[0]) \(name)"
    }
    return name.isEmpty || type == DLM.self ? "dlm" : "dlm \(name)"
  }

  private static let commands = DLM.configuration.subcommands

  private static func command(named name: String?) -> (any ParsableCommand.Type)? {
    commands.first { $0.configuration.commandName == name }
  }

  private static func names(of commands: [any ParsableCommand.Type]) -> [String] {
    commands.compactMap { $0.configuration.commandName }
  }

  /// - Returns: nil where the parser has the better words.
  private static func unknownWord(_ words: [String]) -> String? {
    let isHelp = words.first == "help"
    let words = isHelp ? Array(words.dropFirst()) : words
    guard let first = words.first, !isOption(first), !isHelp || first != "help" else { return nil }
    guard let command = command(named: first) else {
      let commands = names(of: commands)
      if isHelp { return unknown(first, of: "dlm", commands) }
      let isName = first.firstIndex(of: ".").map { $0 != first.startIndex && first.last != "." } ?? false
      let remedy =
        NearestWord.to(first, among: commands).map { "Did you mean \"dlm \($0)\"?" }
        ?? (isName
          ? "If it is an address, write https://\(first)" : "Commands are \(commands.joined(separator: ", "))")
      return "\"\(first)\" is not a command, and no list has that name. \(remedy)"
    }
    let below = names(of: command.configuration.subcommands)
    guard words.count > 1, !below.isEmpty, !(below + ["help"]).contains(words[1]), !isOption(words[1]) else {
      return nil
    }
    return unknown(words[1], of: "dlm \(first)", below)
  }

  private static func unknown(_ word: String, of parent: String, _ commands: [String]) -> String {
    let meant = NearestWord.to(word, among: commands).map { "Did you mean \"\(parent) \($0)\"?" }
    return "\"\(word)\" is not a command of \(parent). \(meant ?? "It has \(commands.joined(separator: ", "))")"
  }

  /// - Returns: nil for what has to go through the root.
  static func directly(_ words: [String]) -> (any ParsableCommand)? {
    guard let type = command(named: words.first), let command = try? type.parseAsRoot(Array(words.dropFirst()))
    else { return nil }
    // Asked for help, the parser gives a command of its own.
    let kind = Swift.type(of: command)
    return ([type] + type.configuration.subcommands).contains { $0 == kind } ? command : nil
  }

  /// `dlm ADDRESS` and `dlm LIST` mean `dlm get`, the first also behind options. A word that is neither may be a
  /// mistyped command.
  static func withCommand(_ words: [String]) -> [String] {
    guard let first = words.first, first != "help", command(named: first) == nil,
      isOption(first) ? words.contains(where: { Source($0).isAddress }) : isSource(first)
    else { return words }
    return ["get"] + words
  }

  private static func isOption(_ word: String) -> Bool { word.utf8.first == UInt8(ascii: "-") }

  private static func isSource(_ word: String) -> Bool {
    guard case .list(let path) = Source(word) else { return true }
    var status = stat()
    return stat(path, &status) == 0 && status.st_mode & S_IFMT != S_IFDIR
  }
}

/// The word that was likely meant where one was mistyped.
enum NearestWord {
  static func to(_ typed: String, among words: some Sequence<String>) -> String? {
    let typed = Array(typed.lowercased().utf8.prefix(longest + 1))
    guard !typed.isEmpty, typed.count <= longest else { return nil }
    let all = words.map { word in
      let letters = Array(word.lowercased().utf8)
      return (word: word, letters: letters, slips: slips(typed, letters))
    }
    // One slip in three letters, and one in a shorter word.
    let near = all.filter { $0.slips <= max(1, min(typed.count, $0.letters.count) / 3) }.min { $0.slips < $1.slips }
    // What was only begun counts too: "comp" is compare.
    return (near ?? all.first { typed.count >= 2 && $0.letters.starts(with: typed) })?.word
  }

  private static let longest = 40

  /// Letters to be added, dropped, changed or swapped with their neighbour (optimal string alignment).
  private static func slips(_ one: [UInt8], _ other: [UInt8]) -> Int {
    var beforeLast: [Int] = []
    var last = Array(0...other.count)
    for row in 1...max(1, one.count) where row <= one.count {
      var now = [row]
      for column in 1...max(1, other.count) where column <= other.count {
        let isSame = one[row - 1] == other[column - 1]
        var least = min(last[column] + 1, now[column - 1] + 1, last[column - 1] + (isSame ? 0 : 1))
        if row > 1, column > 1, one[row - 1] == other[column - 2], one[row - 2] == other[column - 1] {
          least = min(least, beforeLast[column - 2] + 1)
        }
        now.append(least)
      }
      (beforeLast, last) = (last, now)
    }
    return last[other.count]
  }
}
