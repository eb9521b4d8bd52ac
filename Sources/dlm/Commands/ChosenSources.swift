import ArgumentParser
import Glibc
import SystemPackage

/// Which sources a command without any works on.
enum ChosenSources {
  /// The SOURCEs given, else standard input if it is no terminal, else those of the last run in this folder.
  static func of(_ given: [String], _ store: RunHistoryStore) throws -> [String] {
    if !given.isEmpty { return given }
    if isatty(STDIN_FILENO) == 0 { return ["-"] }
    if let history = store.load(), !history.sources.isEmpty {
      if history.sources == [store.spoolPath.string], access(store.spoolPath.string, R_OK) != 0 {
        throw ValidationError(
          "The last list of this folder came through a pipe and was not read to its end: pipe it in again.")
      }
      StandardError.say([
        "Taking the last list of this folder: \(history.sources.map(CommandLineWords.quoted).joined(separator: " "))"
      ])
      return history.sources
    }
    throw ValidationError(
      "There is nothing to get: name a list or an address (dlm get urls.txt), or pipe a list in.")
  }
}
