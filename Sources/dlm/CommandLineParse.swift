import ArgumentParser
import DownloadModel
import Glibc
import SystemPackage

/// From its root, the parser examines every option of all commands several times, so the command that is named first
/// parses the words alone. Words that it rejects (a mistake, `--help`) go through the root, whose texts are complete.
enum CommandLineParse {
  static func command(_ words: [String]) throws -> any ParsableCommand {
    let words = withCommand(words)
    // As letters, -directory x would be the folder "irectory", and x another list.
    if let word = words.prefix(while: { $0 != "--" }).first(where: OptionTable.hasOneDash) {
      throw ValidationError("\(word): a long option has two dashes: -\(word)")
    }
    if let command = directly(words) { return command }
    if let mistake = unknownWord(words) { throw ValidationError(mistake) }
    return try DLM.parseAsRoot(words)
  }

  /// As typed: `dlm cache list`.
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

  /// - Returns: `nil` if the parser has the better message.
  private static func unknownWord(_ words: [String]) -> String? {
    let isHelp = words.first == "help"
    let words = isHelp ? Array(words.dropFirst()) : words
    guard let first = words.first, !isOption(first), !isHelp || first != "help" else { return nil }
    guard let command = command(named: first) else {
      let commands = names(of: commands)
      if isHelp { return unknown(first, of: "dlm", commands) }
      let near = NearestWord.to(first, among: commands).map { "did you mean \"dlm \($0)\"?" }
      let remedy = near ?? UsageMessages.remedy(forMissing: first)
      let usual = "commands are \(commands.joined(separator: ", "))"
      let shown = Redaction.isLoginWithoutScheme(first) ? Redaction.withoutLogin(first) : first
      return "\"\(shown)\" is neither a command nor a file: \(remedy == UsageMessages.checkName ? usual : remedy)"
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

  /// - Returns: `nil` for words that have to go through the root.
  static func directly(_ words: [String]) -> (any ParsableCommand)? {
    guard let type = command(named: words.first) else { return nil }
    let words = Array(words.dropFirst())
    if type == GetCommand.self, let command = PlainWords(words)?.command() { return command }
    guard let command = try? type.parseAsRoot(words) else { return nil }
    // For a help request, the parser returns a command of its own.
    let kind = Swift.type(of: command)
    return ([type] + type.configuration.subcommands).contains { $0 == kind } ? command : nil
  }

  /// `dlm URL` and `dlm LIST` mean `dlm get`, also after options. A word that is neither may be a mistyped command.
  /// `dlm ls` is `dlm status`; as an alias it would be an entry of its own in the manual page.
  static func withCommand(_ words: [String]) -> [String] {
    if words.first == "ls" { return ["status"] + words.dropFirst() }
    guard let first = words.first, first != "help", command(named: first) == nil,
      isOption(first)
        ? words.contains(where: { Source($0).isAddress })
          || words.contains(where: isSource) && !words.contains(where: { command(named: $0) != nil })
        : isSource(first)
    else { return words }
    return ["get"] + words
  }

  private static func isOption(_ word: String) -> Bool { word.unicodeScalars.first == "-" }

  private static func isSource(_ word: String) -> Bool {
    guard case .list(let path) = Source(word) else { return true }
    return FilePath(path).fileType.map { $0 != S_IFDIR } ?? false
  }
}
