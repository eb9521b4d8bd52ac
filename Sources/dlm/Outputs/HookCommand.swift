import ArgumentParser
import FoundationEssentials

/// A command and its arguments, separated by blanks; quotes protect blanks. No shell is involved.
struct HookCommand: ExpressibleByArgument {
  let words: [String]
  let defaultValueDescription: String

  init?(argument: String) {
    let word = /(?:'[^']*'|"[^"]*"|[^\s'"])+/
    words = argument.matches(of: word).map { $0.0.replacing(/'([^']*)'|"([^"]*)"/) { $0.1 ?? $0.2 ?? "" }.description }
    defaultValueDescription = argument
    if words.isEmpty || !argument.replacing(word, with: "").allSatisfy(\.isWhitespace) { return nil }
  }
}
