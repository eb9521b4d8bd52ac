import ArgumentParser
import Glibc

/// From the words of a command line to a command.
///
/// The parser goes down its tree of commands, and looks on the way at every option of each several times. Nearly every
/// command line begins with a command's name, and has no mistake: so that command alone gets it first. All else (a
/// mistake, `--help`, a script) goes the long way, whose texts name the whole command.
enum CommandLineParse {
  /// - Throws: what the parser says, and a `ValidationError` for a first word that is nothing at all.
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
    for parent in DLM.configuration.subcommands
    where parent.configuration.subcommands.contains(where: { $0 == type }) {
      return "dlm \(names(of: [parent])[0]) \(name)"
    }
    return name.isEmpty || type == DLM.self ? "dlm" : "dlm \(name)"
  }

  /// What to say of a first word that is no command, no list and no address, and of one behind `dlm cache` that is no
  /// command; nil where the parser has the better words.
  private static func unknownWord(_ words: [String]) -> String? {
    guard let first = words.first, !first.utf8.starts(with: "-".utf8) else { return nil }
    let commands = DLM.configuration.subcommands
    guard let command = commands.first(where: { $0.configuration.commandName == first }) else {
      return first == "help" ? nil : UsageMessages.unknownWord(first, commands: names(of: commands))
    }
    let below = names(of: command.configuration.subcommands)
    guard words.count > 1, !below.isEmpty, !below.contains(words[1]), words[1] != "help",
      !words[1].utf8.starts(with: "-".utf8)
    else { return nil }
    return UsageMessages.unknownCommand(words[1], of: first, commands: below)
  }

  private static func names(of commands: [any ParsableCommand.Type]) -> [String] {
    commands.compactMap { $0.configuration.commandName }
  }

  /// - Returns: nil for what has to go the long way.
  static func directly(_ words: [String]) -> (any ParsableCommand)? {
    let commands = DLM.configuration.subcommands
    guard let name = words.first, let type = commands.first(where: { $0.configuration.commandName == name }),
      let command = try? type.parseAsRoot(Array(words.dropFirst()))
    else { return nil }
    // Asked for help, the parser gives a command of its own.
    let kind = Swift.type(of: command)
    return ([type] + type.configuration.subcommands).contains { $0 == kind } ? command : nil
  }

  /// `dlm ADDRESS` and `dlm LIST` mean `dlm get`. A word that is neither may be a mistyped command.
  static func withCommand(_ words: [String]) -> [String] {
    guard let first = words.first, !first.utf8.starts(with: "-".utf8) else { return words }
    let names = DLM.configuration.subcommands.map { $0.configuration.commandName }
    guard first != "help", !names.contains(first), isSource(first) else { return words }
    return ["get"] + words
  }

  private static func isSource(_ word: String) -> Bool {
    guard case .list(let path) = Source(word) else { return true }
    var status = stat()
    return stat(path, &status) == 0 && status.st_mode & S_IFMT != S_IFDIR
  }
}
